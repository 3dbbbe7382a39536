"""The data of a run as tables, as docs/benchmarks.md between its markers, and as plots."""

import json
import statistics
import textwrap

from bench import instructions, plots, programs
from harness import MIB, ROOT

DOCUMENT = ROOT / "docs" / "benchmarks.md"
PLOTS = ROOT / "docs" / "plots"
DATA = PLOTS / "data.json"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
KNOWN = ("wall", "cpu", "peak", "right")


def load():
    """The results of earlier runs, by part."""
    return json.loads(DATA.read_text()) if DATA.exists() else {"parts": {}}


def save(data):
    """The data; the plots and tables made from it."""
    PLOTS.mkdir(parents=True, exist_ok=True)
    DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    for old in PLOTS.glob("*.svg"):
        old.unlink()
    for name, picture in _pictures(data):
        (PLOTS / name).write_text(picture)
    text = DOCUMENT.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    DOCUMENT.write_text(before + BEGIN + "\n" + markdown(data) + END + after)


def spread(values, digits):
    if not values:
        return "–"
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return (f"{statistics.median(values):.{digits}f} "
            f"({min(values):.{digits}f}–{max(values):.{digits}f})")


def table(group):
    """Rows of a group's Markdown table."""
    def right(samples):
        return [sample for sample in samples if sample["right"]]

    reference = [one["wall"] for one in right(group["samples"][group["reference"]])]
    base = statistics.median(reference) if reference else None
    extras = list(dict.fromkeys(key for samples in group["samples"].values()
                                for sample in samples for key in sample
                                if key not in KNOWN and sample[key] is not None))
    counts = _counts(group)
    head = ["", "wall s", "CPU s", *counts, "peak MiB", f"wall to {group['reference']}", *extras]
    rows = [head, ["---"] * len(head)]
    for name, samples in group["samples"].items():
        good = right(samples)
        wall = [sample["wall"] for sample in good]
        share = f"{statistics.median(wall) / base:.2f}" if wall and base else "–"
        wrong = len(samples) - len(good)
        rows.append([
            name + (f", {wrong} of {len(samples)} wrong" if wrong else ""), spread(wall, 2),
            spread([sample["cpu"] for sample in good], 2),
            *(column[name] for column in counts.values()),
            spread([sample["peak"] / MIB for sample in good], 1), share,
            *(_extra([sample.get(key) for sample in samples]) for key in extras)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _counts(group):
    """Columns of instructions, cells by name; none for data that has no counts."""
    counts, files = group.get("instructions", {}), group.get("files")
    if not any(counts.values()):
        return {}

    def cells(of):
        return {name: instructions.in_words(counts[name] / of) if counts.get(name) else "–"
                for name in group["samples"]}

    columns = {"user-mode instructions": cells(1)}
    return columns | {"per file": cells(files)} if files else columns


def uncounted(part):
    """The line below a part's tables when its instructions could not be counted; else nothing."""
    why = part.get("uncounted")
    return f"\nuser-mode instructions: not counted here: {why}\n" if why else ""


def rows(lines):
    """A Markdown table of lines of cells, the first of which names the columns."""
    return "".join(f"| {' | '.join(line)} |\n" for line in [lines[0], ["---"] * len(lines[0]), *lines[1:]])


def _extra(values):
    values = [value for value in values if value is not None]
    if values and all(isinstance(value, (int, float)) for value in values):
        digits = 0 if all(isinstance(value, int) for value in values) else 3
        return spread(values, digits)
    return ", ".join(sorted({str(value) for value in values})) or "–"


def bounds(data, parts=None):
    """The table of bounds and results."""
    rows = [["goal", "what", "bound", "measured", "met"], ["---"] * 5]
    found = [bound for name, part in data["parts"].items() if parts is None or name in parts
             for bound in part["bounds"]]
    for bound in sorted(found, key=lambda one: str(one["line"])):
        measured = "–" if bound["measured"] is None else f"{bound['measured']:g}{bound['unit']}"
        met = {True: "yes", False: "**no**", None: "not measured"}[bound["met"]]
        rows.append([str(bound["line"]), bound["what"], bound["wanted"], measured, met])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def markdown(data):
    text = ["\n## Goals and results\n\n", bounds(data)]
    for name, part in data["parts"].items():
        about = part["about"]
        told = (f"{about['date']}, `{about['command']}`, {about['rounds']} rounds, "
                f"{about['machine']}; {', '.join(about['versions'].values())}.")
        told = textwrap.fill(told, 100, break_long_words=False, break_on_hyphens=False)
        text.append(f"\n## {part['title']}\n\n{told}\n")
        for number, group in enumerate(part["groups"], 1):
            text.append(f"\n{group['title']}:\n\n{table(group)}")
            text.append(uncounted(part) if number == len(part["groups"]) else "")
            text.append(f"\n![{group['title']}](plots/{name}-{number}.svg)\n")
        for told in part.get("tables", []):
            text.append(f"\n{told['title']}:\n\n{rows(told['rows'])}")
        for number, line in enumerate(part.get("lines", []), 1):
            text.append(f"\n![{line['title']}](plots/{name}-line-{number}.svg)\n")
    return "".join(text) + "\n"


def _pictures(data):
    """(file name, SVG) of each group and line."""
    for name, part in data["parts"].items():
        for number, group in enumerate(part["groups"], 1):
            yield f"{name}-{number}.svg", plots.bars(group["title"], *_bars(name, group))
        for number, line in enumerate(part.get("lines", []), 1):
            yield f"{name}-line-{number}.svg", plots.lines(
                line["title"], line["x"], line["y"], line["series"])


def _bars(name, group):
    """Unit and rows: peak memory for the part that is about it, else wall time."""
    key, unit, divisor = ("peak", "MiB", MIB) if name == "memory" else ("wall", "seconds", 1)
    rows = []
    for label, samples in group["samples"].items():
        values = [sample[key] / divisor for sample in samples if sample["right"]]
        if values:
            rows.append((label, statistics.median(values), min(values), max(values),
                         not programs.is_peer(label)))
    return unit, rows


def plain(markdown_table):
    """A Markdown table with its columns lined up, for the terminal."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in markdown_table.splitlines() if not set(line) <= set("|- ")]
    width = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(size) for cell, size in zip(row, width)).rstrip()
                     for row in rows)
