"""Instructions in user mode, counted by perf (Debian: linux-perf). Unlike seconds, they hardly
depend on other work of the machine."""

import functools
import pathlib
import shutil
import subprocess
import tempfile

EVENT = "instructions:u"
NOT_INSTALLED = "perf is not installed"
NO_COUNTERS = "the machine has no counters"
REFUSED = f"perf fails: `perf stat -e {EVENT} true` shows why"


def under_perf(command, report):
    """The command with its instructions, and those of all its processes, counted into a file."""
    return ["perf", "stat", "-x,", "-e", EVENT, "-o", report, "--", *command]


def counted(report):
    """The count in a file of perf, None if there is none. A machine with two kinds of cores has
    a line for each."""
    if not report.exists():
        return None
    lines = [line.split(",") for line in report.read_text().splitlines()]
    counts = [int(cells[0]) for cells in lines
              if cells[0].isdigit() and any("instructions" in cell for cell in cells)]
    return sum(counts) or None


@functools.cache
def obstacle():
    """Why instructions cannot be counted on this machine; None if they can."""
    if not shutil.which("perf"):
        return NOT_INSTALLED
    with tempfile.TemporaryDirectory(prefix="haul-bench-") as directory:
        report = pathlib.Path(directory, "perf.csv")
        run = subprocess.run(under_perf(["true"], report), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if run.returncode != 0:
            return REFUSED
        return None if counted(report) else NO_COUNTERS


def in_words(count):
    """Three digits and a unit: 10.0 G, 665 k."""
    units = ["", " k", " M", " G", " T"]
    while count >= 999.5 and len(units) > 1:
        count /= 1000
        units.pop(0)
    digits = 0 if units[0] == "" or count >= 99.95 else 1 if count >= 9.995 else 2
    return f"{count:.{digits}f}{units[0]}"
