"""10,000 files of 10 KiB from one list, by HTTP/1.1 and by HTTPS with HTTP/2."""

import hashlib

import harness
from bench import programs
from bench.rounds import Sample, bound, fastest_peer, group, median, ratio
from interop import certificates, nginx_origins

LENGTH = 10 * 1024


def http1(bench):
    return _compare(bench, "http1.1", at_once=True, wanted=1.0)


def http2(bench):
    return _compare(bench, "http2", at_once=True, wanted=0.7)


def defaults(bench):
    parts = [_compare(bench, version, at_once=False) for version in ("http1.1", "http2")]
    return {"groups": [one for part in parts for one in part["groups"]], "bounds": []}


def make_files(directory, count):
    """The files; returns their digests by name."""
    directory.mkdir(exist_ok=True)
    digests = {}
    for number in range(count):
        path = harness.random_file(directory / f"{number:05}.bin", LENGTH, seed=number)
        digests[path.name] = hashlib.sha256(path.read_bytes()).digest()
    return digests


def _compare(bench, version, at_once, wanted=None):
    count = 500 if bench.quick else 10_000
    files = bench.directory / "many"
    digests = make_files(files, count)
    authority = certificates.make(bench.directory / "certificates")
    urls, config = bench.directory / "urls.list", bench.directory / "urls.curl"
    scheme = "HTTP" if version == "http1.1" else "HTTPS"
    label = f"{scheme}, 16 at once" if at_once else f"{scheme}, defaults"
    commands = programs.many_files(
        bench, authority, urls, config, bench.work / "out", version, at_once)
    with nginx_origins.servers(bench.directory, authority.parent,
                               f"location /files/ {{ alias {files}/; }}") as servers:
        base = (servers.plain if scheme == "HTTP" else servers.tls) + "/files"
        urls.write_text("".join(f"{base}/{name}\n" for name in digests))
        config.write_text("".join(f'url = "{base}/{name}"\n' for name in digests))

        def once(name, _):
            before = len(servers.requests())
            sample = _run(bench, commands[name], digests)
            spoken = {one for _, one, _ in servers.requests()[before:]}
            sample.more["spoken"] = " ".join(sorted(spoken))
            return sample

        results = bench.in_turn(label, commands, once)
    bounds = []
    if wanted:
        peer, best = fastest_peer(results)
        bounds = [bound(2, f"{count:,} files, {label}, strict: wall to the fastest peer ({peer})",
                        "≤", wanted, ratio(median(results["haul strict"]), best), " ×")]
    told = group(f"{count:,} files of 10 KiB, {label}", results,
                 counted=bench.counted[label], files=count)
    return {"groups": [told], "bounds": bounds}


def _run(bench, command, digests):
    work = bench.fresh(keeps_last=True)
    out = work / "out"
    out.mkdir()
    run, _ = bench.measure(command)
    found = {path.name: hashlib.sha256(path.read_bytes()).digest() for path in out.iterdir()}
    wrong = sum(digests.get(name) != found.get(name) for name in {**digests, **found})
    return Sample(run.wall, run.cpu, run.peak, run.status == 0 and wrong == 0,
                  {"wrong files": wrong, "exit status": run.status} if wrong or run.status else {})
