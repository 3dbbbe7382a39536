"""Parts of Scripts/bench: the programs, the rounds, what is measured, tables and plots."""
