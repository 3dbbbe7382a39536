#!/usr/bin/env python3
"""Makes the list and the files of `OlderVersionTests` anew: `make.py HAUL FAULTSERVER`.

HAUL is the binary of an older version, FAULTSERVER the fault server of any. The daemon is killed in
the middle of a download. The fault server is its proxy, so addresses have no port. `@DIRECTORY@`
stands for the directory of the files: the test puts its own in its place.

`list` and `files` here are what the binary of commit e026ae80 left.
"""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BASE = "http://files.example"
SERVED = [
    {"path": "/done.bin", "seed": 1, "length": 2000},
    {"path": "/paused.bin", "seed": 2, "length": 40_000, "rate": 12_000},
    {"path": "/killed.bin", "seed": 3, "length": 40_000, "rate": 12_000},
]


def main(haul, fault_server):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch).resolve()
        files = scratch / "files"
        for name in ("files", "home", "run", "state"):
            (scratch / name).mkdir(mode=0o700)
        script = scratch / "script.json"
        script.write_text(json.dumps({"resources": SERVED}))
        server = subprocess.Popen([fault_server, "serve", "--script", script],
                                  stdout=subprocess.PIPE, text=True)
        proxy = f"http://127.0.0.1:{json.loads(server.stdout.readline())['port']}"
        environment = {"PATH": os.environ["PATH"], "HOME": str(scratch / "home"),
                       "XDG_RUNTIME_DIR": str(scratch / "run"),
                       "XDG_STATE_HOME": str(scratch / "state"), "HAUL_PASSWORD": "secret"}
        options = {"env": environment, "cwd": files}
        daemon = subprocess.Popen([haul, "serve", "-j", "1", "--proxy", proxy], **options)

        def run(*words):
            words = [haul, *words]
            return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True,
                                  **options).stdout.strip()

        def add(name, *words):
            return run("add", "--id", name, "-q", *words)

        def received(name, count):
            while json.loads(run("show", name, "--json"))["bytes"] < count:
                time.sleep(0.1)

        time.sleep(1)
        add("done", f"{BASE}/done.bin")
        add("failed", f"{BASE}/failed.bin")
        run("wait", "done")
        subprocess.run([haul, "wait", "failed"], **options)
        add("paused", f"{BASE}/paused.bin")
        received("paused", 20_000)
        run("pause", "paused")
        # A small file has a journal once it has been paused.
        add("killed", f"{BASE}/killed.bin")
        received("killed", 10_000)
        run("pause", "killed")
        run("resume", "killed")
        received("killed", 24_000)
        # What follows waits for the one slot.
        digest = subprocess.run([fault_server, "sha256", "--seed", "4", "--length", "3000"],
                                check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        add("waiting", "--user", "me", "-H", "X-Key: a secret", "--priority", "utility",
            "--checksum", f"sha-256={digest}", f"{BASE}/waiting.bin")
        add("after", "--after", "killed", "-d", "later", f"{BASE}/after.bin")
        add("one", "--group", "album", f"{BASE}/one.bin")
        add("two", "--group", "album", f"{BASE}/two.bin")
        (files / "sent.bin").write_bytes(b"")
        add("sent", "--put", "sent.bin", f"{BASE}/sent.bin")
        add("program", "--after", "done", "--run", "--", "true")
        print(run("list"))
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        server.terminate()
        server.wait()
        keep(scratch / "state" / "haul" / "list", files)


def keep(source, files):
    with sqlite3.connect(source / "queue.sqlite") as database:
        for table, in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for _, column, *_ in database.execute(f"PRAGMA table_info('{table}')").fetchall():
                for path in (str(files), str(files).replace("/", "\\/")):
                    database.execute(
                        f'UPDATE "{table}" SET "{column}" = replace("{column}", ?, ?) '
                        f'WHERE typeof("{column}") = \'text\' AND instr("{column}", ?)',
                        (path, "@DIRECTORY@", path))
    database.execute("VACUUM")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    for name, directory in (("list", source), ("files", files)):
        shutil.rmtree(HERE / name, ignore_errors=True)
        shutil.copytree(directory, HERE / name)
    (HERE / "files" / "sent.bin").unlink()


main(*sys.argv[1:])
