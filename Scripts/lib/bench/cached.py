"""The resource cache without a network: hits, misses, loads at once, the disk, and many keys."""

import pathlib
import re
import statistics
import subprocess

import harness
from bench.rounds import bound

TIMED = re.compile(r"(?P<what>.+): (?P<count>\d+) in (?P<ms>[\d.e-]+) ms, (?P<ns>[\d.e-]+) ns each")
RESIDENT = re.compile(r"resident memory: (?P<kib>\d+) KiB after (?P<keys>\d+) keys")
EXPECTED = {"memory hits": 100_000, "memory misses": 100_000, "concurrent requests": 5000,
            "writes of 256 KiB": 1000, "reads of 256 KiB": 1000}
LIMIT = 900


def run(bench):
    program = str(pathlib.Path(bench.cachebench or harness.release_binary("haul-cachebench")).resolve())
    times, memory = {}, {}
    for _ in range(bench.rounds):
        _round(bench, program, times, memory)
    return {"groups": [], "tables": [_table(times), _growth(memory)], "bounds": _bounds(times, memory)}


def _round(bench, program, times, memory):
    """Adds (count, ms, ns) of each figure, and the KiB after each number of keys."""
    command = [program, str(bench.fresh()), *(["--quick"] if bench.quick else [])]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=LIMIT)
    for line in told.stdout.splitlines():
        if match := TIMED.fullmatch(line):
            times.setdefault(match["what"], []).append(
                (int(match["count"]), float(match["ms"]), float(match["ns"])))
        elif match := RESIDENT.fullmatch(line):
            memory.setdefault(int(match["keys"]), []).append(int(match["kib"]))
    for what, count in EXPECTED.items():
        if not times.get(what) or any(one[0] != count for one in times[what]):
            bench.wrong.append(f"{what}: {times.get(what)}, not {count}")


def _table(times):
    rows = [["what", "number", "ms", "ns each"]]
    for what, found in times.items():
        spread = [f"{statistics.median(values):,.1f} ({min(values):,.1f}–{max(values):,.1f})"
                  for values in ([one[1] for one in found], [one[2] for one in found])]
        rows.append([what, f"{found[0][0]:,}", *spread])
    return {"title": "Memory hits are over 2,000 keys (hit ratios beside LRU: [cache.md](cache.md#memory)). The loads "
                     "fetch from a transport in the program, which answers at once; writes go to the page cache, and "
                     "each read is checked and decoded", "rows": rows}


def _growth(memory):
    rows = [["keys loaded", "resident MiB"]]
    rows += [[f"{keys:,}", f"{statistics.median(found) / 1024:.1f}"] for keys, found in sorted(memory.items())]
    return {"title": "Memory of the whole process while values of 100 bytes are loaded one after the other into a "
                     "memory cache of 4 MiB", "rows": rows}


def _bounds(times, memory):
    hits = [one[2] for one in times.get("memory hits", [])]
    (few, before), (many, after) = sorted(memory.items())
    growth = max(last - first for first, last in zip(before, after)) / 1024
    return [
        bound("cache 4", "a hit in memory", "≤", 300, statistics.median(hits) if hits else None, " ns"),
        bound("cache 4", f"memory: growth from {few:,} to {many:,} keys, most of all rounds", "≤", 8, growth, " MiB"),
    ]
