"""The whole test suite, built with instruments in a folder of its own."""

import os
import pathlib
import subprocess
import sys

import harness

BUILDS = harness.ROOT / ".build"
# All at once are so slow with instruments that connections take longer than ten seconds.
WIDTH = 8
# One build for both: addresses are checked while coverage is counted.
OPTIONS = {
    "thread": ["--sanitize=thread"],
    "address": ["--sanitize=address", "--enable-code-coverage"],
}


def scratch(kind):
    return BUILDS / kind


def build(kind):
    harness.say(f"{kind}: building the tests; the first time this takes some minutes")
    words = ["swift", "build", "--build-tests", "--scratch-path", scratch(kind), *OPTIONS[kind]]
    result = subprocess.run([str(word) for word in words], cwd=harness.ROOT,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(f"{kind}: the build failed:\n{result.stdout[-4000:]}")


def products(kind, *names):
    return [scratch(kind) / "debug" / name for name in names]


def run(kind, log, environment, tests=()):
    """Runs all tests, or those of the expressions; their exit status.

    Leaks are looked for by the fuzz targets only.
    """
    program = products(kind, "haulPackageTests.xctest")[0]
    words = [str(program), "--testing-library", "swift-testing",
             "--experimental-maximum-parallelization-width", str(WIDTH)]
    for expression in tests or ():
        words += ["--filter", expression]
    # No report needs the backtracer, and it takes minutes with so large a program.
    environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no", **environment}
    if kind == "address":
        options = ["detect_leaks=0", environment.get("ASAN_OPTIONS", "")]
        environment["ASAN_OPTIONS"] = ":".join(option for option in options if option)
    with open(log, "wb") as file:
        return subprocess.run(words, cwd=harness.ROOT, env=environment, stdin=subprocess.DEVNULL,
                              stdout=file, stderr=file).returncode


def last_words(log, count=1):
    lines = pathlib.Path(log).read_text(errors="replace").splitlines()
    return "\n".join(line.strip() for line in lines[-count:])


def failures(log):
    lines = pathlib.Path(log).read_text(errors="replace").splitlines()
    return "\n".join([line for line in lines if "✘" in line or "issue" in line][-40:])
