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
