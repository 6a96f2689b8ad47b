#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks one model exhaustively with spin, and that its mutations are found.

usage: run.py MODEL [--slow]

Every row is a complete search.  "holds": no error in any interleaving.  "found": the
mutation, a bug put in on purpose, is reported; a model that cannot fail proves nothing.
--slow adds the searches that take minutes and gigabytes.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
HERE = os.path.dirname(os.path.abspath(__file__))

RUNS = {
    "wake": [
        ("", "holds"),
        ("-DM_PHASE_BEFORE_ENTERED", "found"),
        ("-DM_ENTERED_BEFORE_DONE", "found"),
        ("-DM_RING_BEFORE_WAITING", "found"),
        ("-DM_RING_ONCE", "found"),
        ("-DM_DRAINED_NEEDS_NO_WAITER", "found"),
        ("-DM_NO_MARK_WHEN_CLOSED", "found"),
        ("-DM_WAITS_FOR_MARKERS_ONLY", "found"),
        ("-DM_CALLS_FOR_NO_CLOSE", "found"),
        ("-DM_IN_FLIGHT_UNTIL_TOLD", "found"),
        ("-DENDLESS", "holds"),
        ("-DENDLESS -DM_STRAY_WAKES_NOBODY", "found"),
    ],
    "window": [
        ("", "holds"),
        ("-DSHARED -DN_COMMANDS=1", "holds"),
        ("-DPERSISTENT", "holds"),
        ("-DM_REGISTERS_LATE", "found"),
        ("-DSHARED -DN_COMMANDS=1 -DM_REGISTERS_LATE", "found"),
        ("-DM_NO_MARK_BY_WAITER", "found"),
        ("-DM_LEAVES_BEFORE_BOOKING", "found"),
        ("-DPERSISTENT -DM_ONE_WINDOW_FOR_ALL", "found"),
        ("-DPERSISTENT -DM_NO_LOOK_ASIDE", "found"),
    ],
    "circle": [
        ("", "holds"),
        ("-DBY_HOST", "holds"),
        ("-DTWO_PROCESSES", "holds"),
        ("-DTWO_PROCESSES -DM_OWN_WORK_ONLY", "found"),
        ("-DM_ONE_WINDOW_FOR_ALL -DM_NO_LIMIT_IN_TURN", "found"),
        ("-DBY_HOST -DM_NO_LIMIT_IN_TURN", "found"),
        ("-DM_NO_LIMIT_CLOSED", "found"),
    ],
    "legacy": [
        ("", "holds"),
        ("-DBLOCKING_CALL", "holds"),
        ("-DM_ALWAYS_IN_LEGACY", "found"),
        ("-DM_NO_ORDER", "found"),
        ("-DM_LOOKS_FIRST", "found"),
        ("-DM_AT_FIRST_KERNEL", "found"),
        ("-DBLOCKING_CALL -DM_WAITS_FOR_CALL", "found"),
    ],
    "turns": [
        ("", "holds"),
        ("-DLIAR", "holds"),
        ("-DM_PHASE_BEFORE_ENTERED", "found"),
        ("-DM_NO_FENCE", "found"),
        ("-DM_ONE_SLOT", "found"),
        ("-DM_CLEARS_THE_LIVING", "found"),
    ],
    "ledger": [
        ("", "holds"),
        ("-DM_SUM_BEFORE_ADD", "found"),
        ("-DM_NO_SUBTRACT", "found"),
        ("-DM_NEVER_CLEARS", "found"),
        ("-DM_CLEARS_THE_LIVING", "found"),
    ],
    "adopt": [
        ("", "holds"),
        ("-DPAGE_LOST", "holds"),
        ("-DM_SLOTS_USED_LATE", "found"),
        ("-DPAGE_LOST -DM_COPIES_COUNTS", "found"),
        ("-DPAGE_LOST -DM_WAITING_STAYS", "found"),
        ("-DM_NO_BEACON", "found"),
    ],
}

SLOW = {
    "wake": [("-DN_THREADS=2 -DN_COMMANDS=1", "holds")],
    "window": [("-DSHARED", "holds"), ("-DSHARED -DWINDOW=2", "holds")],
}


def search(model, definitions):
    """Returns (number of errors, number of states), or raises RuntimeError."""
    with tempfile.TemporaryDirectory(prefix="cleave-model-") as folder:
        shutil.copy(os.path.join(HERE, model + ".pml"), folder)
        made = subprocess.run(
            ["spin", "-a", *definitions.split(), model + ".pml"],
            cwd=folder, capture_output=True, text=True)
        if made.returncode != 0 or not os.path.exists(os.path.join(folder, "pan.c")):
            raise RuntimeError("spin: " + made.stdout + made.stderr)
        subprocess.run(
            ["cc", "-w", "-O2", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=10000", "-o", "pan",
             "pan.c"], cwd=folder, check=True)
        text = subprocess.run(
            ["./pan", "-m10000000"], cwd=folder, capture_output=True, text=True).stdout
    errors = re.search(r"errors: (\d+)", text)
    states = re.search(r"([0-9.e+]+) states, stored", text)
    if not errors or not states:
        raise RuntimeError("pan: " + text)
    if int(errors.group(1)) == 0 and ("depth too small" in text or "out of memory" in text
                                      or "Search not completed" in text):
        raise RuntimeError("the search was not complete: " + text)
    return int(errors.group(1)), int(float(states.group(1)))


def main():
    arguments = sys.argv[1:]
    slow = "--slow" in arguments
    models = [a for a in arguments if a != "--slow"]
    if len(models) != 1 or models[0] not in RUNS:
        print(__doc__, file=sys.stderr)
        return 64
    if not shutil.which("spin"):
        print("spin is not installed (package spin)")
        return SKIP

    model = models[0]
    failed = 0
    for definitions, expected in RUNS[model] + (SLOW.get(model, []) if slow else []):
        n_errors, n_states = search(model, definitions)
        outcome = "found" if n_errors else "holds"
        good = outcome == expected
        failed += not good
        print(f"{'ok' if good else 'FAILED'} {model} {definitions or '(as it is)'}: "
              f"{outcome}, expected {expected}; {n_states} states", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
