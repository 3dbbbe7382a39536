"""Parquet of manifests: python to_parquet.py status.parquet manifests/*.jsonl"""

import sys

import pyarrow
import pyarrow.parquet
from transfer import read_manifest

SCHEMA = pyarrow.schema({
    "url": pyarrow.string(), "target": pyarrow.string(), "path": pyarrow.string(),
    "state": pyarrow.string(), "code": pyarrow.string(), "message": pyarrow.string(),
    "retryable": pyarrow.bool_(), "bytes": pyarrow.int64(), "checksum": pyarrow.string(),
    "verified": pyarrow.string(), "attempts": pyarrow.int64(), "seconds": pyarrow.float64(),
    "time": pyarrow.float64()})

with pyarrow.parquet.ParquetWriter(sys.argv[1], SCHEMA) as table:
    for path in sys.argv[2:]:
        table.write_table(pyarrow.Table.from_pylist(read_manifest(path), schema=SCHEMA))
