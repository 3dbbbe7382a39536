"""The pictures of the documents: realistic transfers, on another machine's screen.

They are kept with a palette of 128 colours."""

import time

import harness
from ui.login import sign_in
from ui.place import button, press, row

from .browser import OPEN, WIDTHS, fresh
from .sites import PASSWORD

MIB = 1 << 20
DOCUMENTS = harness.ROOT / "docs"


def options(lan):
    """Of the daemon: every host is the file server."""
    return ["-j", "3", "--proxy", f"http://127.0.0.1:{lan.files.server_address[1]}"]


def fill(lan):
    def add(host, size, rate, name, *more):
        lan.daemon.run("add", f"http://{host}/{size}/{rate}/{name}", "-d",
                       str(lan.daemon.downloads), "-q", *more)
    lan.files.broken.add("/5000/0/lecture-14.mp4")
    add("mirror.example.org", 700 * MIB, 4 * MIB, "debian-12.11.0-amd64-DVD-1.iso", "-x", "4")
    add("maps.example.net", 90 * MIB, 2 * MIB, "berlin.osm.pbf", "-x", "2")
    add("docs.example.com", 2 * MIB, 0, "release-notes.pdf", "-x", "1")
    add("video.example.edu", 5000, 0, "lecture-14.mp4")
    for track in range(1, 7):
        add("music.example.org", 24 * MIB, 0 if track < 4 else 2 * MIB,
            f"{track:02}-goldberg-variations.flac", "--group", "Goldberg Variations", "-x", "1")
    add("kernel.example.org", 140 * MIB, 3 * MIB, "linux-6.12.tar.xz", "--priority", "background")
    for part in (1, 2, 3):
        add("data.example.net", 60 * MIB, 2 * MIB, f"dataset-part-{part}.parquet")


def draw(lan, browser):
    """docs/web-login.png, docs/web.png and docs/web-phone.png are drawn"""
    browser.resize(*WIDTHS[400])
    fresh(browser, lan.wire.url)
    browser.wait("the login page", "document.querySelector('#password')")
    browser.eval("document.querySelector('#password').value = 'four words or more'")
    browser.resize(400, 300, mobile=True)
    browser.screenshot(DOCUMENTS / "web-login.png")
    sign_in(browser, PASSWORD)
    browser.wait("the page", OPEN)
    browser.resize(*WIDTHS[1280])
    fill(lan)
    browser.wait("all rows", "document.querySelectorAll('.row:not([hidden])').length >= 15")
    press(browser, button("linux-6.12.tar.xz", "Pause"))
    time.sleep(9)
    browser.click(f"({row('debian-12.11.0-amd64-DVD-1.iso')}).querySelector('.name')")
    browser.key("Enter")
    time.sleep(5)
    browser.mouse("mouseMoved", 640, 700)
    browser.screenshot(DOCUMENTS / "web.png")
    browser.key("Escape")
    browser.key("Escape")
    browser.eval("document.activeElement.blur()")
    browser.resize(*WIDTHS[400])
    time.sleep(1.2)
    browser.screenshot(DOCUMENTS / "web-phone.png")
