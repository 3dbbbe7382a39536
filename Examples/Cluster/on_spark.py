"""Spark: spark-submit --py-files transfer.py on_spark.py urls.jsonl s3://bucket/dir/ \\
/shared/manifests status.parquet

Each task transfers all files of its hosts, so that their limits hold.
"""

import sys

from pyspark.sql import SparkSession, functions
from transfer import transfer

FIELDS = {"url": "string", "target": "string", "state": "string", "code": "string",
          "bytes": "long", "checksum": "string"}
source, target, manifests, status = sys.argv[1:]


def run(rows):
    for line in transfer([row.asDict() for row in rows], target, manifests, "--max-per-host", "4"):
        yield [line.get(field) for field in FIELDS]


spark = SparkSession.builder.appName("haul").getOrCreate()
rows = spark.read.json(source)
per_host = rows.repartition(8, functions.expr("parse_url(url, 'HOST')"))
schema = ", ".join(f"{name} {kind}" for name, kind in FIELDS.items())
spark.createDataFrame(per_host.rdd.mapPartitions(run), schema).write.parquet(status)
