#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same ways beside other vendors than PoCL, so that nothing leans on one's habits.

usage: vendors.py CLEAVE WAYS

Prints TAP.  A vendor that is not installed is skipped; none need be among the machine's.
"""
import ctypes
import os
import sys
import tempfile

from bypass import MEMORY, judge_memory
from session import Session, Trouble

VENDORS = (
    ("oclgrind", "/usr/lib/oclgrind/liboclgrind-rt-icd.so", {}),
    ("rusticl", "libRusticlOpenCL.so.1", {"RUSTICL_ENABLE": "llvmpipe"}),
)
WAYS = ("buffer", "buffer-over-pointer", "image", "image-2d", "by-name", "sub-buffer",
        "retained", "memory-threads", "fork", "clone", "spawn")


def is_there(library):
    """A child looks: some drivers begin to work when they are loaded."""
    pid = os.fork()
    if pid == 0:
        try:
            ctypes.CDLL(library)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def name_only(vendor, folder):
    """Whether it is installed, and the environment in which it is the only one there is."""
    library, environment = next(rest for name, *rest in VENDORS if name == vendor)
    with open(os.path.join(folder, "one.icd"), "w", encoding="utf-8") as icd:
        icd.write(library + "\n")
    return is_there(library), {"OCL_ICD_VENDORS": folder, **environment}


def attempt(session, ways, way):
    try:
        verdict, facts = judge_memory(session.output(MEMORY, [ways, way], way))
    except Trouble as trouble:
        return False, str(trouble)
    return verdict == "held", facts


def main():
    cleave, ways = map(os.path.abspath, sys.argv[1:])
    print(f"1..{len(VENDORS) * len(WAYS)}", flush=True)
    number = failed = 0
    for name, library, _ in VENDORS:
        with tempfile.TemporaryDirectory(prefix="clv-") as folder:
            there, environment = name_only(name, folder)
            session = Session(cleave, environment)
            for way in WAYS:
                number += 1
                if not there:
                    print(f"ok {number} {name} {way} # SKIP no {library}", flush=True)
                    continue
                good, facts = attempt(session, ways, way)
                failed += not good
                print(f"{'ok' if good else 'not ok'} {number} {name} {way}: {facts}",
                      flush=True)
            session.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
