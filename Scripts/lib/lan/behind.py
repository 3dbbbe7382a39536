"""What reports of other programs say that goes wrong behind a proxy."""

from .tries import through_proxy

# What people leave out of the documented lines, or add for all of their sites.
HABITS = {"nginx": (("    proxy_buffering off;\n",
                     "    add_header Referrer-Policy no-referrer always;\n"),),
          "caddy": (("    flush_interval -1\n", "    header_down Referrer-Policy no-referrer\n"),)}


def with_habits(name):
    """Changes the documented lines in that way."""
    def change(text):
        for line, other in HABITS[name]:
            if line not in text:
                raise RuntimeError(f"docs/web.md has no line {line!r}")
            text = text.replace(line, other)
        return text
    return change


def cookie_of_path(lan, expect):
    """the cookie is for the path of the page, and stays there"""
    flags = lan.page.set_cookie.split("; ")
    prefix = "__Host-haul=" if lan.wire.path == "/" else "__Secure-haul="
    expect(flags[0].startswith(prefix), f"it is {flags[0][:20]}")
    for flag in (f"Path={lan.wire.path}", "Secure", "HttpOnly", "SameSite=Strict"):
        expect(flag in flags[1:], f"no {flag} in {flags[1:]}")


def without_slash(lan, expect):
    """the path without its slash leads to the page"""
    path = lan.wire.path.rstrip("/")
    if path:
        answer = lan.wire.send(lan.wire.head("GET", path, ["Connection: close"]))
        expect(answer.status in (301, 302, 307, 308), f"{path}: {answer.status}")
        expect((answer.field("location") or "").endswith(path + "/"), f"{answer.field('location')}")


def large_body(lan, expect):
    """a body of 3 MiB reaches the daemon"""
    answer = lan.page.call("POST", "api/v1/transfers", {"unknown": "x" * (3 << 20)})
    expect(answer.status == 400 and b"unknown" in answer.body, f"{answer.status}: {answer.body[:80]}")


def other_names(lan, expect):
    """a name of another site gets nothing from the daemon through the proxy"""
    for path in ("", "login", "api/v1/status"):
        answer = lan.wire.call("GET", path, host="evil.example")
        # An nginx with one server takes all names; Caddy answers others itself.
        expect(answer.status == 421 or not answer.body, f"/{path}: {answer.status}")


STEPS = [cookie_of_path, without_slash, large_body, other_names, through_proxy]
