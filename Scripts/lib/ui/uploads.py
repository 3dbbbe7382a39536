"""Uploads of files that the daemon may read."""

import json

from chromium import Failed
from .place import fill_form, has_state, open_details, press, row

MIB = 1 << 20


def target(place):
    return f"http://127.0.0.1:{place.server.server_address[1]}/in/"


def choose(place, browser):
    """a file to upload is chosen with the keyboard, in directories below the root and nowhere else"""
    place.empty(browser)
    (place.downloads / "album" / "disc").mkdir(parents=True)
    (place.downloads / "album" / "track one.txt").write_text("chosen")
    (place.downloads / "outside").symlink_to("/etc")
    (place.downloads / "unfinished.iso.haul.part").write_text("half")
    press(browser, "document.getElementById('add')")
    browser.eval("document.getElementById('f-put').value = ''; document.getElementById('addresses').value = ''")
    browser.type(target(place))
    press(browser, "document.getElementById('choose-file')")
    focused = "document.activeElement.closest('#files button')?.querySelector('span').textContent"
    browser.wait("the directory has the focus", f"({focused}) === 'album'")
    names = browser.eval("document.getElementById('files').textContent")
    if "outside" in names:
        raise Failed("a link that leads out of the root is offered")
    if "unfinished" in names:
        raise Failed("a download that is not complete is offered")
    browser.key("Enter")
    browser.wait("its content", "document.getElementById('file-directory').textContent.endsWith('/album')")
    browser.screenshot(place.pictures / "files.png")
    browser.key("End")
    browser.wait("the file has the focus", f"({focused}) === 'track one.txt'")
    browser.key("ArrowLeft")
    browser.wait("the directory that was left has the focus", f"({focused}) === 'album'")
    browser.key("Enter")
    browser.wait("its content", "document.getElementById('file-directory').textContent.endsWith('/album')")
    browser.key("End")
    browser.key("Enter")
    path = str(place.downloads / "album" / "track one.txt")
    browser.wait("it is chosen", f"!document.getElementById('files-dialog').open && document.getElementById('f-put').value === {json.dumps(path)}")
    press(browser, "document.getElementById('add-submit')")
    browser.wait("it is completed", has_state("track one.txt", "completed"))
    if place.server.uploads.get("/in/track%20one.txt") != b"chosen":
        raise Failed(f"the server has {place.server.uploads}")
    open_details(browser, "track one.txt")
    browser.wait("its file", f"document.getElementById('details').textContent.includes({json.dumps(path)})")
    browser.key("Escape")


def dropped(place, browser):
    """a dropped file that is no list of addresses is uploaded if it is in the root"""
    (place.downloads / "dropped.txt").write_text("words of no address")
    drop = """(name, text) => { const data = new DataTransfer(); data.items.add(new File([text], name));
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })); }"""
    browser.eval(f"({drop})('dropped.txt', 'words of no address')")
    path = json.dumps(str(place.downloads / "dropped.txt"))
    browser.wait("its path", f"document.getElementById('add-dialog').open && document.getElementById('f-put').value === {path}")
    browser.eval("document.getElementById('f-put').value = ''; document.getElementById('addresses').value = ''")
    browser.key("Escape")
    browser.wait("it is closed", "!document.getElementById('add-dialog').open")
    browser.eval(f"({drop})('elsewhere.txt', 'words of no address')")
    browser.wait("what to do", "/To upload it, use Add and “Choose…”/.test(document.getElementById('toasts').textContent)")


def two_bars(place, browser):
    """an upload has two bars: what was sent, and what the server is known to have"""
    place.empty(browser)
    (place.downloads / "slow.bin").write_bytes(b"x" * 4 * MIB)
    fill_form(browser, [target(place)], put="slow.bin", rate="512")
    browser.wait("the row", row("slow.bin"))
    width = lambda bar: f"new DOMMatrix(getComputedStyle(({row('slow.bin')}).querySelector('.meter {bar}')).transform).a"
    browser.wait("some was sent, nothing is acknowledged", f"({width('.sent')}) > 0.1 && ({width('i:not(.sent)')}) === 0")
    label = browser.eval(f"({row('slow.bin')}).querySelector('.meter').ariaLabel")
    if "% sent, 0.0 % acknowledged" not in label:
        raise Failed(f"the bar says {label}")
    browser.screenshot(place.pictures / "upload.png")
    browser.wait("it is completed", f"{has_state('slow.bin', 'completed')} && ({width('i:not(.sent)')}) === 1")


STEPS = [choose, dropped, two_bars]
