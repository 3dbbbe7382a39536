"""Puts text into the calls of api-check that other programs have taken for something else."""

import random

import schemathesis

HOSTILE = [
    "", "\0", "\r\nX: y", "a\nb", "\t", " ", "..", "/..", "/../../etc/passwd", "/\u0301../..", "\u0600/..",
    "x\u200d/..", "\u037e", "a\u0301", "\u00e1", "\u0130", "\u017f\u212a", "\u202etxt.exe", "\u2028", "\ufeff",
    "\ufffd", "\U0010ffff", "\x1b]0;title\x07", "\x1b[2J", "\x7f", "$(touch owned)", "`id`", "; id",
    "%s%n", "%00", "%2e%2e%2f", "-rf", "--root=/", "<img src=x onerror=alert(1)>", "\"'><script>", "{{7*7}}",
    "' or 1=1 --", "CON", "NUL.txt", "a" * 1025, "http://[::1", "http://a@b:c@d/",
    "http://127.1/", "file:///etc/passwd", "http://h.example/\u0301?a;b#c", "9" * 400, "-1", "1e999", "NaN",
]
# An address cannot have the first, and with the others the head is refused as a whole.
ONLY_IN_BODIES = ["\ud800", "\u0301" * 5000, "/" * 5000]


def poisoned(value, texts, chance):
    """The value with about half of its texts replaced, not its keys."""
    if isinstance(value, str):
        return chance.choice(texts) if chance.random() < 0.5 else value
    if isinstance(value, list):
        return [poisoned(item, texts, chance) for item in value]
    if isinstance(value, dict):
        return {key: poisoned(item, texts, chance) for key, item in value.items()}
    return value


def poison(texts):
    def change(_, value):
        # The same value always becomes the same one, so that a failure can be repeated.
        chance = random.Random(repr(value))
        return poisoned(value, texts, chance) if chance.random() < 0.5 else value
    return change


schemathesis.hook("map_body")(poison(HOSTILE + ONLY_IN_BODIES))
for part in ["map_query", "map_path_parameters"]:
    schemathesis.hook(part)(poison(HOSTILE))
