"""What another machine may cost: protocols, sizes, requests with two ends, half-open connections."""

from .machines import OTHER, STRANGER
from .wire import Page


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


STEPS = [upgrades, sizes, smuggling]
