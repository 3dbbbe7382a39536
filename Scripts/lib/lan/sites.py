"""The daemon and the proxies of docs/web.md, with its words: only what it says to change is changed."""

import os
import pathlib
import re
import socket
import ssl
import subprocess

import harness

PASSWORD = "correct horse battery"


def blocks():
    """The code of docs/web.md by language; what is indented is `text`."""
    found, language, lines = {}, None, []
    for line in (harness.ROOT / "docs" / "web.md").read_text().splitlines() + [""]:
        if line.startswith("```"):
            if language is None:
                language = line[3:]
                continue
            found.setdefault(language, []).append("\n".join(lines))
            language, lines = None, []
        elif language is not None:
            lines.append(line)
        elif line.startswith("    "):
            lines.append(line[4:])
        elif lines:
            found.setdefault("text", []).append("\n".join(lines))
            lines = []
    return found


def settings(key):
    """The lines for haul.conf that have this key."""
    return next(block for block in blocks()["text"] if block.startswith("listen")
                and re.search(f"^{key}", block, re.M))


class Daemon:
    """A daemon whose haul.conf has these lines, on the server's machine."""

    def __init__(self, program, directory, machine, lines, *options):
        self.program, self.machine, self.options = program, machine, options
        self.directory, self.downloads = directory, directory / "downloads"
        self.downloads.mkdir(parents=True)
        (directory / "config" / "haul").mkdir(parents=True)
        (directory / "config" / "haul" / "haul.conf").write_text(lines + "\n")
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(directory),
            "XDG_STATE_HOME": str(directory / "state"),
            "XDG_CONFIG_HOME": str(directory / "config")}
        self.log_file = directory / "log"

    def __enter__(self):
        self.run("ui", "password", input=PASSWORD + "\n")
        self.serve()
        return self

    def __exit__(self, *_):
        harness.stop(self.process)

    def serve(self):
        began = len(self.log)
        with self.machine.entered(), open(self.log_file, "a") as log:
            self.process = harness.start(
                [self.program, "serve", "--root", self.downloads, *self.options],
                env=self.environment, cwd=self.directory, stderr=log)
        # Its own socket is one, the listener the other.
        harness.wait_until(
            lambda: self.process.poll() is not None or self.log[began:].count("listening on") == 2,
            "the daemon", 20)
        if self.process.poll() is not None:
            raise RuntimeError(self.log)

    @property
    def log(self):
        return self.log_file.read_text() if self.log_file.exists() else ""

    def run(self, *words, **more):
        """The output of a command; it must succeed."""
        result = subprocess.run([self.program, *words], env=self.environment, text=True,
                                cwd=self.directory, capture_output=True, **more)
        if result.returncode != 0:
            raise RuntimeError(f"haul {' '.join(words)}: {result.stderr}")
        return result.stdout.strip()

    @property
    def token(self):
        return (self.directory / "state" / "haul" / "token").read_text().strip()


class Proxy:
    """nginx or Caddy on the server's machine, as documented. Use it as a context."""

    def __init__(self, name, path, directory, machine, change=lambda text: text):
        self.name, self.machine = name, machine
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.file = directory / "proxy.conf"
        self.file.write_text(change(getattr(self, name)(path)))

    def nginx(self, path):
        text = blocks()["nginx"][0].replace("location / {", f"location {path} {{")
        places = "\n".join(f"{kind}_temp_path {self.directory}/{kind};"
                           for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        # Without a master there is no other user, which a user namespace does not have.
        return (f"daemon off;\nmaster_process off;\npid {self.directory}/pid;\nevents {{}}\n"
                f"http {{\naccess_log off;\n{places}\n{text}\n}}\n")

    def caddy(self, path):
        # Without the authority that it would ask for a certificate.
        own = "{\n  admin off\n  local_certs\n  skip_install_trust\n}\n"
        return own + blocks()["caddyfile"][0 if path == "/" else -1] + "\n"

    def __enter__(self):
        words = {"nginx": ["nginx", "-p", self.directory, "-c", self.file, "-e", "stderr"],
                 "caddy": ["caddy", "run", "--config", self.file, "--adapter", "caddyfile"]}
        home = {"HOME": str(self.directory), "PATH": os.environ["PATH"] + ":/usr/sbin"}
        self.log_file = self.directory / "log"
        with self.machine.entered(), open(self.log_file, "w") as log:
            self.process = harness.start(words[self.name], env=home, stderr=log, stdout=log)
            harness.wait_until(
                lambda: self.process.poll() is not None or has_certificate(), self.name, 20)
        if self.process.poll() is not None:
            raise RuntimeError(self.log_file.read_text())
        return self

    def __exit__(self, *_):
        harness.stop(self.process)


def has_certificate():
    """Whether something at port 443 of this machine has TLS for the documented name."""
    try:
        with socket.create_connection(("127.0.0.1", 443), 1) as plain, ssl._create_unverified_context(
                ).wrap_socket(plain, server_hostname="nas.example"):
            return True
    except OSError:
        return False


def available():
    """The proxies that are installed here."""
    return [name for name, path in (("nginx", "/usr/sbin/nginx"), ("caddy", "/usr/bin/caddy"))
            if pathlib.Path(path).exists()]
