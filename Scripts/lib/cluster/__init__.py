"""Parts of Scripts/cluster-check: Slurm on one node, and a source that counts."""
