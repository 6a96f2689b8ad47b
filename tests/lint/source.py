#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Licence line, comment style, line and file lengths, locks, and words that sources may not have."""
import re
import sys

import tree

SOURCES = (".c", ".h", ".py", ".sh", ".ts", ".tsx", ".mjs", ".js", ".css", "meson.build")
MAX_LINES = 800
MAX_COLUMNS = 90
MAX_COLUMNS_ELSE = 110
TAB = 8
# Built from parts, so that this file itself does not contain them.
WORDS = {
    "TO" + "DO": "finish it, or say in the documents that it is not there",
    "FIX" + "ME": "finish it, or say in the documents that it is not there",
    "XX" + "X": "finish it, or say in the documents that it is not there",
    "place" + "holder": "finish it",
    "/wo" + "rk/": "a path of one machine",
    "/tmp" + "/b-": "a path of one machine",
    "/ho" + "me/user": "a path of one machine",
}
FORBIDDEN = re.compile("|".join(
    rf"\b{w}\b" if w.isalpha() else rf"(?<!\w){re.escape(w)}" for w in WORDS))


LEFT_BEHIND = (".orig", ".rej", ".bak", "~")


def check_name(name):
    """A copy that an editor or a merge leaves beside a file."""
    return [f"{name}: a copy left behind: remove it"] if name.endswith(LEFT_BEHIND) else []


def is_source(name):
    return name.endswith(SOURCES) or name in tree.SCRIPTS


def check_header(name, text):
    if "SPDX-License-Identifier: Apache-2.0" in "\n".join(text.splitlines()[:2]):
        return []
    return [f"{name}: no SPDX-License-Identifier in its first two lines"]


def check_lengths(name, text):
    lines = text.splitlines()
    wrong = []
    if len(lines) > MAX_LINES:
        wrong.append(f"{name}: {len(lines)} lines, {MAX_LINES} at most")
    if "clang-format off" in text:
        return wrong  # tables keep their columns
    most = MAX_COLUMNS if name.endswith((".c", ".h")) else MAX_COLUMNS_ELSE
    for number, line in enumerate(lines, 1):
        columns = len(line.expandtabs(TAB))
        if columns > most:
            wrong.append(f"{name}:{number}: {columns} columns, {most} at most")
    return wrong


def check_text(name, text):
    wrong = [f"{name}:{text.count(chr(10), 0, m.start()) + 1}: '{m[0]}': "
             f"{WORDS.get(m[0], 'does not belong')}" for m in FORBIDDEN.finditer(text)]
    if text and not text.endswith("\n"):
        wrong.append(f"{name}: no newline at its end")
    for number, line in enumerate(text.splitlines(), 1):
        if line != line.rstrip():
            wrong.append(f"{name}:{number}: blanks at the end of the line")
    return wrong


def check_locks(name, text):
    """What a submission may wait for."""
    if not name.startswith(("src/gate/queue/", "src/gate/streams/", "src/gate/opencl/queue/")):
        return []
    has_begun = "clv_lock_init(" in text
    return [f"{name}:{text.count(chr(10), 0, m.start()) + 1}: its holder inherits no priority: "
            "initialize it with clv_lock_init()"
            for m in re.finditer(r"pthread_mutex_init\(|PTHREAD_MUTEX_INITIALIZER", text)
            if not has_begun or m[0] == "pthread_mutex_init("]


def main():
    wrong, names = [], [n for n in tree.files() if n != "LICENSE"]
    for name in names:
        text = tree.read(name)
        if "/corpus/" in name or "/regression/" in name:
            continue  # inputs for fuzzers have no form
        wrong += check_name(name) + check_text(name, text)
        if is_source(name):
            wrong += check_header(name, text) + check_lengths(name, text)
            wrong += check_locks(name, text)
        if name.endswith((".c", ".h")):
            wrong += [f"{name}:{line}: a // comment: write /* */"
                      for line in tree.line_comments(text)]
    tree.finish(wrong, len(names))


if __name__ == "__main__":
    sys.exit(main())
