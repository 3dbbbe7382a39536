"""Many small objects, and one large one, to an S3 store that others wrote: from a web server, and
from one bucket to another. The store is `rclone serve s3` without a cache of its own.

Each program has 16 objects at once, as in the other parts (-j and --max-per-host, --transfers and
--checkers, --numworkers, --parallel-max); which number is best for each is not measured. A pool of
aws starts an interpreter for each object, and aws by itself is slow: it has fewer objects, and is
compared by object. What is sent is compared with the source, every object."""

import contextlib
import itertools
import os
import shlex

import harness
from bench import many
from bench.programs import AT_ONCE
from bench.rounds import Sample, bound, group, median, ratio
from bench.uploads import PEERS
from harness import MIB
from interop import environments, samples, stores

POOL = 4  # processes of aws; two keep a core busy
MOST_OF_POOL, SHARE_OF_AWS = 100, 10
MEMORY = 128
DIRECTORY = "dir"
SOURCE = "source"  # the bucket with the objects of the other part


def from_list(bench):
    count = bench.objects
    files = bench.directory / "many"
    digests = many.make_files(files, count)
    # Without an index, rclone takes the directory for an error.
    location = f"location /files/ {{ alias {files}/; autoindex on; }}"
    with harness.nginx(bench.directory, location) as base, _store(bench) as place:
        few = min(count // 10, MOST_OF_POOL)
        commands = _list_commands(bench, place, f"{base}/files", list(digests), few)
        counts = dict.fromkeys(commands, count) | {"aws s3 cp, a pool": few}
        return _compare(bench, "from a list", place, commands, counts, digests)


def from_bucket(bench):
    count = bench.objects
    few = max(1, count // SHARE_OF_AWS)
    objects = bench.directory / "rclone-False/objects" / SOURCE
    objects.mkdir(parents=True)
    digests = many.make_files(objects / DIRECTORY, count)
    (objects / "few").mkdir()
    for name in list(digests)[:few]:
        os.link(objects / DIRECTORY / name, objects / "few" / name)
    with _store(bench) as place:
        commands = _bucket_commands(bench, place)
        counts = dict.fromkeys(commands, count) | {"aws s3 cp --recursive": few}
        return _compare(bench, "from one bucket to another", place, commands, counts, digests)


def large(bench):
    length = (64 * MIB) if bench.quick else int(bench.gib * 1024) * MIB
    files = bench.directory / "files"
    files.mkdir(exist_ok=True)
    samples.sparse_file(files / "large.bin", length)
    digests = {"large.bin": bytes.fromhex(harness.sha256_of(files / "large.bin"))}
    with harness.nginx(bench.directory, f"location /files/ {{ alias {files}/; }}") as base, \
            _store(bench) as place:
        address = f"{base}/files/large.bin"
        commands = {
            "haul": lambda to: [bench.haul, "get", "-q", address, "-o", f"s3://{to}/large.bin"],
            "rclone copyto": lambda to: [
                *place.rclone, "copyto", ":http:large.bin", f"{place.remote}{to}/large.bin",
                "--http-url", f"{base}/files/", "--multi-thread-streams", 4,
                "--multi-thread-chunk-size", "16M", "--s3-upload-concurrency", 4,
                "--s3-chunk-size", "16M", *place.rclone_options],
            "curl and s5cmd pipe": lambda to: _shell(
                f"curl -q -s -f {address} | {place.s5cmd} pipe --concurrency 4 "
                f"--part-size 16 s3://{to}/large.bin"),
        }
        return _compare(bench, "one large object", place, commands, dict.fromkeys(commands, 1),
                        digests, f"{length // MIB:,} MiB in one object", keeps=False)


class Place:
    """The store, its programs, and a bucket for each run."""

    def __init__(self, bench, store):
        bin = environments.programs("upload-peers", PEERS)
        self.store, self.objects = store, bench.directory / "rclone-False/objects"
        self.variables = {**bench.environment, **store.variables, "HOME": str(bench.directory),
                          "AWS_PAGER": "", "AWS_DEFAULT_REGION": "us-east-1",
                          "AWS_EC2_METADATA_DISABLED": "true"}
        self.aws = f"{bin}/aws s3 cp --only-show-errors --endpoint-url {store.endpoint}"
        self.s5cmd = (f"{bin}/s5cmd --endpoint-url {store.endpoint} --log error "
                      f"--numworkers {AT_ONCE}")
        self.rclone = [stores.environment() / "rclone"]
        self.remote = ":s3,provider=Rclone,env_auth:"
        self.rclone_options = ["--config", "", "--s3-endpoint", store.endpoint,
                               "--s3-no-check-bucket", "--transfers", AT_ONCE,
                               "--checkers", AT_ONCE]
        self.versions = {"haul": [bench.haul, "--version"], "aws": [bin / "aws", "--version"],
                         "s5cmd": [bin / "s5cmd", "version"],
                         "rclone": [*self.rclone, "version"], "nginx": ["nginx", "-v"]}
        self._numbers = itertools.count(1)

    def fresh_bucket(self):
        bucket = f"bucket-{next(self._numbers)}"
        self.store.ask_of(bucket, "make")
        return bucket


@contextlib.contextmanager
def _store(bench):
    with stores.rclone(bench.directory, None, cache="off") as store:
        yield Place(bench, store)


def _shell(script):
    return ["bash", "-c", f"set -e -o pipefail; {script}"]


def _list_commands(bench, place, base, names, few):
    """{name: the command for a bucket}; curl saves the files for s5cmd, which reads no HTTP."""
    urls, config = bench.directory / "urls.list", bench.directory / "urls.curl"
    relative, some = bench.directory / "names", bench.directory / "some.list"
    urls.write_text("".join(f"{base}/{name}\n" for name in names))
    config.write_text("".join(f'url = "{base}/{name}"\n' for name in names))
    relative.write_text("".join(f"{name}\n" for name in names))
    some.write_text("".join(f"{base}/{name}\n" for name in names[:few]))

    def ours(to, *more):
        return [bench.haul, "get", "-q", "-i", urls, "-o", f"s3://{to}/{DIRECTORY}/",
                "-j", AT_ONCE, "--max-per-host", AT_ONCE, *more]

    def pool(to):
        one = f'curl -q -s -f "$0" | {place.aws} - "s3://{to}/{DIRECTORY}/${{0##*/}}"'
        return _shell(f"xargs -a {some} -n 1 -P {POOL} bash -o pipefail -c {shlex.quote(one)}")

    return {
        "haul": ours,
        "haul, manifest": lambda to: ours(to, "--worker", "--manifest", "done.jsonl"),
        "rclone copyurl": lambda to: [
            *place.rclone, "copyurl", "--urls", urls, f"{place.remote}{to}/{DIRECTORY}",
            *place.rclone_options],
        # As fast as it can be, but for a look at each object that it has sent.
        "rclone copy :http:": lambda to: [
            *place.rclone, "copy", ":http:", f"{place.remote}{to}/{DIRECTORY}", "--http-url",
            f"{base}/", "--http-no-head", "--files-from-raw", relative, "--no-check-dest",
            *place.rclone_options],
        "curl and s5cmd": lambda to: _shell(
            f"mkdir got; curl -q -s -f -Z --parallel-max {AT_ONCE} --output-dir got "
            f"--remote-name-all -K {config} 2>/dev/null; "
            f"{place.s5cmd} cp 'got/*' s3://{to}/{DIRECTORY}/"),
        "aws s3 cp, a pool": pool,
    }


def _bucket_commands(bench, place):
    """{name: the command for a bucket}. In one store, all but haul and the second of rclone let the
    store copy: no byte of an object comes to them."""
    source = f"{SOURCE}/{DIRECTORY}"

    def ours(to, *more):
        return [bench.haul, "get", "-q", f"s3://{source}/", "-o", f"s3://{to}/{DIRECTORY}/",
                "-j", AT_ONCE, "--max-per-host", AT_ONCE, *more]

    def rclone(to, *more):
        return [*place.rclone, "copy", f"{place.remote}{source}",
                f"{place.remote}{to}/{DIRECTORY}", "--no-check-dest", "--fast-list",
                *place.rclone_options, *more]

    return {
        "haul": ours,
        "haul, manifest": lambda to: ours(to, "--worker", "--manifest", "done.jsonl"),
        "rclone copy, through it": lambda to: rclone(to, "--disable", "copy"),
        "rclone copy, by the store": rclone,
        "s5cmd cp, by the store": lambda to: _shell(
            f"{place.s5cmd} cp 's3://{source}/*' s3://{to}/{DIRECTORY}/"),
        "aws s3 cp --recursive": lambda to: _shell(
            f"{place.aws} --recursive s3://{SOURCE}/few/ s3://{to}/{DIRECTORY}/"),
    }


def _compare(bench, title, place, commands, counts, digests, what=None, keeps=True):
    def once(name, _):
        bench.fresh(keeps_last=keeps)
        bucket = place.fresh_bucket()
        before = harness.cpu_of_tree(place.store.process.pid)
        run, _ = bench.measure(commands[name](bucket), environment=place.variables)
        more = {"server CPU s": round(harness.cpu_of_tree(place.store.process.pid) - before, 2)}
        if counts[name] != len(digests):
            more["objects"] = counts[name]
        wanted = dict(itertools.islice(digests.items(), counts[name]))
        wrong = _wrong_objects(place.objects / bucket, wanted)
        if wrong or run.status:
            more |= {"wrong objects": wrong, "exit status": run.status}
        return Sample(run.wall, run.cpu, run.peak, run.status == 0 and not wrong, more)

    results = bench.in_turn(title, commands, once)
    count = len(digests)
    what = what or f"{count:,} objects of 10 KiB {title}"
    whole = {name: runs for name, runs in results.items() if counts.get(name, count) == count}
    return {"groups": [group(what, whole, counted=bench.counted[title], files=count)],
            "tables": [_rates(results, counts)], "bounds": _bounds(what, results, counts),
            "versions": place.versions}


def _wrong_objects(bucket, digests):
    """How many are missing, wrong or too many; they are removed if they are large."""
    found = {path.name: path for path in bucket.rglob("*") if path.is_file()}
    wrong = len(found.keys() - digests.keys())
    for name, digest in digests.items():
        path = found.get(name)
        wrong += path is None or bytes.fromhex(harness.sha256_of(path)) != digest
    if len(digests) == 1:
        for path in found.values():
            path.unlink()
    return wrong


def _per_object(results, counts, what):
    """{name: seconds for each object}, of programs that were always right."""
    return {name: median(samples, what) / counts.get(name, counts["haul"])
            for name, samples in results.items() if all(sample.right for sample in samples)}


def _rates(results, counts):
    wall, cpu = (_per_object(results, counts, what) for what in ("wall", "cpu"))
    rows = [["", "objects", "objects a second", "CPU ms an object", "haul to it: wall", "CPU"]]
    for name in results:
        if name not in wall:
            rows.append([name, str(counts.get(name)), "wrong", "–", "–", "–"])
            continue
        shares = ["–", "–"]
        if name != "haul" and "haul" in wall:
            shares = [f"{ratio(of['haul'], of[name]):.3g}" for of in (wall, cpu)]
        rows.append([name, f"{counts.get(name, counts['haul']):,}", f"{1 / wall[name]:,.1f}",
                     f"{cpu[name] * 1000:.2f}", *shares])
    return {"title": "By object", "rows": rows}


def _bounds(what, results, counts):
    def to_best(kind, field):
        found = _per_object(results, counts, field)
        peers = {name: cost for name, cost in found.items() if not name.startswith("haul")}
        if not peers:
            return bound("stores 3", f"{what}: {kind}", "≤", 1, None)
        best = min(peers, key=peers.get)
        return bound("stores 3", f"{what}: {kind} to the best peer ({best})", "≤", 1,
                     ratio(found.get("haul"), peers[best]), " ×")

    peaks = [sample.peak / MIB for name, samples in results.items() if name.startswith("haul")
             for sample in samples]
    return [to_best("wall", "wall"), to_best("CPU", "cpu"),
            bound("stores 3", f"{what}: memory of haul, the most", "≤", MEMORY, max(peaks),
                  " MiB")]
