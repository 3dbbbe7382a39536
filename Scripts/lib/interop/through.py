"""Downloads through a proxy; its log must show that it was used."""

import harness
from interop import cases, samples, versions
from interop.proxies import PASSWORD, USER


def all_cases(checks, proxy, plain, tls):
    """Every length from an http and an https origin, and what only a proxy can do wrong."""
    more = ["--proxy", proxy.address]
    for origin in (plain, tls):
        before = proxy.used()
        cases.downloads(checks, origin, samples.SIZES, more)
        with checks.case(f"{origin.name}: the proxy's log") as problems:
            # Over http the log has each request; over https and SOCKS each connection, at its end.
            harness.wait_until(lambda: proxy.used() - before >= len(samples.SIZES) * 2,
                               f"its lines; there are {proxy.used() - before}")
        cases.interruption(checks, origin, 8, more)
        cases.wrong_things(checks, origin, more)
    if proxy.may_use_http2:
        versions.cases(checks, tls, more)
    else:
        for option in ("--http1.1", "--http2"):
            versions.only_one(checks, tls, option, more)
    _environment(checks, proxy, plain, tls)
    _refusals(checks, proxy, plain, tls)


def refused_port(checks, proxy, elsewhere):
    """`elsewhere` is an https origin at another port than 443."""
    address = _small(elsewhere).replace("127.0.0.1", "localhost")
    checks.failure("CONNECT to a port that it refuses", [
        "--proxy", proxy.address, *elsewhere.options, address], "proxy")


def _small(origin):
    return origin.address(samples.name_of(65535))


def _environment(checks, proxy, plain, tls):
    """The usual variables, and the list of who is spoken to directly."""
    lists = {"no_proxy names another": ("example.org", [], True),
             "no_proxy names it": ("example.org, 127.0.0.0/8, localhost", [], False),
             "--noproxy names it": ("", ["--noproxy", "127.0.0.0/8,localhost"], False)}
    for origin, variable in ((plain, "http_proxy"), (tls, "https_proxy")):
        for name, (exceptions, options, expected) in lists.items():
            with checks.case(f"{variable}, {name}") as problems:
                before = proxy.used()
                target = checks.haul.fresh() / "target.bin"
                outcome = checks.haul.get(
                    "-o", target, *options, *origin.options, _small(origin),
                    environment={variable: proxy.address, "no_proxy": exceptions})
                problems.of(outcome, status=0)
                if expected:
                    harness.wait_until(lambda: proxy.used() > before, "the proxy's log")
                elif proxy.used() > before:
                    problems.add("the proxy was used", outcome)


def _refusals(checks, proxy, plain, tls):
    nobody = f"{proxy.address.partition(':')[0]}://127.0.0.1:{harness.free_port()}"
    for origin in (plain, tls):
        checks.failure(f"{origin.name}: no proxy there", [
            "--proxy", nobody, *origin.options, _small(origin)], "proxy")
        if proxy.guarded:
            _credentials(checks, proxy, origin)


def _credentials(checks, proxy, origin):
    with checks.case(f"{origin.name}: credentials") as problems:
        target = checks.haul.fresh() / "target.bin"
        outcome = checks.haul.get(
            "-o", target, "--proxy", proxy.guarded.replace("@PASSWORD@", PASSWORD),
            *origin.options, _small(origin))
        problems.of(outcome, status=0)
        if PASSWORD in str(outcome.events) + outcome.errors:
            problems.add("the password was printed", outcome)
    # tinyproxy's answer to wrong ones is 401, which over plain http could be the origin's.
    could_be_origin = proxy.name == "tinyproxy" and not origin.base.startswith("https")
    checks.failure(f"{origin.name}: wrong credentials", [
        "--proxy", proxy.guarded.replace("@PASSWORD@", "wrong"), *origin.options, _small(origin)],
        "unauthorized" if could_be_origin else "proxy")
    checks.failure(f"{origin.name}: no credentials", [
        "--proxy", proxy.guarded.replace(f"{USER}:@PASSWORD@@", ""), *origin.options,
        _small(origin)], "proxy")
