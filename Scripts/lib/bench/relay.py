"""The relay as a process, and what the parts that use it share."""

import contextlib
import json
import statistics
import subprocess
import urllib.parse

import harness
from harness import MIB

MIDDLE = 0.5  # what a run does after this share of its time counts as settled


class Relay:
    """A relay in front of a server; `seen` is set once it has ended."""

    def __init__(self, bench, base, *rules):
        self._url = urllib.parse.urlsplit(base)
        self._process = harness.start(
            [bench.faultserver, "relay", "--to", self._url.netloc, *rules],
            stdout=subprocess.PIPE, text=True)
        self.seen = {}

    def __enter__(self):
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the relay did not start")
        port = json.loads(line)["port"]
        self.base = urllib.parse.urlunsplit(self._url._replace(netloc=f"127.0.0.1:{port}"))
        return self

    def __exit__(self, *_):
        self._process.terminate()
        rest = self._process.stdout.read()
        harness.stop(self._process)
        self._process.stdout.close()
        with contextlib.suppress(json.JSONDecodeError):  # ended by more than this signal
            self.seen = json.loads(rest)


@contextlib.contextmanager
def server(bench, mib):
    """nginx with /files/large.bin; returns its base and the digest."""
    files = bench.directory / "files"
    files.mkdir(exist_ok=True)
    source = harness.random_file(files / "large.bin", mib * MIB, seed=2)
    with harness.nginx(bench.directory, f"location /files/ {{ alias {files}/; }}") as base:
        yield base, harness.sha256_of(source)


def run(bench, command, origin, *rules):
    """One run through a relay of its own; returns sample, events, what the relay saw."""
    base, digest = origin
    told = "--json" in command
    with Relay(bench, base, *rules) as relay:
        sample, events = bench.one_file(command, f"{relay.base}/files/large.bin", digest, told)
    sample.more["connections made"] = relay.seen.get("accepted")
    if relay.seen.get("resets"):
        sample.more["resets"] = relay.seen["resets"]
    return sample, events, relay.seen


def settled(events, seen):
    """(connections, why not more): what haul reports last, else what the relay saw most of the time
    in the second half of the run."""
    told = [event for event in events if event["type"] == "connections"]
    if told:
        return told[-1]["connections"], told[-1]["reason"]
    history = seen.get("history", [])
    if not history:
        return None, None
    end = history[-1][0]
    each = []
    for (begins, count), (ends, _) in zip(history, history[1:]):
        each += [count] * int(ends - max(begins, end * MIDDLE))
    return statistics.median_low(each) if each else None, None
