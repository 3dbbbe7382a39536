"""The cases of every server: whole files, a stop and a resume, errors."""

import signal

import harness
from harness import MIB
from interop import samples
from interop.origins import CODES

# Bytes that may have been on their way when a connection was given another end.
SPILL = 16 * MIB


def downloads(checks, origin, sizes, more=()):
    """Each length over one connection, and over eight with its digest given."""
    for size in sizes:
        for connections in (1, 8):
            download(checks, origin, samples.name_of(size), connections, more)


def download(checks, origin, name, connections, more=()):
    digest = checks.samples.digests[name]
    checked = ["--checksum", f"sha-256={digest}"] if connections > 1 else []
    with checks.case(f"{name} -x {connections}") as problems:
        target = checks.haul.fresh() / "target.bin"
        outcome = checks.haul.get("-x", connections, "-o", target, *checked, *origin.options, *more,
                                  origin.address(name))
        right = problems.of(outcome, status=0)
        content(checks, problems, target, name, outcome)
        if right:
            end = outcome.finished()[0]
            length = checks.samples.lengths[name]
            expected = {"bytes": length, "reused": 0, "path": str(target),
                        "verified": "checksum" if checked else "length"}
            wrong = {key: end[key] for key in expected if end[key] != expected[key]}
            if wrong or end["fetched"] < length:
                problems.add(f"finished says {wrong}, {end['fetched']} fetched", outcome)


def content(checks, problems, target, name, outcome):
    if not target.exists():
        problems.add("there is no file")
    elif harness.sha256_of(target) != checks.samples.digests[name]:
        problems.add("the content is wrong", outcome)
    if left := checks.haul.leftovers():
        problems.add(f"working files were left: {left}")


def interruption(checks, origin, connections, more=()):
    """SIGINT in the middle, then the same command again."""
    size, rate = (MIB, "256K") if origin.slow else (100 * MIB, "40M")
    name = samples.name_of(size)
    with checks.case(f"{name} -x {connections}, SIGINT and again") as problems:
        target = checks.haul.fresh() / "target.bin"
        arguments = ["-x", connections, "-o", target, *origin.options, *more, origin.address(name)]
        stopped = interrupted(checks.haul, ["--limit-rate", rate, *arguments], size // 4)
        if not problems.of(stopped, status=-signal.SIGINT):
            return
        paused = [event.get("by") for event in stopped.events if event["type"] == "paused"]
        if paused != ["signal"] or target.exists():
            problems.add(f"paused by {paused}; a file there: {target.exists()}", stopped)
        outcome = checks.haul.get(*arguments)
        right = problems.of(outcome, status=0)
        content(checks, problems, target, name, outcome)
        if right:
            accounts(problems, origin, size, outcome)


def accounts(problems, origin, size, outcome):
    """Bytes on disk are not fetched again if the server allows a resume. Otherwise the whole body is
    sent again (bytes on disk may still be reported as such: they are not written)."""
    end = outcome.finished()[0]
    reused, fetched = end["reused"], end["fetched"]
    if origin.resumable:
        right = reused >= size // 8 and size - reused <= fetched <= size - reused + SPILL
    else:
        right = reused <= size and fetched >= size
    if not right:
        problems.add(f"{reused} bytes reused, {fetched} fetched of {size}", outcome)


def interrupted(haul, arguments, at):
    text = ""
    with haul.running(*arguments) as process:
        for line in process.stdout:
            text += line
            event = harness.events_of(line)[0]
            if event["type"] == "progress" and event["bytes"] >= at:
                process.send_signal(signal.SIGINT)
                break
        return haul.outcome(process, arguments, text)


def wrong_status(checks, origin, more=()):
    for status, address in origin.statuses.items():
        checks.failure(f"status {status}", [*origin.options, *more, address], CODES[status], status)


def wrong_things(checks, origin, more=()):
    wrong_status(checks, origin, more)
    name = samples.name_of(65535)
    checks.failure("another digest", [
        "--checksum", "sha-256=" + "0" * 64, *origin.options, *more, origin.address(name)],
        "checksum-mismatch")
