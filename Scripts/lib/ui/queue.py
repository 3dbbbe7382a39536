"""A queue that runs one transfer at a time."""

import time

import harness

from chromium import Chromium, Failed
from .place import button, cell, fill_form, has_state, press, row, slow, tool

MIB = 1 << 20


def add_three(place, browser):
    """three addresses are added, and the first one runs"""
    fill_form(browser, [place.server.url(6 * MIB, MIB, name) for name in ("one", "two", "three")])
    browser.wait("the dialog closes", "!document.getElementById('add-dialog').open")
    browser.wait("one runs", has_state("one", "transferring"))
    browser.wait("two waits, in words", has_state("two", "all slots are taken"))


def bars_move(place, browser):
    """its bar, percent, speed and time left move"""
    first = float(browser.wait("a percent", cell("one", "percent")).split()[0])
    browser.wait("more percent", f"parseFloat({cell('one', 'percent')}) > {first}")
    browser.wait("a speed", f"/[KM]iB.s/.test({cell('one', 'rate')})")
    browser.wait("the time left", f"/\\d:\\d\\d/.test({cell('one', 'left')})")
    browser.wait("the speed of all", "/[KM]iB.s/.test(document.getElementById('total-rate').textContent)")


def pause_and_resume(place, browser):
    """one is paused, the next starts; it is resumed and completed"""
    press(browser, button("one", "Pause"))
    browser.wait("one is paused", has_state("one", "paused"))
    browser.wait("two runs", has_state("two", "transferring"))
    press(browser, button("one", "Resume"))
    browser.wait("one waits", has_state("one", "all slots are taken"))
    browser.wait("all are completed", " && ".join(has_state(n, "completed") for n in ("one", "two", "three")), 40)


def details(place, browser):
    """an opened row shows its parts, its speed and its address"""
    place.add(40 * MIB, 4 * MIB, "large")
    browser.wait("it runs", has_state("large", "transferring"))
    browser.click(f"({row('large')}).querySelector('.name')")
    browser.key("Enter")
    browser.wait("the parts", "/% on disk in 1 part; 1 part/.test(document.querySelector('#details')?.textContent)")
    text = browser.eval("document.querySelector('#details').textContent")
    if place.server.url(40 * MIB, 4 * MIB, "large") not in text:
        raise Failed("the address is missing")
    for time in ("Added", "Started"):
        browser.wait(f"when it was {time}", f"/{time}\\s*.*\\d:\\d\\d/.test(document.querySelector('#details').textContent)")
    browser.wait("the speed", "document.querySelector('.curve:not([hidden])')?.ariaLabel?.startsWith('Speed')")
    browser.key("Escape")
    browser.wait("it is closed", "document.getElementById('details').hidden")
    place.run("cancel", "--all")


def speed_limit(place, browser):
    """one is added with a speed limit, which its details show"""
    fill_form(browser, [place.server.url(40 * MIB, 0, "limited")], rate="64")
    browser.wait("it runs", has_state("limited", "transferring"))
    if place.list()[-1]["rate_limit"] != 64 << 10:
        raise Failed("the daemon does not know the limit")
    browser.click(f"({row('limited')}).querySelector('.name')")
    browser.key("Enter")
    browser.wait("the limit", "/Speed limit64.0 KiB.s/.test(document.querySelector('#details')?.textContent)")
    browser.key("Escape")
    browser.wait("it is closed", "document.getElementById('details').hidden")
    place.run("cancel", "--all")


def start_time(place, browser):
    """one is added with a start time, waits for it in words, and is started by hand"""
    fill_form(browser, [place.server.url(MIB, 0, "timed")], at="2100-01-01T12:00")
    browser.wait("it waits", has_state("timed", "starts at Jan 1, 2100"))
    browser.click(f"({row('timed')}).querySelector('.name')")
    press(browser, tool("Start now"))
    browser.wait("it is completed", has_state("timed", "completed"))


@slow
def cancel_paused(place, browser):
    """a paused one is cancelled: undone once, then for good"""
    place.add(50 * MIB, MIB, "paused")
    browser.wait("it runs", has_state("paused", "transferring"))
    press(browser, button("paused", "Pause"))
    browser.wait("it is paused", has_state("paused", "paused"))
    press(browser, button("paused", "Cancel"))
    press(browser, "document.querySelector('.toast [data-action=Undo]')")
    time.sleep(1)
    if browser.eval(has_state("paused", "cancelled")):
        raise Failed("undo did not undo")
    press(browser, button("paused", "Cancel"))
    browser.wait("it is cancelled after ten seconds", has_state("paused", "cancelled"), 15)


def retry_failed(place, browser):
    """a failed one says why, and is retried"""
    path = f"/{MIB}/0/broken"
    place.server.broken.add(path)
    place.add(MIB, 0, "broken")
    browser.wait("it fails, in words", has_state("broken", "404"))
    place.server.broken.clear()
    press(browser, button("broken", "Retry"))
    browser.wait("it is completed", has_state("broken", "completed"))


@slow
def restart_completed(place, browser):
    """a completed one is restarted"""
    place.add(3 * MIB, 3 * MIB, "again")
    browser.wait("it is completed", has_state("again", "completed"))
    browser.click(f"({row('again')}).querySelector('.name')")
    press(browser, tool("Restart"))
    browser.wait("it begins again", has_state("again", "transferring"))
    browser.wait("it is completed again", has_state("again", "completed"))


def reorder(place, browser):
    """the order is changed by dragging and by keys"""
    place.empty(browser)
    press(browser, "document.getElementById('suspend')")
    browser.wait("suspended", "document.getElementById('suspend').textContent === 'Unsuspend'")
    for name in "abcd":
        place.add(MIB, 0, name)
    browser.wait("four rows", "document.querySelectorAll('.row:not([hidden])').length === 4")
    browser.wait("the reason", has_state("a", "suspended"))
    x, y = browser.center(f"({row('a')})")
    browser.drag(f"({row('d')}).querySelector('.name')", x, y - 14)
    expect(place, ["d", "a", "b", "c"])
    browser.click(f"({row('d')}).querySelector('.name')")
    browser.key("ArrowDown", Chromium.ALT)
    expect(place, ["a", "d", "b", "c"])
    browser.key("End", Chromium.ALT)
    expect(place, ["a", "b", "c", "d"])
    browser.key("Home", Chromium.ALT)
    expect(place, ["d", "a", "b", "c"])
    browser.key("ArrowUp", Chromium.ALT)
    expect(place, ["d", "a", "b", "c"])
    shown = "[...document.querySelectorAll('.row:not([hidden])')].sort((l, r) => l.ariaRowIndex - r.ariaRowIndex).map((r) => r.querySelector('.name').textContent).join('')"
    browser.wait("the page has the same order", f"({shown}) === 'dabc'")
    place.run("move", "--last", place.list()[0]["id"])
    browser.wait("and follows a move from elsewhere", f"({shown}) === 'abcd'")


def expect(place, names):
    deadline = time.monotonic() + 10
    while (found := place.names()) != names:
        if time.monotonic() > deadline:
            raise Failed(f"the order is {found}, not {names}")


def select(place, browser):
    """shift, ctrl and all select, and a command is for the selection"""
    browser.click(f"({row('a')}).querySelector('.name')")
    browser.click(f"({row('c')}).querySelector('.name')", Chromium.SHIFT)
    browser.click(f"({row('b')}).querySelector('.name')", Chromium.CONTROL)
    browser.wait("two are selected", "document.querySelector('.subject').textContent === '2 selected'")
    press(browser, tool("Pause"))
    browser.wait("a and c are paused", f"{has_state('a', 'paused')} && {has_state('c', 'paused')}")
    if browser.eval(has_state("b", "paused")):
        raise Failed("b was not selected")
    browser.key("a", Chromium.CONTROL)
    browser.wait("all are selected", "document.querySelector('.subject').textContent === '4 selected'")
    browser.key("Escape")
    browser.wait("none is", "document.querySelector('.subject').textContent === '4 transfers'")
    for name in ("Cancel", "Remove", "Delete files", "Restart"):
        if not browser.eval(f"({tool(name)}).disabled"):
            raise Failed(f"{name} without a selection is for all")
    press(browser, tool("Resume"))
    browser.wait("all wait again", " && ".join(has_state(n, "suspended") for n in "abcd"))
    press(browser, "document.getElementById('suspend')")
    browser.wait("all are completed", " && ".join(has_state(n, "completed") for n in "abcd"))


def group(place, browser):
    """a group has one folder and one completion"""
    place.empty(browser)
    fill_form(browser, [place.server.url(2 * MIB, 2 * MIB, f"part-{n}") for n in range(3)], group="album")
    browser.wait("the folder", cell("album", "name"))
    browser.wait("one is completed", f"({cell('album', 'host')}) === '1 of 3 completed'")
    browser.wait("it is completed", f"({cell('album', 'host')}) === '3 of 3 completed' && {has_state('album', 'completed')}")
    browser.click(f"({row('album')}).querySelector('.name')")
    browser.wait("it is folded", "document.querySelectorAll('.row:not([hidden])').length === 1")
    browser.key("ArrowRight")
    browser.wait("it is open", "document.querySelectorAll('.row:not([hidden])').length === 4")


def undo(place, browser):
    """a removed one comes back with undo, and its file stays"""
    browser.click(f"({row('part-1')}).querySelector('.name')")
    browser.key("Delete")
    browser.wait("it is gone", f"!({row('part-1')})")
    browser.key("z", Chromium.CONTROL)
    browser.wait("it is back", row("part-1"))
    time.sleep(0.5)
    if "part-1" not in place.names():
        raise Failed("the daemon has removed it")


def double_click(place, browser):
    """a double click on the button of a row is no double click on the row"""
    place.empty(browser)
    place.add(300_000, 30_000, "pressed")
    browser.wait("it runs", has_state("pressed", "transferring"))
    x, y = browser.center(button("pressed", "Pause"))
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            browser.mouse(kind, x, y, button="left", clickCount=count)
    browser.wait("it is paused or runs", f"/paused|transferring|answer|slot/.test({cell('pressed', 'state')})")
    if not browser.eval("document.getElementById('details').hidden"):
        raise Failed("the details are open")


@slow
def resumed_elsewhere(place, browser):
    """what another program resumes while its cancellation can be undone is not cancelled"""
    place.empty(browser)
    id = place.add(300_000, 10_000, "kept")
    browser.wait("it runs", has_state("kept", "transferring"))
    press(browser, button("kept", "Cancel"))
    browser.wait("it is paused", "document.querySelector('.toast [data-action=Undo]')")
    browser.wait("the daemon has paused it", has_state("kept", "will be cancelled"))
    harness.wait_until(lambda: place.list()[0]["state"] == "paused", "it is paused")
    place.run("resume", id)
    browser.wait("it says so", "/resumed meanwhile/.test(document.getElementById('toasts').textContent)")
    if place.list()[0]["state"] == "cancelled":
        raise Failed("it was cancelled")


@slow
def delete_file(place, browser):
    """a completed one is removed with its file"""
    path = place.downloads / "part-2"
    if not path.exists():
        raise Failed("there is no file")
    browser.click(f"({row('part-2')}).querySelector('.name')")
    press(browser, tool("Delete files"))
    browser.wait("it is gone", f"!({row('part-2')})")
    deadline = time.monotonic() + 15
    while path.exists():
        if time.monotonic() > deadline:
            raise Failed("the file is still there")
        time.sleep(0.1)


def leave(place, browser):
    """what was removed is removed too when the page is closed before the time is over"""
    browser.click(f"({row('part-0')}).querySelector('.name')")
    browser.key("Delete")
    browser.wait("it is gone", f"!({row('part-0')})")
    browser.open("about:blank")
    deadline = time.monotonic() + 8
    while "part-0" in place.names():
        if time.monotonic() > deadline:
            raise Failed("it is still in the list")
        time.sleep(0.1)
    place.open(browser)


STEPS = [add_three, bars_move, pause_and_resume, details, speed_limit, start_time, cancel_paused,
         retry_failed, restart_completed, reorder, select, group, undo, delete_file, leave,
         double_click, resumed_elsewhere]
