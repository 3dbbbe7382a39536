"""Errors, and changes while the queue runs."""

import json
import os
import signal
import time

from chromium import Failed
from .place import cell, fill_form, has_state, press, row, slow

MIB = 1 << 20


def wrong_address(place, browser):
    """a wrong address stays, with the reason beside it, and the right one is added"""
    place.empty(browser)
    fill_form(browser, [place.server.url(1000, 0, "right"), "not an address", "ftp://example.org/x"])
    browser.wait("the reasons", "document.querySelectorAll('#line-errors .bad').length === 2")
    left = browser.eval("document.getElementById('addresses').value")
    if left != "not an address\nftp://example.org/x":
        raise Failed(f"what is left: {left!r}")
    browser.wait("the right one", row("right"))
    browser.eval("document.getElementById('addresses').value = ''")
    fields = [place.server.url(1000, 0, "outside")]
    browser.eval("document.getElementById('f-directory').value = '/etc'")
    browser.eval("document.getElementById('addresses').focus()")
    browser.type(fields[0])
    browser.click("document.getElementById('add-submit')")
    browser.wait("the reason, and what to do", "/only below .*haul serve --root \\/etc/.test(document.getElementById('add-error').textContent)")
    browser.eval(f"document.getElementById('f-directory').value = {json.dumps(str(place.downloads))}")
    browser.eval("document.getElementById('addresses').value = ''")
    browser.key("Escape")
    browser.wait("it is closed", "!document.getElementById('add-dialog').open")


def upload(place, browser):
    """a file of the daemon's directory is uploaded; one outside of it is refused, with what to do"""
    place.empty(browser)
    place.run("unsuspend")
    (place.downloads / "a b.txt").write_text("sent")
    url = f"http://127.0.0.1:{place.server.server_address[1]}/in/"
    fill_form(browser, [url], put="/etc/hostname")
    browser.wait("the reason, and what to do", "/upload files only below .*haul serve --root \\/etc$/.test(document.getElementById('add-error').textContent)")
    browser.eval("document.getElementById('f-put').value = 'a b.txt'")
    press(browser, "document.getElementById('add-submit')")
    browser.wait("it is completed", has_state("a b.txt", "completed"))
    if place.server.uploads != {"/in/a%20b.txt": b"sent"}:
        raise Failed(f"the server has {place.server.uploads}")
    if not browser.eval(f"({row('a b.txt')}).querySelector('.host').textContent").startswith("to 127.0.0.1"):
        raise Failed("the row does not say where it goes")
    if browser.eval("document.getElementById('f-put').value"):
        raise Failed("the next address would be an upload too")


def paste(place, browser):
    """addresses that are pasted or dropped on the page are in the dialog"""
    for kind, field in (("paste", "clipboardData"), ("drop", "dataTransfer")):
        browser.eval(f"""(() => {{ const data = new DataTransfer();
          data.setData('text/plain', 'https://example.org/{kind}\\nwords');
          const make = {{ paste: ClipboardEvent, drop: DragEvent }}['{kind}'];
          document.body.dispatchEvent(new make('{kind}', {{ {field}: data, bubbles: true, cancelable: true }})); }})()""")
        browser.wait(kind, f"document.getElementById('addresses').value.includes('https://example.org/{kind}\\n')")
    browser.eval("document.getElementById('addresses').value = ''; document.getElementById('add-dialog').close()")


def prose(place, browser):
    """an address within a sentence ends before the sentence's punctuation"""
    text = "See https://h.example/1.iso, (https://h.example/2_(a)), <https://h.example/3?a=1,2> or 'https://h.example/4','https://h.example/5'."
    browser.eval(f"""(() => {{ const data = new DataTransfer(); data.setData('text/plain', {json.dumps(text)});
      document.body.dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: data, bubbles: true, cancelable: true }})); }})()""")
    found = browser.eval("document.getElementById('addresses').value").split()
    if found != [f"https://h.example/{end}" for end in ("1.iso", "2_(a)", "3?a=1,2", "4", "5")]:
        raise Failed(f"the addresses are {found}")
    browser.eval("document.getElementById('addresses').value = ''; document.getElementById('add-dialog').close()")


def shown_error(place, browser):
    """an error in the dialog is in view, and is gone when something is changed"""
    press(browser, "document.getElementById('add')")
    browser.wait("the dialog", "document.getElementById('add-dialog').open")
    browser.eval("document.getElementById('addresses').value = 'https://h.example/a'; document.getElementById('f-headers').value = 'nonsense'")
    browser.eval("document.getElementById('add-form').requestSubmit()")
    browser.wait("the error in view, and the field shown", """(() => { const e = document.getElementById('add-error');
      const box = e.getBoundingClientRect(); const top = document.elementFromPoint(box.x + 2, box.y + box.height / 2);
      return !e.hidden && e.contains(top) && document.getElementById('f-headers').checkVisibility(); })()""")
    browser.eval("document.getElementById('f-headers').value = ''; document.getElementById('f-headers').dispatchEvent(new Event('input', { bubbles: true }))")
    browser.wait("no error", "document.getElementById('add-error').hidden")
    browser.eval("document.getElementById('addresses').value = ''; document.getElementById('add-dialog').close()")


def limits(place, browser):
    """the limits and the schedule are changed while it runs"""
    press(browser, "document.getElementById('limits')")
    browser.wait("the dialog", "document.getElementById('limits-dialog').open && document.getElementById('l-active').value === '1'")
    browser.eval("document.getElementById('l-active').value = 2; document.getElementById('l-rate').value = 4096")
    press(browser, "document.getElementById('add-window')")
    press(browser, "document.querySelector('#limits-form .primary')")
    browser.wait("it is closed", "!document.getElementById('limits-dialog').open")
    press(browser, "document.getElementById('limits')")
    browser.wait("they are kept", "document.getElementById('limits-dialog').open && document.getElementById('l-active').value === '2'"
                 " && document.getElementById('l-rate').value === '4096' && document.querySelectorAll('.window').length === 1")
    browser.eval("document.getElementById('l-active').value = 1; document.getElementById('l-rate').value = 0; document.querySelector('.window').remove()")
    press(browser, "document.querySelector('#limits-form .primary')")
    browser.wait("it is closed", "!document.getElementById('limits-dialog').open")


def in_order(place, browser):
    """many that are added at once are in the order of their lines"""
    place.empty(browser)
    place.run("suspend")
    names = [f"line-{n}" for n in range(15)]
    fill_form(browser, [place.server.url(1000, 0, name) for name in names])
    shown = ("[...document.querySelectorAll('.row:not([hidden])')].sort((l, r) => l.ariaRowIndex - r.ariaRowIndex)"
             ".map((row) => row.querySelector('.name').textContent).join(' ')")
    browser.wait("all rows", "document.querySelectorAll('.row:not([hidden])').length === 15")
    if (found := browser.eval(shown)) != " ".join(names):
        raise Failed(f"the order is {found}")
    place.run("unsuspend")


def pasted(place, browser):
    """a pasted text: addresses anywhere in it, and lines meant as one, come to the form; none is lost"""
    paste = ("(text) => { const data = new DataTransfer(); data.setData('text/plain', text);"
             " document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true })); }")
    lines = ["see http://h.invalid/a here", "- https://h.invalid/b", "www.example.org/c", "htp:/wrong", "", "good day"]
    browser.eval(f"({paste})({json.dumps(chr(10).join(lines))})")
    expected = ["http://h.invalid/a", "https://h.invalid/b", "www.example.org/c", "htp:/wrong"]
    browser.wait("the lines", f"document.getElementById('addresses').value.trim() === {json.dumps(chr(10).join(expected))}")
    browser.wait("what is left out", "/1 line, such as “good day”/.test(document.getElementById('add-error').textContent)")
    browser.eval("document.getElementById('addresses').value = ''")
    browser.key("Escape")
    browser.eval(f"({paste})('no address at all')")
    browser.wait("it says so", "/No address was found/.test(document.getElementById('toasts').textContent)")


def options_are_forgotten(place, browser):
    """header fields and limits are for the addresses that they were given with, not for the next ones; Control Enter checks them"""
    place.empty(browser)
    fill_form(browser, [place.server.url(1000, 0, "first")], rate="9", headers="X-Secret: 1")
    browser.wait("the row", f"{row('first')}")
    press(browser, "document.getElementById('add')")
    browser.wait("the dialog", "document.getElementById('add-dialog').open")
    if browser.eval("document.getElementById('f-rate').value + document.getElementById('f-headers').value"):
        raise Failed("the options of before are still there")
    browser.type(place.server.url(1000, 0, "second"))
    browser.eval("document.getElementById('f-rate').value = '0.5'")
    browser.key("Enter", modifiers=2)
    if not browser.eval("document.getElementById('add-dialog').open") or "second" in place.names():
        raise Failed("a limit below one was taken")
    browser.eval("document.getElementById('f-rate').value = ''; document.getElementById('addresses').value = ''")
    browser.key("Escape")


def killed(place, browser):
    """the daemon is killed and restarted under the page, which reconnects by itself"""
    place.empty(browser)
    place.add(12 * MIB, 2 * MIB, "survivor")
    browser.wait("it has bytes", f"parseFloat({cell('survivor', 'percent')}) > 10")
    place.kill(signal.SIGKILL)
    browser.wait("it says so", "/Haul does not answer/.test(document.getElementById('away').textContent) && !document.getElementById('away').hidden")
    if not browser.eval(f"!!({row('survivor')})"):
        raise Failed("the rows are gone")
    place.serve()
    browser.wait("it is back", "document.getElementById('away').hidden")
    browser.wait("it is completed", has_state("survivor", "completed"), 30)
    port = place.url
    place.open(browser)
    if place.url.split("#")[0] == port.split("#")[0]:
        raise Failed("a new page has the port of before, which another program may have had meanwhile")


def filters(place, browser):
    """filters by state, group and host, and the search"""
    place.empty(browser)
    place.run("suspend")
    place.add(1000, 0, "alpha", "--group", "greek")
    place.add(1000, 0, "beta", "--group", "greek")
    place.add(1000, 0, "gamma")
    count = "document.querySelectorAll('.row:not([hidden])').length"
    browser.wait("three and a folder", f"{count} === 4")
    browser.eval("(() => { const s = document.getElementById('search'); s.value = 'gam'; s.dispatchEvent(new Event('input')); })()")
    browser.wait("one is found", f"{count} === 1")
    browser.eval("(() => { const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input')); })()")
    group = "[...document.querySelectorAll('#groups button')].find((b) => b.textContent.startsWith('greek'))"
    press(browser, group)
    browser.wait("the group", f"{count} === 3")
    press(browser, group)
    press(browser, "[...document.querySelectorAll('#states button')].find((b) => b.textContent.startsWith('Completed'))")
    browser.wait("none", f"{count} === 0 && !document.getElementById('empty').hidden")
    press(browser, "[...document.querySelectorAll('#states button')].find((b) => b.textContent.startsWith('All'))")
    browser.wait("all", f"{count} === 4")
    # Three more ends in the second of the next step's own would be said as one number.
    place.empty(browser)
    place.run("unsuspend")


def notices(place, browser):
    """ends are counted in the title until they are seen, and said to screen readers"""
    place.empty(browser)
    browser.eval("document.getElementById('notices').click(); document.getElementById('notices').click()")
    place.add(1000, 0, "seen-end")
    browser.wait("the title", "/^\\(\\d+\\) Haul$/.test(document.title)")
    browser.wait("the live region", "/seen-end completed/.test(document.getElementById('live').textContent)")
    press(browser, "document.getElementById('notices')")
    browser.wait("the notice", "/seen-end/.test(document.getElementById('notice-panel').textContent)")
    browser.wait("seen", "document.title === 'Haul' && document.getElementById('unseen').hidden")
    browser.key("Escape")


def many_rows(place, browser):
    """10,000 rows are scrolled"""
    place.empty(browser)
    place.run("suspend")
    browser.eval("""(async () => {
      const { call } = await import('/api.js');
      const directory = document.getElementById('f-directory').value;
      const transfers = Array.from({ length: 10000 }, (_, n) => ({ url: `http://127.0.0.1:9/${n}.bin`, directory }));
      await call('POST', 'transfers', { transfers });
    })()""")
    browser.wait("all are there", "document.getElementById('list').ariaRowCount === '10000'", 60)
    p95, worst, work = frames(browser)
    print(f"        frames: {p95:.1f} ms at p95, {worst:.1f} ms at most; drawing {work:.1f} ms at p95")
    if work > 16:
        raise Failed(f"drawing takes {work:.1f} ms of a frame at p95, more than 16")
    browser.eval("document.getElementById('list').scrollTop = 1e9")
    browser.wait("the last row", row("9999.bin"))
    if browser.eval("document.querySelectorAll('.row').length") > 100:
        raise Failed("more elements than the window needs")
    place.run("remove", "--all")
    place.run("unsuspend")


def frames(browser):
    """Scrolls for 120 frames: time between frames at p95 and at most, and the time of drawing."""
    return browser.eval("""(async () => {
      const list = document.getElementById('list');
      const gaps = [];
      const work = [];
      let last = await new Promise(requestAnimationFrame);
      for (let n = 0; n < 120; n += 1) {
        list.scrollTop += 400;
        const began = performance.now();
        list.dispatchEvent(new Event('scroll'));
        list.getBoundingClientRect();
        work.push(performance.now() - began);
        const now = await new Promise(requestAnimationFrame);
        gaps.push(now - last);
        last = now;
      }
      const at = (some) => some.sort((a, b) => a - b)[Math.floor(some.length * 0.95)];
      return [at(gaps), Math.max(...gaps), at(work)];
    })()""")


STEPS = [wrong_address, upload, paste, prose, shown_error, pasted, options_are_forgotten, limits, in_order, killed, filters, notices, many_rows]
