# SPDX-License-Identifier: Apache-2.0
"""The chart of policies over fill and over load: what each allocates above the first one, a
panel for each trace and mode of place-load."""
from html import escape

COLOURS = {"balance": "#000000", "fgd": "#e69f00", "best-fit": "#56b4e9", "packing": "#cc79a7",
           "dot-product": "#d55e00"}
OTHER = "#999999"
MODES = {"fill": "requested, % of the fleet", "steady": "load with departures, %"}
WIDTH, HEIGHT = 380, 170  # of a panel
NUMBER = 26  # the width of a number at the axis
LEFT, TOP, GAP_X, GAP_Y, RIGHT = 60, 30, 70, 62, 110


def ticks(least, most, n=5):
    """Round values from below the least to above the most."""
    step = max((most - least) / n, 1e-9)
    scale = 10 ** (len(str(int(1 / step))) if step < 1 else 1 - len(str(int(step))))
    step = next(round_step / scale for round_step in (1, 2, 5, 10, 20, 50)
                if round_step / scale >= step)
    first = int(least // step)
    last = max(int(-(-most // step)), first + 1)
    return [round(at * step, 6) for at in range(first, last + 1)]


def panel(left, top, title, label, rows):
    """The SVG of one panel; rows are those of place-load."""
    marks = ticks(min(row["above"] for row in rows), max(row["above"] for row in rows))
    levels = sorted({row["level"] for row in rows})

    def x_of(level):
        return left + (level - levels[0]) / max(levels[-1] - levels[0], 1) * WIDTH

    def y_of(value):
        return top + HEIGHT - (value - marks[0]) / (marks[-1] - marks[0]) * HEIGHT

    text = [f'<text x="{left}" y="{top - 8}" font-weight="bold">{escape(title)}</text>',
            f'<text x="{left + WIDTH / 2}" y="{top + HEIGHT + 32}" '
            f'text-anchor="middle">{escape(label)}</text>']
    for mark in marks:
        text.append(f'<path d="M{left} {y_of(mark):.1f}h{WIDTH}" '
                    f'stroke="{"#888" if mark == 0 else "#ddd"}"/>'
                    f'<text x="{left - 6}" y="{y_of(mark) + 4:.1f}" '
                    f'text-anchor="end">{mark:g}</text>')
    for level, after in zip(levels, [*levels[1:], float("inf")]):
        if x_of(after) - x_of(level) < NUMBER:
            continue
        text.append(f'<text x="{x_of(level):.1f}" y="{top + HEIGHT + 16}" '
                    f'text-anchor="middle">{level:g}</text>')
    for policy in dict.fromkeys(row["policy"] for row in rows):
        points = " ".join(f"{x_of(row['level']):.1f},{y_of(row['above']):.1f}" for row in rows
                          if row["policy"] == policy)
        text.append(f'<polyline points="{points}" fill="none" stroke-width="1.5" '
                    f'stroke="{COLOURS.get(policy, OTHER)}"/>')
    return text


def chart(panels):
    """panels: {(trace, mode): rows of place-load, the first policy's above all 0}."""
    traces = list(dict.fromkeys(trace for trace, _ in panels))
    policies = list(dict.fromkeys(row["policy"] for rows in panels.values() for row in rows))
    width = LEFT + 2 * WIDTH + GAP_X + RIGHT
    height = TOP + len(traces) * (HEIGHT + GAP_Y)
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="12">',
            f'<title>points allocated above {escape(policies[0])}</title>',
            f'<rect width="{width}" height="{height}" fill="white"/>']
    for (trace, mode), rows in panels.items():
        left = LEFT + list(MODES).index(mode) * (WIDTH + GAP_X)
        top = TOP + traces.index(trace) * (HEIGHT + GAP_Y)
        text += panel(left, top, f"{trace}: points above {policies[0]}", MODES[mode], rows)
    for i, policy in enumerate(policies):
        x, y = width - RIGHT + 14, TOP + 10 + 20 * i
        text.append(f'<rect x="{x}" y="{y - 6}" width="14" height="4" '
                    f'fill="{COLOURS.get(policy, OTHER)}"/>'
                    f'<text x="{x + 20}" y="{y}">{escape(policy)}</text>')
    return "\n".join([*text, "</svg>", ""])
