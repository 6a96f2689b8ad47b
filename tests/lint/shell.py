#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shell scripts pass shellcheck, and dev is POSIX."""
import shutil
import subprocess
import sys

import tree

SKIP = 77


def main():
    if not shutil.which("shellcheck"):
        print("shellcheck is not installed: install the package of that name")
        return SKIP
    names, wrong = tree.shell_scripts(), []
    for name in names:
        done = subprocess.run(["shellcheck", "--format=gcc", name], cwd=tree.ROOT,
                              capture_output=True, text=True)
        wrong += done.stdout.splitlines()
    if not tree.read("dev").startswith("#!/bin/sh\n"):
        wrong.append("dev: its first line is not #!/bin/sh")
    return tree.finish(wrong, len(names))


if __name__ == "__main__":
    sys.exit(main())
