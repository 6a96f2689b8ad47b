#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No word is misspelled, as far as codespell knows."""
import shutil
import subprocess
import sys

import tree

SKIP = 77
NOT_TEXT = ("LICENSE", "web/package-lock.json")
# Correct here: names of OpenCL, of C, or of this code.
KNOWN = "fro,inout,nd,ot,te,datas,parms,ans,fo,ba,clen,ue,hist,renderd,nce,nde,hsa"


def main():
    if not shutil.which("codespell"):
        print("codespell is not installed: install the package of that name")
        return SKIP
    names = [n for n in tree.files() if n not in NOT_TEXT and "/corpus/" not in n]
    done = subprocess.run(["codespell", "-L", KNOWN, *names], cwd=tree.ROOT,
                          capture_output=True, text=True)
    if done.returncode and not done.stdout:
        sys.exit(done.stderr)
    return tree.finish(done.stdout.splitlines(), len(names))


if __name__ == "__main__":
    sys.exit(main())
