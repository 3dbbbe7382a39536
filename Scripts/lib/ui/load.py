"""A hundred thousand transfers, and a thousand changes a second."""

import json
import pathlib
import re
import time

from chromium import Failed
from .changes import frames
from .place import api, row

COUNT = 100_000
WATCH = """
  (function look() {
    if (document.querySelector('.row:not([hidden])')) requestAnimationFrame(() => { window.firstRow = performance.now(); });
    else requestAnimationFrame(look);
  })();
"""


def hundred_thousand(place, browser):
    """100,000 rows: first paint, memory, and frames under 1,000 changes a second"""
    place.run("suspend")
    # A hundred run later, for minutes, and have their whole space from the start; the others wait.
    moving = [{"url": place.server.url(16 << 20, 40_000, f"moving-{n}"), "directory": str(place.downloads),
               "connections": 1} for n in range(100)]
    waiting = [{"url": f"http://127.0.0.1:9/{n}.bin", "directory": str(place.downloads)} for n in range(COUNT - 100)]
    for start in range(0, COUNT, 10_000):
        api(browser, "POST", "transfers", {"transfers": (moving + waiting)[start:start + 10_000]})
    browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    browser.open("about:blank")
    browser.open(place.address())
    first = browser.wait("the first row", "window.firstRow", 60)
    began = time.monotonic()
    browser.wait("all rows", f"document.getElementById('list').ariaRowCount === '{COUNT}'", 120)
    whole = first / 1000 + time.monotonic() - began
    time.sleep(3)
    browser.call("HeapProfiler.collectGarbage")
    heap = browser.eval("performance.memory.usedJSHeapSize") / (1 << 20)
    memory = browser.private_memory() / (1 << 20)
    p95, worst, work = frames(browser)
    print(f"        first row after {first:.0f} ms, all after {whole:.1f} s; JavaScript's heap {heap:.0f} MiB, "
          f"the page's process {memory:.0f} MiB")
    print(f"        scrolling: frames {p95:.1f} ms at p95, {worst:.1f} at most; drawing {work:.1f} ms at p95")
    browser.eval("document.getElementById('list').scrollTop = 0")
    api(browser, "PATCH", "limits", {"active": 100, "active_per_host": 0, "connections_per_host": 200, "connections": 200})
    place.run("unsuspend")
    browser.wait("50 run", "parseInt(document.querySelector('#states').children[1].lastChild.textContent) >= 50", 60)
    time.sleep(2)
    p95, worst, changes = running(browser)
    print(f"        {changes:.0f} changes a second: frames {p95:.1f} ms at p95, {worst:.1f} at most")
    browser.screenshot(place.pictures / "load.png")
    limits = [("first row", first, 1000), ("memory", memory, 150), ("frames under changes", p95, 33)]
    for what, value, most in limits:
        if value > most:
            raise Failed(f"{what}: {value:.0f}, more than {most}")


def running(browser):
    """Frames of ten seconds while transfers run, and changes of rows per second.

    The page is given a thousand messages a second more, as if they came from the daemon."""
    return browser.eval("""(async () => {
      const { rows, take } = await import('/model.js');
      const ids = [...rows.keys()];
      const more = setInterval(() => {
        for (let n = 0; n < 10; n += 1) {
          const { generation, version, host, ...row } = rows.get(ids[Math.floor(Math.random() * ids.length)]);
          take('transfer', JSON.stringify({ ...row, bytes: row.bytes + 1000 }));
        }
      }, 10);
      const versions = () => { let sum = 0; for (const row of rows.values()) sum += row.version; return sum; };
      const before = versions();
      const began = performance.now();
      const gaps = [];
      let last = await new Promise(requestAnimationFrame);
      while (performance.now() - began < 10000) {
        const now = await new Promise(requestAnimationFrame);
        gaps.push(now - last);
        last = now;
      }
      clearInterval(more);
      const changes = (versions() - before) / 10;
      gaps.sort((a, b) => a - b);
      return [gaps[Math.floor(gaps.length * 0.95)], gaps.at(-1), changes];
    })()""")
