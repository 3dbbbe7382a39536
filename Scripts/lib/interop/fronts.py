"""What stands before a server in the field: a firewall with rules for Range, a CDN that can't reach
the server, a captive portal. nginx does the serving; each front is a relay of our own.

No ModSecurity, Cloudflare or hotspot is run: each rule names where it is from, as
`docs/interop.md` does.
"""

import contextlib
import http.client
import http.server
import itertools
import re
import threading
import urllib.parse

from harness import MIB
from interop import cases, samples
from interop.origins import Origin

# OWASP CRS 958291 ("Range: field exists and begins with 0"); and no Range at all, as reports tell.
FROM_ZERO, ANY = re.compile("bytes=0-"), re.compile("")
# What Cloudflare answers when it has no answer of the server.
UNREACHABLE = (520, 521, 522, 523, 524, 525, 526, 527, 530)
PAGE = b"<!DOCTYPE html><html><title>Log in</title><form action=/login>Room number</form></html>"


class Front:
    """Passes each request to the server, unless `answer` has another answer to it."""

    def __init__(self, server):
        self._server = urllib.parse.urlsplit(server)
        # Gets a request, and returns (status, fields, body), None to pass it on, or "close".
        self.answer = lambda request: None
        front = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                own = front.answer(self)
                if own == "close":
                    self.close_connection = True
                elif own:
                    front.send(self, *own)
                else:
                    front.relay(self)

        self._listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._listener.daemon_threads = True
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()

    @property
    def base(self):
        return f"http://127.0.0.1:{self._listener.server_port}"

    def close(self):
        self._listener.shutdown()
        self._listener.server_close()

    @staticmethod
    def send(request, status, fields, body):
        request.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=UTF-8", **fields}.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def relay(self, request):
        server = http.client.HTTPConnection(self._server.hostname, self._server.port)
        with contextlib.closing(server), contextlib.suppress(OSError):
            fields = {name: value for name, value in request.headers.items() if name != "Host"}
            server.request("GET", self._server.path + request.path, headers=fields)
            answer = server.getresponse()
            request.send_response_only(answer.status)
            for name, value in answer.getheaders():
                request.send_header(name, value)
            request.end_headers()
            while data := answer.read(1 << 18):
                request.wfile.write(data)


@contextlib.contextmanager
def _before(server):
    front = Front(server)
    try:
        yield front
    finally:
        front.close()


def firewall(checks, nginx):
    """Each way to refuse a Range, for all files, and for a stop and a resume."""
    for pattern, rule in ((FROM_ZERO, "from 0"), (ANY, "at all")):
        for own in ((403, {}, b"Forbidden"), (400, {}, b"Bad Request"), "close"):
            with _before(nginx.base) as front:
                front.answer = lambda request: own if (
                    "Range" in request.headers and pattern.match(request.headers["Range"])) else None
                origin = Origin(f"no Range {rule}", front.base, resumable=pattern is FROM_ZERO)
                cases.downloads(checks, origin, [0, 65535, 100 * MIB])
                for connections in (1, 8):
                    cases.interruption(checks, origin, connections)


def unreachable(checks, nginx):
    """52x as the first answer, as the third, and for ever."""
    name = samples.name_of(100 * MIB)
    with _before(nginx.base) as front:
        origin = Origin("", front.base)
        for status in UNREACHABLE:
            own = (status, {"Server": "cloudflare", "CF-RAY": "8a0b1c2d3e4f5a6b-FRA"},
                   f"<html><title>{status}</title></html>".encode())
            for wrong in (0, 2):
                numbers = itertools.count()
                front.answer = lambda _: own if next(numbers) == wrong else None
                cases.download(checks, origin, name, 8)
            front.answer = lambda _: own
            checks.failure(f"{status} for ever", [origin.address(name)], "http-status", status)


def portal(checks, nginx):
    """The page instead of the file, at a resume and at once; then the guest logs in."""
    name = samples.name_of(100 * MIB)
    for way in ((302, {"Location": "/portal"}, b""), (200, {}, PAGE), (511, {}, PAGE)):
        with _before(nginx.base) as front:
            origin = Origin("", front.base)

            def closed(request, way=way):
                return (200, {}, PAGE) if request.path == "/portal" else way

            with checks.case(f"{way[0]} at a resume") as problems:
                target = checks.haul.fresh() / "target.bin"
                arguments = ["-x", 4, "-o", target, origin.address(name)]
                cases.interrupted(checks.haul, ["--limit-rate", "40M", *arguments], 25 * MIB)
                front.answer = closed
                refused = checks.haul.get("--retries", 0, *arguments)
                if refused.status != 1 or target.exists():
                    problems.add(f"a file: {target.exists()}", refused)
                front.answer = lambda _: None
                outcome = checks.haul.get(*arguments)
                if problems.of(outcome, status=0):
                    cases.accounts(problems, origin, 100 * MIB, outcome)
                cases.content(checks, problems, target, name, outcome)
            front.answer = closed
            checks.failure(f"{way[0]} at once", [
                "--checksum", f"sha-256={checks.samples.digests[name]}", origin.address(name),
            ], "http-status" if way[0] == 511 else "checksum-mismatch")


ALL = {"range-firewall": firewall, "cdn-52x": unreachable, "captive-portal": portal}
