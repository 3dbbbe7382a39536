"""WebDAV servers, and uploads to them: a directory, large files, SIGINT, SIGKILL, and the rest."""

import contextlib
import functools
import os
import shutil
import signal
import subprocess

import harness
from harness import MIB
from interop import nextcloud_rules, programs, stores, tls_proxy

MODULES = "/usr/lib/apache2/modules"
PREFIX = "/files"


@contextlib.contextmanager
def nginx(directory, _):
    home, port = directory / "nginx-dav", harness.free_port()
    root = home / "root"
    root.mkdir(parents=True)
    (home / "nginx.conf").write_text(f"""
daemon off; pid {home}/pid; error_log {home}/error.log; user root;
events {{}}
http {{
  access_log off; client_body_temp_path {home}/body; client_max_body_size 0;
  server {{ listen 127.0.0.1:{port}; root {root}; dav_methods PUT DELETE MKCOL COPY MOVE; }}
}}
""")
    with programs.running(["nginx", "-p", home, "-c", home / "nginx.conf"], home, port):
        yield f"http://127.0.0.1:{port}", root, []


@contextlib.contextmanager
def apache(directory, _):
    home, port = directory / "apache-dav", harness.free_port()
    root = home / "root"
    root.mkdir(parents=True)
    for path in (home, root):
        shutil.chown(path, "nobody", "nogroup")
    modules = "\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so"
                        for name in ("mpm_event", "authz_core", "dav", "dav_fs"))
    (home / "apache.conf").write_text(f"""{modules}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {home}/pid
ErrorLog {home}/error.log
User nobody
Group nogroup
DavLockDB {home}/lock
DocumentRoot {root}
<Directory {root}>
  Dav On
  Require all granted
</Directory>
""")
    command = ["apache2", "-D", "FOREGROUND", "-d", home, "-f", home / "apache.conf"]
    with programs.running(command, home, port):
        yield f"http://127.0.0.1:{port}", root, []


@contextlib.contextmanager
def rclone(directory, _):
    home, port = directory / "rclone-dav", harness.free_port()
    root = home / "root"
    root.mkdir(parents=True)
    command = [stores.environment() / "rclone", "serve", "webdav", "--addr", f"127.0.0.1:{port}",
               root]
    with programs.running(command, home, port):
        yield f"http://127.0.0.1:{port}", root, []


@contextlib.contextmanager
def behind_tls(directory, certificates):
    """Apache compares the scheme of `Destination` with its own, which is not that of its users."""
    with apache(directory / "behind-tls", certificates) as (base, root, _):
        port = base.rpartition(":")[2]
        with tls_proxy.before(port, directory, certificates, "dav", body="0") as outside:
            yield outside, root, ["--cacert", certificates / "ca.pem"]


@contextlib.contextmanager
def under_prefix(directory, certificates):
    """The server takes the path of `Destination` for one of its own, without the prefix."""
    with rclone(directory / "under-prefix", certificates) as (base, root, _):
        port = base.rpartition(":")[2]
        proxy = tls_proxy.before(port, directory, certificates, "prefix", body="0", prefix=PREFIX)
        with proxy as outside:
            yield outside, root, ["--cacert", certificates / "ca.pem"]


ALL = {"nginx-dav": nginx, "apache-dav": apache, "rclone-dav": rclone,
       "dav-behind-tls": behind_tls, "dav-under-prefix": under_prefix,
       "nextcloud-rules": nextcloud_rules.nextcloud_rules}
LENGTHS = {"null": 0, "one": 1, "less": 5 * MIB - 1, "a b/big?.bin": 5 * MIB, "more": 5 * MIB + 1,
           "a b/ü/é#%25": 9}


def _put(checks, *arguments, standard_input=subprocess.DEVNULL):
    command = [checks.haul.binary, "put", "--json", "--progress", "none", *arguments]
    return harness.start(command, cwd=checks.haul.work, env=checks.haul.environment, text=True,
                         stdin=standard_input, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _status(problems, process, expected):
    output, errors = process.communicate(timeout=120)
    if process.returncode != expected:
        problems.add(f"exit status {process.returncode}, not {expected}: {errors.strip()}")
    return harness.events_of(output)


def _same(problems, source, target):
    if subprocess.run(["diff", "-r", source, target], capture_output=True).returncode != 0:
        problems.add(f"{target} is not what was sent")


def cases(checks, server):
    base, root, options = server
    put = functools.partial(_put, checks, *options)
    dav = f"dav+{base}"
    work = checks.haul.fresh()
    (work / "tree/a b/ü").mkdir(parents=True)
    (work / "tree/empty").mkdir()
    for name, length in LENGTHS.items():
        (work / "tree" / name).write_bytes(os.urandom(length))
    (work / "large").write_bytes(os.urandom(100 * MIB))
    with checks.case("a directory and a file of 100 MiB") as problems:
        _status(problems, put("tree", "large", f"{dav}/new/deep/"), 0)
        _same(problems, work / "tree", root / "new/deep/tree")
        _same(problems, work / "large", root / "new/deep/large")
    with checks.case("the same with PUT alone") as problems:
        for number, name in enumerate([*(f"tree/{name}" for name in LENGTHS), "large"]):
            _status(problems, put("--retries", 0, name, f"{base}/new/deep/{number}"), 0)
            _same(problems, work / name, root / f"new/deep/{number}")
    with checks.case("standard input of 100 MiB") as problems:
        with subprocess.Popen(["cat", work / "large"], stdout=subprocess.PIPE) as pipe:
            # Behind a prefix nothing can be moved, and a stream cannot be sent again.
            moves = not base.endswith(PREFIX)
            _status(problems, put("-", f"{dav}/input", standard_input=pipe.stdout), int(not moves))
        if moves:
            _same(problems, work / "large", root / "input")
        elif (root / "input").exists():
            problems.add("a file that failed has its name")
    with checks.case("a file that is there") as problems:
        events = _status(
            problems, put("--if-exists", "fail", "tree/one", f"{dav}/new/deep/large"), 1)
        codes = [event["error"]["code"] for event in events if event["type"] == "finished"]
        if codes != ["name-conflict"]:
            problems.add(f"the errors {codes}")
        _same(problems, work / "large", root / "new/deep/large")
    for number in (signal.SIGINT, signal.SIGKILL):
        with checks.case(f"{number.name} and again") as problems:
            address = f"{dav}/{number.name}"
            process = put("--limit-rate", "40M", "large", address)
            for line in process.stdout:
                event = harness.events_of(line)[0]
                if event["type"] == "progress" and event["bytes"] >= 20 * MIB:
                    break
            process.send_signal(number)
            _status(problems, process, -number)
            if (root / number.name).exists():
                problems.add("a part of the file has its name")
            _status(problems, put("large", address), 0)
            _same(problems, work / "large", root / number.name)
    with checks.case("nothing is left") as problems:
        if left := [path.name for path in root.rglob("haul-*.tmp")]:
            problems.add(f"temporary names were left: {left}")
