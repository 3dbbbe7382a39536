"""An nginx between haul and two servers: it serves the files of a list, and passes on what goes to
an S3 store. Its log has each request, so nothing that haul says of itself has to be believed."""

import contextlib
import dataclasses
import http.client
import urllib.parse

import harness

LOCATIONS = """
    location /files/ {{ alias {files}/; access_log requests.log seen; }}
    location /_connections {{ stub_status; }}
"""
FRONT = """
  log_format seen '$request_method $status $request_uri';
  server {{
    listen 127.0.0.1:{front} backlog=511;
    access_log requests.log seen;
    client_max_body_size 0;
    location / {{
      proxy_pass http://127.0.0.1:{port};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_request_buffering off;
      proxy_buffering off;
    }}
  }}
"""
TAKEN = 200


@dataclasses.dataclass
class Request:
    method: str
    status: int
    path: str  # decoded
    query: str

    @property
    def name(self):
        """The last part of the path: the same at the source and at the store."""
        return self.path.rpartition("/")[2]

    @property
    def is_part(self):
        return "partNumber=" in self.query

    @property
    def creates(self):
        """Whether it begins an upload in parts."""
        return self.method == "POST" and self.query == "uploads"

    @property
    def upload(self):
        """The upload that it belongs to; none if it is not of parts."""
        return urllib.parse.parse_qs(self.query).get("uploadId", [None])[0]

    @property
    def sends(self):
        """Whether it would send the object, or something of it."""
        return self.method in ("PUT", "POST")

    @property
    def publishes(self):
        """Whether the store has made an object by it."""
        is_end = self.method == "POST" and self.upload is not None
        is_whole = self.method == "PUT" and not self.is_part
        return self.status == TAKEN and (is_end or is_whole)


class Witness:
    def __init__(self, base, front, log):
        self.base, self.endpoint = base, f"http://127.0.0.1:{front}"
        self._log = log
        self._connection = http.client.HTTPConnection(
            urllib.parse.urlsplit(base).netloc, timeout=10)

    def mark(self):
        """A place in the log, for `since`."""
        return self._log.stat().st_size

    def since(self, mark, end=None):
        with open(self._log, "rb") as log:
            log.seek(mark)
            whole = log.read(None if end is None else end - mark).rpartition(b"\n")[0].decode()
        return [_request(line) for line in whole.splitlines()]

    def settle(self):
        """Waits until only this connection is open: all requests are in the log."""
        harness.wait_until(lambda: self._open() <= 1, "the end of the connections", seconds=60)

    def _open(self):
        self._connection.request("GET", "/_connections")
        return int(self._connection.getresponse().read().split()[2])

    def close(self):
        self._connection.close()


def _request(line):
    method, status, target = line.split(" ", 2)
    path, _, query = target.partition("?")
    return Request(method, int(status), urllib.parse.unquote(path), query)


@contextlib.contextmanager
def before(port, directory, files):
    """A witness before the store at this port; `files` are below /files/ of its base."""
    front = harness.free_port()
    with harness.nginx(directory, LOCATIONS.format(files=files),
                       FRONT.format(front=front, port=port)) as base:
        witness = Witness(base, front, directory / "nginx" / "requests.log")
        try:
            yield witness
        finally:
            witness.close()
