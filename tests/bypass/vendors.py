#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same attempts with other vendors than PoCL, so that the tests do not depend on one vendor's
behaviour.

usage: vendors.py CLEAVE WAYS

Prints TAP.  A vendor that is not installed is skipped; none need be among the machine's.
"""
import ctypes
import os
import sys
import tempfile

from bypass import MEMORY, NEIGHBOUR, SHARE, TOLERANCE, judge_memory
from session import Session, Trouble, go_first

# name, library, environment, loops of the kernel in a millisecond: few, in a simulator.
VENDORS = (
    ("oclgrind", "/usr/lib/oclgrind/liboclgrind-rt-icd.so", {}, 20),
    ("rusticl", "libRusticlOpenCL.so.1", {"RUSTICL_ENABLE": "llvmpipe"}, 3000),
)
WAYS = ("buffer", "buffer-on-host", "buffer-over-pointer", "image", "image-2d", "image-3d",
        "by-name", "sub-buffer", "retained", "memory-threads", "fork", "fork-inherited",
        "vfork", "clone", "clone-inherited", "spawn", "exec-self", "daemon", "many-processes",
        "closefrom-before", "closefrom-after")
# With one thread: oclgrind ends a program in which two compute, without the gate as well.
WORK = ("sync", "deep", "many-queues")
WORK_MS = 1500
GOES = 3


def is_there(library):
    """Tests in a child, because some drivers start threads when they are loaded."""
    pid = os.fork()
    if pid == 0:
        try:
            ctypes.CDLL(library)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def library_of(vendor):
    return next(library for name, library, *_ in VENDORS if name == vendor)


def name_only(vendor, folder):
    """Whether it is installed, and the environment in which it is the only vendor."""
    library, environment, _ = next(rest for name, *rest in VENDORS if name == vendor)
    with open(os.path.join(folder, "one.icd"), "w", encoding="utf-8") as icd:
        icd.write(library + "\n")
    return is_there(library), {"OCL_ICD_VENDORS": folder, **environment}


def take(session, ways, way):
    verdict, facts = judge_memory(session.output(MEMORY, [ways, way], way))
    return verdict == "held", facts


def parts(session, programs, before=None):
    """Each program's part of the processor time, and of the held time."""
    leases = session.leases()
    now = [[p.processor_seconds() for p in programs],
           [leases[p.name]["held_seconds"] for p in programs]]
    if before is None:
        return now
    used = [[b - a for a, b in zip(*pair)] for pair in zip(before, now)]
    return [own / max(own + others, 1e-9) for own, others in used]


def work_once(session, ways, way, neighbour):
    program = session.start(MEMORY, [ways, way], way)
    try:
        program.wait_for("go")
        before = parts(session, (program, neighbour))
        program.wait_for("done")
        by_time, by_account = parts(session, (program, neighbour), before)
    finally:
        session.end(program)
    facts = f"{by_time:.3f} of the processor time, {by_account:.3f} held, of {SHARE}"
    good = max(by_time, by_account) <= SHARE + TOLERANCE and by_account >= SHARE - 2 * TOLERANCE
    return good, facts


def work(session, ways, way):
    session.environment["BYPASS_MS"] = "600000"
    neighbour = session.start(NEIGHBOUR, [ways, "deep"], "neighbour")
    session.environment["BYPASS_MS"] = str(WORK_MS)
    try:
        neighbour.wait_for("go")
        for _ in range(GOES):
            good, facts = work_once(session, ways, way, neighbour)
            if good:
                break
    finally:
        session.end(neighbour)
    return good, facts


def attempt(judge, session, ways, way):
    try:
        return judge(session, ways, way)
    except Trouble as trouble:
        return False, str(trouble)


def go_through(name, library, loops, cleave, ways, number):
    """Returns how many failed."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="clv-") as folder:
        there, environment = name_only(name, folder)
        session = Session(cleave, {**environment, "BYPASS_LOOPS_PER_MS": str(loops),
                                   "BYPASS_HALF_PIECES": "4"})
        for way in (*WAYS, *WORK):
            number += 1
            if not there:
                print(f"ok {number} {name} {way} # SKIP no {library}", flush=True)
                continue
            good, facts = attempt(work if way in WORK else take, session, ways, way)
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} {name} {way}: {facts}", flush=True)
        session.close()
    return failed


def main():
    cleave, ways = map(os.path.abspath, sys.argv[1:])
    n = len(WAYS) + len(WORK)
    print(f"1..{len(VENDORS) * n}", flush=True)
    go_first()
    failed = sum(go_through(name, library, loops, cleave, ways, i * n)
                 for i, (name, library, _, loops) in enumerate(VENDORS))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
