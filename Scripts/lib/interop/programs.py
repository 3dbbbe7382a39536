"""Server programs as child processes that always end with this one."""

import contextlib
import os
import socket

import harness

PATH = os.environ["PATH"] + ":/usr/local/sbin:/usr/sbin:/sbin"
DEBIANS_PYTHON = "/usr/bin/python3"  # it has Debian's modules

# Ends its child on SIGTERM, which the kernel sends when this process is killed. (Not to the servers
# themselves: they change their user, which resets that.)
KEEPER = ["setpriv", "--pdeathsig", "TERM", "sh", "-c",
          '"$@" & child=$!; trap "kill $child" TERM INT; wait $child; wait $child', "keeper"]


def accepts(address, port):
    with contextlib.suppress(OSError), socket.create_connection((address, port), 0.5):
        return True
    return False


@contextlib.contextmanager
def running(command, home, port, address="127.0.0.1", environment=None):
    """Runs a server until it is left; entered when it accepts connections.

    What it prints goes to `home`/output.log.
    """
    home.mkdir(parents=True, exist_ok=True)
    log = home / "output.log"
    with open(log, "wb") as output:
        process = harness.start(
            [*KEEPER, *command], cwd=home, stdout=output, stderr=output,
            env={**os.environ, "PATH": PATH, "HOME": str(home), **(environment or {})})
    try:
        harness.wait_until(
            lambda: process.poll() is not None or accepts(address, port), command[0], seconds=30)
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} did not start: {log.read_text(errors='replace')}")
        yield process
    finally:
        harness.stop(process)
