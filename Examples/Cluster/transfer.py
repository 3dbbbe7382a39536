"""Runs haul with rows that a program has. The examples for Spark, Ray and Airflow share it."""

import hashlib
import json
import pathlib
import subprocess


class TryAgain(Exception):
    """Another run may help: the engine runs the task again."""


def transfer(rows, target, manifests, *options):
    """Transfers rows ("url", and perhaps "out", "checksum", "max-per-host"), and returns the
    manifest's line of each: "url", "target", "state", "code", "bytes" and more.

    The manifest has its name from the rows: a task that runs again continues where it ended.
    """
    lines = sorted(json.dumps(row, sort_keys=True) + "\n" for row in rows)
    text = "".join(lines)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    manifest = pathlib.Path(manifests, f"{name}.jsonl")
    # If the engine kills this process, haul drains too: no second one runs beside it for long.
    command = ["setpriv", "--pdeathsig", "TERM", "haul", "get", "--worker", "-x", "1", "-i", "-",
               "--input-format", "jsonl", "-o", target, "--manifest", manifest, *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as haul:
        try:
            haul.communicate(text)
        except BaseException:  # the engine stops the task
            haul.terminate()
            raise
    if haul.returncode == 75 or haul.returncode < 0:  # or it was killed
        raise TryAgain
    if haul.returncode not in (0, 1):
        raise RuntimeError(f"haul ended with status {haul.returncode}")
    return read_manifest(manifest) if lines else []


def read_manifest(path):
    """The last line of each file."""
    last = {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for text in lines:
            try:
                line = json.loads(text)
            except ValueError:
                continue  # torn by a crash
            if "id" in line:
                last[line["id"]] = line
    return list(last.values())
