"""Flask, and the forms that it must read back as they were sent."""

import contextlib
import hashlib
import json
import subprocess

import harness
from harness import MIB
from interop import programs

WSGI = """
import hashlib, json
from flask import Flask, request
app = Flask("forms")
seen = []

@app.post("/form")
def form():
    files = [(name, file.filename, hashlib.sha256(file.read()).hexdigest())
             for name, file in request.files.items(multi=True)]
    fields = list(request.form.items(multi=True))
    seen.append(dict(files=files, fields=fields, length=request.content_length))
    return "", 201

@app.get("/seen")
def last():
    return json.dumps(seen)

app.run(host="127.0.0.1", port={port}, threaded=True)
"""
# (field, file, its length in bytes). A file system allows 255 bytes for a name.
FILES = [
    ("plain", "a.bin", MIB + 1), ("plain", "empty", 0), ('quo"te', 'say "hi".txt', 10),
    ("line\nend", "two\r\nlines", 10), ("ünï", "日本 €.txt", 10),
    ("n" * 300, "é" * 127, 10), ("; name", "a; filename=b", 10), ("large", "large", 40 * MIB),
]
FIELDS = [("n", "value"), ("n", "again"), ("empty", ""), ("text", 'é "x"\r\n--boundary\r\n=&'),
          ("f" * 300, "y" * 5000)]


@contextlib.contextmanager
def flask(directory):
    port = harness.free_port()
    command = [programs.DEBIANS_PYTHON, "-c", WSGI.replace("{port}", str(port))]
    with programs.running(command, directory / "flask", port):
        yield f"http://127.0.0.1:{port}"


def _read(name):
    """Flask leaves some escapes of browsers as they are."""
    return name.replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")


def cases(checks, base):
    with checks.case("a form of many files and fields") as problems:
        work = checks.haul.fresh()
        arguments, expected = [], []
        for number, (field, name, length) in enumerate(FILES):
            path = work / str(number) / name
            path.parent.mkdir()
            content = bytes((index * 7 + number) % 251 for index in range(min(length, MIB)))
            content = (content * (length // MIB + 1))[:length]
            path.write_bytes(content)
            arguments += ["--form", f"{field}=@{path}"]
            expected.append([field, name, hashlib.sha256(content).hexdigest()])
        for name, value in FIELDS:
            arguments += ["--field", f"{name}={value}"]
        command = [checks.haul.binary, "put", "--json", "--progress", "none", *arguments,
                   f"{base}/form"]
        run = subprocess.run(command, env=checks.haul.environment, cwd=work, text=True,
                             capture_output=True, timeout=120)
        if run.returncode != 0:
            problems.add(f"status {run.returncode}: {run.stderr.strip()}")
            return
        seen = json.loads(subprocess.run(["curl", "-s", f"{base}/seen"], text=True,
                                         capture_output=True, check=True).stdout)
        if len(seen) != 1:
            problems.add(f"{len(seen)} forms arrived")
        files = [[_read(field), _read(name), digest] for field, name, digest in seen[0]["files"]]
        for found, wanted in zip(files, expected):
            if found != wanted:
                problems.add(f"{found} arrived, not {wanted}")
        if len(files) != len(expected):
            problems.add(f"{len(files)} files arrived, not {len(expected)}")
        if [tuple(field) for field in seen[0]["fields"]] != FIELDS:
            problems.add(f"the fields {seen[0]['fields']} arrived")
        end = [event for event in harness.events_of(run.stdout) if event["type"] == "finished"][0]
        if end["bytes"] != seen[0]["length"]:
            problems.add(f"{end['bytes']} bytes, but Content-Length was {seen[0]['length']}")
