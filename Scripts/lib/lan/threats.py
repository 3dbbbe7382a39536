"""The threat model, as requests of another machine that are no browser's: each step is one line."""

import hashlib
import re
import ssl

import harness

from .machines import SERVER
from .wire import Page, each

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
    wire, token, calls = lan.wire, f"Authorization: Bearer {lan.token}", []
    for method, path in [("GET", path) for path in STATIC] + [
            ("OPTIONS", ""), ("GET", "api/v1/events"), ("GET", "api/v1/status"), ("POST", "login")]:
        for host in EVIL_HOSTS:
            calls.append((f"{method} /{path} of {host!r}", lambda method=method, path=path, host=host:
                          wire.call(method, path, [token], host=host)))
        # None, two, and a whole address as the target, which does not take the place of Host.
        for target, lines in (("/" + path, []), ("/" + path, [wire.host, EVIL_HOSTS[0]]),
                              ("/" + path, [wire.host, wire.host]), (wire.url + path, EVIL_HOSTS[:1])):
            fields = [*(f"Host: {line}" for line in lines), token, "Connection: close"]
            calls.append((f"{method} {target} of {lines}", lambda method=method, target=target, fields=fields:
                          wire.send(wire.head(method, target, fields, host=""))))
    each(expect, calls, 400, 421)


def cross_site(lan, expect):
    """a page of another origin may call nothing, even with the token"""
    foreign = [f"Origin: {origin}" for origin in (
        "https://evil.example", "null", "http://nas.lan:8765", "https://nas.lan",
        "https://nas.lan:9443", "https://nas.lan.evil.example:8765", "https://nas.lan:8765/")]
    foreign += ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
                "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site",
                f"Origin: {lan.wire.origin}\r\nOrigin: https://evil.example"]
    token, form = f"Authorization: Bearer {lan.token}", "Content-Type: application/x-www-form-urlencoded"
    wanted = [("GET", "api/v1/session", [lan.page.cookie, field], None) for field in foreign]
    wanted += [("POST", "login", [form, field], "password=x") for field in foreign]
    for method, path in operations():
        # One of each kind is enough where nothing differs.
        for field in foreign if path == "api/v1/transfers" else (foreign[0], foreign[-4]):
            wanted.append((method, path, [token, field], None if method in ("GET", "DELETE") else {}))
    each(expect, [(f"{method} {path} with {fields[1]!r}", lambda words=(method, path, fields, body):
                   lan.wire.call(*words)) for method, path, fields, body in wanted], 403)


def without_token(lan, expect):
    """without a token everything gets 401, with a wrong one too, and one in the address is none"""
    kinds = [[], [f"Authorization: Bearer {lan.token[::-1]}"], [lan.page.cookie],
             [f"Authorization: Basic {lan.token}", f"Cookie: token={lan.token}"]]
    calls = []
    for method, path in operations():
        if open_to_all(method, path):
            continue
        wanted = [(path, fields) for fields in kinds]
        if path == "api/v1/session" and method == "GET":
            wanted.remove((path, kinds[2]))  # what the cookie is for
        wanted.append((f"{path}?token={lan.token}&access_token={lan.token}", []))
        calls += [(f"{method} {target} {fields}", lambda words=(method, target, fields):
                   lan.wire.call(*words)) for target, fields in wanted]
    each(expect, calls, 401)


def scopes(lan, expect):
    """a token of scope read has no effect, one of metrics reads only /metrics, a removed one nothing"""
    tokens = {scope: lan.daemon.run("token", "add", scope, "--scope", scope)
              for scope in ("read", "metrics")}
    refused, allowed = [], []
    for method, path in operations():
        if open_to_all(method, path) or path == "api/v1/events":
            continue
        for scope, token in tokens.items():
            may = path == "metrics" or scope == "read" and method == "GET" and "/session" not in path
            (allowed if may else refused).append((f"{scope}: {method} {path}", lambda words=(
                method, path, [f"Authorization: Bearer {token}"]): lan.wire.call(*words)))
    each(expect, refused, 403)
    each(expect, allowed, 200, 400, 404)
    for scope, token in tokens.items():
        lan.daemon.run("token", "remove", scope)
        status = lan.wire.call("GET", "metrics", [f"Authorization: Bearer {token}"]).status
        expect(status == 401, f"a removed token of {scope}: {status}")


def content_types(lan, expect):
    """a body that a form or a script of another site can send is refused (415)"""
    calls = []
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None,
                 "text/plain; application/json", "application/jsonp", "text/json"):
        fields = [lan.page.token] + ([f"Content-Type: {kind}"] if kind else [])
        calls += [(f"{method} {path} as {kind}", lambda words=(method, path, fields, '{"is_suspended":true}'):
                   lan.wire.call(*words)) for method, path in operations()
                  if method in ("POST", "PATCH") and path not in ("api/v1/session", "jsonrpc")]
    each(expect, calls, 403, 415)
    expect(lan.page.call("GET", "api/v1/queue").json == {"is_suspended": False}, "it is suspended")


def methods(lan, expect):
    """GET has no effect, other methods are refused, and no field changes the method"""
    count = lan.count()
    paths = ("api/v1/transfers", "api/v1/commands", "api/v1/queue", "api/v1/shutdown")
    calls = [(f"{method} {path}", lambda words=(method, path): lan.page.call(*words)) for path in paths
             for method in ("HEAD", "PUT", "TRACE", "CONNECT", "PROPFIND", "DELETE", "get")]
    for answer in each(expect, calls, 0, 400, 403, 404, 405, 501):
        expect(lan.page.token.encode() not in answer.body, f"{answer} repeats the token")
    for field in ("X-HTTP-Method-Override: POST", "X-HTTP-Method: POST", "X-Method-Override: PATCH"):
        each(expect, [(f"GET {path}, {field}", lambda path=path: lan.page.call("GET", path, fields=[field]))
                      for path in paths], 200, 404, 405)
    status = lan.page.call("GET", "api/v1/commands?command=remove&all=true").status
    expect(status in (400, 404, 405), f"GET commands: {status}")
    expect(lan.count() == count and lan.daemon.process.poll() is None, "a GET had an effect")


def preflight(lan, expect):
    """no answer allows another origin anything (CORS)"""
    fields = ["Origin: https://evil.example", "Access-Control-Request-Method: POST",
              "Access-Control-Request-Headers: authorization",
              "Access-Control-Request-Private-Network: true"]
    calls = [(f"{method} /{path}", lambda words=(method, path, [*token, *fields]): lan.wire.call(*words))
             for path in (*STATIC, "api/v1/transfers", "api/v1/session", "api/v1/events", "metrics")
             for method in ("OPTIONS", "GET", "HEAD") for token in ([], [lan.page.token])]
    for answer in each(expect, calls, 401, 403):
        names = [name for name, _ in answer.fields if name.startswith("access-control-")]
        expect(not names, f"{names} in {answer}")


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
    paths = ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd",
                 "//etc/passwd", "/..\\..\\etc\\passwd", "/./../etc/passwd", "/static/../../etc/passwd",
                 "/main.js/../../../etc/passwd", "/%00", "/main.js%00.html", "/downloads/own.html",
                 "/own.html", "/api/v1/../../own.html", "/api/v1/files/../../etc/passwd",
                 "/.haul/token", "/etc/passwd", "file:///etc/passwd", "/%252e%252e/etc/passwd")
    heads = [lan.wire.head("GET", path, [*fields, "Connection: close"])
             for path in paths for fields in ([], [lan.page.token])]
    calls = [(str(head[:60]), lambda head=head: lan.wire.send(head)) for head in heads]
    for answer in each(expect, calls, 0, 400, 401, 404):
        expect(b"root:" not in answer.body and b"canary" not in answer.body, f"{answer} is a file")


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


STEPS = [other_hosts, cross_site, without_token, scopes, content_types, methods, preflight,
         cookie_flags, headers, plain_http, fingerprint, fixation, ended_sessions, traversal,
         own_paths, from_redirect, injection]
