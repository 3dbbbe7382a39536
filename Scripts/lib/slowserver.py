"""A server, or a proxy, whose files arrive slowly: /SIZE/RATE/NAME, in bytes and bytes per second.
A rate of 0 is no limit. Paths of `broken` answer 404, those of `redirects` name another address.
What is uploaded is kept, by its path."""

import http.server
import re
import threading
import time


class SlowServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address="127.0.0.1"):
        super().__init__((address, 0), Handler)
        self.broken = set()
        self.redirects = {}
        self.uploads = {}
        self.authorizations = set()
        self.fields = []
        self.error_text = "Not Found"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, size, rate, name):
        return f"http://127.0.0.1:{self.server_address[1]}/{size}/{rate}/{name}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_PUT(self):
        self.server.uploads[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        # As a proxy it gets the whole address.
        path = re.sub("^http://[^/]*", "", self.path)
        self.server.authorizations.add(self.headers.get("Authorization"))
        self.server.fields.append((self.path, dict(self.headers)))
        parts = path.split("/")
        if path in self.server.redirects:
            self.send_response(302)
            self.send_header("Location", self.server.redirects[path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path in self.server.broken or len(parts) < 4:
            self.send_response(404, self.server.error_text)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size, rate = int(parts[1]), int(parts[2])
        start, end = 0, size - 1
        asked = self.headers.get("Range", "")
        is_part = asked.startswith("bytes=")
        if is_part:
            first, last = asked[6:].split("-")
            start = int(first)
            end = min(int(last) if last else end, end)
        self.send_response(206 if is_part else 200)
        if is_part:
            self.send_header("Content-Range", f"bytes {start}-{end}/{size}")
        self.send_header("Content-Length", str(end - start + 1))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"one"')
        self.end_headers()
        self.send_slowly(end - start + 1, rate)

    def send_slowly(self, left, rate):
        piece = 65536 if rate == 0 else max(1024, rate // 20)
        try:
            while left > 0:
                count = min(piece, left)
                self.wfile.write(b"x" * count)
                left -= count
                if rate > 0:
                    time.sleep(count / rate)
        except OSError:
            self.close_connection = True
