"""Sessions of the page: another program at its port, restarts, and ends from outside."""

import http.client
import http.server
import json
import signal
import threading

import harness
from chromium import Failed
from .place import press

# Takes over the pages of its origin that are open, and answers in place of the server.
WORKER = """self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', () => {});"""
REGISTERING = "<script>navigator.serviceWorker.register('/worker.js')</script>"


class Stranger(http.server.ThreadingHTTPServer):
    """Another program at the port of the page. It keeps what it receives."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", port), StrangerHandler)
        self.received = []
        # The port of the daemon, to which it passes requests on, and the statuses that came back.
        self.daemon_port, self.passed_on = None, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()


class StrangerHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.receive()
        if self.path == "/worker.js":
            return self.answer(200, "text/javascript", WORKER.encode())
        self.answer(200, "text/html", REGISTERING.encode())

    def do_POST(self):
        body = self.receive()
        if self.server.daemon_port is None:
            if len(self.server.received) < 2:
                return self.answer(503, "text/plain", b"")
            made_up = json.dumps({"start": "0" * 64, "proof": "0" * 64})
            return self.answer(200, "application/json", made_up.encode())
        host = f"127.0.0.1:{self.server.daemon_port}"
        connection = http.client.HTTPConnection(host)
        connection.request("POST", self.path, body, {
            "Host": host, "Origin": f"http://{host}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        self.server.passed_on.append(answer.status)
        self.answer(answer.status, "application/json", data)

    def receive(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.received.append((self.path, dict(self.headers), body.decode()))
        return body

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def port_of(place):
    return int(place.url.split("#")[0].strip("/").split(":")[-1])


BANNER = "document.getElementById('away').hidden ? '' : document.getElementById('away').textContent"


def stranger(place, browser):
    """another program at the port of the page, also one that passes everything on to the daemon, is sent no token and nothing else"""
    place.open(browser)
    port, token = port_of(place), browser.eval("sessionStorage.getItem('haul-token')")
    place.kill(signal.SIGKILL)
    other = Stranger(port)
    try:
        browser.wait("it is noticed", f"({BANNER}).includes('Another program answers here')")
        press(browser, "document.getElementById('suspend')")
        place.serve()
        if f"another program has port {port}" not in place.run("daemon", "status")[1]:
            raise Failed("the status does not say that the port is taken")
        address = place.address()
        other.daemon_port = int(address.split("/#")[0].split(":")[-1])
        if other.daemon_port == port:
            raise Failed("the daemon has the port too")
        harness.wait_until(lambda: 200 in other.passed_on, "a proof that was passed on")
        browser.wait("it is noticed too", f"({BANNER}).includes('Another program answers here')")
    finally:
        other.end()
    check(other, token)
    place.kill(signal.SIGTERM)
    place.serve()
    browser.wait("the page is back with the daemon", "document.getElementById('away').hidden")
    if f"port {port}" in place.run("daemon", "status")[1]:
        raise Failed("the status says that the port is taken")
    browser.complaints()


def check(other, token):
    """What it received is a challenge each time."""
    for path, fields, body in other.received:
        if path != "/api/v1/session/proof" or "authorization" in map(str.lower, fields):
            raise Failed(f"it was sent {path} {fields}")
        if sorted(json.loads(body)) != ["challenge", "session"] or token in body:
            raise Failed(f"it was sent {body}")
    challenges = [json.loads(body)["challenge"] for _, _, body in other.received]
    if len(set(challenges)) != len(challenges) or len(challenges) < 3:
        raise Failed(f"the challenges are {challenges}")


def reloaded(place, browser):
    """a page may be loaded again, but not after a restart: another program may have served it meanwhile"""
    browser.eval("window.isOld = true; location.reload()")
    browser.wait("it has no access", "!window.isOld && document.getElementById('locked')?.open && /started again/.test(document.getElementById('locked-reason').textContent)")
    place.open(browser)
    browser.eval("window.isOld = true; location.reload()")
    browser.wait("it has access", "!window.isOld && document.body?.dataset.connection === 'open'")
    browser.complaints()


def worker(place, browser):
    """code that another program at the port has left in the browser does not read along"""
    place.open(browser)
    port = port_of(place)
    place.kill(signal.SIGKILL)
    other = Stranger(port)
    try:
        browser.eval(f"window.open('http://127.0.0.1:{port}/', '_blank', 'noopener')")
        browser.wait("its code is in charge", "navigator.serviceWorker.controller !== null")
    finally:
        other.end()
    place.serve()
    browser.wait("it is noticed", f"({BANNER}).includes('reads what it sends')")
    place.open(browser)
    browser.complaints()


def ended(place, browser):
    """sessions are listed and ended from the command line; their pages say so"""
    place.open(browser)
    lines = place.run("ui", "--sessions")[1].splitlines()
    own = browser.eval("sessionStorage.getItem('haul-token')").split(".")[0]
    if not any(line.startswith(own) and "Chrome" in line for line in lines):
        raise Failed(f"the sessions are {lines}")
    status, said = place.run("ui", "--end", own[:10])
    if status != 0 or said != "ended 1 session\n":
        raise Failed(f"it says {said}")
    browser.wait("the page has no access", "document.getElementById('locked').open && /has ended/.test(document.getElementById('locked-reason').textContent)")
    place.run("ui", "--end", "all")
    if place.run("ui", "--sessions")[1] != "no page has a session\n":
        raise Failed("there are sessions")
    place.open(browser)
    browser.complaints()


STEPS = [stranger, reloaded, worker, ended]
