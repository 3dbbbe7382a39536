"""Apache, caddy, lighttpd and Python's http.server, each with a configuration of its own."""

import contextlib
import hashlib
import json

import harness
from interop import programs
from interop.origins import CODES, Origin

MODULES = "/usr/lib/apache2/modules"


@contextlib.contextmanager
def _running_apache(home, modules, lines):
    """Apache with these modules and lines; its address."""
    port = harness.free_port()
    loads = "\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so"
                      for name in ("mpm_event", "authz_core", "alias", *modules))
    (home / "apache.conf").write_text(f"""{loads}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {home}/pid
DefaultRuntimeDir {home}
ErrorLog {home}/error.log
User www-data
Group www-data
{lines}""")
    command = ["apache2", "-D", "FOREGROUND", "-d", home, "-f", home / "apache.conf"]
    with programs.running(command, home, port):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def apache(directory, files, _certificates):
    home = directory / "apache"
    home.mkdir()
    (home / "mime.types").touch()
    statuses = "\n".join(f"Redirect {status} /status/{status}" for status in CODES)
    with _running_apache(home, ["mime"], f"""TypesConfig {home}/mime.types
EnableSendfile On
Alias /files {files}
{statuses}
<Directory {files}>
  Require all granted
</Directory>
""") as base:
        yield Origin("apache", base + "/files", huge=True,
                     statuses={status: f"{base}/status/{status}" for status in CODES})


@contextlib.contextmanager
def apache_digest(directory, files, _certificates):
    """The same files for one user, with mod_auth_digest, which checks each count of a nonce."""
    home = directory / "apache-digest"
    home.mkdir()
    user, password, realm = "somebody", "unguessable", "tests, all"
    secret = hashlib.md5(f"{user}:{realm}:{password}".encode()).hexdigest()
    (home / "users").write_text(f"{user}:{realm}:{secret}\n")
    (home / "password").write_text(password + "\n")
    (home / "password").chmod(0o600)
    with _running_apache(home, ["authn_core", "authn_file", "authz_user", "auth_digest"], f"""
Alias /files {files}
Alias /status/401 {files}
<Location />
  AuthType Digest
  AuthName "{realm}"
  AuthUserFile {home}/users
  Require valid-user
</Location>
<Location /status/401>
  Require user nobody
</Location>
""") as base:
        yield Origin("apache-digest", base + "/files",
                     ["--user", user, "--password-file", home / "password"],
                     statuses={401: f"{base}/status/401/x"})


def _requests_of(log):
    records = [json.loads(line) for line in log.read_text().splitlines()]
    return [(record["request"]["uri"], record["request"]["proto"], record["request"]["remote_port"])
            for record in records if "request" in record]


@contextlib.contextmanager
def caddy(directory, files, certificates):
    home, port = directory / "caddy", harness.free_port()
    home.mkdir()
    statuses = "\n".join(f"  respond /status/{status} {status}" for status in CODES)
    (home / "Caddyfile").write_text(f"""{{
  admin off
  auto_https off
}}
https://127.0.0.1:{port} {{
  tls {certificates}/server.pem {certificates}/server.key
  log {{
    output file {home}/access.json
    format json
  }}
{statuses}
  handle_path /files/* {{
    root * {files}
    file_server
  }}
}}
""")
    command = ["caddy", "run", "--config", home / "Caddyfile", "--adapter", "caddyfile"]
    with programs.running(command, home, port, environment={
            "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}):
        base = f"https://127.0.0.1:{port}"
        yield Origin("caddy", base + "/files", ["--cacert", certificates / "ca.pem"],
                     requests=lambda: _requests_of(home / "access.json"),
                     statuses={status: f"{base}/status/{status}" for status in CODES})


@contextlib.contextmanager
def lighttpd(directory, files, _certificates):
    home, port = directory / "lighttpd", harness.free_port()
    home.mkdir()
    (home / "users").write_text("somebody:unguessable\n")
    # It has no module that answers with a given status: a program that says nothing is a 500.
    (files / "status.none").write_text("")
    (home / "lighttpd.conf").write_text(f"""
server.modules = ("mod_auth", "mod_authn_file", "mod_access", "mod_alias", "mod_cgi")
server.document-root = "{files}"
server.bind = "127.0.0.1"
server.port = {port}
server.username = "www-data"
server.groupname = "www-data"
server.errorlog = "{home}/error.log"
mimetype.assign = ("" => "application/octet-stream")  # without a type it sends no validators
alias.url = ("/files/" => "{files}/")
cgi.assign = (".none" => "/bin/false")
$HTTP["url"] == "/status/403" {{ url.access-deny = ("") }}
auth.backend = "plain"
auth.backend.plain.userfile = "{home}/users"
auth.require = ("/status/401" => (
  "method" => "basic", "realm" => "tests", "require" => "valid-user"))
""")
    for path in (home, home / "users"):
        path.chmod(0o755)
    (home / "error.log").touch()
    (home / "error.log").chmod(0o666)
    command = ["lighttpd", "-D", "-f", home / "lighttpd.conf"]
    with programs.running(command, home, port):
        base = f"http://127.0.0.1:{port}"
        yield Origin("lighttpd", base + "/files", statuses={
            401: f"{base}/status/401", 403: f"{base}/status/403",
            404: f"{base}/status/404", 500: f"{base}/files/status.none"})


@contextlib.contextmanager
def http_server(directory, files, _certificates):
    port = harness.free_port()
    command = [programs.DEBIANS_PYTHON, "-m", "http.server", port,
               "--bind", "127.0.0.1", "--directory", files]
    with programs.running(command, directory / "http.server", port):
        base = f"http://127.0.0.1:{port}"
        yield Origin("http.server", base, resumable=False, statuses={404: f"{base}/missing"})


ALL = {"apache": apache, "apache-digest": apache_digest, "caddy": caddy, "lighttpd": lighttpd,
       "http.server": http_server}
