"""Two machines: network namespaces of this process, joined by a cable. They end with it."""

import contextlib
import ctypes
import os
import pathlib
import subprocess
import sys

SERVER = "10.77.0.1"
# Addresses of the browser's machine: the owner's, a stranger's, and the owner's second browser.
OWNER, STRANGER, OTHER = "10.77.0.2", "10.77.0.3", "10.77.0.4"
# A public address, which the server's machine has too.
PUBLIC = "93.184.216.34"
NAMES = {SERVER: ["nas.lan", "nas.example", "rebound.example", "mirror.lan"],
         OWNER: ["evil.example"], PUBLIC: ["public.example"]}

NEW_NETWORK = 0x40000000  # CLONE_NEWNET
libc = ctypes.CDLL(None, use_errno=True)
NAMESPACES = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def isolate():
    """Runs this script again in namespaces of its own; returns where root may not make them.

    In those of another user the daemon refuses the socket of a proxy: `/` is not root's there."""
    words = ["unshare", *NAMESPACES]
    cable = ["sh", "-c", "ip link add lan0 type veth peer name lan1 && mount -t tmpfs none /srv"]
    if os.geteuid() == 0 and subprocess.run(
            [*words, *cable], stderr=subprocess.DEVNULL).returncode == 0:
        os.execvp("unshare", [*words, sys.executable, *sys.argv, "--isolated"])


class Machine:
    """A network namespace. What is begun while it is entered (a program, a socket) stays in it."""

    def __init__(self):
        self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        run("ip", "link", "set", "lo", "up")

    @contextlib.contextmanager
    def entered(self):
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self._enter(self.descriptor)
        try:
            yield
        finally:
            self._enter(before)
            os.close(before)

    @staticmethod
    def _enter(descriptor):
        if libc.setns(descriptor, NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def strangers():
    """Other addresses of the browser's machine, one after the other."""
    for number in range(10, 250):
        run("ip", "address", "add", f"10.77.0.{number}/24", "dev", "lan0")
        yield f"10.77.0.{number}"


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def pair():
    """The server's machine. This thread is on the browser's machine from now on."""
    server = Machine()
    if libc.unshare(NEW_NETWORK) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    Machine()
    place = f"/proc/{os.getpid()}/fd/{server.descriptor}"
    run("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "lan0", "netns", place)
    for address in (OWNER, STRANGER, OTHER):
        run("ip", "address", "add", f"{address}/24", "dev", "lan0")
    run("ip", "link", "set", "lan0", "up")
    with server.entered():
        run("ip", "address", "add", f"{SERVER}/24", "dev", "lan0")
        run("ip", "address", "add", f"{PUBLIC}/32", "dev", "lo")
        run("ip", "link", "set", "lan0", "up")
    return server


def own_files(directory):
    """The paths of the documentation: names, a certificate for proxies, a place for the socket."""
    hosts = directory / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + "".join(
        f"{address} {' '.join(names)}\n" for address, names in NAMES.items()))
    run("mount", "--bind", str(hosts), "/etc/hosts")
    pem, key = directory / "nas.pem", directory / "nas.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "30", "-subj", "/CN=nas.example", "-addext",
         "subjectAltName=DNS:nas.example,DNS:nas.lan,DNS:evil.example", "-out", str(pem),
         "-keyout", str(key)], check=True, stderr=subprocess.DEVNULL)
    for place in ("/etc/ssl", "/srv"):
        run("mount", "-t", "tmpfs", "-o", "mode=755", "none", place)
    for file in (pem, key):
        pathlib.Path("/etc/ssl", file.name).write_bytes(file.read_bytes())
    pathlib.Path("/srv/haul").mkdir()
    return pathlib.Path("/etc/ssl/nas.pem"), pathlib.Path("/etc/ssl/nas.key")
