"""Ray: python on_ray.py shards s3://bucket/dir/ /shared/manifests

Each task transfers one shard of `haul split urls.jsonl --shards 8 --max-per-host 4 -o shards`.
"""

import json
import pathlib
import sys

import ray
from transfer import TryAgain, transfer


@ray.remote(num_cpus=0.25, max_retries=10, retry_exceptions=[TryAgain])
def run(shard, target, manifests):
    return transfer(shard, target, manifests)


shards, target, manifests = sys.argv[1:]
ray.init(runtime_env={"working_dir": str(pathlib.Path(__file__).parent)})
rows = [[json.loads(line) for line in path.open()]
        for path in pathlib.Path(shards).glob("*.jsonl")]
for lines in ray.get([run.remote(shard, target, manifests) for shard in rows]):
    for line in lines:
        print(line["state"], line["url"], line["code"] or "")
