"""The cases of servers where an upload has an address of its own, at which it resumes."""

import collections.abc
import dataclasses
import http.client
import random
import signal
import subprocess
import threading
import urllib.parse

import harness
from harness import MIB
from interop import samples

SIZES = [0, 1, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, 100 * MIB]
HUGE = 3 << 30
KILLS = 10
# What the requests have beside the file: OPTIONS, POST and HEAD, and a PATCH for each 16 MiB.
HEADS, PATCH, STEP = 16 * 1024, 512, 16 * MIB
# What haul says once, if it cannot know whether the server has joined the parts.
UNCLEAR = "may have the whole file"
# When a run is killed: after its start, when the upload is made, at a byte, at the last one.
MOMENTS = {"start": 1, "created": 2, "byte": 6, "last": 2}


@dataclasses.dataclass
class Server:
    port: int
    wire: object  # the relay before it
    scheme: str  # a prefix of the address
    path: str
    fields: dict  # of a request for the offset
    stored: collections.abc.Callable  # (name, address of the upload) to an address to read it back
    names_file: bool = False  # the address of the file is known; otherwise the server makes it
    streams: bool = False  # does not keep a request in memory
    # An upload that is whole, but without an answer that says so, is sent once more.
    repeats_unanswered: bool = False
    # The address of an upload is gone when it has ended, or after a conflict.
    forgets_ended: bool = False

    def address(self, name):
        return f"{self.scheme}{self.wire.base}{self.path}{name if self.names_file else ''}"

    def location(self):
        """The address of the last upload, at the server itself."""
        told = urllib.parse.urljoin(self.wire.base, self.wire.locations[-1])
        return f"http://127.0.0.1:{self.port}{urllib.parse.urlsplit(told).path}"

    def offset(self, first):
        """Bytes that the server has acknowledged of an upload: the last of the addresses from this
        number on, or all of them, if they are of its parts. None if the upload is forgotten."""
        acknowledged = 0
        for told in reversed(self.wire.locations[first:]):
            headers = self.head(told)
            if headers is None:
                return None
            if headers.get("Upload-Concat") != "partial":
                return acknowledged or int(headers["Upload-Offset"])
            acknowledged += int(headers["Upload-Offset"])
        return acknowledged

    def head(self, told):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        path = urllib.parse.urlsplit(urllib.parse.urljoin(self.wire.base, told)).path
        connection.request("HEAD", path, headers=self.fields)
        answer = connection.getresponse()
        answer.close()
        connection.close()
        if answer.status == 404 and self.forgets_ended:
            return None
        if answer.status not in (200, 204):
            raise RuntimeError(f"HEAD of an upload: {answer.status}")
        return answer.headers

    def has_joined(self, told):
        """Whether the address is of a file that the server made of its parts."""
        return (self.head(told) or {}).get("Upload-Concat", "").startswith("final")

    def digest(self, name):
        """Of what curl reads back."""
        location = None if self.names_file else self.location()
        curl = subprocess.Popen(["curl", "-s", "-f", self.stored(name, location)],
                                stdout=subprocess.PIPE)
        digest = subprocess.run(["sha256sum"], stdin=curl.stdout, capture_output=True, text=True)
        if curl.wait() != 0:
            raise RuntimeError(f"curl: status {curl.returncode}")
        return digest.stdout.split()[0]

    def check(self, problems):
        """What a server says of its client."""


def cases(checks, server, huge=False):
    files = checks.samples.directory / "uploads"
    files.mkdir(exist_ok=True)
    for size in SIZES:
        path = files / f"{size}.bin"
        if not path.exists():
            harness.random_file(path, size, seed=size)
        _whole(checks, server, path)
    if huge and server.streams:
        samples.sparse_file(files / "huge.bin", HUGE)
        _whole(checks, server, files / "huge.bin")
    largest = files / f"{SIZES[-1]}.bin"
    _interrupted(checks, server, largest)
    if not server.forgets_ended:
        with checks.case(f"{KILLS} times SIGKILL, then whole") as problems:
            harness.say(str(Killer(checks, problems, server, largest, rate="100M").run(KILLS)))
    with checks.case("what the server says of its client") as problems:
        server.check(problems)


def _ended(problems, server, file, outcome, reused, before, name=None):
    """A whole file, of which `reused` bytes were on the server, as this run says and as the
    wire says: it had sent `before` bytes."""
    length = file.stat().st_size
    if problems.of(outcome, status=0):
        end = outcome.finished()[0]
        if (end["bytes"], end["reused"], end["fetched"]) != (length, reused, length - reused):
            problems.add(f"{end['bytes']} bytes, {end['reused']} reused, {end['fetched']} sent; "
                         f"the server had {reused}", outcome)
    sent = server.wire.sent - before
    needed = length - reused
    if not needed <= sent <= needed + HEADS + needed // STEP * PATCH:
        problems.add(f"{sent} bytes went to the server, which needed {needed}", outcome)
    _compare(problems, server, file, name or file.name, outcome)


def _compare(problems, server, file, name, outcome=None):
    if server.digest(name) != harness.sha256_of(file):
        problems.add("the server has another file", outcome)


def _whole(checks, server, file):
    with checks.case(f"put {file.name}") as problems:
        checks.haul.fresh()
        before = server.wire.sent
        outcome = checks.haul.put(file, server.address(file.name))
        _ended(problems, server, file, outcome, 0, before)


def _interrupted(checks, server, file):
    with checks.case("SIGINT and the same command again") as problems:
        checks.haul.fresh()
        known = len(server.wire.locations)
        # A server that compares checksums keeps only whole requests, of 16 MiB in each of four parts.
        first = _part_way(checks, server, file, 72 * MIB)
        problems.of(first, status=-signal.SIGINT)
        server.wire.settle()
        reused, before = server.offset(known) or 0, server.wire.sent
        if reused < MIB:
            problems.add(f"the server has kept {reused} bytes")
        again = checks.haul.put(file, server.address(file.name))
        _ended(problems, server, file, again, reused, before)


def _part_way(checks, server, file, count):
    arguments = ["--limit-rate", "40M", file, server.address(file.name)]
    with checks.haul.running(*arguments, verb="put") as process:
        server.wire.at_bytes = (server.wire.sent + count,
                                lambda: process.send_signal(signal.SIGINT))
        return checks.haul.outcome(process, arguments, verb="put")


@dataclasses.dataclass
class Counts:
    """What the kills came to."""

    kills: int = 0
    uploads: int = 0
    resumed: int = 0  # the server had some bytes
    whole: int = 0  # it had all, but haul had not said so
    resent: int = 0  # of these, sent once more: no answer had said that the file was accepted
    untold: int = 0  # the upload was complete and its record deleted, but haul had not said so
    unclear: int = 0  # the server may have joined the parts to the file, and haul said so
    moments: dict = dataclasses.field(default_factory=lambda: dict.fromkeys(MOMENTS, 0))

    def __str__(self):
        moments = ", ".join(f"{count} at {moment}" for moment, count in self.moments.items())
        return (f"{self.kills} kills ({moments}) of {self.uploads} uploads; resumed in the middle "
                f"{self.resumed}, found whole {self.whole}, of these sent again {self.resent}; "
                f"killed between the end and its report {self.untold}, while the server joined "
                f"the parts {self.unclear}")


class Killer:
    """Kills uploads of a file, each once to three times, and lets each run to its end."""

    def __init__(self, checks, problems, server, file, rate, seed=1):
        self._checks, self._problems, self._server = checks, problems, server
        self._file, self._length = file, file.stat().st_size
        self._rate, self._random = rate, random.Random(seed)
        self.counts = Counts()

    def run(self, kills):
        counts = self.counts
        while counts.kills < kills and not self._problems.lines:
            self._checks.haul.fresh()
            self._name = f"killed-{counts.uploads}"
            self._first, self._offset = len(self._server.wire.locations), 0
            was_killed = True
            for _ in range(min(self._random.randint(1, 3), kills - counts.kills)):
                was_killed = was_killed and self._kill()
            if was_killed:
                self._finish()
            else:
                _compare(self._problems, self._server, self._file, self._name)
            counts.uploads += 1
        return counts

    def _kill(self):
        """One run that is killed; false if it ended before that."""
        wire, known = self._server.wire, len(self._server.wire.locations)
        moments = {moment: weight for moment, weight in MOMENTS.items()
                   if moment != "created" or not self._is_known}
        moment = self._random.choices(list(moments), moments.values())[0]
        arguments = ["--limit-rate", self._rate, self._file, self._server.address(self._name)]
        with self._checks.haul.running(*arguments, verb="put") as process:
            self._kill_at(moment, process)
            output, errors = process.communicate(timeout=120)
        wire.at_bytes = wire.at_location = None
        wire.settle()
        if UNCLEAR in output:
            self.counts.unclear += 1
            return True
        if '"finished"' in output or process.returncode != -signal.SIGKILL:
            if '"state":"completed"' not in output:
                self._problems.add(f"status {process.returncode} before the kill: {errors}{output}")
            return False
        if self._offset_now() == self._length and not self._checks.haul.records():
            self.counts.untold += 1
            return False
        self.counts.kills += 1
        self.counts.moments[moment] += 1
        if any(not self._server.has_joined(told) for told in wire.locations[known:]):
            if self._offset and not self._may_be_resent:
                self._problems.add(f"a new upload, although the server had {self._offset} bytes")
            self._offset = 0
        offset = self._offset_now()
        if offset < self._offset and not self._server.forgets_ended:
            self._problems.add(f"the server had {self._offset} bytes, and now {offset}")
        self._offset = offset
        return True

    def _offset_now(self):
        """Of the last upload; 0 if this file has none."""
        offset = self._server.offset(self._first)
        if offset is not None:
            return offset
        is_whole = self._server.digest(self._name) == harness.sha256_of(self._file)
        return self._length if is_whole else 0

    @property
    def _is_known(self):
        return len(self._server.wire.locations) > self._first

    def _kill_at(self, moment, process):
        wire, left = self._server.wire, self._length - self._offset

        def soon(seconds):
            threading.Timer(self._random.uniform(0, seconds), process.kill).start()

        if moment == "start":
            soon(0.06)
        elif moment == "created":
            wire.at_location = lambda: soon(0.004)
        else:
            count = left if moment == "last" else self._random.randint(1, max(left, 1))
            wire.at_bytes = (wire.sent + count, lambda: soon(0.004))

    @property
    def _may_be_resent(self):
        return self._offset == self._length and (self._server.repeats_unanswered
                                                 or self._server.forgets_ended)

    def _finish(self):
        wire = self._server.wire
        known, before = len(wire.locations), wire.sent
        self.counts.resumed += 0 < self._offset < self._length
        self.counts.whole += self._offset == self._length
        outcome = self._checks.haul.put(self._file, self._server.address(self._name))
        if UNCLEAR in str(outcome.events):
            self.counts.unclear += 1
            outcome = self._checks.haul.put(self._file, self._server.address(self._name))
        reused = self._offset
        if self._may_be_resent and len(wire.locations) > known:
            self.counts.resent += 1
            reused = 0
        _ended(self._problems, self._server, self._file, outcome, reused, before, self._name)
