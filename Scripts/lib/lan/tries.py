"""Passwords that are tried: how many are computed, and for whom that is slower."""

import threading
import time

from .machines import OTHER, OWNER, STRANGER
from .wire import Page

FREE = 3


def most(seconds):
    """How many wrong ones may be computed in this time: the wait doubles from one second."""
    count, waited = FREE, 0
    while waited + (1 << (count - FREE)) <= seconds:
        waited += 1 << (count - FREE)
        count += 1
    return count


def tried(lan, wire, count, send, who):
    """Sends wrong passwords; what came back, and how many the log says were computed."""
    line = f"a wrong password was sent from {who}\n"
    before, began = lan.daemon.log.count(line), time.monotonic()
    answers = [send(number) for number in range(count)]
    return answers, lan.daemon.log.count(line) - before, most(time.monotonic() - began)


def slowed(expect, answers, computed, most):
    statuses = [answer.status for answer in answers]
    expect(set(statuses) == {403, 429}, f"the answers are {statuses}")
    expect(computed == statuses.count(403), f"{computed} were computed: {statuses}")
    expect(FREE <= computed <= most, f"{computed} of {len(statuses)} were computed, not {most}")
    for answer in answers:
        after = answer.field("retry-after") or ""
        expect(answer.status != 429 or after.isdigit() and int(after) > 0, f"Retry-After: {after!r}")
        expect(answer.field("set-cookie") is None, "a wrong password gives a cookie")


def brute_force(lan, expect):
    """of 40 wrong passwords three are computed, then ever fewer; the rest gets 429 with Retry-After"""
    # What a client writes about itself counts for nothing without a proxy.
    answers, computed, limit = tried(
        lan, lan.wire, 40, lambda number: lan.wire.log_in(
            f"wrong {number}", STRANGER, [f"X-Forwarded-For: 203.0.113.{number}"]), STRANGER)
    slowed(expect, answers, computed, limit)
    expect(lan.wire.log_in(source=STRANGER).status == 429, "the right one is taken within the wait")


def meanwhile(lan, expect):
    """meanwhile another address signs in, a session works, and a browser that is known signs in"""
    expect(lan.page.call("GET", "api/v1/status").status == 200, "a session does not work")
    page = Page(lan.wire, source=OTHER)
    lan.wire.log_in("wrong", STRANGER)
    known = lan.wire.log_in(source=STRANGER, fields=[page.cookie])
    expect(known.status == 303, f"the known browser at that address: {known.status}")


def at_once(lan, expect):
    """40 wrong passwords at once: one at a time is computed, and none more than the limit allows"""
    answers, threads = [], []
    line = f"a wrong password was sent from {OWNER}\n"
    before, began = lan.daemon.log.count(line), time.monotonic()
    for number in range(40):
        threads.append(threading.Thread(
            target=lambda: answers.append(lan.wire.log_in("wrong", OWNER))))
        threads[-1].start()
    for thread in threads:
        thread.join()
    computed, limit = lan.daemon.log.count(line) - before, most(time.monotonic() - began)
    statuses = sorted(answer.status for answer in answers)
    expect(set(statuses) <= {403, 429, 503}, f"the answers are {statuses}")
    expect(computed == statuses.count(403) <= limit, f"{computed} were computed: {statuses}")


def through_proxy(lan, expect):
    """through the proxy each address counts by itself, whatever it writes into X-Forwarded-For"""
    who = next(lan.strangers)
    answers, computed, limit = tried(
        lan, lan.wire, 20, lambda number: lan.wire.log_in(
            f"wrong {number}", who, [f"X-Forwarded-For: 203.0.113.{number}"]), who)
    slowed(expect, answers, computed, limit)
    Page(lan.wire, source=OTHER)


STEPS = [brute_force, meanwhile, at_once]
