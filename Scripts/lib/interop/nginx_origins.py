"""One nginx, several manners of serving the same files."""

import contextlib

import harness
from interop.origins import CODES, Origin

LOCATIONS = """
    location /files/ { alias @FILES@/; }
    location /no-ranges/ { alias @FILES@/; max_ranges 0; }
    location /gzip/ { alias @FILES@/; gzip on; gzip_types *; gzip_min_length 1; }
    location /no-etag/ { alias @FILES@/; etag off; }
    location /limited/ { alias @FILES@/; limit_rate 512k; }
""" + "".join(f"    location = /status/{status} {{ return {status}; }}\n" for status in CODES)


def requests_of(log):
    """(path, version, connection) of each request in a log of the format `versions`."""
    lines = [line.split() for line in log.read_text().splitlines()]
    return [(path, version, connection) for version, connection, path in lines]


@contextlib.contextmanager
def nginx(directory, files, certificates, far):
    """Gives the origins by name; TLS also at port 443 of the address `far`."""
    log = directory / "nginx.log"
    locations = LOCATIONS.replace("@FILES@", str(files))
    port = harness.free_port()
    http = f"""
  log_format versions '$server_protocol $connection $request_uri';
  ssl_certificate {certificates}/server.pem;
  ssl_certificate_key {certificates}/server.key;
  server {{
    listen 127.0.0.1:{port} ssl http2 backlog=511;
    listen {far}:443 ssl http2 backlog=511;
    access_log {log} versions;
{locations}
  }}
"""
    trust = ["--cacert", certificates / "ca.pem"]
    with harness.nginx(directory, locations, http) as base:
        def plain(name, path, **facts):
            return Origin(name, base + path, statuses={
                status: f"{base}/status/{status}" for status in CODES}, **facts)

        def tls(name, host):
            return Origin(
                name, f"https://{host}/files", trust, huge=name == "nginx-tls",
                requests=lambda: requests_of(log),
                statuses={status: f"https://{host}/status/{status}" for status in CODES})
        origins = [
            plain("nginx", "/files", huge=True),
            tls("nginx-tls", f"127.0.0.1:{port}"),
            plain("nginx-no-ranges", "/no-ranges", resumable=False),
            plain("nginx-gzip", "/gzip"),
            plain("nginx-no-etag", "/no-etag"),
            plain("nginx-limit-rate", "/limited", slow=True),
            tls("nginx-443", far),
        ]
        yield {origin.name: origin for origin in origins}
