# SPDX-License-Identifier: Apache-2.0
"""The commands of a user's guide: lines of its code blocks that begin with "# " (as root) or
"$ "."""
import os
import re

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```", re.M | re.S)


def commands(name):
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    return [line[2:] for block in blocks for line in block.splitlines()
            if line.startswith(("# ", "$ "))]


def block(name, kind):
    """The first block of this kind: a file that the reader is to write."""
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        return re.search(rf"^```{kind}\n(.*?)^```", file.read(), re.M | re.S)[1]


def transcript(name):
    """(command, lines of its output that the guide shows), of lines that begin with "$ "; "..."
    stands for lines that are left out."""
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    found = []
    for text in blocks:
        if text.startswith("$ "):
            for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command, *lines = part.splitlines()
                found.append((command, [line for line in lines if line != "..."]))
    return found
