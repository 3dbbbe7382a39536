"""The measured programs. None reads a configuration."""

import subprocess

TARGET = "target.bin"
AT_ONCE = 16
PEERS = ("curl", "aria2", "wget2", "axel", "aws", "s5cmd", "rclone", "tuspy")


def is_peer(name):
    return name.startswith(PEERS)


def haul(bench, durability, *more):
    return [bench.haul, "get", "-q", "--durability", durability, "-o", TARGET, *more]


def haul_told(bench, connections):
    """With at most this many connections, and events on standard output."""
    return [bench.haul, "get", "--json", "-x", connections, "-o", TARGET]


def aria2(connections, *more):
    return ["aria2c", "--no-conf", "-q", "--file-allocation=none", "--allow-overwrite=true",
            f"-x{connections}", f"-s{connections}", "-k1M", "-o", TARGET, *more]


def axel(*more):
    return ["axel", "-q", "-o", TARGET, *more]


def curl(*more):
    return ["curl", "-q", "-s", "-f", "-o", TARGET, *more]


def wget2(*more):
    return ["wget2", "--no-config", "-q", "-O", TARGET, *more]


def one_file(bench, authority):
    """Name and command, to which the address is added."""
    return {
        "haul relaxed": haul(bench, "relaxed", "--cacert", authority),
        "haul strict": haul(bench, "strict", "--cacert", authority),
        "haul relaxed -x1": haul(bench, "relaxed", "-x", 1, "--cacert", authority),
        "curl": curl("--cacert", authority),
        "aria2 -x1": aria2(1, f"--ca-certificate={authority}"),
        "aria2 -x8": aria2(8, f"--ca-certificate={authority}"),
        "wget2": wget2(f"--ca-certificate={authority}"),
        # It has no option for an authority, and takes no certificate of an address: not verified.
        "axel": axel("--insecure"),
    }


def many_files(bench, authority, urls, config, out, version, at_once):
    """Name and command for a list; axel takes none. `at_once` false: as each does by itself."""
    def width(*options):
        return options if at_once else ()

    ours = [bench.haul, "get", "-q", "-i", urls, "-d", out, "--cacert", authority,
            *width("-j", AT_ONCE, "--max-per-host", AT_ONCE, f"--{version}")]
    others = "--http2" if version == "http2" else "--no-http2"
    return {
        "haul strict": [*ours, "--durability", "strict"],
        "haul relaxed": [*ours, "--durability", "relaxed"],
        "curl -Z" if at_once else "curl": [
            "curl", "-q", "-s", "-f", "--cacert", authority, "--output-dir", out,
            "--remote-name-all", *width("-Z", "--parallel-max", AT_ONCE, f"--{version}"),
            "-K", config],
        "aria2": ["aria2c", "--no-conf", "-q", "--file-allocation=none",
                  f"--ca-certificate={authority}", *width(f"-j{AT_ONCE}", "-x1"),
                  "-d", out, "-i", urls],
        "wget2": ["wget2", "--no-config", "-q", f"--ca-certificate={authority}",
                  *width(f"--max-threads={AT_ONCE}", others), "-P", out, "-i", urls],
    }


def versions(bench, commands=None):
    """The version line of each program; `commands` print it, or those of downloads."""
    commands = commands or {
        "haul": [bench.haul, "--version"], "curl": ["curl", "--version"],
        "aria2": ["aria2c", "--version"], "wget2": ["wget2", "--version"],
        "axel": ["axel", "--version"], "nginx": ["nginx", "-v"]}
    found = {}
    for name, command in commands.items():
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                             env=bench.environment)
        line = (run.stdout + run.stderr).strip().splitlines()[0]
        line = line.split(" (")[0].split(" - ")[0].split(" Python/")[0]
        found[name] = line if name in line else f"{name} {line}"
    return found
