#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No function is longer than a hundred lines, and the median stays under a bound."""
import ast
import shutil
import statistics
import subprocess
import sys

import tree

MAX_LINES = 100
MAX_MEDIAN = 20
SKIP = 77


def functions_in_c(names):
    """(name, file, first line, number of lines) of each function, by ctags."""
    done = subprocess.run(
        ["ctags", "-x", "--c-kinds=f", "--_xformat=%N\t%F\t%n\t%{end}",
         "--language-force=C", *names], cwd=tree.ROOT, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        function, name, first, last = line.split("\t")
        if last:
            yield function, name, int(first), int(last) - int(first) + 1


def functions_in_python(names):
    for name in names:
        for node in ast.walk(ast.parse(tree.read(name))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name, name, node.lineno, node.end_lineno - node.lineno + 1


def main():
    if not shutil.which("ctags"):
        print("ctags is not installed: install universal-ctags")
        return SKIP
    found = list(functions_in_c(tree.files(".c", ".h")))
    median = statistics.median([n for *_, n in found])
    found += functions_in_python(tree.files(".py"))
    wrong = [f"{name}:{line}: {function} has {n} lines, {MAX_LINES} at most"
             for function, name, line, n in found if n > MAX_LINES]
    if median > MAX_MEDIAN:
        wrong.append(f"C's median function has {median:g} lines: {MAX_MEDIAN} at most")
    print(f"median function of C: {median:g} lines")
    return tree.finish(wrong, len(found))


if __name__ == "__main__":
    sys.exit(main())
