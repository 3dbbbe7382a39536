"""A real browser on its own machine: signs in, adds, sees the end; and pages of other sites in it."""

import http.server
import json
import ssl
import threading

import harness
from chromium import Chromium, Failed
from ui import access
from ui.login import sign_in
from ui.place import fill_form, has_state, press

from .machines import OWNER
from .sites import PASSWORD

# A telephone, and a desk.
WIDTHS = {400: (400, 800, True), 1280: (1280, 800, False)}
OPEN = ("document.body?.dataset.connection === 'open' && document.body.dataset.list === 'whole'"
        " && !document.querySelector('#locked')?.open")
# What cannot be brought to a place where it can be pressed, and what makes the page wider.
UNREACHABLE = """(() => {
  const wrong = [];
  for (const e of document.querySelectorAll('button, select, input, textarea, summary, a[href]')) {
    if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || e.disabled || e.closest('.skip')) continue;
    const dialog = document.querySelector('dialog:modal');
    if (dialog && !dialog.contains(e)) continue;
    e.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    const box = e.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    if (!top || !(e.contains(top) || top.contains(e) || e.labels && [...e.labels].some((label) => label.contains(top))))
      wrong.push(e.id || e.title || e.textContent || e.name);
  }
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) wrong.push(`the page has ${root.scrollWidth} pixels`);
  for (const dialog of document.querySelectorAll('dialog[open]'))
    if (dialog.scrollWidth > dialog.clientWidth) wrong.push(`${dialog.id} has ${dialog.scrollWidth} pixels`);
  return wrong;
})()"""


def fits(browser, what, is_phone):
    wrong = browser.eval(UNREACHABLE) + (browser.eval(access.SMALL) if is_phone else [])
    if wrong:
        raise Failed(f"{what}: out of reach, or sticking out: {wrong}")


def fresh(browser, url):
    """Opens a site in a browser without any cookie or storage of it."""
    browser.open("about:blank")
    browser.call("Network.clearBrowserCookies")
    browser.call("Storage.clearDataForOrigin", origin=url, storageTypes="all")
    browser.open(url)


def uses(lan, browser, wire, width, pictures):
    """Signs in, adds a download of the server's machine, sees it complete, signs out."""
    is_phone = WIDTHS[width][2]
    browser.resize(*WIDTHS[width])
    fresh(browser, wire.url)
    browser.wait("the login page", "document.querySelector('#password')")
    browser.screenshot(pictures / f"login-{width}.png")
    if wrong := browser.eval(UNREACHABLE):
        raise Failed(f"the login page: {wrong}")
    sign_in(browser, PASSWORD)
    browser.wait("the page", OPEN)
    if browser.eval("location.href") != wire.url:
        raise Failed(f"it is at {browser.eval('location.href')}")
    if "haul=" in browser.eval("document.cookie"):
        raise Failed("a script can read the cookie")
    name = f"file-{lan.number()}.bin"
    fill_form(browser, [lan.url(name, 3 << 20, 6 << 20)])
    browser.wait("the end of the download", has_state(name, "completed"))
    if (lan.daemon.downloads / name).stat().st_size != 3 << 20:
        raise Failed("the file is not whole")
    fits(browser, "the list", is_phone)
    press(browser, "document.getElementById('add')")
    fits(browser, "the dialog for adding", is_phone)
    browser.key("Escape")
    # It lasts: the cookie is for the path at which the page is.
    browser.eval("window.isOld = true")
    browser.open(wire.url)
    browser.wait("the page again", f"!window.isOld && {OPEN}")
    press(browser, "document.querySelector('#sessions')")
    own = "[...document.querySelectorAll('dialog[open] button')].find((b) => b.textContent === 'Sign out')"
    browser.wait("the own session", f"{own} !== undefined")
    fits(browser, "the sessions", is_phone)
    press(browser, own)
    browser.wait("the login page again", "document.querySelector('#password')")
    if complaints := [c for c in browser.complaints() if "status of 4" not in c]:
        raise Failed(f"the page complained: {complaints}")


class Site(http.server.ThreadingHTTPServer):
    """A site of somebody else. Made on the machine that this thread has entered."""

    daemon_threads = True

    def __init__(self, address, port, pair=None):
        super().__init__((address, port), Blank)
        if pair:
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            made.load_cert_chain(*pair)
            self.socket = made.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Blank(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        link = self.path.partition("?")[2]
        self.wfile.write(f'<!doctype html><title>other</title><a href="{link}">go</a>'.encode())


# All that a page may try; each answer that it can read, and each element that it could load.
ATTACK = """(async (site, add) => {
  const got = {};
  const attempt = async (name, act) => { try { got[name] = await act(); } catch (error) { got[name] = error.name; } };
  const readable = async (answer) => answer.type === 'opaque' || answer.type === 'opaqueredirect'
    ? 'opaque' : `${answer.status} ${(await answer.text()).slice(0, 80)}`;
  const loads = (element, attribute, url) => new Promise((resolve) => {
    element.onload = () => resolve('loaded'); element.onerror = () => resolve('error');
    setTimeout(() => resolve('nothing'), 3000);
    element[attribute] = url; document.body.append(element);
  });
  for (const path of ['', 'login', 'main.js', 'api/v1/session', 'api/v1/status', 'api/v1/events'])
    for (const mode of ['cors', 'no-cors'])
      await attempt(`${mode} /${path}`, async () => readable(await fetch(site + path, { mode, credentials: 'include' })));
  for (const [path, body] of [['api/v1/transfers', add], ['api/v1/queue', '{"is_suspended":true}'], ['api/v1/shutdown', '{}'], ['login', 'password=x']])
    for (const [mode, type] of [['cors', 'application/json'], ['no-cors', 'text/plain'], ['no-cors', 'application/x-www-form-urlencoded']])
      await attempt(`${mode} POST ${path} ${type}`, async () => readable(await fetch(site + path,
        { method: path.endsWith('queue') && mode === 'cors' ? 'PATCH' : 'POST', mode, body, credentials: 'include', headers: { 'Content-Type': type } })));
  await attempt('beacon', () => { navigator.sendBeacon(site + 'api/v1/transfers', new Blob([add], { type: 'text/plain' })); return 'opaque'; });
  await attempt('image', () => loads(new Image(), 'src', site + 'icon.png'));
  await attempt('script', () => loads(document.createElement('script'), 'src', site + 'format.js'));
  await attempt('style', () => loads(Object.assign(document.createElement('link'), { rel: 'stylesheet' }), 'href', site + 'style.css'));
  await attempt('events', () => new Promise((resolve) => { const source = new EventSource(site + 'api/v1/events', { withCredentials: true });
    source.onopen = () => resolve('loaded'); source.onerror = () => { source.close(); resolve('error'); }; }));
  await attempt('socket', () => new Promise((resolve) => { const socket = new WebSocket(site.replace('https', 'wss') + 'api/v1/events');
    socket.onopen = () => resolve('loaded'); socket.onerror = () => resolve('error'); }));
  const frame = Object.assign(document.createElement('iframe'), { name: 'into' });
  document.body.append(frame);
  const form = Object.assign(document.createElement('form'), { method: 'post', action: site + 'api/v1/transfers', target: 'into', enctype: 'text/plain' });
  form.append(Object.assign(document.createElement('input'), { name: add.slice(0, -1) + ',"x":"', value: '"}' }));
  document.body.append(form);
  form.submit();
  await attempt('frame', () => loads(document.createElement('iframe'), 'src', site).then(() => 'opaque'));
  return got;
})(%s, %s)"""
HARMLESS = {"TypeError", "opaque", "error", "nothing", "NetworkError", "SecurityError"}


def own_frame(browser, identifier, expression):
    """None while the frame still changes."""
    try:
        world = browser.call("Page.createIsolatedWorld", frameId=identifier)
        return browser.call("Runtime.evaluate", expression=expression, returnByValue=True,
                            contextId=world["executionContextId"])["result"].get("value")
    except Failed:
        return None


def framed(browser):
    """What the frames of the page show: those of its own process, and those of others."""
    own = "document.documentElement.outerHTML"
    for child in browser.call("Page.getFrameTree")["frameTree"].get("childFrames", []):
        yield harness.wait_until(lambda: own_frame(browser, child["frame"]["id"], own), "a frame")
    page = browser.session
    for target in browser.call("Target.getTargets")["targetInfos"]:
        if target["type"] == "iframe":
            browser.session = browser.call(
                "Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
            try:
                yield browser.eval(own)
            finally:
                browser.session = page


def attacked(lan, browser, expect, origin):
    """The attack by a page at that origin, while the browser has a session."""
    count = lan.count()
    browser.open(origin)
    browser.wait("the other site", "document.title === 'other'")
    add = json.dumps({"transfers": [{"url": lan.url("evil"), "directory": str(lan.daemon.downloads)}]})
    got = browser.eval(ATTACK % (json.dumps(lan.wire.url), json.dumps(add)))
    read = {name: value for name, value in got.items() if value not in HARMLESS}
    expect(not read, f"a page of {origin} got {read}")
    shown = [text for text in framed(browser) if "<title>Haul" in text or "main.js" in text]
    expect(not shown, f"a page of {origin} frames {shown}")
    expect(lan.count() == count, f"a page of {origin} added a transfer")
    expect(lan.page.call("GET", "api/v1/queue").json == {"is_suspended": False}, "the queue is suspended")
    expect(lan.daemon.process.poll() is None, "the daemon was ended")
    browser.complaints()


def signed_in(lan, browser):
    fresh(browser, lan.wire.url)
    sign_in(browser, PASSWORD)
    browser.wait("the page", OPEN)


def other_sites(lan, browser, expect):
    """a page of another site in the browser that has the session reads nothing, frames nothing, changes nothing"""
    signed_in(lan, browser)
    attacked(lan, browser, expect, "http://evil.example:8000/")
    attacked(lan, browser, expect, "https://evil.example:8443/")


def same_host(lan, browser, expect):
    """nor does a page at another port of the same host, which gets the cookie"""
    attacked(lan, browser, expect, "https://nas.lan:9443/")


def rebound(lan, browser, expect):
    """a name of another site that leads to the daemon (DNS rebinding) shows nothing of it"""
    browser.open("https://rebound.example:8765/")
    browser.wait("the refusal", "document.body?.textContent.includes('Misdirected')")
    expect("script" not in browser.eval("document.documentElement.outerHTML"), "there is a script")
    for path in ("login", "api/v1/session", "main.js"):
        status = browser.eval(f"fetch('/{path}').then((answer) => answer.status)")
        expect(status == 421, f"/{path}: {status}")
    browser.complaints()


def from_link(lan, browser, expect):
    """a link of another page opens the page, which still has its session"""
    browser.open(f"http://evil.example:8000/?{lan.wire.url}")
    browser.wait("the link", "document.title === 'other'")
    browser.eval("document.querySelector('a').click()")
    browser.wait("the page", f"location.href === {json.dumps(lan.wire.url)} && {OPEN}")


def distrusted(lan, expect):
    """before the user accepts the certificate, the browser sends nothing"""
    # A browser of its own: one that has shown the warning goes on showing it.
    with Chromium() as browser:
        error = browser.call("Page.navigate", url=lan.wire.url).get("errorText")
    expect(error == "net::ERR_CERT_AUTHORITY_INVALID", f"it says {error}")


STEPS = [other_sites, same_host, rebound, from_link]
