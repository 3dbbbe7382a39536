"""A daemon with a directory, a server and a page of its own."""

import json
import os
import signal
import subprocess
import time

import harness
from slowserver import SlowServer


class Place:
    def __init__(self, haul, directory, pictures):
        self.haul, self.directory, self.pictures = haul, directory, pictures
        self.downloads = directory / "downloads"
        # Where the page was: its port differs after a restart of the daemon.
        self.origins = set()
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(directory),
            "XDG_STATE_HOME": str(directory / "s")}

    def __enter__(self):
        self.downloads.mkdir()
        self.server = SlowServer()
        self.daemon = None
        self.serve()
        return self

    def __exit__(self, *_):
        self.kill(signal.SIGTERM)
        self.server.shutdown()

    def serve(self):
        """Starts the daemon. Returns when it answers."""
        self.daemon = subprocess.Popen(
            [self.haul, "serve", "-j", "1", "--root", str(self.downloads)],
            env=self.environment, cwd=self.directory, stdin=subprocess.DEVNULL,
            stderr=open(self.directory / "log", "a"))
        harness.wait_until(lambda: self.run("daemon", "status")[0] == 0, "the daemon")

    def kill(self, number=signal.SIGKILL):
        self.daemon.send_signal(number)
        self.daemon.wait(20)

    def run(self, *arguments):
        """Runs the program; its exit status and output."""
        result = subprocess.run([self.haul, *arguments], env=self.environment, cwd=self.directory,
                                capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return result.returncode, result.stdout

    def address(self):
        return self.run("ui", "--no-open")[1].strip()

    def open(self, browser):
        self.url = self.address()
        self.origins.add(self.url.split("#")[0])
        # In the same tab, a page stays for a moment before it is loaded again.
        browser.eval("window.isOld = true")
        browser.open(self.url)
        browser.wait("the page", "!window.isOld && document.body?.dataset.connection === 'open' && document.body.dataset.list === 'whole'")

    def list(self):
        return [json.loads(line) for line in self.run("list", "--json")[1].splitlines()]

    def names(self):
        return [transfer["name"] for transfer in self.list()]

    def add(self, size, rate, name, *options):
        """Adds from the command line."""
        status, output = self.run("add", self.server.url(size, rate, name), "-d",
                                  str(self.downloads), "-x", "1", "-q", *options)
        assert status == 0, output
        return output.strip()

    def empty(self, browser):
        self.run("remove", "--all")
        browser.wait("an empty list", "document.querySelectorAll('.row:not([hidden])').length === 0")
        browser.eval("document.querySelectorAll('.toast').forEach((toast) => toast.remove())")


def row(name):
    """The row of that name, as an expression."""
    return ("[...document.querySelectorAll('.row:not([hidden])')]"
            f".find((row) => row.querySelector('.name').textContent === {json.dumps(name)})")


def cell(name, kind):
    return f"({row(name)})?.querySelector('.{kind}')?.textContent"


def has_state(name, text):
    return f"({cell(name, 'state')})?.includes({json.dumps(text)})"


def button(name, label):
    """A button in the row of that name."""
    return f"({row(name)}).querySelector('button[title={json.dumps(label)}]')"


def tool(label):
    """A command of the toolbar."""
    return f"document.querySelector('#actions button[aria-label={json.dumps(label)}]')"


def press(browser, expression):
    """Presses a button, wherever it is on the screen."""
    browser.wait("a button that can be pressed", f"({expression}) && !({expression}).disabled")
    browser.eval(f"({expression}).click()")


def api(browser, method, path, body):
    """A call of the control interface, by the page itself."""
    body = "undefined" if body is None else json.dumps(body)
    return browser.eval(
        f"import('/api.js').then(({{ call }}) => call('{method}', {json.dumps(path)}, {body}))")


def fill_form(browser, addresses, **fields):
    """Fills in and sends the dialog for adding."""
    press(browser, "document.getElementById('add')")
    browser.wait("the dialog", "document.getElementById('add-dialog').open")
    browser.eval("document.getElementById('addresses').value = ''")
    browser.type("\n".join(addresses))
    for name, value in {"group": "", "name": "", "connections": "1", "rate": "", "at": "", "put": "", **fields}.items():
        browser.eval(f"document.getElementById('f-{name}').value = {json.dumps(value)}")
    browser.click("document.getElementById('add-submit')")


# Whether the newest message is what a person sees, and can press, where it is.
ON_TOP = """(() => {
  const toast = document.getElementById('toasts').lastElementChild;
  const box = toast?.getBoundingClientRect();
  return box !== undefined && toast.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
})()"""


def open_details(browser, name):
    browser.wait("its row", f"({row(name)}) !== undefined")
    browser.click(f"({row(name)}).querySelector('.name')")
    browser.key("Enter")
    browser.wait("the details", f"document.querySelector('#details:not([hidden]) h2')?.textContent === {json.dumps(name)}")


def slow(step):
    """Left out of the quick run, which takes a minute."""
    step.is_slow = True
    return step
