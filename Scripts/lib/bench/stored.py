"""A million downloads in a stored list, through the library: each stage in a process of its own."""

import collections
import pathlib
import re
import statistics
import subprocess

import harness
from bench.rounds import bound

STAGES = ("queue", "reopen", "page", "pick", "cancelAll", "reopenCancelled")
LINE = re.compile(r"(?P<what>.+): (?P<count>\d+) in (?P<ms>[\d.]+) ms, .*memory (?P<now>\d+) MiB, peak (?P<peak>\d+)")
LIMIT = 900


def run(bench):
    members = 20_000 if bench.quick else 1_000_000
    program = str(pathlib.Path(bench.storebench or harness.release_binary("haul-storebench")).resolve())
    rounds = [_round(bench, program, members) for _ in range(bench.rounds)]
    found = {key: [one[key] for one in rounds if key in one] for key in rounds[0]}
    return {"groups": [], "tables": [_table(members, found)], "bounds": _bounds(members, found)}


def _round(bench, program, members):
    """{(stage, what): the measured value} of one list, from its first stage to its last."""
    place, found = bench.fresh() / "list", {}
    for stage in STAGES:
        name = "reopen" if stage == "reopenCancelled" else stage
        command = [program, str(place), name, "--members", str(members)]
        told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=LIMIT)
        for line in told.stdout.splitlines():
            if match := LINE.fullmatch(line):
                found[stage, match["what"]] = {
                    "count": int(match["count"]), "ms": float(match["ms"]),
                    "now": int(match["now"]), "peak": int(match["peak"])}
    _check(bench, members, found)
    found.update(_calls(bench, program))
    return found


def _calls(bench, program):
    """{("calls", what): the measured value}; the median of repeated ones."""
    command = [program, str(bench.fresh() / "calls"), "calls"]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=LIMIT)
    several = collections.defaultdict(list)
    for line in told.stdout.splitlines():
        if match := LINE.fullmatch(line):
            several[match["what"]].append(
                {"count": int(match["count"]), "ms": float(match["ms"]),
                 "now": int(match["now"]), "peak": int(match["peak"])})
    return {("calls", what): sorted(ones, key=lambda one: one["ms"])[len(ones) // 2]
            for what, ones in several.items()}


def _check(bench, members, found):
    """Every stage must have seen every member."""
    for key in (("reopen", "opened"), ("cancelAll", "cancelled all"), ("reopenCancelled", "opened")):
        if found.get(key, {}).get("count") != members:
            bench.wrong.append(f"{key}: {found.get(key)} of {members} members")


def _middle(found, stage, what, field="ms"):
    values = [one[field] for one in found.get((stage, what), [])]
    return statistics.median(values) if values else None


def _table(members, found):
    rows = [["stage", "what", "ms", "a second", "memory MiB", "peak MiB"]]
    for stage, what in found:
        count, time = _middle(found, stage, what, "count"), _middle(found, stage, what)
        rows.append([f"`{stage}`", what, f"{time:.1f}", f"{count * 1000 / time:,.0f}" if time else "–",
                     f"{_middle(found, stage, what, 'now'):.0f}",
                     f"{_middle(found, stage, what, 'peak'):.0f}"])
    return {"title": f"{members:,} members of 100 hosts, a quarter of them in 250 groups, medians; memory of the process "
                     "when the line was printed, and its peak", "rows": rows}


def _bounds(members, found):
    def line(what, relation, wanted, measured, unit):
        return bound("queue 5", f"{members:,} in a stored list: {what}", relation, wanted, measured, unit)

    def seconds(stage, what):
        time = _middle(found, stage, what)
        return None if time is None else time / 1000

    adding = seconds("queue", "added, 10000 a call")
    picks = _middle(found, "pick", "picks", "count")
    pick = _middle(found, "pick", "picks")
    peaks = [one["peak"] for (stage, _), ones in found.items()
             if stage not in ("pick", "calls") for one in ones]
    one_by_one, syncs = seconds("calls", "added one by one"), seconds("calls", "a bare loop of syncs")
    tasks = seconds("calls", "added by as many tasks")
    singly = one_by_one / syncs if one_by_one and syncs else None
    at_once = tasks / one_by_one if tasks and one_by_one else None
    return [
        line("added in a second", "≥", 50_000, members / adding if adding else None, ""),
        line("opening, all queued", "≤", 2, seconds("reopen", "opened"), " s"),
        line("opening, all cancelled", "≤", 2, seconds("reopenCancelled", "opened"), " s"),
        line("the next one (scheduler)", "≤", 1, pick / picks if picks else None, " ms"),
        line("the slowest of 10,000 such", "≤", 1, _middle(found, "pick", "the slowest of them"), " ms"),
        line("the first page", "≤", 50, _middle(found, "page", "first page"), " ms"),
        line("cancelling all", "≤", 10, seconds("cancelAll", "cancelled all"), " s"),
        line("the same add of 20,000 again", "≤", 0.3, seconds("calls", "the same add again"), " s"),
        line("added one by one, to a bare loop of one sync each", "≤", 1.5, singly, " ×"),
        line("added by 5,000 tasks at once, to one by one", "≤", 0.5, at_once, " ×"),
        line("200 pages of 100 in memory", "≤", 0.1, seconds("calls", "200 pages of 100 in memory"), " s"),
        line("memory, the most in any stage", "≤", 250, max(peaks, default=None), " MiB"),
    ]
