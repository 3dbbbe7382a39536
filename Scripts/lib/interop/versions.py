"""Which version of HTTP was spoken, as the server's log tells it."""

import harness
from interop import certificates, samples


def cases(checks, origin, more=()):
    """One file with --http2 and with --http1.1; many files of one origin, told nothing."""
    for option, version in (("--http2", "HTTP/2.0"), ("--http1.1", "HTTP/1.1")):
        for size in (65535, 100 * harness.MIB):
            _spoken(checks, origin, f"{option} {samples.name_of(size)}", [version],
                    lambda option=option, size=size: _one(checks, origin, size, [option, *more]))
    _spoken(checks, origin, "-i, many files", ["HTTP/2.0"],
            lambda: many(checks, origin, more), len(checks.samples.many), connections=4)
    _spoken(checks, origin, "-i, many files, --http1.1", ["HTTP/1.1"],
            lambda: many(checks, origin, ["--http1.1", *more]), len(checks.samples.many))


def by_name(checks, origin, base):
    """A name that only --resolve knows, checked against the certificate."""
    address = base.replace("127.0.0.1", certificates.NAME)
    with checks.case("--resolve") as problems:
        target = checks.haul.fresh() / "target.bin"
        outcome = checks.haul.get("--resolve", f"{certificates.NAME}:127.0.0.1", "-o", target,
                                  *origin.options, f"{address}/65535.bin")
        problems.of(outcome, status=0)
        if harness.sha256_of(target) != checks.samples.digests["65535.bin"]:
            problems.add("the content is wrong", outcome)
    checks.failure("--resolve, a name that the certificate lacks", [
        "--resolve", "other.test:127.0.0.1", *origin.options,
        f"{base.replace('127.0.0.1', 'other.test')}/65535.bin"], "tls")


def _one(checks, origin, size, options):
    name = samples.name_of(size)
    target = checks.haul.fresh() / "target.bin"
    outcome = checks.haul.get("-o", target, *origin.options, *options, origin.address(name))
    wrong = []
    if target.exists() and harness.sha256_of(target) != checks.samples.digests[name]:
        wrong.append("the content is wrong")
    return outcome, wrong


def many(checks, origin, options):
    """All small files by one list; gives the run and what was wrong with the files."""
    directory = checks.haul.fresh()
    listing = "".join(f"{origin.address(name)}\n" for name in checks.samples.many)
    (directory / "list").write_text(listing)
    outcome = checks.haul.get("-i", directory / "list", "-d", directory / "many",
                              *origin.options, *options)
    wrong = [name for name in checks.samples.many if not (directory / name).exists()
             or harness.sha256_of(directory / name) != checks.samples.digests[name]]
    if len(outcome.finished()) != len(checks.samples.many):
        wrong.append(f"{len(outcome.finished())} ends told")
    return outcome, wrong


def _spoken(checks, origin, case, versions, run, least=1, connections=None):
    with checks.case(case) as problems:
        before = len(origin.requests())
        outcome, wrong = run()
        if outcome.status != 0 or wrong:
            problems.add(f"exit status {outcome.status}; wrong: {wrong[:10]}", outcome)
            return
        # The log's line is written after the answer's last byte has been sent.
        harness.wait_until(lambda: len(origin.requests()) - before >= least, "the server's log")
        requests = origin.requests()[before:]
        spoken = sorted({version for _, version, _ in requests})
        if spoken != versions:
            problems.add(f"the server's log says {spoken}, not {versions}", outcome)
        used = len({connection for _, _, connection in requests})
        if connections is not None and used > connections:
            problems.add(f"{len(requests)} requests over {used} connections", outcome)
