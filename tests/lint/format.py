#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C file has the format of clang-format 14: other versions differ slightly."""
import re
import shutil
import subprocess
import sys

import tree

TOOL = "clang-format-14"
SKIP = 77


def main():
    if not shutil.which(TOOL):
        print(f"{TOOL} is not installed: install the package of that name")
        return SKIP
    names = tree.files(".c", ".h")
    done = subprocess.run([TOOL, "--dry-run", "--Werror", *names], cwd=tree.ROOT,
                          capture_output=True, text=True)
    found = re.findall(r"^(\S+?):\d+:\d+: error:", done.stderr, re.M)
    if done.returncode and not found:
        sys.exit(done.stderr)
    wrong = [f"{name}: not formatted: ./dev lint --fix" for name in dict.fromkeys(found)]
    return tree.finish(wrong, len(names))


if __name__ == "__main__":
    sys.exit(main())
