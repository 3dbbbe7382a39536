"""How many connections increase the throughput: a server that gets slower above four, and one that does not."""

import statistics

from bench import programs, relay
from bench.rounds import bound, group, median, ratio
from harness import MIB

MOST = 16
SLOWING = ["--rate", 16 * MIB, "--total", 64 * MIB, "--total-above", f"4:{32 * MIB}"]
WILLING = ["--rate", 8 * MIB]
MEASURED = "haul, measured"


def slowing(bench):
    part, results, settled = _compare(bench, "slows above four", SLOWING)
    best = _best(results)
    part["bounds"] = [
        bound(5, "slows above four: settles at, least of all rounds", "≥", 3, min(settled)),
        bound(5, "slows above four: settles at, most of all rounds", "≤", 5, max(settled)),
        bound(5, f"slows above four: time to the best fixed choice ({best})", "≤", 1.1,
              ratio(median(results[MEASURED]), median(results[best])), " ×"),
    ] if settled else []
    return part


def willing(bench):
    part, results, _ = _compare(bench, "does not slow", WILLING)
    best = _best(results)
    found = ratio(median(results[best]), median(results[MEASURED]))
    part["bounds"] = [bound(5, f"does not slow: rate to the best fixed choice ({best})", "≥", 90,
                            None if found is None else found * 100, " %")]
    return part


def _best(results):
    """The fixed choice of the lowest median. For haul the number is the most that it may take; a
    peer always takes that many."""
    return min((name for name, samples in results.items()
                if name != MEASURED and median(samples) is not None),
               key=lambda name: median(results[name]))


def _compare(bench, label, rules):
    """Every fixed choice once; then the best three, ours and a peer in each round."""
    mib = 64 if bench.quick else 512
    fixed = {f"haul -x{count}": programs.haul_told(bench, count)
             for count in range(1, MOST + 1)}
    commands = {**fixed, MEASURED: programs.haul_told(bench, MOST),
                "aria2 -x4": programs.aria2(4), "aria2 -x16": programs.aria2(16)}
    with relay.server(bench, mib) as origin:
        def once(name, _):
            sample, events, seen = relay.run(bench, commands[name], origin, *rules)
            sample.more["settled"], sample.more["why"] = relay.settled(events, seen)
            return sample

        results = bench.in_turn(label, fixed, once, rounds=1)
        best = sorted(fixed, key=lambda name: median(results[name]) or float("inf"))[:3]
        turns = bench.in_turn(label, [MEASURED, *best, "aria2 -x4", "aria2 -x16"], once)
    for name, samples in turns.items():
        results.setdefault(name, []).extend(samples)
    ordered = {name: results[name] for name in commands}
    settled = [sample.more["settled"] for sample in results[MEASURED]
               if sample.more["settled"] is not None]
    walls = [(count, round(median(results[name]), 2))
             for count, name in enumerate(fixed, 1) if median(results[name]) is not None]
    lines = {"fixed": walls}
    if settled and median(results[MEASURED]) is not None:
        lines["measured"] = [(statistics.median(settled), round(median(results[MEASURED]), 2))]
    part = {"groups": [group(f"{mib} MiB, a server that {label}", ordered, MEASURED,
                             counted=bench.counted[label])],
            "lines": [{"title": f"{mib} MiB, a server that {label}: time by connections",
                       "x": "connections", "y": "seconds", "series": lines}]}
    return part, results, settled
