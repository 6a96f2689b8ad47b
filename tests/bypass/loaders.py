#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a lease holds with each OpenCL loader of a folder, from any builder.

usage: loaders.py CLEAVE WAYS [FOLDER]

A loader is a file whose name begins with libOpenCL.so; without a folder it is a copy of the one
that programs here find, and one that is changed to look for drivers elsewhere, and to accept no
layer although it reads their variable.  Each comes first in LD_LIBRARY_PATH, by the name that
programs ask for.  Prints TAP, a line for each loader and way: held, or not started by cleave run,
which says why.
"""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bypass import MEMORY, judge_memory
from session import Session, Trouble

NAME = "libOpenCL.so.1"
REFUSED = 77  # cleave run would not enforce it
SYSTEM = Path("/etc/OpenCL/vendors")
ELSEWHERE = Path("/tmp/OpenCL/vendors")  # has as many letters
CHANGED = "libOpenCL.so.elsewhere"
REAL = 'OCL_ICD_VENDORS=$(dirname "$CLEAVE_LEASE")/vendors.real exec "$@"'
# The remains of its environment, except for its location.
WAYS = {
    "plain": [],
    "no-layers": ["env", "-u", "OPENCL_LAYERS", "-u", "OCL_ICD_LAYERS"],
    "empty-environment": ["env", "-i", "PATH=/usr/bin:/bin"],
    "vendors-of-own": ["sh", "-c", REAL, "sh"],
}


def found_by(program, folder):
    """The loader that the program finds, or None: it cannot be loaded."""
    done = subprocess.run([program], capture_output=True, text=True, timeout=30, check=False,
                          env={"LD_LIBRARY_PATH": folder or "", "LD_TRACE_LOADED_OBJECTS": "1"})
    for line in done.stdout.splitlines():
        words = line.split()
        if words[0] == NAME and words[2].startswith("/"):
            return words[2]
    return None


def loaders_of(folder):
    """Without duplicates of the same file."""
    files = sorted(path for path in folder.rglob("libOpenCL.so*") if path.is_file())
    return list({path.resolve(): path for path in files}.values())


def attempt(session, ways, before, folder):
    """Whether it is held, and the facts."""
    if "-i" in before:
        before = [*before, f"LD_LIBRARY_PATH={folder}"]
    program = session.start(MEMORY, [*before, ways, "buffer"], "loader")
    try:
        lines = program.finish(60)
        if program.process.returncode == REFUSED:
            return True, f"not started: {' '.join(lines)}"
        if "no-device" in lines:
            return True, "no device"
        verdict, facts = judge_memory(lines)
        return verdict == "held", f"{verdict}: {facts}"
    except Trouble as trouble:
        return False, str(trouble)
    finally:
        # Without a lease there is mostly no agent either.
        if program.process.returncode == REFUSED:
            session.programs.remove(program)
            program.end()
        else:
            session.end(program)


def try_loader(cleave, ways, path):
    """(attempt, whether it is held, facts); facts alone where it cannot be tried."""
    with tempfile.TemporaryDirectory(prefix="clv-") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(path, os.path.join(folder, NAME))
        met = found_by(ways, folder)
        if met != os.path.join(folder, NAME):
            yield "", None, "no library of this machine's kind"
            return
        session = Session(cleave, {"LD_LIBRARY_PATH": folder})
        try:
            for way, before in WAYS.items():
                # A program that names drivers to a loader without layers bypasses the gate.
                if way == "vendors-of-own" and path.name == CHANGED:
                    continue
                yield way, *attempt(session, ways, before, folder)
        finally:
            session.close()


def own_copy(ways, folder):
    found = found_by(ways, None)
    if not found:
        sys.exit(f"{ways} finds no {NAME}")
    shutil.copy(found, folder)
    changed = Path(found).read_bytes().replace(b"clInitLayer\0", b"clInitLayex\0")
    if bytes(SYSTEM) not in changed or not SYSTEM.is_dir() or ELSEWHERE.parent.exists():
        return
    Path(folder, CHANGED).write_bytes(changed.replace(
        bytes(SYSTEM) + b"\0", bytes(ELSEWHERE) + b"\0"))
    shutil.copytree(SYSTEM, ELSEWHERE)
    atexit.register(shutil.rmtree, ELSEWHERE.parent)


def main():
    cleave, ways = map(os.path.abspath, sys.argv[1:3])
    number = failed = 0
    with tempfile.TemporaryDirectory(prefix="clv-") as own:
        folder = Path(sys.argv[3] if len(sys.argv) > 3 else own)
        if len(sys.argv) == 3:
            own_copy(ways, own)
        loaders = loaders_of(folder)
        if not loaders:
            sys.exit(f"{folder} has no libOpenCL.so*")
        for path in loaders:
            for way, good, facts in try_loader(cleave, ways, path):
                number += 1
                failed += good is False
                word = "not ok" if good is False else "ok"
                skip = "# SKIP " if good is None else ""
                print(f"{word} {number} {path.name} {way}: {skip}{facts}", flush=True)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
