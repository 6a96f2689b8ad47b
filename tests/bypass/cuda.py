#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attempts every known bypass of the limits through CUDA and compares the verdicts with table.tsv.

usage: cuda.py --build BUILD --hooks LIST [--sample | --slow | --all] [NAME...]

Prints TAP, a line for each row.  A row passes when the verdict equals the table's, so that a
change from held to open, or the reverse, is noticed.
"""
import argparse
import sys

import table
from cuda_checks import (DRIVER, HARDWARE, MORE_TLS, PIECE, POOL_PIECE, Referee, Skipped, Stuck,
                         as_other_user, capped, comes_late, deaf, devices, endless, forged, memory,
                         other_lease, paid, quota_changes, share, slow_release, stall, static, swings,
                         two_gpus, yes_or_no)
from cuda_session import Trouble, worlds
from session import OPEN, fake_agent

import sm_checks

CHECKS = {
    # Memory.
    "allocations": memory(),
    "by-version": memory(slow=True),
    "odd-sizes": memory(),
    "managed": memory(says=True),
    "pitched": memory(slack=PIECE),
    "arrays": memory(),
    "arrays-3d": memory(slow=True),
    "mipmapped": memory(slack=3 * PIECE),
    "pool-of-device": memory(slack=POOL_PIECE),
    "pool-per-thread": memory(slack=POOL_PIECE, slow=True),
    "pool-of-own": memory(slack=POOL_PIECE),
    "pools-many": memory(slack=POOL_PIECE),
    "pool-destroyed": memory(slack=POOL_PIECE),
    "pool-imported": memory(slack=POOL_PIECE),
    "physical": memory(),
    "mapped": memory(),
    "exported": memory(),
    "dma-buf": memory(),
    "ipc-freed": memory(slow=True),
    "exporter-ends": memory(slack=3 * PIECE),
    "exporter-ends-imported": memory(slack=3 * PIECE),
    "exporter-ends-mapped": memory(slack=3 * PIECE),
    "second-context": memory(),
    "context-v4": memory(slow=True),
    "green-context": memory(),
    "contexts": memory(kind={"cuda": "\ncontext-mib 64"}, overhead=True, slow=True),
    "device-heap": memory(slow=True),
    "module-image": memory(overhead=True),
    "library-image": memory(overhead=True, slow=True),
    "lazy-code": memory(overhead=True, slow=True),
    "pinned": memory(says=True),
    "pinned-old": memory(says=True, slow=True),
    "registered": memory(says=True, slow=True),
    "freed-behind-work": memory(),
    "freed-in-capture": memory(),
    "pooled-behind-work": memory(refused=False),
    "graph-nodes": memory(slack=POOL_PIECE),
    "graph-uploaded": memory(slack=POOL_PIECE),
    "graph-nested": memory(slack=POOL_PIECE),
    "beside-capture": memory(slack=POOL_PIECE),
    "beside-blocking-capture": memory(slack=POOL_PIECE, slow=True),
    "external": memory(),
    "freed-as-another": memory(),
    "retained-primary": memory(),
    "freed-twice": memory(),
    "memory-threads": memory(slack=3 * PIECE),
    "graph-threads": memory(slack=POOL_PIECE),
    "wrapped-sizes": memory(),
    "ended-contexts": memory(),
    "pool-again-and-again": memory(slack=POOL_PIECE),
    # Processes and names.
    "fork": memory(),
    "fork-inherited": memory(),
    "vfork": memory(),
    "clone": memory(slow=True),
    "spawn": memory(slow=True),
    "exec-self": memory(),
    "daemon": memory(),
    "many-processes": memory(slack=3 * PIECE),
    "killed-again": memory(),
    "other-user": memory(),
    "no-lease": memory("allocations", before=("env", "-u", "CLEAVE_LEASE")),
    "wrong-lease": memory("allocations", before=("env", "CLEAVE_LEASE=/nonexistent/lease.sock")),
    "other-lease": other_lease,
    "open-variables": memory("allocations", before=("env", *OPEN)),
    "open-empty-environment": memory("allocations", before=(*DRIVER, "env", *OPEN)),
    "fake-agent": memory("allocations", before=fake_agent("named")),
    "fake-agent-beside": memory("allocations", before=fake_agent("beside")),
    "fake-agent-in-vendors": memory("allocations", before=fake_agent("vendors")),
    "fake-agent-linked": memory("allocations", before=fake_agent("linked")),
    "dlopen-local": memory(loader=True),
    "dlsym-default": memory(loader=True, slow=True),
    "dlsym-next": memory(loader=True),
    "dlvsym": memory(loader=True),
    "dlsym-threads": memory(loader=True),
    "dlmopen": memory(loader=True, before=MORE_TLS),
    "absolute": memory(loader=True),
    "copy-of-driver": memory(loader=True),
    "symbols-by-hand": memory(loader=True),
    "newer-call": memory(loader=True),
    "newer-linked": memory(),
    "static": static,
    "set-user-id": as_other_user,
    "no-preload": memory("allocations", before=("env", "-u", "LD_PRELOAD")),
    "other-preload": memory("allocations", before=("env", "LD_PRELOAD=libm.so.6"), slow=True),
    "empty-environment": memory("allocations", before=DRIVER),
    # Work.
    "queue": share(),
    "big-kernel-and-wait": share(seconds=3),
    "legacy": share(),
    "legacy-by-number": share(slow=True),
    "per-thread-by-symbol": share(),
    "per-thread-by-number": share(slow=True),
    "per-thread-by-flag": share(),
    "cooperative": share(),
    "cooperative-on-several": share(),
    "extended": share(),
    "extended-per-thread": share(slow=True),
    "ancient": share(),
    "library-kernel": share(),
    "urgent-stream": share(),
    "never-seen": share(slow=True),
    "changing-lengths": share(seconds=3, saturates=False),
    "copies": share(),
    "copies-2d": share(slow=True),
    "copies-between-peers": share(slow=True),
    "copies-that-block": share(),
    "copies-in-batches": share(),
    "copies-named-from-host": share(),
    "fills": share(slow=True),
    "graph": share(),
    "graph-of-one": share(),
    "graph-in-graphs": share(slow=True),
    "graph-loop": share(),
    "graph-relaunched": share(),
    "graph-captured": share(),
    "graph-changed": share(seconds=3, saturates=False, slow=True),
    "streams-many": share(),
    "streams-destroyed": share(),
    "threads": share(slow=True),
    "threads-default": share(),
    "threads-short": share(),
    "second-context-work": share(),
    "contexts-many": share(slow=True),
    "context-after-context": share(saturates=False),
    "primary-again": share(saturates=False),
    "primary-held": slow_release,
    "green-context-work": share(),
    "green-after-green": share(saturates=False),
    "streams-crossed": share(),
    "bursts": share(seconds=3, saturates=False, slow=True),
    "work-processes": share(),
    "work-short-lived": share(saturates=False, slow=True),
    "work-unseen": share(*DRIVER, way="queue", notice=True),
    "mps-variables": share("env", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100",
                           "CUDA_MPS_PIPE_DIRECTORY=/nonexistent", way="queue"),
    "trained": paid(),
    "empty-copy": share(),
    "let-go": share(saturates=False, slow=True),
    "let-go-in-capture": share(saturates=False, slow=True),
    "destroy-nothing": share(saturates=False, slow=True),
    "destroy-primary-in-capture": share(saturates=False, slow=True),
    "beside-captures": share(saturates=False),
    "joined-and-destroyed": share(saturates=False, slow=True),
    "several-at-once": share(seconds=3, slow=True),
    "export-table": share(notice=True, slow=True),
    "callbacks": share(saturates=False, progress=False, slow=True),
    "stream-callbacks": share(saturates=False, progress=False, slow=True),
    "callbacks-locked": share(saturates=False),
    "stuck-callback": paid(),
    "standing-stream": share(saturates=False),
    "let-go-at-once": paid(after=20.0),
    "repeat-debt": paid(after=9.0),
    "spinning-writes": share(saturates=False),
    "holding-turn": stall(),
    "huge-kernels": paid(),
    "endless-kernel": endless,
    "stopped": stall(),
    "killed-at-work": stall(),
    "trained-once": stall("trained"),
    "own-timeslice": share(kind=HARDWARE),
    "endless-timeslice": stall(kind=HARDWARE, seconds=4),
    "slices-put-back": share(kind=HARDWARE, seconds=4, notice=True, slow=True),
    "channels-put-back": share(kind=HARDWARE, notice=True, slow=True),
    "stuck-callback-stopped": paid("stuck-callback", kind=HARDWARE),
    "let-go-stopped": share(way="let-go-in-capture", kind=HARDWARE, saturates=False, notice=True,
                            slow=True),
    "callbacks-stopped": share(way="callbacks", kind=HARDWARE, saturates=False, progress=False,
                               slow=True),
    "report-done-stopped": share(way="report-done", kind=HARDWARE, seconds=3, notice=True,
                                 slow=True),
    "endless-stopped": stall("endless-kernel", kind=HARDWARE),
    "holding-turn-stopped": stall("holding-turn", kind=HARDWARE),
    "trained-stopped": stall("trained", kind=HARDWARE),
    "comes-late": comes_late,
    "swings": swings,
    "capped": capped,
    "two-gpus": two_gpus,
    # Limits in space.
    "sm-green-context": sm_checks.cuda("green"),
    "sm-threads": sm_checks.cuda("thread"),
    "sm-captured": sm_checks.cuda("graph"),
    "sm-reset": sm_checks.cuda("reset"),
    "sm-no-preload": sm_checks.cuda("stream", ("env", "-u", "LD_PRELOAD")),
    "sm-mps-variable": sm_checks.cuda(
        "legacy", ("env", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100"), daemon=True),
    "sm-mps-context": sm_checks.cuda("context", daemon=True),
    "sm-default-stream": sm_checks.cuda("legacy"),
    "sm-blocking-stream": sm_checks.cuda("blocking"),
    "sm-other-context": sm_checks.cuda("context"),
    # Pages.
    "control-page": yes_or_no(),
    "report-memory": memory(),
    "report-done": share(seconds=3, slow=True),
    "report-noise": share(saturates=False, progress=False),
    "socket-noise": share(saturates=False, progress=False, slow=True),
    # Harmless programs.
    "default-beside-capture": yes_or_no(),
    "capture-lost": yes_or_no(),
    "release-beside-work": yes_or_no(neighbour=False),
    "destroy-nothing-beside-work": yes_or_no(neighbour=False),
    "pool-in-held-stream": yes_or_no(neighbour=False),
    "word-after-launch": yes_or_no(),
    "word-after-launches": yes_or_no(neighbour=False),
    "callback-before-launch": yes_or_no(),
    "capture-while-closed": yes_or_no(),
    "trimmed-pool": yes_or_no(neighbour=False),
    "forked-amid-calls": yes_or_no(neighbour=False, seconds=20),
    "sizes-agree": yes_or_no(neighbour=False),
    "visible-devices": devices,
    "own-setenv": deaf,
    "quota-changes": quota_changes,
    "forged": forged,
}

# Always in the sample: what programs keep or change past the calls that the gate watches.
IN_EACH_SAMPLE = ("exported", "exporter-ends", "primary-held", "own-timeslice", "export-table")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--hooks", required=True)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def chosen(options, rows):
    """All; or without those that take long; or those, and those for which a longer observation adds
    something; or every fifth of the quick ones that are held, and those of each sample."""
    names = options.names or list(rows)
    if options.names or options.all:
        return names
    if options.sample:
        quick = [n for n in names if not getattr(CHECKS[n], "slow", False)]
        fifth = [n for n in quick if rows[n].verdict == "held"][::5]
        return list(dict.fromkeys([*fifth, *IN_EACH_SAMPLE]))
    return [n for n in names if bool(getattr(CHECKS[n], "slow", False)) == options.slow]


def tried(referee, name, wanted):
    """A held attempt must be held in one of three tries, which a bypass would not be."""
    for left in (2, 1, 0):
        try:
            verdict, facts = CHECKS[name](referee, name)
        except (Trouble, OSError, AssertionError):
            referee.close()
            if left == 0 or CHECKS[name].order == 0:
                raise
            continue
        if verdict == wanted or CHECKS[name].order == 0:
            break
        referee.close()
    return verdict, facts


def attempt(referee, name, wanted):
    """One line of TAP; returns whether it passed."""
    try:
        verdict, facts = tried(referee, name, wanted)
    except Skipped as reason:
        return f"ok {{}} {name} # SKIP {reason}"
    except Stuck as trouble:
        referee.close()
        verdict, facts = "open", f"it hangs: {trouble}"
    except (Trouble, OSError, AssertionError) as trouble:
        return f"not ok {{}} {name}: {trouble}"
    if verdict == wanted:
        return f"ok {{}} {name}: {verdict}: {facts}"
    return f"not ok {{}} {name}: {verdict}, and the table says {wanted}: {facts}"


def main():
    options = parse()
    worlds.set_build(options.build)
    rows = {row.name: row for row in table.read() if row.api == "cuda"}
    if set(rows) != set(CHECKS):
        sys.exit(f"table.tsv and the checks differ: {sorted(set(rows) ^ set(CHECKS))}")
    # Attempts beside the same other tenant follow one another.
    names = sorted(chosen(options, rows), key=lambda n: CHECKS[n].order)
    print(f"1..{len(names)}", flush=True)
    referee = Referee(options)
    failed = 0
    try:
        for number, name in enumerate(names, 1):
            line = attempt(referee, name, rows[name].verdict)
            failed += line.startswith("not")
            print(line.replace("{}", str(number), 1), flush=True)
    finally:
        referee.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
