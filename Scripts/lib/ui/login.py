"""The page from an address that other machines reach: TLS, and the login page."""

import os
import re
import socket
import subprocess

import harness
from chromium import Failed

PASSWORD = "correct horse"


def own_address():
    """An address of this machine that is not its own only; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return None


def sign_in(browser, password):
    browser.wait("the login page", "document.querySelector('#password')")
    browser.eval(f"document.querySelector('#password').value = {password!r};"
                 "document.querySelector('form').requestSubmit()")


def second_browser(browser, url, page):
    """Signs in with cookies of its own; the session of its tab."""
    own, browser.session = browser.session, None
    context = browser.call("Target.createBrowserContext")["browserContextId"]
    tab = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
    other = browser.session = browser.call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
    try:
        browser.call("Security.setIgnoreCertificateErrors", ignore=True)
        browser.open(url)
        sign_in(browser, PASSWORD)
        browser.wait("the page", f"{page} && !document.querySelector('#locked').open")
    finally:
        browser.session = own
    return other


def from_another_machine(place, browser):
    """over TLS the page asks for the password, lasts over a restart of the daemon, ends another session, and signs out"""
    address = own_address()
    if address is None or address.startswith("127."):
        raise Failed("this machine has no address in a network")
    state = place.directory / "remote"
    environment = place.environment | {"XDG_STATE_HOME": str(state)}

    def haul(*arguments, **more):
        return subprocess.run([place.haul, *arguments], env=environment, text=True,
                              capture_output=True, check=True, **more)

    def serve(port):
        log = state / f"log-{port}"
        process = subprocess.Popen(
            [place.haul, "serve", "--listen", f"0.0.0.0:{port}", "--tls-self-signed",
             "--root", str(place.downloads)], env=environment, stdin=subprocess.DEVNULL,
            stderr=open(log, "w"))
        harness.wait_until(lambda: "of 0.0.0.0" in log.read_text(), "the daemon")
        return process, re.search(r"listening on port (\d+)", log.read_text()).group(1)

    os.makedirs(state)
    haul("ui", "password", input=PASSWORD + "\n")
    process, port = serve(0)
    try:
        browser.call("Security.setIgnoreCertificateErrors", ignore=True)
        browser.open(f"https://{address}:{port}/")
        sign_in(browser, "wrong password")
        browser.wait("a refusal", "document.querySelector('[role=alert]').textContent.length > 0")
        sign_in(browser, PASSWORD)
        sessions = "document.querySelector('#sessions')"
        browser.wait("the page", f"{sessions} && !document.querySelector('#locked').open")
        if "haul=" in browser.eval("document.cookie"):
            raise Failed("a script can read the cookie")
        process.terminate()
        process.wait(20)
        process, _ = serve(port)
        browser.open(f"https://{address}:{port}/")
        browser.wait("the page again", f"{sessions} && !document.querySelector('#locked').open")
        browser.eval(f"{sessions}.click()")
        browser.wait("one session", "document.querySelectorAll('dialog[open] tr').length === 1")
        other = second_browser(browser, f"https://{address}:{port}/", sessions)
        browser.eval(f"document.querySelector('dialog[open] .ends button').click(); {sessions}.click()")
        browser.wait("two sessions", "document.querySelectorAll('dialog[open] tr').length === 2")
        browser.eval("[...document.querySelectorAll('dialog[open] tr button')].find((button) => button.textContent === 'End').click()")
        browser.wait("one again", "document.querySelectorAll('dialog[open] tr').length === 1")
        own, browser.session = browser.session, other
        browser.wait("the other one has lost access", "document.querySelector('#password') || document.querySelector('#locked')?.open")
        browser.session = own
        browser.eval("document.querySelector('dialog[open] tr button').click()")
        browser.wait("the login page again", "document.querySelector('#password')")
        if "no page has a session" not in haul("ui", "--sessions").stdout:
            raise Failed("the session has not ended")
    finally:
        process.terminate()
        process.wait(20)
        browser.call("Security.setIgnoreCertificateErrors", ignore=False)
        place.open(browser)


STEPS = [from_another_machine]
