"""The page as an app, addresses from outside, what is asked before adding, and what is changed later."""

import base64
import json

import harness
from chromium import Failed
from .place import api, button, cell, fill_form, has_state, open_details, press, row

MIB = 1 << 20
ADDRESSES = "document.getElementById('addresses').value.trim()"
IS_ADDING = "document.getElementById('add-dialog').open"


def close_dialog(browser):
    browser.eval("document.getElementById('addresses').value = ''; document.getElementById('add-dialog').close();"
                 " sessionStorage.removeItem('haul-addresses')")


def set_field(browser, expression, value):
    browser.eval(f"(() => {{ const e = {expression}; e.value = {json.dumps(value)};"
                 " e.dispatchEvent(new Event('input', { bubbles: true })); e.dispatchEvent(new Event('change', { bubbles: true })); })()")


def installable(place, browser):
    """a browser finds the manifest and the icons, and would install the page"""
    manifest = browser.call("Page.getAppManifest")
    if manifest["errors"] or not manifest.get("data"):
        raise Failed(f"the manifest: {manifest}")
    said = json.loads(manifest["data"])
    if said["share_target"]["method"] != "GET":
        raise Failed("what is shared would be added without asking")
    for what in [icon["src"] for icon in said["icons"]] + ["manifest.webmanifest"]:
        found = browser.eval(f"fetch({json.dumps(what)}).then((answer) => [answer.status, answer.headers.get('content-type')])")
        if found[0] != 200 or not any(kind in found[1] for kind in ("image/", "manifest+json")):
            raise Failed(f"{what}: {found}")
    wrong = [error["errorId"] for error in browser.call("Page.getInstallabilityErrors")["installabilityErrors"]]
    # The browser of the test has no window, and is private.
    if set(wrong) - {"in-incognito"}:
        raise Failed(f"it cannot be installed: {wrong}")


def shared(place, browser):
    """what a telephone shares, and what the bookmarklet brings, comes to the dialog, and is not added by itself"""
    place.empty(browser)
    home = place.url.split("#")[0]
    browser.eval("window.isOld = true")
    browser.open(f"{home}?title=A%20page&text=see%20https%3A%2F%2Fh.invalid%2Fa.iso%20there&url=https%3A%2F%2Fh.invalid%2Fb.iso")
    browser.wait("both addresses", f"!window.isOld && {IS_ADDING} && {ADDRESSES} === 'https://h.invalid/b.iso\\nhttps://h.invalid/a.iso'")
    if browser.eval("location.href") != home:
        raise Failed("the address still has what was shared")
    if place.list():
        raise Failed("it was added without asking")
    close_dialog(browser)
    browser.eval("location.hash = '#add=' + encodeURIComponent('https://h.invalid/c.iso\\nhttps://h.invalid/c.iso')")
    browser.wait("the address, once", f"{IS_ADDING} && {ADDRESSES} === 'https://h.invalid/c.iso' && location.hash === ''")
    close_dialog(browser)
    browser.eval("location.hash = '#add=' + encodeURIComponent('javascript:alert(1) <img src=x onerror=alert(1)>')")
    browser.wait("it says that there is no address", "/has no address/.test(document.getElementById('toasts').textContent)")
    if browser.eval(IS_ADDING):
        raise Failed("a script is offered as an address")
    browser.eval("document.querySelectorAll('.toast').forEach((toast) => toast.remove())")


def bookmarklet(place, browser):
    """the bookmarklet leads here with the selected links, or with the address of its page"""
    script = browser.eval("document.getElementById('bookmarklet').href")
    if not script.startswith("javascript:"):
        raise Failed(f"the bookmarklet is {script}")
    body = browser.eval(f"decodeURIComponent({json.dumps(script[11:])})")
    run = ("(() => { const led = []; const page = { links: [{ href: 'https://h.invalid/1' }, { href: 'https://h.invalid/2' }] };"
           " const select = (chosen) => () => ({ isCollapsed: !chosen, containsNode: (link) => link.href === chosen });"
           " for (const chosen of [null, 'https://h.invalid/2']) {"
           f"   new Function('document', 'getSelection', 'location', 'open', {json.dumps(body)})(page, select(chosen), {{ href: 'https://h.invalid/page' }}, (url) => led.push(url)); }}"
           " return led; })()")
    # The policy of the page forbids this there, as it should.
    other = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session, browser.session = browser.session, browser.call("Target.attachToTarget", targetId=other, flatten=True)["sessionId"]
    try:
        led = browser.eval(run)
    finally:
        browser.session = session
        browser.call("Target.closeTarget", targetId=other)
    home = place.url.split("#")[0]
    if led != [f"{home}#add=https%3A%2F%2Fh.invalid%2Fpage", f"{home}#add=https%3A%2F%2Fh.invalid%2F2"]:
        raise Failed(f"it leads to {led}")


def other_tab(place, browser):
    """a tab without access passes on what it was given to the page that is open, and gets no access by that"""
    home = place.url.split("#")[0]
    other = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session, browser.session = browser.session, browser.call("Target.attachToTarget", targetId=other, flatten=True)["sessionId"]
    try:
        browser.open(f"{home}#add=https%3A%2F%2Fh.invalid%2Fd.iso")
        browser.wait("it says so", "document.getElementById('passed')?.open")
        if browser.eval("sessionStorage.getItem('haul-shared') ?? sessionStorage.getItem('haul-token')"):
            raise Failed("it has kept the address, or has got a token")
    finally:
        browser.session = session
        browser.call("Target.closeTarget", targetId=other)
    browser.wait("the page that is open has it", f"{IS_ADDING} && {ADDRESSES} === 'https://h.invalid/d.iso'")
    close_dialog(browser)


def dropped_links(place, browser):
    """links of other windows are dropped: a link, a list of links, a selection with links"""
    drop = """(kinds) => { const data = new DataTransfer(); for (const [kind, text] of Object.entries(kinds)) data.setData(kind, text);
      document.body.dispatchEvent(new DragEvent('dragenter', { dataTransfer: data, bubbles: true, cancelable: true }));
      const shown = !document.getElementById('drop-target').hidden;
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
      return shown && document.getElementById('drop-target').hidden; }"""
    cases = [
        ({"text/uri-list": "# a comment\r\nhttps://h.invalid/1\r\nhttps://h.invalid/2", "text/plain": "words"}, "https://h.invalid/1\nhttps://h.invalid/2"),
        ({"text/html": "<p><a class=x href=\"https://h.invalid/3?a=1&amp;b=2\">three</a> <a href='javascript:alert(1)'>no</a></p>", "text/plain": "three no"},
         "https://h.invalid/3?a=1&b=2"),
        ({"text/plain": "see https://h.invalid/4."}, "https://h.invalid/4"),
    ]
    for kinds, expected in cases:
        if not browser.eval(f"({drop})({json.dumps(kinds)})"):
            raise Failed("it is not shown where to drop")
        browser.wait("the addresses", f"{IS_ADDING} && {ADDRESSES} === {json.dumps(expected)}")
        close_dialog(browser)


def asked_before(place, browser):
    """names and sizes are asked for before adding, with the room of the directory; nothing is added"""
    place.server.broken.add("/1000/0/missing.bin")
    press(browser, "document.getElementById('add')")
    browser.wait("the room", "/[KMGT]iB free/.test(document.getElementById('f-space').textContent)")
    urls = [place.server.url(3 * MIB, 0, "known.iso"), place.server.url(1000, 0, "missing.bin")]
    set_field(browser, "document.getElementById('addresses')", "\n".join(urls))
    press(browser, "document.getElementById('probe')")
    probes = "document.getElementById('probes')"
    browser.wait("its name and size", f"/known.iso.*3.0 MiB · resumes/s.test({probes}.textContent)")
    browser.wait("why the other is not there", f"/404/.test({probes}.querySelector('.bad')?.textContent)")
    browser.wait("the sum", "/1 file, 3.0 MiB together/.test(document.getElementById('probe-sum').textContent)")
    set_field(browser, "document.getElementById('addresses')", urls[0])
    if browser.eval(f"{probes}.children.length"):
        raise Failed("what was asked for other addresses is still shown")
    press(browser, "document.getElementById('probe')")
    browser.wait("the name stands in the field", "document.getElementById('f-name').placeholder === 'known.iso'")
    if place.list():
        raise Failed("it was added")
    close_dialog(browser)
    place.server.broken.clear()


def added_paused(place, browser):
    """what is added paused waits, and its login is sent to the server and shown nowhere"""
    place.empty(browser)
    press(browser, "document.getElementById('add')")
    browser.eval("document.getElementById('f-paused').checked = true")
    fill_form(browser, [place.server.url(1000, 0, "held.bin")], user="me@home", password="pass:word/1")
    browser.wait("it is paused", has_state("held.bin", "paused"))
    if browser.eval("document.getElementById('f-paused').checked || document.getElementById('f-password').value + document.getElementById('f-user').value"):
        raise Failed("the next one would be paused, or sent the password")
    if "word" in json.dumps(place.list()):
        raise Failed("the password is in the list")
    press(browser, button("held.bin", "Resume"))
    browser.wait("it is completed", has_state("held.bin", "completed"))
    expected = "Basic " + base64.b64encode(b"me@home:pass:word/1").decode()
    if expected not in place.server.authorizations:
        raise Failed(f"the server was sent {place.server.authorizations}")


HEADERS = "Header fields, one in each line; without a value, it is removed"
SAVE = "document.querySelector('#details .edit [type=submit]')"


def field(label):
    return (f"[...document.querySelectorAll('#details label')].find((label) => label.firstChild.textContent === {json.dumps(label)})"
            ".querySelector('input, select, textarea')")


def edit(browser, name):
    """Opens the form of a transfer."""
    open_details(browser, name)
    browser.eval("document.querySelector('#details .change').open = true")


def changed(place, browser):
    """rate, priority, group, start time and token of one that runs are changed in its details"""
    place.empty(browser)
    fill_form(browser, [place.server.url(60 * MIB, 2 * MIB, "changing.bin")])
    browser.wait("it runs", has_state("changing.bin", "transferring"))
    edit(browser, "changing.bin")
    save = lambda: press(browser, SAVE)
    one = lambda: next(t for t in place.list() if t["name"] == "changing.bin")
    set_field(browser, field("Speed limit in KiB/s"), "1000")
    set_field(browser, field("Priority"), "background")
    save()
    harness.wait_until(lambda: one()["rate_limit"] == 1000 << 10 and one()["priority"] == "background", "rate and priority")
    set_field(browser, field("Group"), "a group")
    set_field(browser, field("Token (Bearer)"), "canary-token")
    save()
    harness.wait_until(lambda: one()["group"] == "a group", "the group")
    browser.wait("its token is sent, and it runs again", has_state("changing.bin", "transferring"))
    harness.wait_until(lambda: "Bearer canary-token" in place.server.authorizations, "the token")
    browser.wait("the field is empty again", f"({field('Token (Bearer)')}).value === ''")
    if "canary" in json.dumps(place.list()) + browser.eval("document.body.innerHTML + JSON.stringify([sessionStorage, localStorage])"):
        raise Failed("the token is shown or kept")
    browser.wait("its bytes are kept", f"parseFloat({cell('changing.bin', 'percent')}) > 1")
    set_field(browser, field("Start at"), "2040-01-02T03:04")
    save()
    browser.wait("it waits for that time", has_state("changing.bin", "starts at"))
    set_field(browser, field(HEADERS), "nonsense")
    save()
    browser.wait("why it is not saved", "/has no colon/.test(document.querySelector('#details .error').textContent)")
    browser.key("Escape")
    place.run("remove", "--all")


def in_the_queue(place, browser):
    """the place in the queue, the time left of all; a suspension and other reasons to wait are shown at once"""
    place.empty(browser)
    place.add(40 * MIB, 2 * MIB, "first.bin")
    for name in ("second.bin", "third.bin"):
        place.add(1000, 0, name)
    browser.wait("it runs", has_state("first.bin", "transferring"))
    browser.wait("the time left of all", "/^more than \\d.* left$/.test(document.getElementById('total-left').textContent)")
    open_details(browser, "third.bin")
    browser.wait("its place", "/Place in the queue2 of 2/.test(document.querySelector('#details').textContent)")
    browser.key("Escape")
    api(browser, "PATCH", "limits", {"active": 8, "active_per_host": 1})
    browser.wait("the new reason", has_state("second.bin", "the host's limit"), 3)
    api(browser, "DELETE", "limits", None)
    browser.wait("the old one", has_state("second.bin", "all slots"), 3)
    place.run("suspend")
    browser.wait("the suspension", f"document.getElementById('suspend').textContent === 'Unsuspend' && {has_state('third.bin', 'suspended')}", 3)
    place.run("unsuspend")
    browser.wait("its end", f"document.getElementById('suspend').textContent === 'Suspend' && {has_state('third.bin', 'all slots')}", 3)
    place.run("remove", "--all")


def notices_cleared(place, browser):
    """the notices are cleared, also for the next page"""
    place.empty(browser)
    place.add(1000, 0, "noticed.bin")
    browser.wait("a notice", "!document.getElementById('unseen').hidden")
    press(browser, "document.getElementById('notices')")
    browser.wait("it is there", "/noticed.bin/.test(document.getElementById('notice-list').textContent)")
    press(browser, "document.querySelector('#notice-panel > button')")
    browser.wait("none", "/Nothing has ended yet/.test(document.getElementById('notice-list').textContent)")
    browser.key("Escape")
    if api(browser, "GET", "notices", None)["notices"]:
        raise Failed("the daemon still has them")


def limits_last(place, browser):
    """limits that were set in the page hold after a restart, until they are taken back"""
    before = api(browser, "GET", "limits", None)
    api(browser, "PATCH", "limits", {"rate": 5 << 20, "schedule": [{"days": ["monday"], "from": "10:00", "to": "11:00", "rate": 1 << 20}]})
    place.kill()
    browser.wait("it says so", "!document.getElementById('away').hidden")
    place.serve()
    browser.wait("it is back", "document.getElementById('away').hidden", 30)
    after = api(browser, "GET", "limits", None)
    if after["rate"] != 5 << 20 or len(after["schedule"]) != 1:
        raise Failed(f"the limits are {after}")
    press(browser, "document.getElementById('limits')")
    browser.wait("the dialog", "document.getElementById('limits-dialog').open && document.getElementById('l-rate').value === '5120'")
    rate = "document.querySelector('#windows .rate')"
    browser.wait("the rate of the window", f"{rate}.value === '1024'")
    browser.eval(f"{rate}.value = '2048'")
    press(browser, "document.querySelector('#limits-form .primary')")
    browser.wait("it is applied", "!document.getElementById('limits-dialog').open")
    if api(browser, "GET", "limits", None)["schedule"][0].get("rate") != 2 << 20:
        raise Failed("the rate of the window was not changed")
    press(browser, "document.getElementById('limits')")
    browser.wait("the dialog again", "document.getElementById('limits-dialog').open")
    press(browser, "document.getElementById('reset-limits')")
    browser.wait("they are those of the options", f"document.getElementById('l-rate').value === '0' && document.getElementById('l-active').value === '{before['active'] if before['rate'] else 1}'")
    browser.key("Escape")
    if api(browser, "GET", "limits", None)["schedule"]:
        raise Failed("the schedule is still there")
    place.open(browser)


def access_changed(place, browser):
    """address, header fields, user and password are changed; a start time and a group are taken away"""
    place.empty(browser)
    fill_form(browser, [place.server.url(1000, 0, "later.bin")], at="2040-01-02T03:04", group="g", token="first-canary")
    browser.wait("it waits", has_state("later.bin", "starts at"))
    edit(browser, "later.bin")
    one = lambda: place.list()[0]
    address = place.server.url(2000, 0, "other.bin")
    for wanted in ({HEADERS: "X-One: 1\nX-Two: 2", "Another address of the same file": address},
                   {HEADERS: "X-One:", "User name": "me", "Password": "pass-canary"}, {"Group": "", "Start at": ""}):
        for label, value in wanted.items():
            set_field(browser, field(label), value)
        press(browser, SAVE)
        browser.wait("it is saved", f"({field(next(iter(wanted)))}).value === ''")
    browser.wait("it is completed, under the name of its new address", has_state("other.bin", "completed"))
    if one()["group"] is not None or one()["url"] != address:
        raise Failed(f"the group or the address is {one()}")
    path, fields = place.server.fields[-1]
    expected = {"X-One": None, "X-Two": "2", "Authorization": "Basic " + base64.b64encode(b"me:pass-canary").decode()}
    if not path.endswith("other.bin") or any(fields.get(name) != value for name, value in expected.items()):
        raise Failed(f"the server was sent {path} {fields}")
    if "canary" in json.dumps(place.list()) + browser.eval("document.body.innerHTML + JSON.stringify([sessionStorage, localStorage])"):
        raise Failed("a secret is shown or kept")
    browser.key("Escape")


def fields_of_running(place, browser):
    """a header field given to what has only just begun is sent at once"""
    place.empty(browser)
    fill_form(browser, [place.server.url(60 * MIB, 2 * MIB, "begun.bin")])
    browser.wait("it runs", has_state("begun.bin", "transferring"))
    edit(browser, "begun.bin")
    set_field(browser, field(HEADERS), "X-Late: 1")
    press(browser, SAVE)
    harness.wait_until(lambda: any(fields.get("X-Late") == "1" for _, fields in place.server.fields), "the field")
    browser.key("Escape")
    place.run("remove", "--all")


def added_again(place, browser):
    """the rare options are folded; a token is sent; an address that is in the list is not added again, and the page says so"""
    place.empty(browser)
    press(browser, "document.getElementById('add')")
    browser.wait("the dialog", IS_ADDING)
    if browser.eval("[...document.querySelectorAll('#add-dialog details')].some((fold) => fold.open)"):
        raise Failed("rare options are not folded")
    close_dialog(browser)
    url = place.server.url(60 * MIB, 2 * MIB, "again.bin")
    fill_form(browser, [url], token="canary-again")
    browser.wait("it runs", has_state("again.bin", "transferring"))
    harness.wait_until(lambda: "Bearer canary-again" in place.server.authorizations, "the token")
    fill_form(browser, [url, place.server.url(1000, 0, "new.bin")], token="canary-again")
    browser.wait("it says so", "/1 transfer added; 1 is in the list already/.test(document.getElementById('toasts').textContent)")
    if sorted(place.names()) != ["again.bin", "new.bin"]:
        raise Failed(f"the list has {place.names()}")


def repeated(place, browser):
    """one that repeats says when it runs next and how it ended last; the repetition is changed, and taken away"""
    place.empty(browser)
    fill_form(browser, [place.server.url(1000, 0, "nightly.bin")], every="1d")
    browser.wait("it has run", has_state("nightly.bin", "starts at"))
    edit(browser, "nightly.bin")
    text = "document.querySelector('#details').textContent"
    browser.wait("its times", f"/Repeats1d/.test({text}) && /Next run\\S/.test({text}) && /Last run\\S/.test({text})")
    repeat = field("Repeat (12h, mon-fri 06:00)")
    set_field(browser, repeat, "mon-fri 06:00")
    press(browser, SAVE)
    harness.wait_until(lambda: place.list()[0]["every"] == "mon,tue,wed,thu,fri 06:00", "the other times")
    set_field(browser, repeat, "")
    press(browser, SAVE)
    harness.wait_until(lambda: place.list()[0]["every"] is None, "none")
    browser.key("Escape")
    place.run("remove", "--all")


STEPS = [installable, shared, bookmarklet, other_tab, dropped_links, asked_before, added_paused, changed, access_changed, fields_of_running, added_again, repeated, in_the_queue, notices_cleared, limits_last]
