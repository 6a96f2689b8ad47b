#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each test of tests/findings.tsv exists, runs what its row names, and has a source in which
that is defined: a function, a class with its method, or a row of a table.  A file stands in the
place of a test where a document, a bench or a test of the console has the finding; it contains
the words of the row.  Each finding of tests/findings-numbers.tsv has a row, except for those that
this file says have no test.

Argument: the build's folder."""
import json
import re
import sys
from pathlib import Path

import changed
import tree

TABLE = "tests/findings.tsv"
NUMBERS = "tests/findings-numbers.tsv"
HEAD = ["area", "number", "what", "test", "row"]
AREAS = ("opencl", "cuda", "partitions", "agent", "kubernetes", "placement")
NUMBER = re.compile(r"\d+[a-z]?")
CASE = re.compile(r"([A-Z]\w*)\.(test_\w+)")
SELECTOR = re.compile(r"[A-Z]\w*(\.test_\w+)?")
ALWAYS = re.compile(r"^(?:ALWAYS|IN_EACH_SAMPLE) = \((.*?)\)$", re.M | re.S)


def defines(text, name):
    """Whether a function, a class or a row of a table has this name; a comment has not."""
    word = re.escape(name)
    return bool(re.search(rf"^[ \t]*(?:def|class) {word}\b", text, re.M)
                or re.search(rf"^[a-z][\w \t*]*\b{word}\([^;]*$", text, re.M)
                or re.search(rf"""[{{(,\[ \t]["']{word}["']""", text))


def has_method(texts, case, method):
    """Whether a class of this name, or one that it inherits from, has this method."""
    for text in texts:
        # Other lines that are not indented can be of a text in quotes.
        found = re.search(rf"^class {case}\b(?:\((.*?)\))?:(.*?)(?=^(?:class|def|if) |^@|\Z)", text,
                          re.M | re.S)
        bases, body = found.groups("") if found else ("", "")
        if re.search(rf"^    def {method}\(", body, re.M) or any(
                has_method(texts, base, method) for base in re.findall(r"(\w+)(?:,|$)", bases)
                if base != case):
            return True
    return False


def has(texts, row):
    case = CASE.fullmatch(row)
    return has_method(texts, *case.groups()) if case else any(defines(t, row) for t in texts)


def runs(selectors, row):
    """Whether the arguments of a unittest program choose this method, or what a sample always has
    includes this row of a table.  A method without its class is not known; a row runs where a
    whole class is chosen."""
    case = CASE.fullmatch(row)
    if case or not selectors:
        return not selectors or bool({row, case[1]} & set(selectors))
    whole = [each for each in selectors if SELECTOR.fullmatch(each) and "." not in each]
    return row in selectors or (bool(whole) and not row.startswith("test_"))


def fault(row, tests, sources, selectors):
    """What is wrong with a row, or None.  sources: the texts of a test's files."""
    if len(row) != len(HEAD) or not all(row):
        return "a row needs area, number, what, test and row"
    area, number, _, test, name = row
    if area not in AREAS or not NUMBER.fullmatch(number):
        return f"'{area} {number}' is no finding"
    if "/" in test:
        words = [" ".join(text.split()) for text in sources(test)]
        return None if any(name in text for text in words) else f"{test} does not contain '{name}'"
    if test not in tests:
        return None if test in changed.described() else f"there is no test {test}"
    if not runs(selectors(test), name):
        return f"{test} does not run {name}"
    return None if has(sources(test), name) else f"{test} has no {name}"


def incomplete(listed, rows):
    """What differs between the findings and the rows.  listed: (area, numbers, those without a test),
    numbers separated by spaces."""
    numbers = {(area, each) for area, all_of, _ in listed for each in all_of.split()}
    without = {(area, each) for area, _, some in listed for each in some.split() if each != "-"}
    has_row = {tuple(row[:2]) for row in rows}
    return ([f"{' '.join(each)} has no row" for each in sorted(numbers - without - has_row)]
            + [f"{' '.join(each)} is no finding" for each in sorted((has_row | without) - numbers)]
            + [f"{' '.join(each)} has a row and no test" for each in sorted(without & has_row)])


class Build:
    """The tests of a build, and their files: scripts with the modules beside them, and the C of
    their programs."""

    def __init__(self, folder):
        folder = str(Path(folder).resolve())
        changed.run("ninja", "-C", folder, "build.ninja")
        self.tests, targets = (json.loads(changed.run("meson", "introspect", what, folder))
                               for what in ("--tests", "--targets"))
        self.tests = {test["name"]: test for test in self.tests}
        self.files = {t["id"]: [f for s in t["target_sources"] for f in s.get("sources", ())]
                      for t in targets}
        self.known = set(tree.files())

    def names_of(self, test):
        if "/" in test:
            return {test} & self.known
        test = self.tests[test]
        compiled = {str(Path(f).resolve().relative_to(tree.ROOT))
                    for target in test["depends"] for f in self.files.get(target, ())
                    if tree.ROOT in Path(f).resolve().parents}
        return {name for name in changed.scripts_of(test, self.known) | compiled
                if name.startswith("tests/")}

    def sources(self, test):
        return [tree.read(name) for name in sorted(self.names_of(test))]

    def selectors(self, test):
        """The arguments that choose tests; of a sample what it has whatever the seed."""
        words = self.tests[test]["cmd"]
        if "--sample" not in words:
            return [word for word in words if SELECTOR.fullmatch(word)]
        script = Path(next(word for word in words if word.endswith(".py")))
        return [row for always in ALWAYS.findall(script.read_text(encoding="utf-8"))
                for row in re.findall(r'"([^"]+)"', always)] or ["-"]


def main():
    build = Build(sys.argv[1])
    head, *rows = [line.split("\t") for line in tree.read(TABLE).splitlines()]
    wrong = [] if head == HEAD else [f"{TABLE}:1: the columns are {', '.join(HEAD)}"]
    for number, row in enumerate(rows, 2):
        found = fault(row, build.tests, build.sources, build.selectors)
        if found:
            wrong.append(f"{TABLE}:{number}: {found}")
        if rows.index(row) != number - 2:
            wrong.append(f"{TABLE}:{number}: the row is there twice")
    listed = [line.split("\t") for line in tree.read(NUMBERS).splitlines()[1:]]
    wrong += [f"{NUMBERS}: {each}" for each in incomplete(listed, rows)]
    tree.finish(wrong, len(rows))


if __name__ == "__main__":
    main()
