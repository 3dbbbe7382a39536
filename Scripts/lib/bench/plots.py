"""Plots as SVG: bars with their spread, and lines. No library, so that the same data gives the
same bytes."""

from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP = 760, 190, 90, 46
BAR, GAP = 20, 8
OURS, OTHERS = "#1f6feb", "#8c959f"
COLOURS = ("#1f6feb", "#cf222e", "#1a7f37", "#9a6700", "#8250df", "#57606a")
FONT = 'font-family="sans-serif" font-size="13"'


def bars(title, unit, rows):
    """`rows`: (label, median, least, most, is ours), drawn from the top."""
    height = TOP + len(rows) * (BAR + GAP) + 30
    most = max((row[3] for row in rows), default=0) or 1
    scale = (WIDTH - LEFT - RIGHT) / most
    parts = [_text(12, 24, title, weight="bold")]
    for index, (label, middle, least, top, ours) in enumerate(rows):
        y = TOP + index * (BAR + GAP)
        centre = y + BAR / 2
        parts += [
            _text(LEFT - 8, centre + 5, label, anchor="end"),
            f'<rect x="{LEFT}" y="{y}" width="{middle * scale:.1f}" height="{BAR}" '
            f'fill="{OURS if ours else OTHERS}"/>',
            _line(LEFT + least * scale, centre, LEFT + top * scale, centre, "#24292f", 1.5),
            _text(LEFT + max(middle, top) * scale + 6, centre + 5, f"{middle:.3g}"),
        ]
    parts.append(_text(LEFT, height - 10, f"{unit}: median; the line is minimum to maximum"))
    return _svg(height, title, parts)


def lines(title, x_label, y_label, series):
    """`series`: {name: [(x, y)]}; one point is drawn as a mark."""
    height, left, bottom = 400, 70, 50
    points = [point for values in series.values() for point in values]
    x_most = max((x for x, _ in points), default=0) or 1
    y_most = max((y for _, y in points), default=0) or 1

    def place(x, y):
        return (left + x / x_most * (WIDTH - left - 180),
                height - bottom - y / y_most * (height - bottom - TOP))

    parts = [_text(12, 24, title, weight="bold")]
    for step in range(5):
        x, y = place(x_most * step / 4, y_most * step / 4)
        parts += [_line(left, y, WIDTH - 180, y, "#d0d7de", 1),
                  _text(left - 8, y + 5, f"{y_most * step / 4:.3g}", anchor="end"),
                  _text(x, height - bottom + 20, f"{x_most * step / 4:.3g}", anchor="middle")]
    parts += [_text((left + WIDTH - 180) / 2, height - 10, x_label, anchor="middle"),
              _text(12, TOP - 4, y_label)]
    for index, (name, values) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        placed = [place(x, y) for x, y in values]
        if len(placed) == 1:
            parts.append(f'<circle cx="{placed[0][0]:.1f}" cy="{placed[0][1]:.1f}" r="6" '
                         f'fill="{colour}"/>')
        else:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                         'stroke-width="2"/>')
        y = TOP + 16 + index * 22
        parts += [_line(WIDTH - 165, y - 5, WIDTH - 145, y - 5, colour, 3),
                  _text(WIDTH - 140, y, name)]
    return _svg(height, title, parts)


def _text(x, y, text, anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" {FONT} fill="#24292f" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(text)}</text>')


def _line(x1, y1, x2, y2, colour, width):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"/>')


def _svg(height, title, parts):
    body = "\n  ".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img" aria-label="{escape(title)}">\n'
            f'  <rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n  {body}\n</svg>\n')
