#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls, by the symbols of object files, follow tests/lint/rooms.py, and neither calls nor
includes have circles.

A unit is a file with its header; files that share a header `NAME-internal.h` are one unit.
Argument: the build's folder."""
import collections
import re
import subprocess
import sys
from pathlib import Path

import rooms
import tree

MAX_DEPTH = 6
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
DEFINED, USED = "TDBRCVW", "U"
CIRCLES = ()


def sources():
    """{name below src/ without its ending: [its texts]}."""
    found = collections.defaultdict(list)
    for name in tree.files(".c", ".h", under=("src",)):
        found[name.removeprefix("src/")[:-2]].append(tree.read(name))
    return found


class Units:
    def __init__(self, stems):
        self.stems = stems
        self.families = [s.removesuffix("-internal") for s in stems if s.endswith("-internal")]

    def of(self, stem):
        for family in self.families:
            if stem == family or stem.startswith(family + "-"):
                return family
        return stem


def includes_of(found):
    """{stem: the stems that its files include}."""
    return {stem: {m[1].removesuffix(".h") for text in texts for m in INCLUDE.finditer(text)
                   if m[1].removesuffix(".h") in found}
            for stem, texts in found.items()}


def stem_of(path, stems):
    """The source of an object file: "src/agent/libx.a.p/os_self.c.o" is agent/os/self.c's."""
    match = re.search(r"/src/(.+)/[^/]+\.p/(.+)\.c\.o$", str(path))
    if not match:
        return None
    folder, name = match[1], match[2]
    for i in range(name.count("_") + 1):
        stem = f"{folder}/{name.replace('_', '/', i)}"
        if stem in stems:
            return stem
    return None


def symbols(build, stems):
    """({symbol: stems that define it}, {stem: symbols that it uses})."""
    defined, used = collections.defaultdict(set), collections.defaultdict(set)
    paths = [p for p in Path(build).glob("src/**/*.o") if stem_of(p, stems)]
    shown = subprocess.run(["nm", "-A", *map(str, paths)], capture_output=True, text=True,
                           check=True).stdout
    for line in shown.splitlines():
        path, rest = line.split(":", 1)
        *_, kind, symbol = rest.split()
        stem = stem_of(path, stems)
        if not symbol.startswith("clv_"):
            continue
        if kind in DEFINED:
            defined[symbol].add(stem)
        elif kind == USED:
            used[stem].add(symbol)
    return defined, used


def resolve(stem, candidates):
    """Of the definitions of one name in several programs, those that this file can call."""
    room = rooms.room_of(f"{stem}.c")
    if stem in candidates:
        return set()
    return ({c for c in candidates if rooms.room_of(f"{c}.c") == room} or
            {c for c in candidates if may_call(room, c)} or candidates)


def may_call(room, stem):
    return rooms.may_use(room, f"{stem}.c") or rooms.may_use(room, f"{stem}.h")


def circles(edges):
    """Groups of more than one node that reach each other (Tarjan)."""
    index, low, stack, groups = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in edges:
        if node not in index:
            visit(node)
    return groups


def by_unit(edges, units):
    merged = collections.defaultdict(set)
    for stem, others in edges.items():
        merged[units.of(stem)] |= {units.of(o) for o in others} - {units.of(stem)}
    return merged


def depths():
    """{file: depth of its includes of the project's headers}."""
    names = {n.removeprefix("src/") for n in tree.files(".c", ".h", under=("src",))}
    includes = {n: {m[1] for m in INCLUDE.finditer(tree.read(f"src/{n}"))} & names
                for n in names}
    known = {}

    def depth(name):
        if name not in known:
            known[name] = 0
            known[name] = max((1 + depth(other) for other in includes[name]), default=0)
        return known[name]

    return {name: depth(name) for name in names if name.endswith(".c")}


def main():
    sys.setrecursionlimit(10000)
    found = sources()
    units = Units(found)
    includes = includes_of(found)
    defined, used = symbols(sys.argv[1], found)
    calls = {stem: set().union(*(resolve(stem, defined[s]) for s in names if s in defined))
             for stem, names in used.items()}
    if len(calls) < len(found) / 3:
        sys.exit("too few object files were found: is this the build's folder?")
    wrong = []
    for stem, others in sorted(calls.items()):
        room = rooms.room_of(f"{stem}.c")
        wrong += [f"src/{stem}.c calls into {other}.c, which {room} may not use"
                  for other in sorted(others) if not may_call(room, other)]
    for what, edges in (("calls", calls), ("includes", includes)):
        wrong += [f"a circle of {what}: {' '.join(group)}" for group in
                  circles(by_unit(edges, units)) if not group[0].startswith(CIRCLES)]
    wrong += [f"src/{name}: {depth} headers deep, at most {MAX_DEPTH}"
              for name, depth in sorted(depths().items())
              if depth > MAX_DEPTH and not name.startswith(CIRCLES)]
    tree.finish(wrong, len(calls))


if __name__ == "__main__":
    main()
