"""Which version of HTTP was spoken, as the server's log tells it."""

import contextlib

import harness
from interop import certificates, samples


def cases(checks, origin, more=()):
    """One file with --http2 and with --http1.1; many files of one origin, told nothing."""
    for option, version in (("--http2", "HTTP/2.0"), ("--http1.1", "HTTP/1.1")):
        for size in (65535, 100 * harness.MIB):
            with _spoken(checks, origin, f"{option} {samples.name_of(size)}", version) as case:
                case.one(size, [option, *more])
    with _spoken(checks, origin, "-i, many files", "HTTP/2.0", connections=4) as case:
        case.many(more)
    with _spoken(checks, origin, "-i, many files, --http1.1", "HTTP/1.1") as case:
        case.many(["--http1.1", *more])


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


class _Case:
    """Addresses carry a query of this case, by which its requests are found in the log."""

    _count = 0

    def __init__(self, checks, origin, problems):
        _Case._count += 1
        self._mark = f"?version-{_Case._count}"
        self._checks, self._origin, self._problems = checks, origin, problems

    def _address(self, name):
        return self._origin.address(name) + self._mark

    def one(self, size, options):
        name = samples.name_of(size)
        target = self._checks.haul.fresh() / "target.bin"
        self._get(["-o", target, *options, self._address(name)], {target: name})

    def many(self, options):
        """All small files by one list."""
        work = self._checks.haul.fresh()
        names = self._checks.samples.many
        (work / "list").write_text("".join(f"{self._address(name)}\n" for name in names))
        self._get(["-i", work / "list", "-d", work / "many", *options],
                  {work / name: name for name in names})

    def _get(self, arguments, targets):
        outcome = self._checks.haul.get(*self._origin.options, *arguments)
        digests = self._checks.samples.digests
        wrong = [name for path, name in targets.items()
                 if not path.exists() or harness.sha256_of(path) != digests[name]]
        if outcome.status != 0 or wrong or len(outcome.finished()) != len(targets):
            self._problems.add(f"exit status {outcome.status}; {len(outcome.finished())} ends of "
                               f"{len(targets)}; wrong files: {len(wrong)} {wrong[:5]}", outcome)
        self.outcome, self.expected = outcome, len(targets)

    def requests(self):
        return [request for request in self._origin.requests() if request[0].endswith(self._mark)]


@contextlib.contextmanager
def _spoken(checks, origin, name, version, connections=None):
    with checks.case(name) as problems:
        case = _Case(checks, origin, problems)
        yield case
        if problems.lines:
            return
        # The log's line is written after the answer's last byte has been sent.
        requests = harness.wait_until(
            lambda: (found := case.requests()) and len(found) >= case.expected and found,
            "the server's log")
        spoken = {spoken for _, spoken, _ in requests}
        used = {connection for _, _, connection in requests}
        if spoken != {version}:
            problems.add(f"the server's log says {sorted(spoken)}, not {version}", case.outcome)
        if connections is not None and len(used) > connections:
            problems.add(f"{len(requests)} requests over {len(used)} connections", case.outcome)
