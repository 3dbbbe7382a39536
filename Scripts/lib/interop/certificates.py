"""An authority of our own and one certificate, for 127.0.0.1 and two names."""

import subprocess

NAME = "origin.test"


def make(directory):
    """Makes ca.pem, server.pem and server.key (and both together) in `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    names = f"DNS:{NAME},DNS:localhost,IP:127.0.0.1"
    (directory / "leaf.conf").write_text(
        f"basicConstraints=CA:FALSE\nsubjectAltName={names}\nextendedKeyUsage=serverAuth\n")
    elliptic = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    _openssl(directory, "req", "-x509", *elliptic, "-keyout", "ca.key", "-out", "ca.pem",
             "-days", "30", "-subj", "/CN=Haul interop authority",
             "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    _openssl(directory, "req", *elliptic, "-keyout", "server.key", "-out", "server.csr",
             "-subj", f"/CN={NAME}")
    _openssl(directory, "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
             "-CAcreateserial", "-days", "30", "-extfile", "leaf.conf", "-out", "server.pem")
    return directory / "ca.pem"


def _openssl(directory, *arguments):
    run = subprocess.run(["openssl", *arguments], cwd=directory, stdin=subprocess.DEVNULL,
                         capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {run.stderr}")
