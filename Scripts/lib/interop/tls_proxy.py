"""nginx that ends TLS, as people put it before a server, with its usual limit for a body."""

import contextlib

import harness
from interop import programs


@contextlib.contextmanager
def before(port, directory, certificates, name, body="1m", prefix=""):
    """Gives the base address of the proxy before this port.

    `body`: the longest request; nginx takes 1 MiB if nothing else is said. `prefix`: begins all
    paths, as `/name`; the server does not see it.
    """
    home, listen = directory / f"{name}-proxy", harness.free_port()
    home.mkdir(parents=True)
    (home / "nginx.conf").write_text(f"""
daemon off; pid {home}/pid; error_log {home}/error.log; user root;
events {{}}
http {{
  access_log off; client_body_temp_path {home}/body; client_max_body_size {body};
  proxy_temp_path {home}/proxy;
  server {{
    listen 127.0.0.1:{listen} ssl;
    ssl_certificate {certificates}/server.pem;
    ssl_certificate_key {certificates}/server.key;
    location {prefix}/ {{
      proxy_pass http://127.0.0.1:{port}{"/" if prefix else ""};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_request_buffering off;
    }}
  }}
}}
""")
    with programs.running(["nginx", "-p", home, "-c", home / "nginx.conf"], home, listen):
        yield f"https://127.0.0.1:{listen}{prefix}"
