"""The daemon with 100,000 queued transfers: calls, commands and starts, alone and beside bad clients; aria2's RPC beside it."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import socket
import subprocess
import threading
import time

import harness
from bench.rounds import bound

CALLS = 500
BATCH = 10_000


class SocketConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Daemon:
    """`haul serve` with a state directory of its own."""

    def __init__(self, haul, directory):
        self.haul, self.directory = haul, directory
        self.environment = {**os.environ, "XDG_STATE_HOME": str(directory / "s"), "HOME": str(directory)}
        self.socket = str(directory / "s" / "haul" / "control.sock")
        self.process = None

    def start(self):
        """Milliseconds until it answers."""
        began = time.monotonic()
        self.process = subprocess.Popen(
            [self.haul, "serve"], env=self.environment, cwd=self.directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                self.call("GET", "/api/v1/status")
                return (time.monotonic() - began) * 1000
            except OSError:
                time.sleep(0.002)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)

    def call(self, method, path, body=None, connection=None):
        one = connection or SocketConnection(self.socket)
        text = None if body is None else json.dumps(body)
        one.request(method, path, text, {"Content-Type": "application/json"} if text else {})
        answer = one.getresponse()
        data = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {data[:200]}")
        if connection is None:
            one.close()
        return json.loads(data) if data else None

    def peak(self):
        """The most memory so far, in MiB."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return 0


def milliseconds(work):
    began = time.monotonic()
    work()
    return (time.monotonic() - began) * 1000


def run(bench):
    members = 10_000 if bench.quick else 100_000
    rounds = [_round(bench, members) for _ in range(bench.rounds)]
    found = {key: sorted(one[key] for one in rounds)[len(rounds) // 2] for key in rounds[0]}
    return {"groups": [], "tables": [_table(members, found)], "bounds": _bounds(found)}


def _round(bench, members):
    directory = bench.fresh()
    daemon = Daemon(str(pathlib.Path(bench.haul).resolve()), directory)
    found = {}
    daemon.start()
    try:
        daemon.call("PATCH", "/api/v1/queue", {"is_suspended": True})
        times = [milliseconds(lambda: daemon.call("POST", "/api/v1/transfers", _batch(directory, n)))
                 for n in range(members // BATCH)]
        found["add of 10,000"] = sorted(times)[len(times) // 2]
    finally:
        daemon.stop()
    # It is not suspended any more: no server listens there, and one transfer at a time fails fast.
    found["start"] = daemon.start()
    try:
        daemon.call("PATCH", "/api/v1/queue", {"is_suspended": True})
        found["page p50"], found["page p99"] = _pages(daemon)
        found["haul list"] = milliseconds(lambda: _list(daemon))
        found["page p50 beside bad clients"], found["page p99 beside bad clients"] = _beside(daemon)
        found["peak memory, MiB"] = daemon.peak()
    finally:
        daemon.stop()
    found.update(_aria2(directory, members))
    return found


def _batch(directory, number):
    return {"transfers": [
        {"url": f"http://127.0.0.1:1/{number}/{index}", "file": f"{directory}/f{number}-{index}"}
        for index in range(BATCH)]}


def _pages(daemon):
    connection = SocketConnection(daemon.socket)
    times = [milliseconds(lambda: daemon.call("GET", "/api/v1/transfers?limit=50", None, connection))
             for _ in range(CALLS)]
    connection.close()
    return harness.quantile(times, 0.5), harness.quantile(times, 0.99)


def _list(daemon, *options):
    subprocess.run([daemon.haul, "list", *options], env=daemon.environment, cwd=daemon.directory,
                   stdout=subprocess.DEVNULL, check=True)


def _raw(daemon, text):
    one = socket.socket(socket.AF_UNIX)
    while True:
        try:
            one.connect(daemon.socket)
            break
        except BlockingIOError:  # more wait than the socket admits
            time.sleep(0.01)
    one.settimeout(60)
    one.sendall(text)
    return one


def _trickle(daemon, text, over):
    """A client that sends a byte ten times a second, until it is disconnected."""
    try:
        one = _raw(daemon, text)
        while not over.wait(0.1):
            one.sendall(b"a")
    except OSError:
        pass


def _beside(daemon):
    """Pages beside slow heads, slow bodies, idle connections and subscribers of which half never read."""
    over, held, ready = threading.Event(), [], []
    head = b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nX: "
    body = (b"POST /api/v1/wait HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100000\r\n\r\n")
    events = b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        for _ in range(20):
            pool.submit(_trickle, daemon, head, over)
            pool.submit(_trickle, daemon, body, over)
        for _ in range(1000):
            held.append(_raw(daemon, b""))
        for number in range(16):
            held.append(_raw(daemon, events))
            if number % 2 == 0:
                ready.append(threading.Event())
                pool.submit(_drain, held[-1], ready[-1], over)
        try:
            # Those that read have received the whole list.
            for one in ready:
                one.wait(120)
            return _pages(daemon)
        finally:
            over.set()
            for one in held:
                one.close()


def _drain(one, ready, over):
    last = b""
    try:
        while not over.is_set() and (data := one.recv(1 << 20)):
            if b"event: ready" in last + data:
                ready.set()
            last = data[-20:]
    except OSError:
        pass


def _aria2(directory, members):
    """The same list in aria2, paused: its page, and its memory."""
    port = harness.free_port()
    process = subprocess.Popen(
        ["aria2c", "--enable-rpc", f"--rpc-listen-port={port}", "--quiet", f"--dir={directory}",
         "--rpc-max-request-size=64M", "--pause=true"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        harness.wait_until(lambda: harness.accepts(port), "aria2's RPC")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

        def call(method, parameters):
            connection.request("POST", "/jsonrpc", json.dumps(
                {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}))
            return json.loads(connection.getresponse().read())

        times = []
        for number in range(members // BATCH):
            calls = [{"methodName": "aria2.addUri",
                      "params": [[f"http://127.0.0.1:1/{number}/{index}"],
                                 {"pause": "true", "out": f"a{number}-{index}"}]}
                     for index in range(BATCH)]
            times.append(milliseconds(lambda: call("system.multicall", [calls])))
        pages = [milliseconds(lambda: call("aria2.tellWaiting", [0, 50])) for _ in range(CALLS)]
        peak = next(int(line.split()[1]) / 1024 for line in
                    pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
                    if line.startswith("VmHWM:"))
        return {"aria2: add of 10,000": sorted(times)[len(times) // 2],
                "aria2: page p50": harness.quantile(pages, 0.5),
                "aria2: page p99": harness.quantile(pages, 0.99), "aria2: peak memory, MiB": peak}
    finally:
        process.kill()
        process.wait()


def _table(members, found):
    rows = [["", "ms"]]
    rows += [[what, f"{value:.1f}"] for what, value in found.items()]
    return {"title": f"The daemon with {members:,} queued transfers", "rows": rows}


def _bounds(found):
    ratio = found["page p99 beside bad clients"] / found["page p99"]
    def line(what, wanted, measured, unit):
        return bound("daemon 5", what, "≤", wanted, measured, unit)

    return [
        line("a page of 50, p99", 20, found["page p99"], " ms"),
        line("haul list", 100, found["haul list"], " ms"),
        line("start", 1000, found["start"], " ms"),
        line("add of 10,000", 1000, found["add of 10,000"], " ms"),
        line("a page beside bad clients, p99, to alone", 2, ratio, " ×"),
        line("peak memory", 300, found["peak memory, MiB"], " MiB"),
    ]
