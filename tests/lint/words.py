#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Documents, comments and file names use the terms of docs/glossary.md.

Its tables have the names in the code for each term, the words that are not used, and the file
names that are not used."""
import re
import sys
from pathlib import PurePosixPath

import tree

GLOSSARY = "docs/glossary.md"
# Generated from other tables.
GENERATED = ("docs/benchmarks.md", "docs/gpu-verification.md")
# File names of the last table that are still to be changed.
PENDING = ()
SCOPES = {"documents", "documents, comments"}
TITLES = ("## Terms", "## Words that are not used", "## File names that are not used")

CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.S | re.M)
PART = re.compile(r"<!-- (?!end of )[^>]*-->\n.*?<!-- (?:end of )?[^>]*-->", re.S)
COMMENT = re.compile(tree.COMMENT, re.S)
NAME = re.compile(r"`([^`]+)`")


def table(text, title):
    """The rows of the one table below a title, as lists of cells."""
    section = text.split(title + "\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def prose(text):
    """A document without code and without generated parts, line for line."""
    return CODE.sub(blank, PART.sub(blank, text))


def comments(text):
    """Only the comments of C, line for line."""
    kept, at = [], 0
    for match in COMMENT.finditer(text):
        kept += [re.sub(r"[^\n]", " ", text[at:match.start()]), match[0]]
        at = match.end()
    return "".join(kept)


def phrase(words):
    """The words of a phrase may be on two lines, also in a comment."""
    gap = r"(?:[ \t]+|[ \t]*\n[ \t>]*\*?[ \t]*)"
    return re.compile(r"(?<![\w-])" + gap.join(map(re.escape, words.split())) + r"(?![\w-])", re.I)


def offenders_of(name, text, rows):
    wrong = []
    for cells in rows:
        for words in NAME.findall(cells[0]):
            for match in phrase(words).finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                wrong.append(f"{name}:{line}: '{words}', and the term is {cells[1]}")
    return wrong


def is_known(name, code, known):
    if name.startswith("cleave "):
        return any(n.startswith(f"man/cleave-{name.split()[1]}.") for n in known)
    if any(n == name or n.startswith(f"{name}/") for n in known):
        return True
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", code) is not None


def check_terms(rows, code, known):
    wrong, terms = [], [cells[0] for cells in rows]
    for cells in rows:
        if len(cells) != 4:
            wrong.append(f"{GLOSSARY}: the row of '{cells[0]}' does not have four cells")
            continue
        names = NAME.findall(cells[2])
        wrong += [f"{GLOSSARY}: {name}, of '{cells[0]}', is not in the code"
                  for name in names if not is_known(name, code, known)]
    if terms != sorted(set(terms)):
        wrong.append(f"{GLOSSARY}: the terms are not in order, or a term is there twice")
    return wrong


def check_names(known, rows):
    terms = {name: cells[1] for cells in rows for name in NAME.findall(cells[0])}
    return [f"{name}: the term is {terms[stem]}" for name in known
            for stem in [PurePosixPath(name).stem]
            if name.startswith("src/") and stem in terms and stem not in PENDING]


def documents():
    return [n for n in tree.files(".md")
            if n not in GENERATED and ("/" not in n or n.startswith("docs/"))]


def main():
    known, glossary = tree.files(), tree.read(GLOSSARY)
    terms, words, names = (table(glossary, title) for title in TITLES)
    sources = {n: tree.read(n) for n in known if n.startswith("src/")}
    wrong = check_terms(terms, "\n".join(sources.values()), known) + check_names(known, names)
    wrong += [f"{GLOSSARY}: '{cells[2]}' is not a scope of words" for cells in words
              if cells[2] not in SCOPES]
    in_comments = [cells for cells in words if "comments" in cells[2]]
    texts = documents()
    for name in texts:
        wrong += offenders_of(name, prose(tree.read(name)), words)
    for name, text in sources.items():
        if name.endswith((".c", ".h")):
            wrong += offenders_of(name, comments(text), in_comments)
    return tree.finish(wrong, len(texts) + len(sources))


if __name__ == "__main__":
    sys.exit(main())
