"""The threat model, as requests of another machine that are no browser's: each step is one line."""

import re
import socket
import ssl
import threading

import harness

from .machines import OTHER, OWNER, SERVER, STRANGER
from .wire import Page

STATIC = ["", "main.js", "login", "manifest.webmanifest"]
EVIL_HOSTS = ["evil.example:8765", "nas.lan", "nas.lan:1", "nas.lan.:8765", "x@nas.lan:8765",
              "127.0.0.1", "localhost", "10.77.0.9:8765", "nas.lan:8765,evil.example", " "]


def operations():
    """Each operation of the interface, with a made-up id."""
    path, found = None, []
    for line in (harness.ROOT / "docs" / "openapi.yaml").read_text().splitlines():
        if match := re.fullmatch(r"  (/\S*):", line):
            path = "api/v1" + match[1].replace("{id}", "ZZZZZZZZ")
        elif line == "components:":
            break
        elif path and (match := re.fullmatch(r"    (get|post|patch|delete|put):", line)):
            found.append((match[1].upper(), path))
    return [*found, ("GET", "metrics"), ("GET", "nothing"), ("POST", "jsonrpc")]


def open_to_all(method, path):
    """What a page needs before it has a token; each has its own step."""
    return method == "POST" and path in ("api/v1/session", "api/v1/session/proof")


def other_hosts(lan, expect):
    """a Host that is not ours (DNS rebinding) gets 421 or 400, also for files, OPTIONS and events"""
    calls = [("GET", path) for path in STATIC] + [
        ("OPTIONS", ""), ("GET", "api/v1/events"), ("GET", "api/v1/status"), ("POST", "login")]
    for method, path in calls:
        for host in EVIL_HOSTS:
            answer = lan.wire.call(method, path, [f"Authorization: Bearer {lan.token}"], host=host)
            expect(answer.status in (400, 421), f"{method} /{path} of {host!r}: {answer.status}")
        for lines in ([], [f"Host: {lan.wire.host}", "Host: evil.example:8765"]):
            head = lan.wire.head(method, "/" + path, [*lines, "Connection: close"], host="")
            answer = lan.wire.send(head)
            expect(answer.status in (0, 400, 421), f"{method} /{path} {lines}: {answer.status}")
        # A whole address as the target does not take the place of Host.
        target = f"{lan.wire.url}{path}"
        answer = lan.wire.send(lan.wire.head(
            method, target, ["Connection: close"], host="evil.example:8765"))
        expect(answer.status in (400, 421), f"{method} {target}: {answer.status}")


def cross_site(lan, expect):
    """a page of another origin may call nothing, even with the token"""
    foreign = [f"Origin: {origin}" for origin in (
        "https://evil.example", "null", "http://nas.lan:8765", "https://nas.lan",
        "https://nas.lan:9443", "https://nas.lan.evil.example:8765", "https://nas.lan:8765/")]
    foreign += ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
                "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site",
                f"Origin: {lan.wire.origin}\r\nOrigin: https://evil.example"]
    token = f"Authorization: Bearer {lan.token}"
    for method, path in operations():
        for field in foreign if path == "api/v1/transfers" else foreign[:2] + foreign[-4:-2]:
            body = None if method in ("GET", "DELETE") else {}
            answer = lan.wire.call(method, path, [token, field], body)
            expect(answer.status == 403, f"{method} {path} with {field!r}: {answer.status}")
    for field in foreign:
        answer = lan.wire.call("GET", "api/v1/session", [lan.page.cookie, field])
        expect(answer.status == 403, f"the key, by the cookie, with {field!r}: {answer.status}")
        answer = lan.wire.call("POST", "login", [
            field, "Content-Type: application/x-www-form-urlencoded"], "password=x")
        expect(answer.status == 403, f"the login with {field!r}: {answer.status}")


def without_token(lan, expect):
    """without a token everything gets 401, with a wrong one too, and one in the address is none"""
    wrong = lan.token[::-1]
    for method, path in operations():
        if open_to_all(method, path):
            continue
        for fields in ([], [f"Authorization: Bearer {wrong}"], [f"Authorization: Basic {lan.token}"],
                       [f"Cookie: token={lan.token}"], [lan.page.cookie]):
            # What the cookie is for.
            if (method, path) == ("GET", "api/v1/session") and fields == [lan.page.cookie]:
                continue
            answer = lan.wire.call(method, path, fields)
            expect(answer.status == 401, f"{method} {path} {fields}: {answer.status}")
        answer = lan.wire.call(method, f"{path}?token={lan.token}&access_token={lan.token}")
        expect(answer.status == 401, f"{method} {path}, token in the address: {answer.status}")


def scopes(lan, expect):
    """a token of scope read has no effect, one of metrics reads only /metrics, a removed one nothing"""
    tokens = {scope: lan.daemon.run("token", "add", scope, "--scope", scope)
              for scope in ("read", "metrics", "control")}
    for method, path in operations():
        if open_to_all(method, path) or path in ("api/v1/events", "api/v1/shutdown"):
            continue
        for scope, token in tokens.items():
            status = lan.wire.call(method, path, [f"Authorization: Bearer {token}"]).status
            mine = scope == "control" or path == "metrics" or scope == "read" and method == "GET"
            sessions = "/session" in path or path.endswith("/ui")
            expect(status == 403 if not mine or sessions and method != "POST" else status != 401,
                   f"{scope}: {method} {path}: {status}")
    for scope, token in tokens.items():
        lan.daemon.run("token", "remove", scope)
        status = lan.wire.call("GET", "metrics", [f"Authorization: Bearer {token}"]).status
        expect(status == 401, f"a removed token of {scope}: {status}")


def content_types(lan, expect):
    """a body that a form or a script of another site can send is refused (415)"""
    body = '{"is_suspended":true}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None,
                 "text/plain; application/json", "application/jsonp", "text/json"):
        fields = [lan.page.token] + ([f"Content-Type: {kind}"] if kind else [])
        for method, path in operations():
            if method in ("POST", "PATCH") and path not in ("api/v1/session", "jsonrpc"):
                status = lan.wire.call(method, path, fields, body).status
                expect(status in (403, 415), f"{method} {path} as {kind}: {status}")
    expect(lan.page.call("GET", "api/v1/queue").json == {"is_suspended": False}, "it is suspended")


def methods(lan, expect):
    """GET has no effect, other methods are refused, and no field changes the method"""
    count = lan.count()
    for path in ("api/v1/transfers", "api/v1/commands", "api/v1/queue", "api/v1/shutdown"):
        for method in ("HEAD", "PUT", "TRACE", "CONNECT", "PROPFIND", "DELETE", "get"):
            answer = lan.page.call(method, path)
            expect(answer.status in (0, 400, 403, 404, 405, 501), f"{method} {path}: {answer.status}")
            expect(lan.page.token.encode() not in answer.body, f"{method} {path} repeats the token")
        for field in ("X-HTTP-Method-Override: POST", "X-HTTP-Method: POST", "X-Method-Override: PATCH"):
            lan.page.call("GET", path, fields=[field])
    status = lan.page.call("GET", "api/v1/commands?command=remove&all=true").status
    expect(status in (400, 404, 405), f"GET commands: {status}")
    expect(lan.count() == count and lan.daemon.process.poll() is None, "a GET had an effect")


def preflight(lan, expect):
    """no answer allows another origin anything (CORS)"""
    for path in (*STATIC, "api/v1/transfers", "api/v1/session", "api/v1/events", "metrics"):
        for method in ("OPTIONS", "GET", "HEAD"):
            for token in ([], [lan.page.token]):
                answer = lan.wire.call(method, path, [
                    *token, "Origin: https://evil.example", "Access-Control-Request-Method: POST",
                    "Access-Control-Request-Headers: authorization",
                    "Access-Control-Request-Private-Network: true"])
                expect(answer.status in (401, 403), f"{method} /{path}: {answer.status}")
                names = [name for name, _ in answer.fields if name.startswith("access-control-")]
                expect(not names, f"{method} /{path}: {names}")


def cookie_flags(lan, expect):
    """the cookie is for this host and path, with TLS, not for scripts or other sites"""
    flags = lan.page.set_cookie.split("; ")
    expect(flags[0].startswith("__Host-haul="), f"it is {flags[0][:20]}")
    for flag in ("Path=/", "Secure", "HttpOnly", "SameSite=Strict"):
        expect(flag in flags[1:], f"no {flag} in {flags[1:]}")
    expect(not any(flag.lower().startswith("domain") for flag in flags), f"a domain: {flags[1:]}")


def headers(lan, expect):
    """no page may be framed, sniffed, kept or included by others"""
    for path in STATIC:
        answer = lan.wire.call("GET", path)
        policy = answer.field("content-security-policy") or ""
        for part in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"):
            expect(part in policy, f"/{path}: {policy}")
        expect("unsafe" not in policy and "*" not in policy, f"/{path}: {policy}")
        for name, value in (("x-frame-options", "DENY"), ("x-content-type-options", "nosniff"),
                            ("cross-origin-opener-policy", "same-origin"),
                            ("cross-origin-resource-policy", "same-origin"),
                            ("cache-control", "no-store")):
            expect(answer.field(name) == value, f"/{path}: {name} {answer.field(name)}")
    for path in ("api/v1/status", "api/v1/transfers", "api/v1/openapi.yaml", "metrics", "nothing"):
        answer = lan.page.call("GET", path)
        expect("html" not in (answer.field("content-type") or ""), f"/{path} is HTML")


def plain_http(lan, expect):
    """the port answers nothing without TLS, nor with an old version of it"""
    answer = lan.wire.send(lan.wire.head("GET", "/"), tls=False)
    expect(b"HTTP/" not in answer.body and answer.status == 0, f"without TLS: {answer}")
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("ALL:@SECLEVEL=0")
        old.minimum_version = old.maximum_version = version
        try:
            with old.wrap_socket(lan.wire.connect(tls=False)):
                expect(False, f"{version.name} is accepted")
        except OSError:
            pass


def fingerprint(lan, expect):
    """the certificate is the one whose fingerprint the daemon prints"""
    with lan.wire.connect() as connection:
        import hashlib
        digest = hashlib.sha256(connection.getpeercert(binary_form=True)).hexdigest().upper()
    text = ":".join(digest[at:at + 2] for at in range(0, 64, 2))
    expect(text in lan.daemon.run("daemon", "status"), "haul daemon status has another one")
    expect(text in lan.daemon.log, "the log has another one")


def fixation(lan, expect):
    """a cookie that a stranger chose, or that has ended, is no session, and is not taken over"""
    forged = "Cookie: __Host-haul=" + "0" * 64 + "." + "0" * 64
    for cookie in (forged, lan.page.cookie[:-1] + ("0" if lan.page.cookie[-1] != "0" else "1"),
                   lan.page.cookie.replace("__Host-haul", "haul"), "Cookie: __Host-haul=",
                   lan.page.cookie.split(".")[0]):
        status = lan.wire.call("GET", "api/v1/session", [cookie]).status
        expect(status == 401, f"{cookie[:40]}: {status}")
    before = Page(lan.wire, fields=[forged])
    expect(before.cookie != forged, "the given cookie is the session")
    again = Page(lan.wire, fields=[before.cookie])
    expect(again.session != before.session and again.key != before.key, "signing in keeps the session")
    lan.daemon.run("ui", "--end", before.session)
    lan.daemon.run("ui", "--end", again.session)


def ended_sessions(lan, expect):
    """after signing out, an end from outside and a new password: no cookie, no token, no events"""
    def ended(how, end, has_stream=True):
        page = Page(lan.wire)
        stream = page.stream() if has_stream else None
        end(page)
        for status in (lan.wire.call("GET", "api/v1/session", [page.cookie]).status,
                       page.call("GET", "api/v1/status").status,
                       page.call("GET", "api/v1/events").status):
            expect(status == 401, f"{how}: {status}")
        if stream:
            lan.daemon.run("add", lan.url("canary-" + how.replace(" ", "-")), "--paused", "-q")
            stream.settimeout(20)
            rest = b""
            try:
                while piece := stream.recv(1 << 16):
                    rest += piece
            except TimeoutError:
                expect(False, f"{how}: the stream stays open")
            expect(b"canary" not in rest, f"{how}: the stream goes on: {rest[-200:]}")
    ended("signed out", lambda page: page.call("DELETE", f"api/v1/sessions/{page.session}"))
    ended("ended", lambda page: lan.daemon.run("ui", "--end", page.session))
    lan.daemon.run("remove", "--all")


def traversal(lan, expect):
    """no path leaves the files of the page, and none has what was downloaded"""
    (lan.daemon.downloads / "own.html").write_text("<script>canary</script>")
    for path in ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd",
                 "//etc/passwd", "/..\\..\\etc\\passwd", "/./../etc/passwd", "/static/../../etc/passwd",
                 "/main.js/../../../etc/passwd", "/%00", "/main.js%00.html", "/downloads/own.html",
                 "/own.html", "/api/v1/../../own.html", "/api/v1/files/../../etc/passwd",
                 "/.haul/token", "/etc/passwd", "file:///etc/passwd", "/%252e%252e/etc/passwd"):
        for fields in ([], [lan.page.token]):
            answer = lan.wire.send(lan.wire.head("GET", path, [*fields, "Connection: close"]))
            expect(answer.status in (0, 400, 401, 404), f"{path}: {answer.status}")
            expect(b"root:" not in answer.body and b"canary" not in answer.body, f"{path} is read")


def own_paths(lan, expect):
    """a page neither reads nor writes what is not below the roots, also through links, and runs nothing"""
    root, url = lan.daemon.downloads, lan.url("a")
    (root / "out").symlink_to("/etc")
    token = str(lan.daemon.directory / "state" / "haul" / "token")
    for keys in ({"directory": "/etc"}, {"file": "/etc/cron.d/x"}, {"file": f"{root}/../x"},
                 {"directory": f"{root}/out"}, {"file": f"{root}/out/x"}, {"put": "/etc/passwd"},
                 {"put": f"{root}/out/passwd"}, {"put": token}, {"put": f"{root}/../log"},
                 {"form": [{"name": "a", "file": "/etc/passwd"}]}):
        answer = lan.page.call("POST", "api/v1/transfers", {"transfers": [{"url": url, **keys}]})
        expect(answer.status == 403, f"{keys}: {answer.status}")
    answer = lan.page.call("POST", "api/v1/transfers", {"transfers": [{"run": ["true"]}]})
    expect(answer.status == 403, f"a program: {answer.status}")
    for directory in ("/", "/etc", f"{root}/..", f"{root}/out", str(lan.daemon.directory)):
        for path in ("files", "space"):
            answer = lan.page.call("GET", f"api/v1/{path}?directory={directory}")
            expect(answer.status in (400, 403, 404), f"{path} of {directory}: {answer.status}")
    (root / "out").unlink()


def from_redirect(lan, expect):
    """a public server cannot lead the daemon to its own machine or network"""
    ids = []
    for number, target in enumerate((f"http://127.0.0.1:{lan.files.server_address[1]}/9/0/secret",
                                     f"http://{SERVER}:{lan.files.server_address[1]}/9/0/secret")):
        lan.files.redirects[f"/to/{number}/0/x"] = target
        url = f"http://public.example:{lan.files.server_address[1]}/to/{number}/0/x"
        ids += lan.add(url, f"public-{number}")
    for identifier in ids:
        harness.wait_until(lambda: lan.state(identifier)["state"] in ("failed", "completed"), "an end")
        found = lan.state(identifier)
        expect(found["state"] == "failed" and "private" in str(found.get("error")), f"{found}")


def injection(lan, expect):
    """line breaks in fields, addresses and names are refused, or stay text"""
    count = lan.count()
    root = str(lan.daemon.downloads)
    for keys in ({"headers": [{"name": "X-A", "value": "a\r\nX-B: c"}]},
                 {"headers": [{"name": "X A", "value": "a"}]},
                 {"headers": [{"name": "Host", "value": "evil.example"}]},
                 {"headers": [{"name": "Content-Length", "value": "3"}]},
                 {"headers": [{"name": "Transfer-Encoding", "value": "chunked"}]},
                 {"url": "http://a b/"}, {"url": "file:///etc/passwd"}, {"url": "gopher://a/"},
                 {"url": "http://a/", "unknown": 1}):
        new = {"url": lan.url("a"), "directory": root, **keys}
        answer = lan.page.call("POST", "api/v1/transfers", {"transfers": [new]})
        expect(answer.status in (400, 403, 422), f"{keys}: {answer.status}")
    answer = lan.page.call("GET", "api/v1/transfers/%0d%0aSet-Cookie:%20a=b")
    expect(answer.status in (400, 404) and not answer.field("set-cookie"), f"{answer}")
    expect(lan.count() == count, "one was added")
    identifier = lan.add(lan.url("a\r\nX-Y: z"), "text")[0]
    expect("a%0D%0AX-Y:%20z" in lan.state(identifier)["url"], f"{lan.state(identifier)}")


def upgrades(lan, expect):
    """no other protocol is begun: WebSocket, h2c, CONNECT, HTTP/2 without its handshake"""
    socket_fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    for fields in (socket_fields, ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c",
                                   "HTTP2-Settings: AAMAAABkAAQAAP__"]):
        for path in ("/", "/api/v1/events", "/socket"):
            answer = lan.wire.send(lan.wire.head("GET", path, fields), end=b"\r\n\r\n")
            expect(answer.status in (200, 400, 401, 404), f"{fields[1]} {path}: {answer.status}")
    answer = lan.wire.send(lan.wire.head("CONNECT", "10.77.0.1:22", ["Connection: close"]))
    expect(answer.status in (0, 400, 401, 404, 405), f"CONNECT: {answer.status}")
    answer = lan.wire.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    expect(answer.status in (0, 400, 505), f"HTTP/2: {answer.status}")


def sizes(lan, expect):
    """long heads, bodies without a token, bodies of a token, and deep JSON are refused"""
    for fields in (["X-A: " + "a" * 17000], [f"X-{n}: a" for n in range(120)],
                   ["Cookie: " + "a=b; " * 5000]):
        answer = lan.wire.call("GET", "", fields)
        expect(answer.status in (400, 414, 431), f"a head of {len(str(fields))}: {answer.status}")
    answer = lan.wire.call("GET", "?" + "a" * 20000)
    expect(answer.status in (400, 414, 431), f"an address of 20,000: {answer.status}")
    for path in ("login", "api/v1/session", "api/v1/transfers"):
        for field in ("Content-Length: 99999999", "Transfer-Encoding: chunked"):
            answer = lan.wire.send(lan.wire.head("POST", "/" + path, [
                field, f"Origin: {lan.wire.origin}", "Content-Type: application/json"]))
            expect(answer.status in (401, 413), f"{path}, {field}: {answer.status}")
    answer = lan.page.call("POST", "api/v1/transfers", {"transfers": " " * 17_000_000})
    expect(answer.status in (0, 413), f"17 MB with a token: {answer.status}")
    deep = '{"transfers":' + "[" * 50000 + "]" * 50000 + "}"
    answer = lan.wire.call("POST", "api/v1/transfers", [
        lan.page.token, "Content-Type: application/json"], deep)
    expect(answer.status in (400, 413), f"deep JSON: {answer.status}")
    expect(lan.page.call("GET", "api/v1/status").status == 200, "the daemon has ended")


def smuggling(lan, expect):
    """a request whose end can be read in two ways is refused, and what follows it is not read"""
    add = f"POST /api/v1/shutdown HTTP/1.1\r\nHost: {lan.wire.host}\r\n{lan.page.token}\r\n" \
          "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    first = f"POST /api/v1/session HTTP/1.1\r\nHost: {lan.wire.host}\r\n"
    for fields in ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                   "Content-Length: 0\r\nContent-Length: 7\r\n\r\n", "Content-Length: +0\r\n\r\n",
                   "Content-Length: 0x0\r\n\r\n", "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
                   "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "X: a\r\n Content-Length: 5\r\n\r\n",
                   "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "X\0: a\r\n\r\n"):
        answer = lan.wire.send((first + fields + add).encode())
        expect(answer.status in (0, 400, 413, 501), f"{fields!r}: {answer.status}")
        expect(answer.body.count(b"HTTP/1.1") == 0, f"{fields!r}: two answers")
    expect(lan.daemon.process.poll() is None, "the daemon was ended")


def half_open(lan, expect):
    """hundreds of half-open connections of one machine cost nobody else anything, and are closed"""
    stream = lan.page.stream()
    lan.half_open = [lan.wire.connect(STRANGER, tls=False) for _ in range(300)]
    for number in range(100):
        slow = lan.wire.connect(STRANGER)
        slow.sendall(b"GET / HTTP/1.1\r\nHost: nas.lan:8765\r\nX: ")
        lan.half_open.append(slow)
    expect(lan.page.call("GET", "api/v1/status").status == 200, "no answer to a session")
    other = Page(lan.wire, source=OTHER)
    expect(other.call("GET", "api/v1/status").status == 200, "nobody can sign in")
    identifiers = lan.add(lan.url("while-half-open"), "while-half-open")
    seen = b""
    while identifiers[0].encode() not in seen:
        piece = stream.recv(1 << 16)
        if not piece:
            return expect(False, "the events have ended")
        seen += piece
    stream.close()


def half_open_end(lan, expect):
    """… they have been closed by the daemon"""
    for number, connection in enumerate(lan.half_open):
        connection.settimeout(20)
        try:
            while connection.recv(1 << 16):
                pass
        except TimeoutError:
            expect(False, f"the connection {number} stays open")
            break
        except OSError:
            pass
        connection.close()


STEPS = [half_open, other_hosts, cross_site, without_token, scopes, content_types, methods,
         preflight, cookie_flags, headers, plain_http, fingerprint, fixation, ended_sessions,
         traversal, own_paths, from_redirect, injection, upgrades, sizes, smuggling,
         half_open_end]
