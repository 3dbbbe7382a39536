"""A WebDAV server with Nextcloud's rules, as its documents and reports of its users tell them.

It is not Nextcloud. Each rule names where it is from; `docs/interop.md` says so too.
"""

import contextlib
import http.server
import os
import pathlib
import shutil
import threading
import time
import urllib.parse

import harness

PREFIX = "/remote.php/dav/files/user"
# config.sample.php, forbidden_filename_extensions: hard-coded.
FORBIDDEN = (".part", ".filepart")
# A MOVE of a large file takes longer than the web server before PHP waits (server #17992); until it
# is done the file is locked (rclone #7109).
LARGE, SECONDS = 50 << 20, 3

PROPERTIES = """<?xml version="1.0"?>
<d:multistatus xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns"><d:response><d:href>{href}</d:href>
<d:propstat><d:prop>{properties}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>
</d:response></d:multistatus>
"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root: pathlib.Path
    locked: set

    def log_message(self, *_):
        pass

    def file(self, address):
        path = urllib.parse.unquote(urllib.parse.urlsplit(address).path)
        if not path.startswith(PREFIX + "/") or ".." in path.split("/"):
            return None
        return self.root / path[len(PREFIX) + 1:]

    def answer(self, status, fields=(), body=b""):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def pieces(self):
        """The body of the request."""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while length := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length", 0))
        while left:
            piece = self.rfile.read(min(left, 1 << 20))
            if not piece:
                raise ConnectionError("the body ends early")
            left -= len(piece)
            yield piece

    def refusal(self, path):
        """The status for a name that may not be; None if it may."""
        if path is None:
            return 404
        if path.name.endswith(FORBIDDEN):
            return 400
        return 423 if path in self.locked else None

    def do_PUT(self):
        path = self.file(self.path)
        temporary = self.root.parent / f"body-{threading.get_ident()}"
        try:
            with open(temporary, "wb") as file:
                for piece in self.pieces():
                    file.write(piece)
        except (ConnectionError, ValueError):
            temporary.unlink()
            self.close_connection = True
            return
        status = self.refusal(path) or (None if path.parent.is_dir() else 409)
        if status:
            temporary.unlink()
            self.answer(status)
            return
        is_new = not path.exists()
        shutil.move(temporary, path)
        tag = f'"{path.stat().st_mtime_ns:x}"'
        self.answer(201 if is_new else 204, [("ETag", tag), ("OC-ETag", tag)])

    def do_MKCOL(self):
        path = self.file(self.path.rstrip("/"))
        if path is None or path.exists():
            self.answer(405)
        elif not path.parent.is_dir():
            self.answer(409)
        else:
            path.mkdir()
            self.answer(201)

    def do_MOVE(self):
        # Only the path of Destination counts (sabre/dav, calculateUri).
        source, target = self.file(self.path), self.file(self.headers["Destination"])
        status = self.refusal(source) or self.refusal(target)
        if status:
            self.answer(status)
        elif not source.exists():
            self.answer(404)
        elif target.exists() and self.headers.get("Overwrite") == "F":
            self.answer(412)
        elif source.stat().st_size >= LARGE:
            self.locked |= {source, target}
            threading.Thread(target=self.join, args=(source, target), daemon=True).start()
            self.answer(504)
        else:
            is_new = not target.exists()
            os.replace(source, target)
            self.answer(201 if is_new else 204)

    def join(self, source, target):
        time.sleep(SECONDS)
        os.replace(source, target)
        self.locked.difference_update({source, target})

    def do_DELETE(self):
        path = self.file(self.path)
        status = self.refusal(path)
        if status or not path.exists():
            self.answer(status or 404)
        else:
            path.unlink()
            self.answer(204)

    def do_HEAD(self):
        path = self.file(self.path)
        if path is None or not path.is_file():
            self.answer(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(path.stat().st_size))
        self.end_headers()

    def do_PROPFIND(self):
        for _ in self.pieces():
            pass
        path = self.file(self.path)
        if path is None or not path.exists():
            self.answer(404)
            return
        properties = ("<d:resourcetype><d:collection/></d:resourcetype>" if path.is_dir() else
                      f"<d:getcontentlength>{path.stat().st_size}</d:getcontentlength>")
        body = PROPERTIES.format(href=urllib.parse.urlsplit(self.path).path, properties=properties)
        self.answer(207, [("Content-Type", "application/xml; charset=utf-8")], body.encode())


@contextlib.contextmanager
def nextcloud_rules(directory, _):
    root = directory / "nextcloud-rules" / "root"
    root.mkdir(parents=True)
    handler = type("Nextcloud", (Handler,), {"root": root, "locked": set()})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", harness.free_port()), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{PREFIX}", root, []
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
