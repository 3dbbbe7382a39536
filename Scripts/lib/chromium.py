"""A headless Chromium, driven over the DevTools protocol through a pipe."""

import base64
import itertools
import json
import os
import pathlib
import select
import subprocess
import tempfile
import time


class Failed(Exception):
    """The awaited condition did not become true, or the page threw an error."""


class Chromium:
    """One page. Use it as a context: the browser ends with it."""

    def __init__(self, width=1280, height=800, dark=False):
        self.size = (width, height)
        self.dark = dark

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(
            prefix="haul-chromium-", ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        self.ids = itertools.count(1)
        self.buffer = b""
        self.events = []

        def descriptors():
            os.dup2(to_read, 100)
            os.dup2(back_write, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        # In some versions the shell of Debian's wrapper does not pass the pipes on.
        program = next(path for path in ("/usr/lib/chromium/chromium", "/usr/bin/chromium")
                       if pathlib.Path(path).exists())
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu",
             "--no-first-run", "--disable-background-networking", "--enable-precise-memory-info",
             "--disable-dev-shm-usage", f"--user-data-dir={self.profile.name}",
             f"--window-size={self.size[0]},{self.size[1]}", "about:blank"],
            preexec_fn=descriptors, pass_fds=(3, 4), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(back_write)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(*self.size)
        self.media(self.dark)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """Calls a method of the protocol; its result."""
        number = next(self.ids)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.receive(60)
            if answer is None:
                raise Failed(f"{method}: the browser does not answer")
            if answer.get("id") == number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def receive(self, seconds):
        """The next message; None after that time."""
        deadline = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.back], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return None
            data = os.read(self.back, 1 << 20)
            if not data:
                raise Failed("the browser has ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def resize(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if mobile else 1, mobile=mobile)

    def media(self, dark):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.call("Page.navigate", url=url)

    def eval(self, expression):
        """The value of an expression of JavaScript; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True, userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failed(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, what, expression, seconds=20):
        """Waits until an expression is true; its value."""
        deadline = time.monotonic() + seconds
        while True:
            value, error = None, None
            try:
                value = self.eval(f"((v) => v instanceof Node ? true : v)({expression})")
            except Failed as failure:
                # What it asks about is not there yet, or the page was left while it was asked.
                error = failure
            if value:
                return value
            if time.monotonic() > deadline:
                raise Failed(f"after {seconds} s not yet: {what}" + (f": {error}" if error else ""))
            time.sleep(0.05)

    def center(self, selector):
        box = self.eval(
            f"(() => {{ const e = {selector}; const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        return box

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector, modifiers=0):
        """Clicks the middle of the element of an expression."""
        x, y = self.center(selector)
        self.mouse("mouseMoved", x, y, modifiers=modifiers)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1, modifiers=modifiers)

    def drag(self, selector, to_x, to_y):
        x, y = self.center(selector)
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for step in range(1, 9):
            self.mouse("mouseMoved", x + (to_x - x) * step / 8, y + (to_y - y) * step / 8,
                       button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)

    # Alt, Control, Meta, Shift.
    ALT, CONTROL, SHIFT = 1, 2, 8

    def key(self, name, modifiers=0):
        codes = {"Enter": 13, "Escape": 27, "Delete": 46, "ArrowUp": 38, "ArrowDown": 40,
                 "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "PageDown": 34,
                 "PageUp": 33, "Tab": 9, " ": 32}
        code = codes.get(name, ord(name.upper()[0]))
        more = {"key": name, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        if len(name) == 1 and not modifiers:
            more["text"] = name
        if name == "Enter":
            more["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **more)
        more.pop("text", None)
        self.call("Input.dispatchKeyEvent", type="keyUp", **more)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def private_memory(self):
        """Bytes of the largest process of a page that no other process shares."""
        sizes = [0]
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes()
                if b"--type=renderer" in words and self.profile.name.encode() in words:
                    lines = (process / "smaps_rollup").read_text().splitlines()
                    sizes.append(sum(int(line.split()[1]) << 10 for line in lines
                                     if line.startswith("Private_")))
            except OSError:
                pass  # it has ended
        return max(sizes)

    def complaints(self):
        """Errors of the page and of its console since the last call."""
        while (event := self.receive(0.01)) is not None:
            self.events.append(event)
        found = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                details = event["params"]["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            if event.get("method") == "Log.entryAdded":
                entry = event["params"]["entry"]
                if entry["level"] == "error" and "net::ERR" not in entry["text"]:
                    found.append(f"{entry['text']} {entry.get('url', '')}")
        self.events = [e for e in self.events if e.get("method", "").startswith("Network.requestWillBeSent")]
        return found

    def requests(self):
        """All addresses that the page has asked for."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]
