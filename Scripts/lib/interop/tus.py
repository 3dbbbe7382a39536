"""Servers of the tus protocol that others wrote, from PyPI, in an environment of their own."""

import contextlib
import os

import harness
from interop import environments, programs, relay, tls_proxy, uploads

PACKAGES = ["resumable-upload==0.3.0", "tuspyserver==4.4.3", "uvicorn==0.54.0", "tuspy==1.1.0"]

# It has no way to read a file back, so its directory is served too.
TUSPYSERVER = """
import sys
import fastapi, uvicorn
from starlette.staticfiles import StaticFiles
from tuspyserver import create_tus_router
directory, port = sys.argv[1:]
app = fastapi.FastAPI()
app.include_router(create_tus_router(prefix="files", files_dir=directory))
app.mount("/stored", StaticFiles(directory=directory))
uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning")
"""


def environment():
    return environments.programs("tus", PACKAGES)


@contextlib.contextmanager
def resumable_upload(directory):
    """It keeps each request in memory until its end."""
    home, port = directory / "resumable-upload", harness.free_port()
    command = [environment() / "resumable-upload", "serve", "--host", "127.0.0.1", "--port", port,
               "--upload-dir", home / "files", "--db-path", home / "files.db",
               "--enable-downloads", "--log-level", "WARNING"]
    with programs.running(command, home, port), relay.before(port, is_far=True) as wire:
        yield uploads.Server(port, wire, scheme="tus+", path="/files", fields=FIELDS,
                             stored=lambda _, location: location)


@contextlib.contextmanager
def tuspyserver(directory):
    home, port = directory / "tuspyserver", harness.free_port()
    (home / "files").mkdir(parents=True)
    command = [environment() / "python", "-c", TUSPYSERVER, home / "files", port]
    with programs.running(command, home, port), relay.before(port, is_far=True) as wire:
        yield uploads.Server(port, wire, scheme="tus+", path="/files/", fields=FIELDS,
                             stored=lambda _, location: location.replace("/files/", "/stored/"),
                             streams=True)


def behind_tls(checks, directory, certificates):
    """A server that names itself with http, behind nginx that takes 1 MiB in a request."""
    home, port = directory / "tus-behind-tls", harness.free_port()
    (home / "files").mkdir(parents=True)
    command = [environment() / "python", "-c", TUSPYSERVER, home / "files", port]
    with programs.running(command, home, port), \
            tls_proxy.before(port, directory, certificates, "tus") as outside:
        for length in (0, 1, harness.MIB, harness.MIB + 1, 20 * harness.MIB):
            with checks.case(f"{length} bytes") as problems:
                content = os.urandom(length)
                (checks.haul.fresh() / "f").write_bytes(content)
                run = checks.haul.put("--cacert", certificates / "ca.pem", "f",
                                      f"tus+{outside}/files/")
                if run.status != 0:
                    problems.add("it failed", run)
                stored = [path for path in (home / "files").iterdir()
                          if path.suffix != ".info" and path.is_file()]
                if length and content not in [path.read_bytes() for path in stored]:
                    problems.add("the server does not have the file")


FIELDS = {"Tus-Resumable": "1.0.0"}
ALL = {"resumable-upload": resumable_upload, "tuspyserver": tuspyserver}
