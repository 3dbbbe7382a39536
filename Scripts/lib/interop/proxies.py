"""squid with Debian's own access rules, tinyproxy and a SOCKS5 server."""

import collections.abc
import contextlib
import dataclasses
import pathlib
import re

import harness
from interop import programs

DEBIANS_RULES = pathlib.Path("/etc/squid/squid.conf")
USER, PASSWORD = "somebody", "unguessable"


@dataclasses.dataclass
class Proxy:
    name: str
    address: str
    used: collections.abc.Callable  # the number of requests or connections in its log
    # https through it goes to port 443 only.
    port_443_only: bool = False
    may_use_http2: bool = True
    # Another instance of it, that wants USER and PASSWORD.
    guarded: str | None = None


def _count(log, pattern):
    return lambda: len(re.findall(pattern, log.read_text(errors="replace"), re.MULTILINE))


@contextlib.contextmanager
def squid(directory):
    """The lines of the package's configuration, with other places for its files."""
    home, port = directory / "squid", harness.free_port()
    home.mkdir()
    home.chmod(0o777)  # it works as the user `proxy`
    rules = [line for line in DEBIANS_RULES.read_text().splitlines()
             if line.strip() and not re.match(r"\s*#|http_port\b|coredump_dir\b", line)]
    (home / "squid.conf").write_text("\n".join([
        *rules, f"http_port 127.0.0.1:{port}", f"coredump_dir {home}",
        f"pid_filename {home}/pid", f"cache_log {home}/cache.log",
        f"access_log stdio:{home}/access.log", "netdb_filename none", "pinger_enable off",
        "visible_hostname localhost", "shutdown_lifetime 0 seconds", ""]))
    log = home / "access.log"
    log.touch()
    log.chmod(0o666)
    command = ["squid", "--foreground", "-n", f"haul{port}", "-f", home / "squid.conf"]
    with programs.running(command, home, port):
        yield Proxy("squid", f"http://127.0.0.1:{port}", _count(log, r"^."), port_443_only=True)


@contextlib.contextmanager
def tinyproxy(directory):
    with _tinyproxy(directory / "tinyproxy", "") as (port, log), \
            _tinyproxy(directory / "tinyproxy-guarded", f"BasicAuth {USER} {PASSWORD}\n") \
            as (guarded, _):
        yield Proxy("tinyproxy", f"http://127.0.0.1:{port}",
                    _count(log, r"Request \(file descriptor \d+\): "),
                    guarded=f"http://{USER}:@PASSWORD@@127.0.0.1:{guarded}")


@contextlib.contextmanager
def _tinyproxy(home, more):
    port = harness.free_port()
    home.mkdir()
    home.chmod(0o777)
    (home / "tinyproxy.conf").write_text(
        f'User tinyproxy\nGroup tinyproxy\nPort {port}\nListen 127.0.0.1\nTimeout 60\n'
        f'LogFile "{home}/log"\nLogLevel Info\nPidFile "{home}/pid"\nMaxClients 100\n'
        f'Allow 127.0.0.1\nViaProxyName "tinyproxy"\n{more}')
    with programs.running(["tinyproxy", "-d", "-c", home / "tinyproxy.conf"], home, port):
        yield port, home / "log"


@contextlib.contextmanager
def socks5(directory):
    port, guarded = harness.free_port(), harness.free_port()
    home = directory / "socks5"
    command = ["microsocks", "-i", "127.0.0.1", "-p"]
    with programs.running([*command, port], home, port), \
            programs.running([*command, guarded, "-u", USER, "-P", PASSWORD],
                             directory / "socks5-guarded", guarded):
        yield Proxy("socks5", f"socks5://127.0.0.1:{port}",
                    _count(home / "output.log", r": connected to "),
                    may_use_http2=False,
                    guarded=f"socks5://{USER}:@PASSWORD@@127.0.0.1:{guarded}")


ALL = {"squid": squid, "tinyproxy": tinyproxy, "socks5": socks5}
