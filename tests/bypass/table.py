#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.tsv, and its picture in docs/isolation.md.

usage: table.py [--write]

Without --write it tells whether the document shows the table as it is.
"""
import sys
from collections import Counter, namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent.parent / "docs/isolation.md"
BEGIN, END = "<!-- bypass table: begin -->\n", "<!-- bypass table: end -->"
VERDICTS = ("held", "detected", "open")
WORDS = {"held": "held", "detected": "detected within 1 s", "open": "**open**"}

Row = namedtuple("Row", "name tries verdict level note")


def read():
    rows = []
    for line in (HERE / "table.tsv").read_text().splitlines()[1:]:
        row = Row(*(line.split("\t") + [""])[:5])
        if row.verdict not in VERDICTS:
            sys.exit(f"table.tsv: {row.name} has the verdict '{row.verdict}'")
        rows.append(row)
    twice = [name for name, n in Counter(row.name for row in rows).items() if n > 1]
    if twice or not rows:
        sys.exit(f"table.tsv: no rows, or rows of one name: {twice}")
    return rows


def picture():
    rows = read()
    count = Counter(row.verdict for row in rows)
    lines = ["", f"{count['held']} held, {count['detected']} detected, {count['open']} open.",
             "", "| way | what it tries | verdict | by, or stopped only by | note |",
             "|---|---|---|---|---|"]
    lines += [f"| `{r.name}` | {r.tries} | {WORDS[r.verdict]} | {r.level} | {r.note} |"
              for r in rows]
    return "\n".join(lines) + "\n\n"


def main():
    text = DOCUMENT.read_text()
    head, found, rest = text.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not found or not closed:
        sys.exit(f"{DOCUMENT.name} has no place for the table between its two marks")
    wanted = head + BEGIN + picture() + END + tail
    if "--write" in sys.argv[1:]:
        DOCUMENT.write_text(wanted)
    elif text != wanted:
        sys.exit(f"{DOCUMENT.name} does not show table.tsv as it is: "
                 "run tests/bypass/table.py --write")
    return 0


if __name__ == "__main__":
    sys.exit(main())
