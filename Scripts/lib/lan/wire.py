"""Requests as bytes, from an address of the browser's machine."""

import concurrent.futures
import dataclasses
import hashlib
import hmac
import json
import re
import secrets
import socket
import ssl
import urllib.parse

from .machines import OTHER, OWNER
from .sites import PASSWORD


@dataclasses.dataclass
class Answer:
    status: int  # 0: the connection was closed without one
    fields: list
    body: bytes

    def field(self, name):
        return next((value for key, value in self.fields if key == name), None)

    @property
    def json(self):
        return json.loads(self.body)

    @classmethod
    def of(cls, data):
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        match = re.match(r"HTTP/1\.[01] (\d{3})", lines[0])
        if not match:
            return cls(0, [], data)
        pairs = [line.partition(":") for line in lines[1:]]
        fields = [(name.lower(), value.strip()) for name, _, value in pairs]
        if ("transfer-encoding", "chunked") in fields:
            body = unchunked(body)
        return cls(int(match.group(1)), fields, body)


def unchunked(data):
    whole = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        count = int(size.split(b";")[0] or b"0", 16)
        if count == 0:
            break
        whole, data = whole + data[:count], data[count + 2:]
    return whole


def context():
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    return made


ANY_CERTIFICATE = context()


class Wire:
    """A site, as its address of a browser names it."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.url, self.host, self.path = url, parts.netloc, parts.path
        self.name, self.port = parts.hostname, parts.port or 443
        self.origin = f"{parts.scheme}://{parts.netloc}"

    def connect(self, source=OWNER, tls=True):
        plain = socket.create_connection((self.name, self.port), 60, (source, 0))
        if not tls:
            return plain
        return ANY_CERTIFICATE.wrap_socket(plain, server_hostname=self.name)

    def send(self, data, source=OWNER, tls=True, end=b"\0\0"):
        """The answer to these bytes, up to the end of the connection or `end`."""
        with self.connect(source, tls) as connection:
            answer = b""
            try:
                connection.sendall(data)
            except OSError:
                pass  # It may have refused them before it had all.
            try:
                while end not in answer and (piece := connection.recv(1 << 16)):
                    answer += piece
            except OSError:
                pass
            return Answer.of(answer)

    def head(self, method, target, fields=(), host=None):
        host = [f"Host: {host or self.host}"] if host != "" else []
        return "\r\n".join([f"{method} {target} HTTP/1.1", *host, *fields, "", ""]).encode()

    def call(self, method, name, fields=(), body=None, host=None, source=OWNER):
        """A request for what is below the site's path."""
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            fields = [*fields, "Content-Type: application/json"]
        data = (body or "").encode()
        if body is not None:
            fields = [*fields, f"Content-Length: {len(data)}"]
        target = self.path + name.removeprefix("/") if not name.startswith("*") else name
        fields = [*fields, "Connection: close"]
        return self.send(self.head(method, target, fields, host) + data, source)

    def log_in(self, password=PASSWORD, source=OTHER, fields=()):
        form = "password=" + urllib.parse.quote_plus(password)
        return self.call("POST", "login", [
            f"Origin: {self.origin}", "Content-Type: application/x-www-form-urlencoded", *fields,
        ], form, source=source)


def each(expect, calls, *right):
    """Makes calls, several at once: pairs of a title and a function. Their status must be one of these."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda call: call[1](), calls))
    for (title, _), answer in zip(calls, answers):
        expect(answer.status in right, f"{title}: {answer.status}")
    return answers


class Page:
    """A session with the password, as the page of a browser has it."""

    def __init__(self, wire, source=OTHER, fields=()):
        self.wire, self.source = wire, source
        answer = wire.log_in(source=source, fields=fields)
        if answer.status != 303:
            raise RuntimeError(f"signing in: {answer}")
        self.set_cookie = answer.field("set-cookie")
        self.cookie = "Cookie: " + self.set_cookie.split(";")[0]
        key = wire.call("GET", "api/v1/session", [self.cookie], source=source).json
        self.session, self.key = key["session"], bytes.fromhex(key["key"])
        challenge = {"session": self.session, "challenge": secrets.token_hex(32)}
        proof = wire.call("POST", "api/v1/session/proof", [f"Origin: {wire.origin}"], challenge,
                          source=source).json
        token = hmac.new(self.key, f"page\n{proof['start']}".encode(), hashlib.sha256).hexdigest()
        self.token = f"Authorization: Bearer {self.session}.{token}"

    def call(self, method, name, body=None, fields=()):
        return self.wire.call(method, name, [self.token, *fields], body, source=self.source)

    def stream(self):
        """An open connection with the events, after its first ones."""
        connection = self.wire.connect(self.source)
        connection.sendall(self.wire.head("GET", self.wire.path + "api/v1/events", [self.token]))
        seen = b""
        while b"event: ready" not in seen:
            piece = connection.recv(1 << 16)
            if not piece:
                raise RuntimeError(f"the stream ended: {seen}")
            seen += piece
        return connection
