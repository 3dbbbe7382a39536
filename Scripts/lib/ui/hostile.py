"""The page with texts that are made to run, to look like something else, or to break it."""

import json
import urllib.parse

from chromium import Failed
from .place import api, press

TEXTS = [
    "<img src=/canary onerror=ran(1)>",
    "\"><script src=/canary></script>",
    "'><svg/onload=ran(1)>",
    "</title></textarea><script>ran(1)</script>",
    "javascript:ran(1)",
    "\" onfocus=ran(1) autofocus x=\"",
    "x;background:url(/canary)}body{display:none",
    "<style>@import'/canary';*{display:none}</style>",
    "<base href=//127.0.0.2/><iframe srcdoc=canary>",
    "{{constructor.constructor('ran(1)')()}}${ran(1)}`",
    "\u202egpj.exe\u2066\u200b",
    "a\u0000\u001b[2J\u0085\nb\rc",
    "e\u0301" * 40 + "\u0600",
    "L" * 4000,
    "-" + "%s%n%00&amp;&lt;b&gt;",
    "__proto__",
    "constructor",
]
# Whatever one of the texts could have run or made.
WATCH = """(() => {
  window.ranScripts = [];
  window.ran = (what) => window.ranScripts.push(what);
  window.made = [];
  new MutationObserver((changes) => {
    for (const node of changes.flatMap((change) => [...change.addedNodes])) {
      for (const element of node.nodeType === 1 ? [node, ...node.querySelectorAll('*')] : []) {
        const attributes = [...element.attributes].map((attribute) => attribute.name);
        const isLink = element.hasAttribute('href') && element.localName !== 'use';
        if (/^(img|script|iframe|style|base|object|embed|link|meta)$/.test(element.localName) || isLink
          || attributes.some((name) => name.startsWith('on') || name === 'src' || name === 'srcdoc')) window.made.push(element.outerHTML);
      }
    }
  }).observe(document, { subtree: true, childList: true });
})()"""
# What turns text round, hides or ends a line, where a person reads it.
UNSAFE = r"""(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  const look = (text, element) => {
    if (/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u0600\u200b\u202a-\u202e\u2066-\u2069]/.test(text)) found.push(escape(text) + ' in ' + element.outerHTML.slice(0, 80));
  };
  while (walker.nextNode()) look(walker.currentNode.data, walker.currentNode.parentElement);
  for (const element of document.querySelectorAll('[title], [aria-label]')) look(`${element.title} ${element.ariaLabel}`, element);
  return found;
})()"""


def added(place, number, text):
    """Transfers with this text wherever a client, a server or a path has one."""
    quoted = urllib.parse.quote(text, safe="")[:900]
    port = place.server.server_address[1]
    place.server.broken.add(f"/9/0/{quoted}.failed")
    directory = str(place.downloads)
    plain = text.replace("\0", "")
    return [
        {"url": f"http://127.0.0.1:{port}/9/0/{quoted}.failed", "directory": directory, "identifier": f"{number} {plain}",
         "group": plain, "headers": [{"name": "X-Text", "value": quoted}]},
        {"url": f"http://127.0.0.1:{port}/9/0/{quoted}?q={quoted}", "directory": directory, "group": plain},
    ]


def hostile(place, browser):
    """names, groups, identifiers, reasons, addresses, errors and notices that are markup, code or controls stay text"""
    place.open(browser)
    place.empty(browser)
    place.run("unsuspend")
    place.server.error_text = "<img src=/canary onerror=ran(2)>\"'</title>"
    browser.eval(WATCH)
    transfers = [transfer for number, text in enumerate(TEXTS) for transfer in added(place, number, text)]
    before = set(browser.requests())
    for transfer in transfers:
        try:
            api(browser, "POST", "transfers", {"transfers": [transfer]})
        except Failed as refusal:
            # The page shows why something is refused.
            browser.eval(f"import('/toasts.js').then(({{ toast }}) => {{ toast({json.dumps(str(refusal))}, {{ isBad: true }}); }})")
    count = len(place.list())
    if count < len(TEXTS):
        raise Failed(f"only {count} were added")
    browser.wait("all have ended", "!document.querySelector('#states [aria-pressed]') || [...document.querySelectorAll('.row .state')].length > 0")
    ended = f"import('/model.js').then(({{ rows }}) => [...rows.values()].filter((row) => ['failed', 'completed'].includes(row.state)).length >= {count})"
    browser.wait("all have ended", ended)
    look(browser, count)
    press(browser, "document.getElementById('add')")
    browser.eval(f"document.getElementById('addresses').value = ''; document.getElementById('addresses').focus()")
    browser.type("\n".join(text.replace("\0", "").replace("\n", " ") for text in TEXTS))
    browser.click("document.getElementById('add-submit')")
    browser.wait("the reasons", "document.querySelectorAll('#line-errors .bad').length > 5")
    check(browser, before)
    browser.eval("document.getElementById('addresses').value = ''; document.getElementById('addresses').dispatchEvent(new Event('input'))")
    browser.key("Escape")
    place.server.broken.clear()
    place.server.error_text = "Not Found"
    place.empty(browser)
    browser.complaints()


def look(browser, count):
    """Opens each row, and the notices."""
    browser.eval("document.getElementById('list').focus()")
    browser.key("Home")
    unsafe = []
    for _ in range(count + len(TEXTS)):
        browser.key("Enter")
        browser.eval("new Promise(requestAnimationFrame)")
        unsafe += browser.eval(UNSAFE)
        browser.eval("document.getElementById('list').focus()")
        browser.key("ArrowDown")
    browser.eval("document.getElementById('notices').click()")
    browser.wait("the notices", "document.querySelectorAll('#notice-panel li').length > 20")
    unsafe += browser.eval(UNSAFE)
    browser.key("Escape")
    if unsafe:
        raise Failed(f"controls are shown: {sorted(set(unsafe))[:4]}")


def check(browser, before):
    """Nothing ran, nothing was made, nothing was asked for, and the page looks as before."""
    for what in ("ranScripts", "made"):
        if found := browser.eval(f"window.{what}"):
            raise Failed(f"{what}: {found[:3]}")
    if found := [url for url in browser.requests() if url not in before and "/canary" in url]:
        raise Failed(f"the page asked for {found[:3]}")
    if not browser.eval("document.getElementById('list').checkVisibility() && /Haul$/.test(document.title)"):
        raise Failed("the page does not look like itself")
    if links := browser.eval("[...document.querySelectorAll('a:not(#bookmarklet)')].map((a) => a.getAttribute('href')).filter((href) => href !== '#list')"):
        raise Failed(f"there are links: {links}")


def canary(place, browser):
    """what looks for markup finds it"""
    place.open(browser)
    browser.eval(WATCH)
    browser.eval("document.body.append(Object.assign(document.createElement('a'), { href: 'javascript:ran(1)' }))")
    browser.wait("the element is found", "window.made.length === 1")
    browser.eval("document.body.lastChild.append('\\u202e')")
    if len(browser.eval(UNSAFE)) != 1:
        raise Failed("the control is not found")
    place.open(browser)


STEPS = [hostile, canary]
