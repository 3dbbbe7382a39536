"""Servers of the IETF's resumable uploads: our own, as there is no other of interop version 8, and SwiftNIO's, of 6."""

import contextlib
import functools
import json
import pathlib
import subprocess
import sys
import urllib.request

import harness
from harness import MIB
from interop import programs, relay, uploads
from interop.ietf_server import INTEROP

SERVER = pathlib.Path(__file__).with_name("ietf_server.py")
NIO = pathlib.Path(__file__).with_name("nio-upload")
SCRATCH = pathlib.Path(__file__).parents[3] / ".build" / "nio-upload"


def told(port, what):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/_{what}") as answer:
        return json.load(answer)


class Server(uploads.Server):
    def check(self, problems):
        if found := told(self.port, "violations"):
            problems.add(f"against the draft: {found}")
        versions = {version for method, path, version in told(self.port, "requests")
                    if method == "PATCH"}
        if versions != {self.fields[INTEROP]}:
            problems.add(f"appended with versions {versions}")


@contextlib.contextmanager
def server(directory, version, most=None):
    home, port = directory / f"ietf-{version}", harness.free_port()
    command = [sys.executable, SERVER, home, port, version, *([most] if most else [])]
    with programs.running(command, home, port), relay.before(port) as wire:
        yield Server(port, wire, scheme="", path="/target/", fields={INTEROP: str(version)},
                     stored=lambda name, _: f"http://127.0.0.1:{port}/target/{name}",
                     names_file=True, streams=True,
                     repeats_unanswered=True)


@contextlib.contextmanager
def swift_nio(directory):
    """It has no way to read a file back, so its directory is read."""
    home, port = directory / "swift-nio", harness.free_port()
    build = ["swift", "build", "--package-path", NIO, "--scratch-path", SCRATCH]
    if (result := subprocess.run(build, capture_output=True, text=True)).returncode != 0:
        raise RuntimeError(f"nio-upload: {result.stdout}{result.stderr}")
    (home / "files").mkdir(parents=True)
    command = [SCRATCH / "debug" / "nio-upload", home / "files", port]
    with programs.running(command, home, port), relay.before(port) as wire:
        yield uploads.Server(port, wire, scheme="", path="/", fields={INTEROP: "6"},
                             stored=lambda name, _: (home / "files" / name).as_uri(),
                             names_file=True, streams=True, forgets_ended=True)


ALL = {"swift-nio": swift_nio,
       "ietf-8": functools.partial(server, version=8),
       "ietf-6": functools.partial(server, version=6, most=16 * MIB)}
