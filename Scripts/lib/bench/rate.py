"""A server that sends 4 MiB/s on each connection, and one of 16 connections that is slow."""

import statistics

from bench import programs, progress, relay
from bench.rounds import bound, group, median, ratio
from harness import MIB

RATE = ["--rate", 4 * MIB]
SLOW = [*RATE, "--rate-of", f"5:{64 * 1024}"]
ONE, MANY, ONE_SLOW = "haul -x1", "haul -x16", "haul -x16, one slow"


def run(bench):
    mib = 64 if bench.quick else 512
    programs_and_rules = {
        MANY: (programs.haul_told(bench, 16), RATE),
        ONE_SLOW: (programs.haul_told(bench, 16), SLOW),
        "aria2 -x16": (programs.aria2(16), RATE),
        "aria2 -x16, one slow": (programs.aria2(16), SLOW),
    }
    curves = {}
    with relay.server(bench, mib) as origin:
        def once(name, turn, command=None, rules=None):
            command, rules = (command, rules) if command else programs_and_rules[name]
            sample, events, _ = relay.run(bench, command, origin, *rules)
            if events:
                points = progress.curve(events)
                sample.more["MiB/s"] = _rounded(progress.rate(points, mib * MIB))
                sample.more["last 5 %"] = _rounded(progress.tail_share(points, mib * MIB))
                if turn == 0:
                    curves[name] = [(round(t, 2), round(b / MIB, 1)) for t, b in points]
            return sample

        # One connection takes as long as its rate says, whatever the program: once is enough.
        results = bench.in_turn(
            "4 MiB/s", [ONE], lambda name, turn: once(
                name, turn, programs.haul_told(bench, 1), RATE), rounds=1)
        results |= bench.in_turn("4 MiB/s", programs_and_rules, once)

    def of(name, what):
        values = [sample.more[what] for sample in results[name]
                  if sample.right and sample.more.get(what) is not None]
        return statistics.median(values) if values else None

    slowed = ratio(median(results[ONE_SLOW]), median(results[MANY]))
    tail = of(MANY, "last 5 %")
    return {
        "groups": [group(f"{mib} MiB, 4 MiB/s per connection", results, MANY,
                         counted=bench.counted["4 MiB/s"])],
        "bounds": [
            bound(3, "`-x 16` to one connection", "≥", 14,
                  ratio(of(MANY, "MiB/s"), of(ONE, "MiB/s")), " ×"),
            bound(3, "time of the last 5 % of the file, of the whole", "≤", 8,
                  None if tail is None else tail * 100, " %"),
            bound(3, "one of 16 slowed to 64 KiB/s costs", "≤", 5,
                  None if slowed is None else (slowed - 1) * 100, " %"),
        ],
        "lines": [{"title": f"{mib} MiB, 4 MiB/s per connection: bytes done",
                   "x": "seconds", "y": "MiB", "series": curves}],
    }


def _rounded(value):
    return None if value is None else round(value, 4)
