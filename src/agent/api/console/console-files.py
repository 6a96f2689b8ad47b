#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the built console as a C source: the table of console-files.h, each file
packed once, here, so that the agent never packs.  Without the folder the table is empty.

Arguments: the folder, the source to write, its depfile."""
import gzip
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
         ".json": "application/json"}
PER_LINE = 20

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Written by console-files.py. */
#include "agent/api/console/console-files.h"
"""


def files_in(folder):
    found = []
    for where, folders, names in os.walk(folder):
        folders.sort()
        found += [os.path.join(where, name) for name in names]
    return sorted(found)


def as_bytes(name, data):
    rows = (data[i:i + PER_LINE] for i in range(0, len(data), PER_LINE))
    lines = ",\n\t".join(", ".join(str(byte) for byte in row) for row in rows)
    return f"\nstatic const unsigned char {name}[] = {{\n\t{lines}\n}};\n"


def entry(folder, path, at):
    name = os.path.relpath(path, folder)
    kind = TYPES.get(os.path.splitext(name)[1], "application/octet-stream")
    with open(path, "rb") as file:
        plain = file.read()
    # Without a time stamp the same console is the same bytes.
    packed = gzip.compress(plain, 9, mtime=0)
    etag = hashlib.sha256(packed).hexdigest()[:16]
    row = f'\t{{"{name}", "{kind}", body_{at}, {len(packed)}, "\\"{etag}\\""}},\n'
    return as_bytes(f"body_{at}", packed), row


def main():
    folder, source, depfile = sys.argv[1:]
    paths = files_in(folder)
    entries = [entry(folder, path, at) for at, path in enumerate(paths)]
    with open(source, "w") as file:
        file.write(HEAD + "".join(body for body, _ in entries))
        file.write("\nconst struct clv_console_file clv_console_files[] = {\n")
        file.write("".join(row for _, row in entries))
        # An array of nothing is no C: the end is a row without a name.
        file.write("\t{0},\n};\n\n")
        file.write(f"const size_t clv_console_n_files = {len(entries)};\n")
    # New files show in their folder's time, the first of them in that of its parent.
    folders = sorted({os.path.dirname(path) for path in paths} | {folder})
    watched = paths + folders if paths else [os.path.dirname(folder)]
    watched = [path for path in watched if os.path.exists(path)]
    with open(depfile, "w") as file:
        file.write(f"{source}: {' '.join(path.replace(' ', chr(92) + ' ') for path in watched)}\n")


if __name__ == "__main__":
    main()
