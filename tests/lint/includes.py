#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each room includes only the rooms that it may use."""
import re
import sys

import rooms
import tree

# The headers that gate and agent share include only base.
LEAVES = rooms.PAGES
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def offenders_of(name, text):
    room = rooms.room_of(name.removeprefix("src/"))
    if not room:
        return [f"{name}: no room of tests/lint/rooms.py has it"]
    wrong = []
    for match in INCLUDE.finditer(text):
        included, line = match[1], text.count("\n", 0, match.start()) + 1
        where = f"{name}:{line}"
        if included == "cleave.h":
            if room.split("/")[0] not in ("client", "cli", "bridge"):
                wrong.append(f"{where}: {room} may not include the client's {included}")
        elif "/" not in included:
            wrong.append(f"{where}: \"{included}\" is not relative to src/")
        elif not (tree.ROOT / "src" / included).exists():
            continue  # a system header in quotes
        elif not rooms.may_use(room, included):
            wrong.append(f"{where}: {room} may not include {included}")
        elif name.removeprefix("src/") in LEAVES and not included.startswith("base/"):
            wrong.append(f"{where}: gate and agent share this header: it may include base only")
    return wrong


def own_header_first(name, text):
    header = name.removeprefix("src/").removesuffix(".c") + ".h"
    first = INCLUDE.search(text)
    if not name.endswith(".c") or not (tree.ROOT / "src" / header).exists():
        return []
    internal = f"{header.rpartition('/')[0]}/internal.h"
    if not first or first[1] not in (header, internal):
        return [f"{name}: its own header, {header}, is not included first"]
    return []


def main():
    names = tree.files(".c", ".h", under=("src",))
    wrong = []
    for name in names:
        text = tree.read(name)
        wrong += offenders_of(name, text) + own_header_first(name, text)
    # Benches and doubles judge cleave, so they share no code with it.
    measured = ("bench/place-", "bench/plan.c", "bench/policy-scale.c")
    for name in tree.files(".c", ".h", under=("bench", "tests/doubles")):
        for match in INCLUDE.finditer(tree.read(name)):
            if (tree.ROOT / "src" / match[1]).exists() and not name.startswith(measured):
                wrong.append(f"{name}: benches and doubles may not include {match[1]} of src/")
    tree.finish(wrong, len(names))


if __name__ == "__main__":
    sys.exit(main())
