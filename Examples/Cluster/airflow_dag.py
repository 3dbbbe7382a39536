"""Airflow: each mapped task transfers one shard of
`haul split urls.jsonl --shards 8 --max-per-host 4 -o /data/shards`."""

import datetime
import json
import pathlib

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException
from transfer import transfer

DATA = pathlib.Path("/data")


@task(retries=10, retry_delay=datetime.timedelta(minutes=2))
def run(index):
    rows = [json.loads(line) for line in (DATA / "shards" / f"{index}.jsonl").open()]
    lines = transfer(rows, "s3://bucket/dir/", DATA / "manifests")  # raises at 75: Airflow retries
    failed = [line["url"] for line in lines if line["state"] == "failed"]
    if failed:
        raise AirflowFailException(f"{len(failed)} failed for good: {failed[:10]}")  # no retry


@dag(schedule=None)
def haul():
    run.expand(index=list(range(8)))


haul()
