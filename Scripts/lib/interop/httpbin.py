"""httpbin and its cases: it makes its own bodies, so the expected ones are computed here."""

import contextlib
import json

import harness
from interop import programs
from interop.origins import CODES, Origin

WSGI = """
from httpbin import app
from werkzeug.serving import WSGIRequestHandler
WSGIRequestHandler.protocol_version = "HTTP/1.1"
app.run(host="127.0.0.1", port={port}, threaded=True)
"""
USER, PASSWORD, TOKEN = "somebody", "un guessable", "token-9f1c"


@contextlib.contextmanager
def httpbin(directory):
    port = harness.free_port()
    command = [programs.DEBIANS_PYTHON, "-c", WSGI.format(port=port)]
    with programs.running(command, directory / "httpbin", port):
        base = f"http://127.0.0.1:{port}"
        yield Origin("httpbin", base, resumable=False, statuses={
            status: f"{base}/status/{status}" for status in CODES})


def letters(length):
    """What /range/N answers."""
    return bytes(ord("a") + index % 26 for index in range(length))


def contents(origin):
    """(case, address, its body, or what its JSON must hold)."""
    base = origin.base
    for length in (1, 1024, 65535, 102400):
        yield f"/range/{length}", f"{base}/range/{length}", letters(length)
    yield "/range with chunks", f"{base}/range/65536?chunk_size=1000&duration=1", letters(65536)
    yield "/drip", f"{base}/drip?numbytes=20&duration=2&delay=1", b"*" * 20
    yield "/drip of many chunks", f"{base}/drip?numbytes=10000&duration=0", b"*" * 10000
    yield "/redirect/5", f"{base}/redirect/5", {"url": f"{base}/get"}
    yield "/absolute-redirect/3", f"{base}/absolute-redirect/3", {"url": f"{base}/get"}
    for status in (301, 302, 303, 307, 308):
        yield (f"/redirect-to {status}",
               f"{base}/redirect-to?status_code={status}&url=/range/1024", letters(1024))


def cases(checks, origin):
    for case, address, expected in contents(origin):
        for connections in (1, 8):
            _body(checks, f"{case} -x {connections}", expected, ["-x", connections, address])
    _credentials(checks, origin)
    checks.failure("/redirect/25, too many", [f"{origin.base}/redirect/25"],
                   "too-many-redirects")
    checks.failure("/status/503 after one retry", ["--retries", "1", f"{origin.base}/status/503"],
                   "http-status", 503)


def _credentials(checks, origin):
    work = checks.haul.home
    for name, text in (("password", PASSWORD), ("wrong", "wrong"), ("bearer", TOKEN)):
        (work / name).write_text(text + "\n")
        (work / name).chmod(0o600)
    basic = f"{origin.base}/basic-auth/{USER}/{PASSWORD.replace(' ', '%20')}"
    accepted = {"authenticated": True, "user": USER}
    by_file = ["--user", USER, "--password-file", work / "password"]
    _body(checks, "/basic-auth, password file", accepted, [*by_file, basic])
    _body(checks, "/basic-auth, HAUL_PASSWORD", accepted, ["--user", USER, basic],
          {"HAUL_PASSWORD": PASSWORD})
    checks.failure("/basic-auth, wrong password",
                   ["--user", USER, "--password-file", work / "wrong", basic], "unauthorized", 401)
    checks.failure("/basic-auth, none", [basic], "unauthorized", 401)
    bearer = f"{origin.base}/bearer"
    _body(checks, "/bearer", {"authenticated": True, "token": TOKEN},
          ["--bearer-file", work / "bearer", bearer])
    checks.failure("/bearer, none", [bearer], "unauthorized", 401)


def _body(checks, case, expected, arguments, environment=None):
    with checks.case(case) as problems:
        target = checks.haul.fresh() / "body"
        outcome = checks.haul.get("-o", target, *arguments, environment=environment)
        problems.of(outcome, status=0)
        if not target.exists():
            problems.add("there is no file")
            return
        found = target.read_bytes()
        if isinstance(expected, dict):
            answered = json.loads(found)
            wrong = {key: answered.get(key) for key in expected if answered.get(key) != expected[key]}
            if wrong:
                problems.add(f"the body says {wrong}, not {expected}")
        elif found != expected:
            problems.add(f"{len(found)} bytes, of other content than the {len(expected)} expected")
