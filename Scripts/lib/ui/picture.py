"""The pictures of the documents, of realistic transfers."""

import harness
import time

from .place import button, press, row

MIB = 1 << 20


def draw(place, browser):
    """docs/web.png and docs/web-phone.png are drawn"""
    browser.resize(1280, 800)
    add = lambda host, size, rate, name, *options: place.run(
        "add", f"http://{host}/{size}/{rate}/{name}", "-d", str(place.downloads), "-q", *options)
    place.server.broken.add("/5000/0/lecture-14.mp4")
    add("mirror.example.org", 700 * MIB, 4 * MIB, "debian-12.11.0-amd64-DVD-1.iso", "-x", "4")
    add("maps.example.net", 90 * MIB, 2 * MIB, "berlin.osm.pbf", "-x", "2")
    add("docs.example.com", 2 * MIB, 0, "release-notes.pdf", "-x", "1")
    add("video.example.edu", 5000, 0, "lecture-14.mp4")
    for track in range(1, 7):
        rate = 0 if track < 4 else 2 * MIB
        add("music.example.org", 24 * MIB, rate, f"{track:02}-goldberg-variations.flac", "--group", "Goldberg Variations", "-x", "1")
    add("kernel.example.org", 140 * MIB, 3 * MIB, "linux-6.12.tar.xz", "--priority", "background")
    for part in (1, 2, 3):
        add("data.example.net", 60 * MIB, 2 * MIB, f"dataset-part-{part}.parquet")
    browser.wait("all rows", "document.querySelectorAll('.row:not([hidden])').length >= 15")
    press(browser, button("linux-6.12.tar.xz", "Pause"))
    time.sleep(9)
    browser.screenshot(place.pictures / "list.png")
    browser.click(f"({row('debian-12.11.0-amd64-DVD-1.iso')}).querySelector('.name')")
    browser.key("Enter")
    time.sleep(5)
    browser.mouse("mouseMoved", 640, 700)
    browser.screenshot(harness.ROOT / "docs" / "web.png")
    browser.media(True)
    time.sleep(1.2)
    browser.screenshot(place.pictures / "dark-details.png")
    browser.key("Escape")
    browser.key("Escape")
    browser.eval("document.activeElement.blur()")
    for width, height in ((390, 844), (400, 800)):
        browser.resize(width, height, mobile=True)
        time.sleep(1.2)
        browser.screenshot(place.pictures / f"phone-dark-{width}.png")
    browser.media(False)
    time.sleep(1.2)
    browser.screenshot(harness.ROOT / "docs" / "web-phone.png")
