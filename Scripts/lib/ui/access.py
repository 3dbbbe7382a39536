"""The page with a keyboard, with a screen reader, on a telephone, and under attack."""

import json
import time

import harness
from chromium import Failed
from .place import ON_TOP, api, press, row

MIB = 1 << 20
NAMED = {"button", "textbox", "searchbox", "combobox", "checkbox", "spinbutton", "link", "grid",
         "progressbar", "navigation", "dialog", "toolbar", "group", "option", "row"}


def tree(browser):
    return [node for node in browser.call("Accessibility.getFullAXTree")["nodes"]
            if not node.get("ignored")]


def value(node, key):
    return node.get(key, {}).get("value", "")


def fill(place, browser):
    place.empty(browser)
    place.run("suspend")
    for name in ("first", "second"):
        place.add(MIB, 0, name, "--group", "pair")
    place.add(MIB, 0, "third")
    browser.wait("four rows", "document.querySelectorAll('.row:not([hidden])').length === 4")


def names_and_roles(place, browser):
    """every control has a role and a name in the accessibility tree"""
    fill(place, browser)
    nodes = tree(browser)
    for node in nodes:
        if value(node, "role") in NAMED and not value(node, "name"):
            raise Failed(f"a {value(node, 'role')} without a name: {node}")
    have = {(value(node, "role"), value(node, "name")) for node in nodes}
    for wanted in [("grid", "Transfers"), ("button", "Add"), ("button", "Limits"),
                   ("searchbox", "Search names and addresses"),
                   ("navigation", "Filters"), ("toolbar", "Commands for the selected transfers"),
                   ("button", "Pause"), ("button", "Remove"), ("combobox", "Priority"),
                   ("button", "Up"), ("button", "To the end"), ("link", "Skip to the transfers")]:
        if wanted not in have:
            raise Failed(f"there is no {wanted}")
    if not have & {("button", "Suspend"), ("button", "Unsuspend")}:
        raise Failed("there is no button to suspend the queue")
    roles = {value(node, "role") for node in nodes}
    for wanted in ("status", "row", "gridcell", "progressbar", "main", "banner"):
        if wanted not in roles:
            raise Failed(f"there is no {wanted} in {sorted(roles)}")
    live = browser.eval("document.getElementById('live').ariaLive")
    if live != "polite":
        raise Failed("ends are not announced")
    browser.eval("document.getElementById('add').click()")
    for node in tree(browser):
        if value(node, "role") in NAMED and not value(node, "name"):
            raise Failed(f"in the dialog, a {value(node, 'role')} without a name: {node}")
    browser.key("Escape")


def order_of_focus(place, browser):
    """Tab goes from the search to the commands, the filters and the list, with a visible focus"""
    browser.eval("document.activeElement.blur(); window.scrollTo(0, 0)")
    browser.eval("document.querySelector('.skip').focus()")
    seen = []
    for _ in range(60):
        label = browser.eval("""(() => { const e = document.activeElement; const style = getComputedStyle(e);
          return [e.id || e.getAttribute('aria-label') || e.textContent, style.outlineStyle !== 'none' || e.id === 'list' || e.id === 'search']; })()""")
        seen.append(label[0])
        if not label[1]:
            raise Failed(f"the focus on {label[0]} cannot be seen")
        if label[0] == "list":
            break
        browser.key("Tab")
    places = [next((n for n, label in enumerate(seen) if label.startswith(name)), -1)
              for name in ("Skip", "search", "add", "suspend", "limits", "All", "Select", "list")]
    if -1 in places or places != sorted(places):
        raise Failed(f"the order of the focus is {seen}")


def keyboard_only(place, browser):
    """the list is used with the keyboard alone"""
    browser.eval("document.getElementById('list').focus()")
    browser.key("Home")
    browser.key("ArrowDown")
    active = browser.wait("a row has the focus", "document.getElementById(document.getElementById('list').getAttribute('aria-activedescendant') ?? '')?.querySelector('.name').textContent")
    if active != "first":
        raise Failed(f"the row of the focus is {active}")
    browser.key("p")
    browser.wait("it is paused", f"({row('first')}).querySelector('.state').textContent === 'paused'")
    browser.key("p")
    browser.wait("it waits", f"({row('first')}).querySelector('.state').textContent !== 'paused'")
    browser.key("Enter")
    browser.wait("the details", "document.activeElement.closest('#details') !== null")
    browser.key("Escape")
    browser.wait("the list again", "document.activeElement.id === 'list'")


# What is pressed is shown but has fewer than 44 pixels, and dialogs that are wider or lower than the screen.
SMALL = """(() => {
  const shown = [...document.querySelectorAll('button, select, summary, .check, .switch, label.file, input:not([type=checkbox]):not([type=file])')]
    .filter((e) => e.checkVisibility() && e.closest('dialog:not([open])') === null);
  const low = shown.filter((e) => e.getBoundingClientRect().height < 44).map((e) => e.id || e.title || e.textContent);
  const wide = [...document.querySelectorAll('dialog[open], #details:not([hidden]), #notice-panel:not([hidden])')]
    .filter((e) => e.scrollWidth > e.clientWidth || e.getBoundingClientRect().width !== innerWidth || e.getBoundingClientRect().height !== innerHeight)
    .map((e) => e.id);
  return [...low, ...wide, ...(document.documentElement.scrollWidth > innerWidth ? ['the page'] : [])];
})()"""


def phone(place, browser):
    """on a telephone nothing sticks out, what is pressed has 44 pixels, and dialogs fill the screen"""
    for width, height in ((430, 932), (390, 844), (360, 720)):
        browser.resize(width, height, mobile=True)
        browser.wait("the rows are cards", "document.querySelector('.row:not([hidden])').offsetHeight >= 80")
        for node in tree(browser):
            if value(node, "role") in NAMED and not value(node, "name"):
                raise Failed(f"a {value(node, 'role')} without a name: {node}")
        if wrong := browser.eval(SMALL):
            raise Failed(f"at {width} pixels: too small, or sticking out: {wrong}")

    def check(what):
        if wrong := browser.eval(SMALL):
            raise Failed(f"{what}: too small, or sticking out: {wrong}")
        browser.screenshot(place.pictures / f"phone-{what}.png")

    check("list")
    press(browser, "document.getElementById('add')")
    check("add")
    browser.eval("document.querySelectorAll('#add-dialog details').forEach((fold) => { fold.open = true; })")
    check("add-all")
    width = browser.eval("document.getElementById('addresses').getBoundingClientRect().width")
    if width < 250:
        raise Failed(f"the field for addresses has {width} pixels")
    press(browser, "document.getElementById('choose-file')")
    browser.wait("the files", "document.getElementById('files-dialog').open && document.getElementById('files').ariaBusy === 'false'")
    check("files")
    for _ in range(2):
        browser.key("Escape")
    for name in ("limits", "keys"):
        press(browser, f"document.getElementById('{name}')")
        browser.wait("the dialog", f"document.getElementById('{name}-dialog').open")
        if name == "limits":
            press(browser, "document.getElementById('add-window')")
        check(name)
        browser.eval(f"document.getElementById('{name}-dialog').close()")
    browser.eval("document.getElementById('notices').click()")
    check("notices")
    browser.key("Escape")
    browser.eval("document.getElementById('list').focus()")
    browser.key("End")
    browser.key("Enter")
    browser.wait("the details", "!document.getElementById('details').hidden")
    browser.eval("document.querySelectorAll('#details details').forEach((fold) => { fold.open = true; })")
    check("details")
    browser.key("Escape")
    fingers(browser)
    browser.resize(*browser.size)


def fingers(browser):
    """A tap on the marks selects several; one on the rest opens the details; a scroll does neither."""
    def tap(expression, moves=0):
        x, y = browser.center(expression)
        browser.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        for step in range(moves):
            browser.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": x, "y": y - 12 * step}])
        browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    browser.call("Emulation.setTouchEmulationEnabled", enabled=True)
    browser.eval("document.getElementById('list').focus(); document.getElementById('list').scrollTop = 0")
    browser.key("Escape")
    selected = "document.querySelectorAll('.row.selected:not([hidden])').length"
    for count, name in ((1, "first"), (2, "second"), (1, "first")):
        tap(f"({row(name)}).querySelector('.mark')")
        browser.wait(f"{count} are selected", f"{selected} === {count} && document.getElementById('details').hidden")
    tap(f"({row('second')}).querySelector('.name')", moves=8)
    time.sleep(0.3)
    if not browser.eval("document.getElementById('details').hidden"):
        raise Failed("a scroll opens the details")
    browser.eval("document.getElementById('list').scrollTop = 0")
    tap(f"({row('second')}).querySelector('.name')")
    browser.wait("the details", "document.querySelector('#details:not([hidden]) h2')?.textContent === 'second'")
    if browser.eval(selected):
        raise Failed("what is only looked at is selected")
    press(browser, "document.querySelector('#details .head button')")
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)


def themes(place, browser):
    """light, dark, and what the system says"""
    surface = "getComputedStyle(document.body).backgroundColor"
    light = browser.eval(surface)
    browser.screenshot(place.pictures / "light.png")
    browser.media(True)
    dark = browser.wait("dark by the system", f"({surface}) !== {json.dumps(light)} && ({surface})")
    browser.screenshot(place.pictures / "dark.png")
    browser.eval("document.getElementById('theme').click()")
    browser.wait("light by the switch", f"({surface}) === {json.dumps(light)}")
    browser.media(False)
    browser.eval("document.getElementById('theme').click()")
    browser.wait("dark by the switch", f"({surface}) === {json.dumps(dark)}")
    browser.eval("document.getElementById('theme').click()")
    browser.wait("as the system", f"({surface}) === {json.dumps(light)}")


def markup(place, browser):
    """markup in names, groups and errors is text"""
    place.empty(browser)
    place.run("unsuspend")
    evil = "<img src=x onerror=document.title='evil'>"
    place.server.error_text = evil
    path = "/1000/0/%3Cimg%20src=x%20onerror=alert(1)%3E.bin"
    place.server.broken.add(path)
    url = f"http://127.0.0.1:{place.server.server_address[1]}{path}"
    place.run("add", url, "-d", str(place.downloads), "-q", "--group", evil, "--id", evil)
    browser.wait("it has failed", "document.querySelector('.row.is-failed:not(.folder):not([hidden])')")
    browser.click("document.querySelector('.row:not(.folder):not([hidden]) .name')")
    browser.key("Enter")
    browser.wait("the details", "document.querySelector('#details h2')")
    time.sleep(1.2)
    browser.eval("document.getElementById('notices').click()")
    browser.wait("the notice", "document.querySelector('#notice-panel li')")
    if browser.eval("document.querySelectorAll('img, iframe, script:not([src=\"main.js\"])').length"):
        raise Failed("markup became elements")
    if "<img src=x" not in browser.eval("document.getElementById('groups').textContent"):
        raise Failed("the group is not shown as text")
    browser.key("Escape")
    browser.key("Escape")
    place.server.broken.clear()


def sound(place, browser):
    """a sound for an end is off at first; once switched on, success and failure differ"""
    place.empty(browser)
    count = """(() => { window.tones = []; const create = AudioContext.prototype.createOscillator;
      AudioContext.prototype.createOscillator = function () {
        const tone = create.call(this); window.tones.push(tone); return tone; }; })()"""
    browser.eval(count)
    ended(place, browser, "silent")
    if browser.eval("window.tones.length"):
        raise Failed("there is a sound before it is switched on")
    browser.eval("document.getElementById('notices').click()")
    label = "Sound when a transfer ends, in this browser"
    switches = [node for node in tree(browser) if value(node, "role") == "switch"]
    if [value(node, "name") for node in switches] != [label]:
        raise Failed(f"the switches are {switches}")
    if browser.eval("document.getElementById('sound').checked"):
        raise Failed("it is on at first")
    browser.eval("document.getElementById('sound').focus()")
    browser.key(" ")
    browser.wait("it is on, and heard", "document.getElementById('sound').checked && window.tones.length === 1")
    browser.key("Escape")
    ended(place, browser, "heard")
    place.server.broken.add("/1000/0/missing")
    ended(place, browser, "missing")
    place.server.broken.clear()
    kinds = browser.eval("window.tones.map((tone) => tone.type)")
    if kinds != ["sine", "sine", "triangle"]:
        raise Failed(f"the sounds are {kinds}")
    place.open(browser)
    browser.wait("it is kept", "window.tones === undefined && document.body?.dataset.list === 'whole' && document.getElementById('sound').checked")
    browser.eval(count)
    browser.eval("document.getElementById('sound').click()")
    ended(place, browser, "quiet")
    if browser.eval("window.tones.length"):
        raise Failed("there is a sound after it was switched off")


def ended_before(place, browser):
    """what ended before the page was opened is not announced"""
    place.empty(browser)
    ended(place, browser, "earlier")
    # Which of the page's two first requests is answered first differs from time to time.
    for number in range(6):
        place.open(browser)
        ended(place, browser, f"later{number}")
        said = browser.eval("document.getElementById('live').textContent")
        if "earlier" in said:
            raise Failed(f"the page announced: {said}")


def from_notice(place, browser):
    """a notice opens the details of its transfer, which have the focus"""
    place.empty(browser)
    ended(place, browser, "opened")
    browser.eval("document.getElementById('notices').click()")
    title = "document.querySelector('#notice-panel li button')"
    browser.wait("the notice", f"({title})?.textContent.startsWith('opened')")
    browser.eval(f"({title}).focus()")
    browser.key("Enter")
    browser.wait("the details", "document.getElementById('notice-panel').hidden"
                 " && document.activeElement.closest('#details')?.querySelector('h2').textContent === 'opened'")
    browser.key("Escape")


def ended(place, browser, name):
    """Adds a transfer, and waits until the page has announced its end."""
    place.add(1000, 0, name)
    text = json.dumps(f"{name} ")
    browser.wait(f"the end of {name}", f"document.getElementById('live').textContent.includes({text})")


def secrets(place, browser):
    """neither the code nor the token is in an address, the fragment is gone, and the key is stored nowhere"""
    place.open(browser)
    token = browser.eval("sessionStorage.getItem('haul-token')")
    key = api(browser, "GET", "session", None)["key"]
    kept = browser.eval("JSON.stringify([sessionStorage, localStorage])")
    if token not in kept or key in kept:
        raise Failed("the key is stored, or the token is not")
    code = place.url.split("code=")[1]
    if browser.eval("location.href") != place.url.split("#")[0]:
        raise Failed("the fragment is still there")
    for url in browser.requests():
        if token in url or code in url.split("#")[0]:
            raise Failed(f"a secret in {url}")
        if url.startswith("http") and not url.startswith(tuple(place.origins)):
            raise Failed(f"a request to elsewhere: {url}")
    log = (place.directory / "log").read_text()
    if token in log or code in log:
        raise Failed("a secret in the log")
    if browser.eval("document.cookie"):
        raise Failed("there is a cookie")
    blocked = browser.eval("""(() => { try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); return false; }
      catch (error) { return error instanceof TypeError; } })()""")
    if not blocked:
        raise Failed("the policy lets text become markup")
    browser.complaints()


def second_page(place, browser):
    """a page whose code was used says what to do"""
    browser.eval("sessionStorage.clear()")
    browser.open("about:blank")
    browser.open(place.url)
    browser.wait("it says so", "document.getElementById('locked')?.open && /belongs to one tab.*haul ui/s.test(document.getElementById('locked').textContent)")
    browser.eval("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    press(browser, "document.getElementById('copy-command')")
    browser.wait("the command is copied, and a message over the dialog says so", f"window.copied === 'haul ui' && {ON_TOP}")
    browser.screenshot(place.pictures / "locked.png")
    place.open(browser)


def from_file(place, browser):
    """the file that 'haul ui' opens leads to the page, without its code in the history, and is deleted"""
    programs, opened = place.directory / "bin", place.directory / "opened"
    programs.mkdir()
    (programs / "xdg-open").write_text(f"#!/bin/sh\nprintf %s \"$1\" >'{opened}.new' && mv '{opened}.new' '{opened}'\n")
    (programs / "xdg-open").chmod(0o755)
    place.environment |= {"PATH": f"{programs}:{place.environment['PATH']}", "DISPLAY": ":99"}
    place.run("ui")
    harness.wait_until(opened.exists, "the file")
    browser.eval("sessionStorage.clear()")
    browser.open("about:blank")
    browser.open(f"file://{opened.read_text()}")
    browser.wait("the page", "document.body?.dataset.connection === 'open' && document.body.dataset.list === 'whole'")
    if browser.eval("location.hash") or not browser.eval("sessionStorage.getItem('haul-token')"):
        raise Failed("the page did not take the code")
    if list((place.directory / "s" / "haul" / "redirects").iterdir()):
        raise Failed("the file is still there")


STEPS = [names_and_roles, order_of_focus, keyboard_only, phone, themes, markup, from_notice, sound, ended_before, secrets, second_page, from_file]
