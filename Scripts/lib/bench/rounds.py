"""One run of a program, and rounds in which each program runs once."""

import collections
import dataclasses
import os
import shutil
import statistics
import tempfile

import harness
from bench import instructions, programs
from harness import MIB

TIMEOUT = 900


@dataclasses.dataclass
class Sample:
    """What one run cost, and whether every byte was right."""

    wall: float
    cpu: float
    peak: int  # bytes
    right: bool
    more: dict = dataclasses.field(default_factory=dict)

    def as_data(self):
        return {"wall": round(self.wall, 4), "cpu": round(self.cpu, 4), "peak": self.peak,
                "right": self.right, **self.more}


class Bench:
    """What every part needs: the programs, a directory for files, the number of rounds."""

    def __init__(self, haul, faultserver, directory, rounds, quick, older=None):
        self.haul, self.faultserver = haul, faultserver
        self.older = older  # another haul, to compare with
        self._runs_older = False
        self.directory, self.rounds, self.quick = directory, rounds, quick
        self.work = directory / "work"
        self.environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/local/sbin:/usr/sbin"}
        self.wrong = []  # failed runs of haul
        self.counted = collections.defaultdict(dict)  # instructions, by title and by name
        self._perf_report = None  # the file of perf, while instructions are counted

    def fresh(self, keeps_last=False):
        """An empty directory to download into. Many small files of the last run are kept until the end: ext4 reuses
        inodes that were in use some minutes ago slowly, which would slow the next run."""
        if keeps_last and self.work.exists():
            self.work.rename(self.directory / f"kept-{len(list(self.directory.glob('kept-*')))}")
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        os.sync()  # the last run's write-back must not slow this one
        return self.work

    def measure(self, command, events=False, environment=None):
        """A run in the work directory, and its events; what a failed one says is shown."""
        if self._runs_older and command[0] == self.haul:
            command = [self.older, *command[1:]]
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            counting = self._perf_report is not None
            run = harness.measure(
                instructions.under_perf(command, self._perf_report) if counting else command,
                self.work, TIMEOUT, output if events else None, errors, environment)
            output.seek(0)
            errors.seek(0)
            if run.status != 0:
                harness.say(f"{command[0]}: status {run.status}\n{errors.read()[-1000:]}")
            return run, harness.events_of(output.read())

    def one_file(self, command, address, digest, events=False):
        """A run of a command that makes programs.TARGET; gives the sample, and its events."""
        work = self.fresh()
        run, told = self.measure([*command, address], events)
        target = work / programs.TARGET
        right = run.status == 0 and target.exists() and harness.sha256_of(target) == digest
        return Sample(run.wall, run.cpu, run.peak, right), told

    def in_turn(self, title, names, once, rounds=None):
        """{name: samples}: each round runs every name once. Instructions are counted in one more
        round, whose times are not kept: perf has CPU time and memory of its own."""
        results = {name: [] for name in names}
        rounds = rounds or self.rounds
        for turn in range(rounds):
            for name in names:
                # The second of a pair finds memory that the first one has freed.
                runs = [(name, once)]
                if self.older and not programs.is_peer(name):
                    runs.insert(turn % 2, (f"{name}, older", self._of_older(once)))
                for line, run in runs:
                    sample = run(name, turn)
                    results.setdefault(line, []).append(sample)
                    self.note(title, line, turn, sample)
        if not instructions.obstacle():
            for name in names:
                if name not in self.counted[title]:
                    self._count(title, name, lambda: once(name, rounds))
        return results

    def _of_older(self, once):
        def run(name, turn):
            self._runs_older = True
            try:
                return once(name, turn)
            finally:
                self._runs_older = False
        return run

    def _count(self, title, name, once):
        """Counts the instructions of one run; those of a wrong one are not kept."""
        self._perf_report = self.directory / "perf.csv"
        self._perf_report.unlink(missing_ok=True)
        try:
            right, count = once().right, instructions.counted(self._perf_report)
        finally:
            self._perf_report = None
        self.counted[title][name] = count if right else None
        told = f"{instructions.in_words(count)} instructions" if count else "nothing counted"
        harness.say(f"{title}, counted, {name}: {told}{'' if right else ', WRONG'}")
        self._note_wrong(f"{title}, counted, {name}", name, right)

    def note(self, title, name, turn, sample):
        more = "".join(f", {key} {value}" for key, value in sample.more.items()
                       if isinstance(value, (int, float, str)))
        harness.say(f"{title}, round {turn + 1}, {name}: {sample.wall:.2f} s, CPU {sample.cpu:.2f} "
                    f"s, {sample.peak / MIB:.1f} MiB{more}{'' if sample.right else ', WRONG'}")
        self._note_wrong(f"{title}, round {turn + 1}, {name}", name, sample.right)

    def _note_wrong(self, run, name, right):
        if not right and not programs.is_peer(name):
            self.wrong.append(run)


def median(samples, what="wall"):
    """Of right runs; none when there was none."""
    values = [getattr(sample, what) for sample in samples if sample.right]
    return statistics.median(values) if values else None


def fastest_peer(results):
    """(name, median wall) of the fastest program that is not ours and was always right."""
    peers = {name: median(samples) for name, samples in results.items()
             if programs.is_peer(name) and all(sample.right for sample in samples)}
    return min(peers.items(), key=lambda pair: pair[1]) if peers else (None, None)


def group(title, results, reference=None, counted=None, files=None):
    """A table's data. `reference` names whose wall time the others are divided by; `counted` are
    instructions by name, which are also shown per file when `files` says how many there are."""
    data = {"title": title, "reference": reference or next(iter(results)),
            "samples": {name: [sample.as_data() for sample in samples]
                        for name, samples in results.items()}}
    if counted:
        data["instructions"] = {name: counted.get(name) for name in results}
        if files:
            data["files"] = files
    return data


def bound(line, what, relation, wanted, measured, unit=""):
    """A line of the table of bounds; `relation` is ≤ or ≥."""
    met = None
    if measured is not None:
        met = measured <= wanted if relation == "≤" else measured >= wanted
        measured = round(measured, 3)
    return {"line": line, "what": what, "wanted": f"{relation} {wanted:g}{unit}",
            "measured": measured, "unit": unit, "met": met}


def ratio(one, other):
    return one / other if one is not None and other else None
