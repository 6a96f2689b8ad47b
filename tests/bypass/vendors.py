#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same attempts with other vendors than PoCL, so that the tests do not depend on one vendor's
behaviour.  Mesa's rusticl is also found where ./dev unpacks it without installing it.

usage: vendors.py CLEAVE WAYS LOADER [--sample] [VENDOR [NAME...]]

Prints TAP.  A vendor that is not installed is skipped; none need be among the machine's.
--sample is what the check runs of it.
"""
import argparse
import ctypes
import os
import sys
import tempfile

import bypass
import table
from bypass import MEMORY, NEIGHBOUR, SHARE, TOLERANCE
from session import Session, Trouble, go_first

CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
UNPACKED = os.path.join(CACHE, "cleave/mesa-opencl-icd/usr/lib/x86_64-linux-gnu")


def unpacked(library):
    path = os.path.join(UNPACKED, library)
    return path if os.path.exists(path) else library


# name, library, environment, loops of the kernel in a millisecond: few, in a simulator.
VENDORS = (
    ("oclgrind", "/usr/lib/oclgrind/liboclgrind-rt-icd.so", {}, 20),
    ("rusticl", unpacked("libRusticlOpenCL.so.1"), {"RUSTICL_ENABLE": "llvmpipe"}, 3000),
)
# Of bypass.py, as they are there: all that need no habit of PoCL's and no figure.
WAYS = ("buffer", "buffer-with-properties", "buffer-on-host", "buffer-over-pointer", "image",
        "image-with-properties", "image-2d", "image-3d", "svm", "svm-other-context",
        "svm-other-queue", "svm-kept", "small-buffers", "by-name", "sub-buffer", "retained",
        "wrapped-size", "memory-threads", "fork", "fork-inherited", "vfork", "clone",
        "clone-inherited", "clone-shared", "spawn", "exec-self", "daemon", "many-processes",
        "empty-environment", "no-layers", "other-layers", "stale-layers", "no-lease", "wrong-lease",
        "other-lease", "vendors-of-own", "library-of-own", "dlopen-local", "dlsym-default",
        "dlsym-next", "dlmopen", "own-loader", "other-devices", "vendor-table", "closefrom-before",
        "closefrom-after", "control-page", "reused-numbers")
SAMPLE = ("buffer", "buffer-over-pointer", "image", "small-buffers", "sub-buffer", "fork-inherited",
          "clone", "many-processes", "own-loader", "other-devices", "vendor-table", "closefrom-after")
# What a driver lacks without the gate as well.
SHARED_MEMORY = ("svm", "svm-other-context", "svm-other-queue", "svm-kept")
NOT_ON = {
    # Of OpenCL 1.2: later calls never return.  The device's memory is that of two leases.
    "oclgrind": (*SHARED_MEMORY, "buffer-with-properties", "image-with-properties", "wrapped-size",
                 "other-lease"),
    # It shows no device without its own variable.
    "rusticl": (*SHARED_MEMORY, "empty-environment"),
}
# With one thread: oclgrind ends a program in which two compute, without the gate as well.
WORK = ("sync", "deep", "many-queues")
SAMPLE_OF_WORK = ("deep",)
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


class Referee(bypass.Referee):
    """Has one session, on one vendor."""

    def __init__(self, options, library, session, loops):
        super().__init__(options)
        self.vendor, self.one, self.loops = library, session, loops

    def session(self, kind="real"):
        return self.one


def take(referee, way):
    verdict, facts = bypass.CHECKS[way](referee, way)
    return verdict == ROWS[way].verdict, f"{verdict}: {facts}"


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


def work(referee, way):
    session, ways = referee.session(), referee.options.ways
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


ROWS = {row.name: row for row in table.read() if row.api == "opencl"}


def attempt(referee, way):
    if way in WORK or bypass.CHECKS[way].alone:
        referee.no_neighbour()
    try:
        return (work if way in WORK else take)(referee, way)
    except bypass.Skipped as reason:
        return None, str(reason)
    except (Trouble, bypass.Stuck) as trouble:
        return False, str(trouble)


def go_through(options, vendor, names, number):
    """Returns how many failed."""
    name, library, _, loops = vendor
    failed = 0
    with tempfile.TemporaryDirectory(prefix="clv-") as folder:
        there, environment = name_only(name, folder)
        session = Session(options.cleave, {**environment, "BYPASS_LOOPS_PER_MS": str(loops),
                                           "BYPASS_HALF_PIECES": "4"})
        referee = Referee(options, library, session, loops)
        for way in names:
            number += 1
            good, facts = attempt(referee, way) if there else (None, f"no {library}")
            failed += good is False
            word = "not ok" if good is False else "ok"
            skip = "# SKIP " if good is None else ""
            print(f"{word} {number} {name} {way}: {skip}{facts}", flush=True)
        session.close()
    return failed


def chosen(options, name):
    if options.names:
        return options.names
    ways = (*SAMPLE, *SAMPLE_OF_WORK) if options.sample else (*WAYS, *WORK)
    return [way for way in ways if way not in NOT_ON.get(name, ())]


def parse():
    parser = argparse.ArgumentParser()
    for word in ("cleave", "ways", "loader"):
        parser.add_argument(word, type=os.path.abspath)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("vendor", nargs="?")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.slow = False
    return options


def main():
    options = parse()
    plan = [(vendor, chosen(options, vendor[0])) for vendor in VENDORS
            if options.vendor in (None, vendor[0])]
    print(f"1..{sum(len(names) for _, names in plan)}", flush=True)
    go_first()
    failed = number = 0
    for vendor, names in plan:
        failed += go_through(options, vendor, names, number)
        number += len(names)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
