#!/usr/bin/env python3
"""Checks the pages of the documentation: each link leads to a file and a heading that are there, and prose keeps to 100 columns."""

import os
import re
import subprocess
import sys

COLUMNS = 100
# A terminal's own lines.
RECORDED = "docs/first-five-minutes.md"


def lines_of(page):
    """Each line with its number, and whether it is code."""
    is_code = False
    for number, line in enumerate(open(page, encoding="utf-8"), 1):
        is_fence = line.lstrip().startswith("```")
        is_code ^= is_fence
        yield number, line.rstrip("\n"), is_code or is_fence


def anchor(heading):
    """As GitHub makes it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w -]", "", plain.strip().lower()).replace(" ", "-")


def anchors(page):
    return {anchor(line.lstrip("#")) for _, line, is_code in lines_of(page) if not is_code and line.startswith("#")}


def broken(page, known):
    text = "\n".join(line for _, line, is_code in lines_of(page) if not is_code)
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
        path, _, heading = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        place = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(place):
            yield f"{page}: {link} leads to no file"
        elif heading and place in known and heading not in known[place]:
            yield f"{page}: {link} leads to no heading"


def wide(page):
    for number, line, is_code in lines_of(page):
        if len(line) > COLUMNS and not is_code and not re.match(r"[|#]|    ", line) and " " in line.strip():
            yield f"{page}:{number}: {len(line)} columns"


def main():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], check=True, capture_output=True, text=True)
    pages = [page for page in listed.stdout.splitlines() if os.path.exists(page)]
    known = {page: anchors(page) for page in pages}
    faults = [fault for page in pages for fault in [*broken(page, known), *(wide(page) if page != RECORDED else [])]]
    for fault in faults:
        print(f"lint: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
