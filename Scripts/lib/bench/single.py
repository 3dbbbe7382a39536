"""One large file over nginx, by HTTP and HTTPS, and memory for files of three lengths."""

import os

import harness
from bench import programs
from bench.rounds import bound, fastest_peer, group, median, ratio
from harness import MIB
from interop import certificates, nginx_origins

MOST_MEMORY = 64  # MiB
FLAT = 1.25  # peak of the longest file to that of the shortest


def http(bench):
    return _compare(bench, "HTTP", relaxed=0.6, strict=1.0)


def https(bench):
    return _compare(bench, "HTTPS", relaxed=0.8)


def _serve(bench):
    files = bench.directory / "files"
    files.mkdir(exist_ok=True)
    authority = certificates.make(bench.directory / "certificates")
    return files, authority, nginx_origins.servers(
        bench.directory, authority.parent, f"location /files/ {{ alias {files}/; }}")


def _compare(bench, scheme, relaxed, strict=None):
    files, authority, servers = _serve(bench)
    length = (64 if bench.quick else 1024) * MIB
    source = harness.random_file(files / "large.bin", length, seed=1)
    digest = harness.sha256_of(source)
    commands = programs.one_file(bench, authority)
    with servers as both:
        address = (both.plain if scheme == "HTTP" else both.tls) + "/files/large.bin"

        def once(name, _):
            before = len(both.requests())
            sample, _ = bench.one_file(commands[name], address, digest)
            spoken = {version for _, version, _ in both.requests()[before:]}
            sample.more["spoken"] = " ".join(sorted(spoken))
            return sample

        results = bench.in_turn(scheme, commands, once)
    title = f"{length // MIB} MiB over loopback, nginx, {scheme}"
    peer, best = fastest_peer(results)
    curl = median(results["curl"], "cpu")
    bounds = [bound(1, f"{scheme}, relaxed: wall to the fastest peer ({peer})", "≤", relaxed,
                    ratio(median(results["haul relaxed"]), best), " ×")]
    if strict:
        bounds.append(bound(1, f"{scheme}, strict: wall to the fastest peer ({peer})", "≤", strict,
                            ratio(median(results["haul strict"]), best), " ×"))
    for name in ("haul relaxed", "haul strict"):
        bounds.append(bound(1, f"{scheme}, {name}: CPU to curl's", "≤", 1.0,
                            ratio(median(results[name], "cpu"), curl), " ×"))
    return {"groups": [group(title, results, counted=bench.counted[scheme])],
            "bounds": bounds}


def memory(bench):
    """The source has holes; the target writes them to the disk."""
    files, _, servers = _serve(bench)
    lengths = {"10 MiB": 10 * MIB, "1 GiB": 1 << 30, "5 GiB": 5 << 30}
    if bench.quick:
        lengths = {"10 MiB": 10 * MIB, "256 MiB": 256 * MIB}
    digests = {}
    for name, length in lengths.items():
        with open(files / name, "wb") as file:
            file.truncate(length)
        os.utime(files / name, (1_600_000_000, 1_600_000_000))
        digests[name] = harness.sha256_of(files / name)
    names = [f"haul {durability}, {name}" for name in lengths
             for durability in ("relaxed", "strict")]
    with servers as both:
        def once(name, _):
            durability, length = name.removeprefix("haul ").split(", ")
            address = f"{both.plain}/files/{length.replace(' ', '%20')}"
            return bench.one_file(programs.haul(bench, durability), address, digests[length])[0]

        results = bench.in_turn("memory", names, once)
    peaks = {name: median(samples, "peak") for name, samples in results.items()}
    known = [peak for peak in peaks.values() if peak is not None]
    shortest, *_, longest = lengths
    bounds = [bound(1, "peak memory at any length", "≤", MOST_MEMORY,
                    max(known) / MIB if known else None, " MiB")]
    for durability in ("relaxed", "strict"):
        bounds.append(bound(
            1, f"peak memory, {durability}: {longest} to {shortest}", "≤", FLAT,
            ratio(peaks[f"haul {durability}, {longest}"],
                  peaks[f"haul {durability}, {shortest}"]), " ×"))
    return {"groups": [group("Memory by the length of the file, HTTP", results,
                             counted=bench.counted["memory"])], "bounds": bounds}
