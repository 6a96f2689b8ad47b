#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy 14 finds nothing in src/.  Argument: the build folder."""
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tree

TOOL = "clang-tidy-14"
SKIP = 77


def compiled(build):
    """The files of src/ that this build compiles."""
    commands = json.loads((build / "compile_commands.json").read_text())
    paths = {(Path(c["directory"]) / c["file"]).resolve() for c in commands}
    return sorted(p for p in paths if p.is_relative_to(tree.ROOT / "src"))


def main():
    if not shutil.which(TOOL):
        print(f"{TOOL} is not installed: install the package of that name")
        return SKIP
    build = Path(sys.argv[1])
    paths = compiled(build)

    def look_at(path):
        return subprocess.run(
            [TOOL, "-p", build, "--quiet", "--warnings-as-errors=*",
             # The build may have been configured for gcc.
             "--extra-arg=-Wno-unknown-warning-option", path],
            capture_output=True, text=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(look_at, paths))
    wrong = [done.stdout.replace(f"{tree.ROOT}/", "").strip()
             for done in results if done.returncode]
    return tree.finish(wrong, len(paths))


if __name__ == "__main__":
    sys.exit(main())
