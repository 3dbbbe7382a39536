"""The order of the list, what holds transfers back, and what is counted."""

import json

from chromium import Failed
from .place import ON_TOP, api, has_state, open_details, press, row, tool

MIB = 1 << 20
SHOWN = ("[...document.querySelectorAll('.row:not([hidden])')].sort((l, r) => l.ariaRowIndex - r.ariaRowIndex)"
         ".map((row) => row.querySelector('.name').textContent).join(' ')")


def shows(browser, what, names):
    browser.wait(what, f"({SHOWN}) === {json.dumps(names)}")


def sort(place, browser):
    """the list is sorted by columns, with the mouse and the keyboard; the tab keeps it; then nothing is moved"""
    place.empty(browser)
    place.run("unsuspend")
    for name, size in (("part-10", 3000), ("part-9", 1000), ("other", 2000)):
        place.add(size, 0, name)
    browser.wait("they are completed", " && ".join(has_state(n, "completed") for n in ("part-10", "part-9", "other")))
    queue = "part-10 part-9 other"
    shows(browser, "the order of the queue", queue)
    size = "document.querySelector('.heads [data-sort=size]')"
    browser.click(size)
    shows(browser, "the largest first", "part-10 other part-9")
    browser.click(size)
    shows(browser, "the smallest first", "part-9 other part-10")
    browser.eval("document.querySelector('.heads [data-sort=name]').focus()")
    browser.key("Enter")
    shows(browser, "by name, and by the numbers in it", "other part-9 part-10")
    place.open(browser)
    shows(browser, "it is kept", "other part-9 part-10")
    browser.drag(f"({row('part-10')}).querySelector('.name')", *browser.center(row("other")))
    browser.eval("document.getElementById('list').focus()")
    browser.key("ArrowUp", browser.ALT)
    browser.wait("it says why nothing moves", "/sorted by name/.test(document.getElementById('toasts').textContent)")
    if not browser.eval(f"({tool('Up')}).disabled") or place.names() != queue.split():
        raise Failed("a sorted list was reordered")
    choice = "document.querySelector('#orders [aria-label=\"Order of the list\"]')"
    for value, names in (("ended", "other part-9 part-10"), ("queue", queue)):
        browser.eval(f"(() => {{ const e = {choice}; e.value = '{value}'; e.dispatchEvent(new Event('change')); }})()")
        shows(browser, f"by {value}", names)


def start_now(place, browser):
    """what is to start now and must still wait says so, and for what"""
    place.empty(browser)
    before = api_limits(browser)
    api(browser, "PATCH", "limits", {"connections_per_host": 1})
    place.add(40 * MIB, MIB, "running")
    place.add(MIB, 0, "next")
    browser.wait("one runs, one waits", f"{has_state('running', 'transferring')} && {has_state('next', 'limit')}")
    browser.click(f"({row('next')}).querySelector('.name')")
    press(browser, tool("Start now"))
    browser.wait("it says so", has_state("next", "moved to the front, still waits: the host's limit"))
    browser.wait("a message has all of it", "/“next”: moved to the front, still waits: .* is reached/.test(document.getElementById('toasts').textContent)")
    browser.screenshot(place.pictures / "start-now.png")
    api(browser, "PATCH", "limits", {"connections_per_host": before})
    browser.wait("it is completed", has_state("next", "completed"))
    place.run("cancel", "--all")


def api_limits(browser):
    return api(browser, "GET", "limits", None)["connections_per_host"]


def held(place, browser):
    """a line at the top says that the schedule or a suspension holds transfers back, and until when"""
    place.empty(browser)
    line = "document.getElementById('held')"
    day = browser.eval("['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'][(new Date().getDay() + 3) % 7]")
    api(browser, "PATCH", "limits", {"schedule": [{"days": [day], "from": "10:00", "to": "12:00"}]})
    place.add(MIB, 0, "held-one")
    browser.wait("the schedule", f"!({line}).hidden && /^Outside the schedule until {day.capitalize()} 10:00: .*1 transfer waits/.test(({line}).textContent)")
    browser.screenshot(place.pictures / "schedule.png")
    press(browser, "document.getElementById('held-schedule')")
    browser.wait("the dialog", "document.getElementById('limits-dialog').open")
    browser.eval("document.querySelector('.window').remove()")
    press(browser, "document.querySelector('#limits-form .primary')")
    browser.wait("it is gone, and the transfer runs", f"({line}).hidden && {has_state('held-one', 'completed')}")
    place.run("suspend")
    browser.wait("the suspension", f"!({line}).hidden && /^Suspended until you press Unsuspend/.test(({line}).textContent)")
    place.run("unsuspend")
    browser.wait("it is gone", f"({line}).hidden")


def not_counted(place, browser):
    """what is removed, while that can be undone, is in no count"""
    place.empty(browser)
    place.run("suspend")
    for name in ("first", "second"):
        place.add(MIB, 0, name, "--group", "pair")
    numbers = "['states', 'groups', 'hosts'].map((id) => document.querySelector(`#${id} b`)?.textContent ?? '').join(' ')"
    browser.wait("two", f"({numbers}) === '2 2 2'")
    browser.click(f"({row('second')}).querySelector('.name')")
    browser.key("Delete")
    browser.wait("it is not counted", f"({numbers}) === '1 1 1'")
    browser.wait("nor in its group", f"({row('pair')}).querySelector('.host').textContent === '0 of 1 completed'")
    press(browser, "[...document.querySelectorAll('.toast [data-action=Undo]')].at(-1)")
    browser.wait("two again", f"({numbers}) === '2 2 2'")
    place.run("unsuspend")


def message_over_dialog(place, browser):
    """a message is above an open dialog, and is read and pressed there"""
    press(browser, "document.getElementById('limits')")
    browser.wait("the dialog", "document.getElementById('limits-dialog').open")
    browser.eval("import('/toasts.js').then(({ toast }) => toast('Above', { action: 'Press', run: () => { window.pressed = true; } }))")
    browser.wait("the message", ON_TOP)
    if browser.eval("document.getElementById('live').closest('dialog')?.id") != "limits-dialog":
        raise Failed("the live region is not in the open dialog")
    browser.screenshot(place.pictures / "message.png")
    browser.click("document.querySelector('.toast [data-action=Press]')")
    browser.wait("it is pressed", "window.pressed")
    browser.eval("document.getElementById('limits-dialog').close()")
    browser.wait("it is back", "document.getElementById('messages').parentElement === document.body")


def missing_file(place, browser):
    """the details of a completed one say that its file is gone, and do not offer to delete it"""
    place.empty(browser)
    place.add(1000, 0, "gone")
    browser.wait("it is completed", has_state("gone", "completed"))
    open_details(browser, "gone")
    delete = "[...document.querySelectorAll('#details .commands button')].find((b) => b.textContent === 'Delete file')"
    browser.wait("its file can be deleted", f"!({delete}).hidden && /All of it was saved/.test(document.getElementById('details').textContent)")
    (place.downloads / "gone").unlink()
    browser.wait("it says so", f"({delete}).hidden && /no longer there/.test(document.getElementById('details').textContent)")
    browser.screenshot(place.pictures / "missing.png")
    browser.key("Escape")


STEPS = [sort, start_now, held, not_counted, message_over_dialog, missing_file]
