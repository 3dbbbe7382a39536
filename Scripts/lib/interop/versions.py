"""The version of HTTP in use, according to the server's log."""

import collections
import contextlib

import harness
from interop import certificates, samples
from interop.nginx_origins import OTHER_ADDRESS

ONE, TWO = "HTTP/1.1", "HTTP/2.0"
AT_ONCE = 4  # files of one host, when nothing else is asked for


def cases(checks, origin, more=()):
    """One file and many, with --http2, with --http1.1 and with neither."""
    large = 100 * harness.MIB
    one = ((65535, ["--http2"], {TWO: 1}), (large, ["--http2", "-x", "1"], {TWO: 1}),
           # Each file begins over HTTP/2; the ranges after the first take HTTP/1.1.
           (large, ["--http2"], {TWO: 1, ONE: 1}))
    for size, options, least in one:
        name = f"{' '.join(options)} {samples.name_of(size)}"
        with _spoken(checks, origin, name, least) as case:
            case.one(size, [*options, *more])
    count = len(checks.samples.many)
    with _spoken(checks, origin, "-i, many files, --http2", {TWO: count}) as case:
        case.many(["--http2", *more])
    # With neither, the last ones, when no other waits, may use HTTP/1.1.
    with _spoken(checks, origin, "-i, many files", {TWO: count - AT_ONCE}, {ONE: AT_ONCE}) as case:
        case.many(more)
    only_one(checks, origin, "--http1.1", more)


def only_one(checks, origin, option, more=()):
    """HTTP/1.1 for one file and for many."""
    for size in (65535, 100 * harness.MIB):
        with _spoken(checks, origin, f"{option} {samples.name_of(size)}", {ONE: 1}) as case:
            case.one(size, [option, *more])
    with _spoken(checks, origin, f"-i, many files, {option}", {ONE: 1}) as case:
        case.many([option, *more])


def by_name(checks, origin):
    """Names that only --resolve knows, checked against the certificate."""
    def arguments(name):
        return ["--resolve", f"{name}:{OTHER_ADDRESS}", *origin.options,
                origin.address("65535.bin").replace("127.0.0.1", name)]
    with checks.case("--resolve") as problems:
        target = checks.haul.fresh() / "target.bin"
        outcome = checks.haul.get("-o", target, *arguments(certificates.NAME))
        if problems.of(outcome, status=0) and (
                harness.sha256_of(target) != checks.samples.digests["65535.bin"]):
            problems.add("the content is wrong", outcome)
    checks.failure("--resolve, a name that the certificate lacks", arguments("other.test"), "tls")


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
def _spoken(checks, origin, name, least, most=None):
    """Runs a case; by version, how many requests there must be, and of others may be."""
    with checks.case(name) as problems:
        case = _Case(checks, origin, problems)
        yield case
        if problems.lines:
            return
        # The log's line is written after the answer's last byte has been sent.
        requests = harness.wait_until(
            lambda: (found := case.requests()) and len(found) >= case.expected and found,
            "the server's log")
        spoken = collections.Counter(version for _, version, _ in requests)
        few = [version for version in least if spoken[version] < least[version]]
        many = [version for version in spoken
                if version not in least and spoken[version] > (most or {}).get(version, 0)]
        if few or many:
            problems.add(f"the server's log says {dict(spoken)}, not {least}", case.outcome)
        over_two = {connection for _, version, connection in requests if version == TWO}
        if len(over_two) > 2:
            problems.add(f"{len(requests)} requests over {len(over_two)} connections", case.outcome)
