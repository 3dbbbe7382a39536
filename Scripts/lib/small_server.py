"""A small HTTP/1.1 server of one file for the scripts: ranges, a rate per connection, and rules of its own."""

import contextlib
import http.server
import re
import threading
import time


class Log:
    """The requests and responses, with times."""

    def __init__(self):
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self.entries = []
        self.alive = 0

    def note(self, path, span, status):
        entry = {"at": time.monotonic() - self._began, "path": path, "range": span,
                 "status": status, "sent": 0}
        with self._lock:
            self.entries.append(entry)
        return entry

    def count(self, change):
        with self._lock:
            self.alive += change
            return self.alive

    @property
    def sent(self):
        return sum(entry["sent"] for entry in self.entries)


class SmallServer(http.server.ThreadingHTTPServer):
    """`rule(server, path, number_alive)` gives None (serve the file) or `(status, fields)`."""

    daemon_threads = True

    def __init__(self, content, rule, rate):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.rule, self.rate, self.log = content, rule, rate, Log()
        # After this many bytes of a body the connection is closed; then `after_cut` is called.
        self.cut_after = None
        self.after_cut = None

    def handle_error(self, request, client_address):
        pass  # a client that closes is not an error

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    STEP = 64 << 10

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        span = self.headers.get("Range", "-")
        alive = server.log.count(+1)
        try:
            answer = server.rule(server, self.path, alive)
            if answer:
                self.refuse(span, *answer)
            else:
                self.serve(span)
        finally:
            server.log.count(-1)

    def refuse(self, span, status, fields):
        self.server.log.note(self.path, span, status)
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def serve(self, span):
        content = self.server.content
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", span)
        first = int(found[1]) if found else 0
        last = min(int(found[2]) if found and found[2] else len(content), len(content) - 1)
        entry = self.server.log.note(self.path, span, 206 if found else 200)
        self.send_response(entry["status"])
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(last - first + 1))
        if found:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.end_headers()
        began = time.monotonic()
        while first <= last:
            piece = content[first:min(first + self.STEP, last + 1)]
            self.wfile.write(piece)
            entry["sent"] += len(piece)
            first += len(piece)
            if self.server.cut_after and entry["sent"] >= self.server.cut_after and first <= last:
                return self.cut()
            ahead = entry["sent"] / self.server.rate - (time.monotonic() - began)
            if ahead > 0:
                time.sleep(ahead)

    def cut(self):
        """Ends the connection once the client has received everything."""
        self.wfile.flush()
        self.close_connection = True
        if self.server.after_cut:
            self.server.after_cut()


@contextlib.contextmanager
def serving(content, rule, rate):
    """Runs a server that gives each connection `rate` bytes per second."""
    server = SmallServer(content, rule, rate)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
