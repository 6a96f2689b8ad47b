#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.tsv, and its table in docs/isolation.md.

usage: table.py [--write]

Without --write it tells whether the document shows the table as it is.
"""
import sys
from collections import Counter, namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent.parent / "docs/isolation.md"
BEGIN, END = "<!-- bypass table: begin -->\n", "<!-- bypass table: end -->"
VERDICTS = ("held", "charged", "detected", "open")
APIS = (("opencl", "OpenCL"), ("cuda", "CUDA"), ("hip", "HIP"))
WORDS = {"held": "held", "charged": "charged", "detected": "detected", "open": "**open**"}

Row = namedtuple("Row", "api name tries verdict level note")


def read():
    rows = []
    for line in (HERE / "table.tsv").read_text().splitlines()[1:]:
        row = Row(*(line.split("\t") + ["", ""])[:6])
        if row.verdict not in VERDICTS or row.api not in dict(APIS):
            sys.exit(f"table.tsv: {row.name} is of '{row.api}' with the verdict '{row.verdict}'")
        rows.append(row)
    twice = [name for name, n in Counter((row.api, row.name) for row in rows).items() if n > 1]
    if twice or not rows:
        sys.exit(f"table.tsv: no rows, or rows of one name: {twice}")
    return rows


def picture():
    lines = [""]
    for api, title in APIS:
        rows = [row for row in read() if row.api == api]
        count = Counter(row.verdict for row in rows)
        lines += [f"**{title}**: {', '.join(f'{count[v]} {v}' for v in VERDICTS)}.", "",
                  "| way | what it tries | verdict | by, or stopped only by | note |",
                  "|---|---|---|---|---|"]
        lines += [f"| `{r.name}` | {r.tries} | {WORDS[r.verdict]} | {r.level} | {r.note} |"
                  for r in rows]
        lines.append("")
    return "\n".join(lines) + "\n"


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
                 "./dev lint --fix writes it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
