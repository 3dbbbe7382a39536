"""Shared by the scripts that run the real binary: servers, files, digests, measured runs."""

import contextlib
import dataclasses
import hashlib
import http.client
import json
import math
import os
import pathlib
import random
import signal
import socket
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MIB = 1 << 20


def say(text):
    print(text, flush=True)


def release_binary(product):
    """The path of an up-to-date release binary, built if needed."""
    command = [str(ROOT / "Scripts" / "release"), product]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what, seconds=10.0, pause=0.01):
    """Returns the first true answer of `condition`."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(pause)
    return answer


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def random_file(path, length, seed, modified_ago=86400.0):
    """Makes a file of seeded random content whose modification time is well in the past."""
    generator = random.Random(seed)
    with open(path, "wb") as file:
        for start in range(0, length, MIB):
            file.write(generator.randbytes(min(MIB, length - start)))
    then = int(time.time() - modified_ago)
    os.utime(path, (then, then))
    return path


def _default_signals():
    # A parent may ignore SIGINT (a job in the background); the program under test must not.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def start(command, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([str(word) for word in command], preexec_fn=_default_signals, **options)


def stop(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def accepts(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
        return True
    return False


@contextlib.contextmanager
def nginx(directory, locations, http=""):
    """Runs nginx with its prefix in `directory`; gives the base address, without a slash.

    `locations` go into its server, `http` (other servers, log formats) beside it.
    """
    prefix = pathlib.Path(directory).resolve() / "nginx"
    (prefix / "temporary").mkdir(parents=True, exist_ok=True)
    port = free_port()
    temporary = "\n".join(
        f"  {name}_temp_path temporary/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;" if os.geteuid() == 0 else ""
    locations = locations.replace("@PORT@", str(port))
    (prefix / "nginx.conf").write_text(f"""{user}
daemon off;
worker_processes 2;
pid nginx.pid;
error_log error.log;
events {{ worker_connections 512; }}
http {{
  access_log off;
  sendfile on;
  default_type application/octet-stream;
{temporary}
{http}
  server {{
    listen 127.0.0.1:{port} backlog=511;
{locations}
  }}
}}
""")
    path = os.environ["PATH"] + ":/usr/local/sbin:/usr/sbin"
    process = start(
        ["setpriv", "--pdeathsig", "TERM",  # when this process is killed
         "nginx", "-p", f"{prefix}/", "-c", "nginx.conf", "-e", "error.log"],
        env={**os.environ, "PATH": path})
    try:
        wait_until(lambda: accepts(port) or process.poll() is not None, "nginx")
        if process.poll() is not None:
            raise RuntimeError((prefix / "error.log").read_text())
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(process)


class FaultServer:
    """The fault server as a process; counts what it sent by path."""

    def __init__(self, binary, arguments):
        self.process = start([binary, "serve", *arguments], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the fault server did not start")
        port = json.loads(line)["port"]
        self.base = f"http://127.0.0.1:{port}"
        self._control = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def sent(self, path):
        return self._count(path, "bytes")

    def requests(self, path):
        return self._count(path, "requests")

    def _count(self, path, what):
        try:
            self._control.request("GET", "/_control/stats")
            answer = json.load(self._control.getresponse())
        except (http.client.HTTPException, ConnectionError):  # closed in the meantime
            self._control.close()
            self._control.request("GET", "/_control/stats")
            answer = json.load(self._control.getresponse())
        return answer["paths"].get(path, {}).get(what, 0)

    def settled(self, path):
        """What was sent, once the server sends nothing more."""
        last = self.sent(path)
        while True:
            time.sleep(0.03)
            now = self.sent(path)
            if now == last:
                return now
            last = now

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._control.close()
        stop(self.process)
        self.process.stdout.close()


@dataclasses.dataclass
class Run:
    """One finished process."""

    status: int
    wall: float
    cpu: float
    peak: int  # bytes


def measure(command, cwd, timeout=600, output=None, errors=None, environment=None):
    """Runs a program, quietly or into files, and returns what it cost."""
    began = time.monotonic()
    with open(os.devnull, "r+b") as null:
        # A group of its own: what runs under perf must end with perf.
        process = start(command, cwd=cwd, stdout=output or null, stderr=errors or null,
                        process_group=0, env=environment)
    watchdog = threading.Timer(timeout, _kill_group, [process.pid])
    watchdog.start()
    peak = _PeakMemory(process.pid)
    try:
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
    except BaseException:
        _kill_group(process.pid)  # this process is ending; nothing that it started may remain
        raise
    finally:
        watchdog.cancel()
        highest = peak.stop()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(process.returncode, wall, usage.ru_utime + usage.ru_stime, highest)


def _kill_group(leader):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _tree(pid):
    """A process and those that it started, and these."""
    yield pid
    with contextlib.suppress(OSError):
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from _tree(int(child))


def cpu_of_tree(pid):
    """Seconds of a process and its children, also of those that have ended."""
    ticks = 0
    for one in _tree(pid):
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


class _PeakMemory:
    """Samples the high-water marks of a process and its children together. `ru_maxrss` cannot be
    used: it is inherited through exec, so that it never falls below what this interpreter takes."""

    def __init__(self, pid):
        self._pid = pid
        self._peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def _sample(self):
        while True:
            self._peak = max(self._peak, sum(map(_high_water_mark, _tree(self._pid))))
            if self._ended.wait(0.005):
                return

    def stop(self):
        self._ended.set()
        self._thread.join()
        return self._peak


def _high_water_mark(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def events_of(text):
    """The objects of `--json` output."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def quantile(values, fraction):
    """The nearest-rank quantile; 0 of nothing."""
    ordered = sorted(values)
    if not ordered:
        return 0
    return ordered[max(0, math.ceil(len(ordered) * fraction) - 1)]
