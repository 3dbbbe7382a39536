"""Runs of the binary under test, in an environment of their own."""

import contextlib
import dataclasses
import os
import shlex
import shutil
import subprocess

import harness

SECONDS = 300


@dataclasses.dataclass
class Outcome:
    """One finished run."""

    command: list
    status: int
    events: list  # of --json
    errors: str  # standard error

    def finished(self):
        return [event for event in self.events if event["type"] == "finished"]

    def in_full(self):
        lines = [f"$ {shlex.join(map(str, self.command))}", f"status {self.status}",
                 *self.errors.strip().splitlines()[-8:]]
        lines += [str(event) for event in self.events if event["type"] != "progress"][-8:]
        return lines


class Haul:
    def __init__(self, binary, directory):
        self.binary = binary
        self.home = directory / "home"
        self.work = directory / "work"
        self.home.mkdir()
        # No configuration, proxies or credentials of who runs this.
        self.environment = {
            name: value for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith(("HAUL_", "XDG_", "AWS_"))}
        self.environment["HOME"] = str(self.home)

    def fresh(self):
        """An empty directory to download to."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        return self.work

    def command(self, *arguments, verb="get"):
        return [self.binary, verb, "--json", "--progress", "none", *arguments]

    @contextlib.contextmanager
    def running(self, *arguments, environment=None, verb="get", standard_input=None):
        process = harness.start(
            self.command(*arguments, verb=verb), cwd=self.work, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=standard_input or subprocess.DEVNULL,
            env={**self.environment, **(environment or {})})
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def get(self, *arguments, environment=None):
        with self.running(*arguments, environment=environment) as process:
            return self.outcome(process, arguments)

    def put(self, *arguments, environment=None, standard_input=None):
        with self.running(*arguments, environment=environment, verb="put",
                          standard_input=standard_input) as process:
            return self.outcome(process, arguments, verb="put")

    def outcome(self, process, arguments, already_read="", verb="get"):
        """Waits for the end."""
        try:
            output, errors = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            errors += f"\nkilled after {SECONDS} s"
        return Outcome(self.command(*arguments, verb=verb), process.returncode,
                       harness.events_of(already_read + output), errors)

    def records(self):
        """Of uploads that have begun."""
        return [path for path in self.home.glob(".local/state/haul/uploads/*")
                if path.stat().st_size > 0]

    def leftovers(self):
        return sorted(path.name for path in self.work.glob("*.haul.*"))
