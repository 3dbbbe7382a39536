"""Counts successes and errors, and prints each error in full."""

import contextlib
import time

import harness

LONGEST_END = 3.0  # seconds


class Problems:
    """What was wrong in one case."""

    def __init__(self):
        self.lines = []

    def add(self, text, outcome=None):
        self.lines.append(text)
        if outcome is not None:
            self.lines += outcome.in_full()

    def of(self, outcome, status, state=None, code=None, http_status=None):
        """What the contract says of any run of one transfer, and of this one's end."""
        found = []
        if outcome.status != status:
            found.append(f"exit status {outcome.status}, not {status}")
        if [event["seq"] for event in outcome.events] != list(range(1, len(outcome.events) + 1)):
            found.append("the numbers of the lines do not rise by one")
        if not outcome.events or outcome.events[-1]["type"] != "summary":
            found.append("the last line is not the summary")
        if (idle := _idle_at_end(outcome.events)) > LONGEST_END:
            found.append(f"it took {idle:.1f} s to end after all was done")
        ends = outcome.finished()
        state = state or ("completed" if status == 0 else "failed")
        if [end["state"] for end in ends] != ([state] if status in (0, 1) else []):
            found.append(f"not one end, {state}: {[end['state'] for end in ends]}")
        error = (ends[0]["error"] or {}) if ends else {}
        if error.get("code") != code and status in (0, 1):
            found.append(f"error code {error.get('code')}, not {code}")
        if http_status is not None and error.get("status") != http_status:
            found.append(f"HTTP status {error.get('status')} in the error, not {http_status}")
        if status == 1 and not outcome.errors.startswith("haul: "):
            found.append("no message on standard error")
        if found:
            self.add("; ".join(found), outcome)
        return not found


def _idle_at_end(events):
    """Seconds from the end, or pause, of the last transfer to the last line."""
    times = [event["time"] for event in events
             if event["type"] in ("finished", "paused", "summary")]
    return times[-1] - times[-2] if len(times) > 1 else 0


class Checks:
    """The cases of one server."""

    def __init__(self, name, haul, samples):
        self.name = name
        self.haul = haul
        self.samples = samples
        self.right = 0
        self.wrong = []
        self.slowest = (0.0, "")
        self._began = time.monotonic()

    @contextlib.contextmanager
    def case(self, name):
        problems = Problems()
        began = time.monotonic()
        try:
            yield problems
        except Exception as error:  # a server or this script, not haul: reported like the rest
            problems.add(f"{type(error).__name__}: {error}")
        self.slowest = max(self.slowest, (time.monotonic() - began, name))
        if problems.lines:
            self.wrong.append((name, problems.lines))
        else:
            self.right += 1

    def failure(self, name, arguments, code, http_status=None, environment=None):
        """A run that fails with this code and leaves nothing under the final name."""
        with self.case(name) as problems:
            target = self.haul.fresh() / "target"
            retries = [] if "--retries" in arguments else ["--retries", "0"]
            outcome = self.haul.get(
                "-o", target, *retries, *arguments, environment=environment)
            problems.of(outcome, status=1, code=code, http_status=http_status)
            if target.exists():
                problems.add("there is a file after a failure")

    def tell(self):
        seconds = time.monotonic() - self._began
        harness.say(f"{self.name:22}{self.right:4} right{len(self.wrong):4} wrong {seconds:7.1f} s"
                    f"   longest {self.slowest[0]:.1f} s: {self.slowest[1]}")
        for name, lines in self.wrong:
            harness.say(f"  WRONG {name}")
            for line in lines:
                harness.say(f"    {line}")
