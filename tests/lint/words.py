#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Documents, comments and file names use the terms of docs/glossary.md.

Its tables have the names in the code for each term, the words that are not used, and the file
names that are not used."""
import ast
import io
import re
import sys
import tokenize
from pathlib import PurePosixPath

import tree

GLOSSARY = "docs/glossary.md"
# Generated from other tables.
GENERATED = ("docs/benchmarks.md", "docs/gpu-verification.md")
# File names of the last table that are still to be changed.
PENDING = ()
SCOPES = {"documents", "documents, comments"}
TITLES = ("## Terms", "## Words that are not used", "## File names that are not used")

# Folders whose comments in C and Python, and Python's docstrings, are checked.
COMMENTED = ("src", "tests", "bench")

CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.S | re.M)
# Code, names and messages in a comment.
QUOTED = re.compile(r'`[^`\n]+`|"[^"\n]+"')
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


def only(text, spans):
    """Only these parts of a text, without what they quote, line for line."""
    kept, at = [], 0
    for start, end in spans:
        kept += [re.sub(r"[^\n]", " ", text[at:start]), QUOTED.sub(blank, text[start:end])]
        at = end
    return "".join(kept)


def comments(text):
    """Only the comments of C."""
    return only(text, [match.span() for match in COMMENT.finditer(text)])


def docstrings(module):
    """The nodes of a module's docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return [node.body[0].value for node in ast.walk(module)
            if isinstance(node, owners) and ast.get_docstring(node) is not None]


def python_comments(text):
    """Only the comments and docstrings of Python."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def at(line, n_bytes):
        return starts[line - 1] + len(lines[line - 1].encode()[:n_bytes].decode())

    spans = [(at(d.lineno, d.col_offset) + 3, at(d.end_lineno, d.end_col_offset) - 3)
             for d in docstrings(ast.parse(text))]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            start = starts[token.start[0] - 1] + token.start[1]
            spans.append((start, start + len(token.string)))
    return only(text, sorted(spans))


def phrase(words):
    """The words of a phrase may be on two lines, also in a comment."""
    gap = r"(?:[ \t]+|[ \t]*\n[ \t>]*[*#]?[ \t]*)"
    return re.compile(r"(?<![\w-])" + gap.join(map(re.escape, words.split())) + r"(?![\w-])", re.I)


def offenders_of(name, text, rows):
    wrong, lower = [], text.lower()
    for cells in rows:
        for words in NAME.findall(cells[0]):
            # Most files have none of the words: a search for a string is faster than a pattern's.
            if words.lower().split()[0] not in lower:
                continue
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


def check_comments(rows):
    """The offenders, and the number of files."""
    wrong, known = [], tree.files(".c", ".h", ".py", under=COMMENTED)
    for name in known:
        of = python_comments if name.endswith(".py") else comments
        wrong += offenders_of(name, of(tree.read(name)), rows)
    return wrong, len(known)


def main():
    known, glossary = tree.files(), tree.read(GLOSSARY)
    terms, words, names = (table(glossary, title) for title in TITLES)
    sources = {n: tree.read(n) for n in known if n.startswith("src/")}
    wrong = check_terms(terms, "\n".join(sources.values()), known) + check_names(known, names)
    wrong += [f"{GLOSSARY}: '{cells[2]}' is not a scope of words" for cells in words
              if cells[2] not in SCOPES]
    texts = documents()
    for name in texts:
        wrong += offenders_of(name, prose(tree.read(name)), words)
    in_comments, n = check_comments([cells for cells in words if "comments" in cells[2]])
    return tree.finish(wrong + in_comments, len(texts) + n)


if __name__ == "__main__":
    sys.exit(main())
