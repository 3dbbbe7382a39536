"""A source of files on several addresses of this machine. It counts what is asked, and how many
answers of an address are under way at once."""

import collections
import contextlib
import dataclasses
import hashlib
import http.server
import random
import re
import select
import socket
import threading
import time

RANGE = re.compile(r"bytes=(\d+)-(\d*)$")
STEP = 0.02


@dataclasses.dataclass
class File:
    url: str
    name: str
    data: bytes

    @property
    def sha256(self):
        return hashlib.sha256(self.data).hexdigest()


class Source:
    def __init__(self, hosts, count, seed=1):
        self._lock = threading.Lock()
        self._servers = []
        self.seconds = 0.0  # what an answer with more than a byte takes
        self.busy_until = {}  # by host: 503 until then
        self.start_over()
        self.files = []
        self._by_place = {}
        generator = random.Random(seed)
        for number in range(hosts):
            server = _Server((f"127.0.0.{number + 2}", 0), _Handler)
            server.source = self
            self._servers.append(server)
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        for number in range(count):
            # Hosts have different numbers of files. One file in forty has parts.
            server = self._servers[min(generator.randrange(hosts), generator.randrange(hosts))]
            size = 9 << 20 if number % 40 == 39 else generator.randrange(1_000, 200_000)
            host, port = server.server_address
            file = File(f"http://{host}:{port}/f/{number}.bin", f"{number:04}.bin",
                        generator.randbytes(size))
            self.files.append(file)
            self._by_place[host, f"/f/{number}.bin"] = file

    @property
    def hosts(self):
        return [server.server_address[0] for server in self._servers]

    def start_over(self):
        """Counts from nothing."""
        with self._lock:
            self.now = collections.Counter()
            self.most = collections.Counter()  # answers at once, by host
            self.asked = collections.Counter()  # answers with more than a byte, by address
            self.refused = 0

    def close(self):
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def begin(self, host):
        with self._lock:
            self.now[host] += 1
            self.most[host] = max(self.most[host], self.now[host])

    def end(self, host):
        with self._lock:
            self.now[host] -= 1

    def refuse(self, host):
        if time.monotonic() < self.busy_until.get(host, 0):
            with self._lock:
                self.refused += 1
            return True
        return False

    def file(self, host, path):
        return self._by_place.get((host, path))

    def ask(self, url):
        with self._lock:
            self.asked[url] += 1


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        """A client that was killed: its connection is reset."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # the head goes with the body's first bytes

    def log_message(self, *_):
        pass

    def do_GET(self):
        source, host = self.server.source, self.server.server_address[0]
        source.begin(host)
        is_under_way = True
        try:
            body = self._head(source, host)
            if len(body) > 1:
                self.wfile.flush()
                self._pause(source.seconds)
            # Who has the last byte may ask for the next file at once.
            source.end(host)
            is_under_way = False
            self.wfile.write(body)
            self.wfile.flush()
        except OSError:
            self.close_connection = True  # the client was stopped
        finally:
            if is_under_way:
                source.end(host)

    def _head(self, source, host):
        """Sends the head of the answer, and returns its body."""
        file = source.file(host, self.path)
        if source.refuse(host) or file is None:
            self.send_response(404 if file is None else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return b""
        tag = f'"{file.sha256[:16]}"'
        asked = RANGE.match(self.headers.get("Range", ""))
        first, last = 0, len(file.data) - 1
        if asked and self.headers.get("If-Range", tag) == tag:
            first, last = int(asked[1]), min(last, int(asked[2] or last))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(file.data)}")
        else:
            self.send_response(200)
        self.send_header("ETag", tag)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        if last > first:
            source.ask(file.url)
        return file.data[first:last + 1]

    def _pause(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            readable, _, _ = select.select([self.connection], [], [], STEP)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise ConnectionError("closed")
            if readable:
                time.sleep(STEP)


@contextlib.contextmanager
def serving(hosts, count):
    source = Source(hosts, count)
    try:
        yield source
    finally:
        source.close()
