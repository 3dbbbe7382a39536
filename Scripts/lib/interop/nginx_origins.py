"""One nginx with a plain server and one of TLS and HTTP/2; several ways of serving."""

import contextlib
import dataclasses
import pathlib

import harness
from interop.origins import CODES, Origin

LOCATIONS = """
    location /files/ { alias @FILES@/; }
    location /no-ranges/ { alias @FILES@/; max_ranges 0; }
    location /gzip/ { alias @FILES@/; gzip on; gzip_types *; gzip_min_length 1; }
    location /no-etag/ { alias @FILES@/; etag off; }
    location /limited/ { alias @FILES@/; limit_rate 512k; }
""" + "".join(f"    location = /status/{status} {{ return {status}; }}\n" for status in CODES)

# The certificate does not name this address, so only names can match there.
OTHER_ADDRESS = "127.0.0.43"


@dataclasses.dataclass
class Servers:
    """The same locations twice."""

    plain: str
    tls: str
    log: pathlib.Path

    def requests(self):
        """(path, version of HTTP, connection) of each request so far."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [(path, version, connection) for version, connection, path in lines]


@contextlib.contextmanager
def servers(directory, certificates, locations, everywhere=False):
    """nginx with the locations; `everywhere`: at port 443 of localhost, and at OTHER_ADDRESS, too."""
    log, port = directory / "nginx.log", harness.free_port()
    more = ["127.0.0.1:443", "[::1]:443", f"{OTHER_ADDRESS}:{port}"] if everywhere else []
    listen = "\n".join(f"    listen {address} ssl http2 backlog=511;"
                       for address in [f"127.0.0.1:{port}", *more])
    logged = f"access_log {log} versions;"
    http = f"""
  log_format versions '$server_protocol $connection $request_uri';
  ssl_certificate {certificates}/server.pem;
  ssl_certificate_key {certificates}/server.key;
  server {{
{listen}
    {logged}
{locations}
  }}
"""
    with harness.nginx(directory, logged + locations, http) as plain:
        yield Servers(plain, f"https://127.0.0.1:{port}", log)


@contextlib.contextmanager
def nginx(directory, files, certificates):
    """Returns the origins by name. One is at port 443, the only one that squid tunnels to."""
    locations = LOCATIONS.replace("@FILES@", str(files))
    with servers(directory, certificates, locations, everywhere=True) as both:
        def plain(name, path, **facts):
            return Origin(name, both.plain + path, statuses=_statuses(both.plain), **facts)

        def tls(name, base, **facts):
            return Origin(name, base + "/files", ["--cacert", certificates / "ca.pem"],
                          statuses=_statuses(base), requests=both.requests, **facts)

        origins = [
            plain("nginx", "/files", huge=True),
            tls("nginx-tls", both.tls, huge=True),
            plain("nginx-no-ranges", "/no-ranges", resumable=False),
            plain("nginx-gzip", "/gzip"),
            plain("nginx-no-etag", "/no-etag"),
            plain("nginx-limit-rate", "/limited", slow=True),
            tls("nginx-443", "https://localhost"),
        ]
        yield {origin.name: origin for origin in origins}


def _statuses(base):
    return {status: f"{base}/status/{status}" for status in CODES}
