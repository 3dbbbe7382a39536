#!/usr/bin/env python3
"""A server of resumable uploads as the IETF's draft describes them
(draft-ietf-httpbis-resumable-upload), of interop version 8 or 6. It is strict: what a client may
not do is refused, and listed at /_violations. What it has of a broken request, it keeps.

Usage: ietf_server.py DIRECTORY PORT VERSION [MAX-APPEND-SIZE]
"""

import contextlib
import http.server
import json
import pathlib
import re
import socket
import sys
import threading
import urllib.parse

INTEROP = "Upload-Draft-Interop-Version"
PROBLEMS = "https://iana.org/assignments/http-problem-types#"
STEP = 1 << 18
REPORTED = 8 << 20  # bytes from one 104 to the next


class Refusal(Exception):
    def __init__(self, status, reason, problem=None, fields=()):
        super().__init__(reason)
        self.status, self.reason, self.problem, self.fields = status, reason, problem, fields


class Upload:
    def __init__(self, path, target, length):
        self.path, self.target, self.length = path, target, length
        self.lock = threading.Lock()  # held while a request appends
        self.connection = None  # of that request
        self.offset = 0
        self.is_complete = False
        path.touch()

    def fields(self, limit):
        told = {"Upload-Offset": self.offset, "Upload-Complete": boolean(self.is_complete),
                "Upload-Limit": limit, "Cache-Control": "no-store"}
        if self.length is not None:
            told["Upload-Length"] = self.length
        return told


def boolean(value):
    return "?1" if value else "?0"


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, directory, port, version, most):
        super().__init__(("127.0.0.1", port), Handler)
        self.version = version
        self.most = most  # bytes of one request; none for no limit
        self.files, self.parts = directory / "files", directory / "parts"
        for place in (self.files, self.parts):
            place.mkdir(parents=True, exist_ok=True)
        self.uploads = {}
        self.violations = []
        self.requests = []

    @property
    def limit(self):
        return f"max-append-size={self.most}, max-age=3600" if self.most else "min-size=0"

    def file(self, target):
        return self.files / urllib.parse.quote(target, safe="")

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), OSError):  # a client may go away
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_OPTIONS(self):
        offer = {"Upload-Limit": self.server.limit} if self._offers else {}
        self._run(lambda: self._answer(204, offer))

    def do_HEAD(self):
        self._run(self._tell if "/_uploads/" in self.path else self._look)

    def do_GET(self):
        self._run(self._look)

    def do_PUT(self):
        is_resumable = self._offers and "Upload-Complete" in self.headers
        self._run(self._create if is_resumable else self._store)

    do_POST = do_PUT

    def do_PATCH(self):
        self._run(self._append)

    def do_DELETE(self):
        self._run(self._cancel)

    @property
    def _offers(self):
        """The header field must be there, with this version."""
        return self.headers.get(INTEROP) == str(self.server.version)

    def _run(self, work):
        if self.path not in ("/_violations", "/_requests"):
            self.server.requests.append([self.command, self.path, self.headers.get(INTEROP)])
        try:
            work()
        except Refusal as refusal:
            if refusal.status not in (404, 409):
                self.server.violations.append(f"{self.command} {self.path}: {refusal.reason}")
            # The rest of the body is not read.
            self.close_connection = True
            body = json.dumps({"type": PROBLEMS + refusal.problem, "title": refusal.reason} if
                              refusal.problem else {"title": refusal.reason}).encode()
            self._answer(refusal.status, {**dict(refusal.fields), "Connection": "close",
                                          "Content-Type": "application/problem+json"}, body)

    def _answer(self, status, fields, body=b""):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, str(value))
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _interim(self, fields):
        self.send_response_only(104, "Upload Resumption Supported")
        for name, value in fields.items():
            self.send_header(name, str(value))
        self.end_headers()

    # Header fields. All are of RFC 9651.

    def _boolean(self, name):
        value = self.headers.get(name)
        if value not in ("?0", "?1"):
            raise Refusal(400, f"{name} is {value}")
        return value == "?1"

    def _integer(self, name, needed):
        value = self.headers.get(name)
        if value is None and not needed:
            return None
        if value is None or not re.fullmatch(r"\d{1,15}", value):
            raise Refusal(400, f"{name} is {value}")
        return int(value)

    @property
    def _content(self):
        if "Transfer-Encoding" in self.headers:
            raise Refusal(411, "a body without a length")
        return self._integer("Content-Length", needed=False) or 0

    def _upload(self):
        upload = self.server.uploads.get(self.path)
        if upload is None:
            raise Refusal(404, "there is no such upload")
        if not self._offers:
            raise Refusal(400, f"{INTEROP} is {self.headers.get(INTEROP)}")
        # The request before has ended, or is ended now.
        if not upload.lock.acquire(timeout=0.2):
            self.server.violations.append(f"{self.command} {self.path}: beside an append")
            with contextlib.suppress(OSError):
                upload.connection.shutdown(socket.SHUT_RD)
            upload.lock.acquire()
        return upload

    # What clients ask for.

    def _create(self):
        upload_is_whole, content = self._boolean("Upload-Complete"), self._content
        length = self._integer("Upload-Length", needed=False)
        if upload_is_whole and length not in (None, content):
            raise Refusal(400, "two lengths", "inconsistent-upload-length")
        server = self.server
        address = f"/_uploads/{len(server.uploads) + 1}"
        upload = Upload(server.parts / address.rsplit("/", 1)[1], self.path, length)
        server.uploads[address] = upload
        with upload.lock:
            if content:
                self._interim({"Location": address, "Upload-Limit": server.limit})
                self._receive(upload, content)
            self._received(upload, upload_is_whole, {"Location": address}, status=201)

    def _append(self):
        upload = self._upload()
        try:
            self._check(upload)
            self._receive(upload, self._content)
            self._received(upload, self._boolean("Upload-Complete"), {}, status=204)
        finally:
            upload.lock.release()

    def _check(self, upload):
        offset, content = self._integer("Upload-Offset", needed=True), self._content
        if self.headers.get("Content-Type") != "application/partial-upload":
            raise Refusal(415, f"the type is {self.headers.get('Content-Type')}")
        is_last = self._boolean("Upload-Complete")
        if upload.is_complete:
            raise Refusal(400, "the upload is complete", "completed-upload")
        if offset != upload.offset:
            raise Refusal(409, "another offset", "mismatching-upload-offset",
                          {"Upload-Offset": upload.offset}.items())
        end = offset + content
        if upload.length is not None and (end > upload.length or is_last and end != upload.length):
            raise Refusal(400, "two lengths", "inconsistent-upload-length")
        if self.server.most and content > self.server.most:
            raise Refusal(413, "longer than max-append-size")

    def _receive(self, upload, content):
        """Writes what arrives. A connection that is lost leaves what has arrived."""
        upload.connection = self.connection
        reported = upload.offset
        with open(upload.path, "ab") as file:
            while content:
                data = self.rfile.read1(min(content, STEP))
                if not data:
                    raise ConnectionAbortedError
                file.write(data)
                file.flush()
                upload.offset += len(data)
                content -= len(data)
                if upload.offset - reported >= REPORTED and content:
                    reported = upload.offset
                    self._interim({"Upload-Offset": reported})

    def _received(self, upload, is_last, fields, status):
        if is_last:
            upload.is_complete = True
            upload.path.rename(self.server.file(upload.target))
            self._answer(201, {**fields, "Upload-Complete": "?1"})
        else:
            self._answer(status, {**upload.fields(self.server.limit), **fields})

    def _tell(self):
        for name in ("Upload-Offset", "Upload-Complete", "Upload-Length"):
            if name in self.headers:
                raise Refusal(400, f"HEAD has {name}")
        upload = self._upload()
        try:
            self._answer(204, upload.fields(self.server.limit))
        finally:
            upload.lock.release()

    def _cancel(self):
        upload = self._upload()
        try:
            del self.server.uploads[self.path]
            upload.path.unlink(missing_ok=True)
            self._answer(204, {})
        finally:
            upload.lock.release()

    def _store(self):
        """A plain PUT, of a client that does not know of all this."""
        if "Upload-Complete" in self.headers:
            raise Refusal(400, f"{INTEROP} is {self.headers.get(INTEROP)}")
        upload = Upload(self.server.parts / f"plain-{id(self)}", self.path, None)
        self._receive(upload, self._content)
        upload.path.rename(self.server.file(self.path))
        self._answer(201, {})

    def _look(self):
        told = {"/_violations": self.server.violations, "/_requests": self.server.requests}
        if self.path in told:
            return self._answer(200, {}, json.dumps(told[self.path]).encode())
        path = self.server.file(self.path)
        if not path.exists():
            raise Refusal(404, "there is no such file")
        self.send_response(200)
        self.send_header("Content-Length", str(path.stat().st_size))
        self.end_headers()
        if self.command != "HEAD":
            with open(path, "rb") as file:
                while data := file.read(STEP):
                    self.wfile.write(data)


def main():
    directory, port, version, *most = sys.argv[1:]
    most = int(most[0]) if most else None
    Server(pathlib.Path(directory), int(port), int(version), most).serve_forever()


if __name__ == "__main__":
    main()
