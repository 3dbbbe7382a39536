"""A round trip of 100 ms and windows of 64 KiB; the same with resets."""

from bench import programs, relay
from bench.rounds import bound, group, median, ratio

FAR = ["--round-trip", 100, "--window", 64 * 1024]
RESETS = "0.002"
OURS, TORN = "haul -x8", "haul -x8, resets"


def run(bench):
    mib = 8 if bench.quick else 64
    ours, aria2 = programs.haul_told(bench, 8), programs.aria2(8)
    commands = {OURS: ours, TORN: ours, "aria2 -x8": aria2, "aria2 -x8, resets": aria2,
                "axel -n8": programs.axel("-n", 8), "curl": programs.curl()}
    with relay.server(bench, mib) as origin:
        def once(name, turn):
            rules = FAR
            if name.endswith("resets"):
                rules = [*FAR, "--reset-probability", RESETS, "--seed", turn + 1]
            return relay.run(bench, commands[name], origin, *rules)[0]

        results = bench.in_turn("100 ms", commands, once)
    resets = sum(sample.more.get("resets", 0) for sample in results[TORN])
    return {
        "groups": [group(f"{mib} MiB, 100 ms of round trip, windows of 64 KiB", results,
                         counted=bench.counted["100 ms"])],
        "bounds": [
            bound(4, "curl's time to that of 8 connections", "≥", 6,
                  ratio(median(results["curl"]), median(results[OURS])), " ×"),
            bound(4, f"0.2 % of buffers reset ({resets} resets in {bench.rounds} runs): "
                     "time to the undisturbed", "≤", 1.3,
                  ratio(median(results[TORN]), median(results[OURS])), " ×"),
            bound(4, "0.2 % of buffers reset: runs that were right", "≥", 100,
                  100 * sum(sample.right for sample in results[TORN]) / len(results[TORN]), " %"),
        ],
    }
