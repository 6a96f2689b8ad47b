#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attempts every known bypass of the limits through HIP and compares the verdicts with table.tsv.

usage: hip.py --build BUILD [--sample] [NAME...]

Prints TAP, a line for each row.  What a program takes is what the GPU itself says that it ran, and
what memory it has.
"""
import argparse
import os
import shutil
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "hip"))

import machine  # noqa: E402
import sm_checks  # noqa: E402
import table  # noqa: E402
import worlds  # noqa: E402
from measured import bound  # noqa: E402
from session import OPEN, fake_agent  # noqa: E402

QUOTA_MIB, CONTEXT_MIB = 1024, 1
SHARE, SECONDS = .25, 2
NOTICE, NOTICE_SECONDS = ("lease_over_quota", "lease_past_gate", "ungated_api"), 60
TOLERATED = bound(.04, .17)  # without a gate it would have half
OPTIONS = ("--share", str(SHARE), "--memory", f"{QUOTA_MIB}M")
LIBRARY = "libamdhip64.so.6"


class Session(machine.Case):
    def runTest(self):
        pass

    def open(self):
        self.begin(hip=f"context-mib {CONTEXT_MIB}\ndevice-mb-s 1000",
                   config="version: 1\nwatch: {every: 1s, grace: 1s}\n")

    def way(self, name, before=(), env=None):
        return self.start(*before, worlds.built("tests/bypass/bypass-hip"), name, options=OPTIONS,
                          env=env)

    def mib(self):
        """The GPU's allocated memory, and its number of processes."""
        alive = [p for p in self.world.stats()[1].values() if p["state"] == "alive"]
        return sum(p["bytes"] for p in alive) / machine.MIB, len(alive)


def judge_memory(session):
    time.sleep(.2)
    mib, n = session.mib()
    held = 0 < mib <= QUOTA_MIB + n * CONTEXT_MIB
    return "held" if held else "open", f"{mib:.0f} MiB of {QUOTA_MIB} in {n} processes"


def memory(way=None, before=(), n_lines=1, env=None):
    def check(session, name, env=env):
        program = session.way(way or name, before(session) if callable(before) else before, env)
        lines = [program.stdout.readline() for _ in range(n_lines)]
        if not all(line.startswith("took") for line in lines):
            raise RuntimeError((lines, program.communicate(timeout=60)))
        return judge_memory(session)
    return check


def emptied(session):
    return "env", "-i", f"CLV_HIP_DOUBLE={session.world.gpus}"


def without(before):
    """An attempt that should find no device, and a line that says why."""
    def check(session, _):
        program = session.way("allocations", before(session) if callable(before) else before)
        if program.stdout.readline().startswith("took"):
            return judge_memory(session)
        _, err = program.communicate(timeout=60)
        if "cleave: no device for process" not in err:
            raise RuntimeError(err)
        return "held", "no device"
    return check


def linked_agent(session, _):
    """Another agent's socket in the place of the lease's own."""
    program = session.way("allocations", fake_agent("linked"))
    if not program.stdout.readline().startswith("took"):
        raise RuntimeError(program.communicate(timeout=60))
    until = time.monotonic() + NOTICE_SECONDS
    while time.monotonic() < until:
        for kind in NOTICE:
            if session.agent.events(kind):
                return "detected", kind
        time.sleep(.1)
    return judge_memory(session)


def by_path(copied):
    def check(session, _):
        path = worlds.built(f"tests/doubles/hip/rocm-6/{LIBRARY}")
        if copied:
            own = os.path.join(session.world.folder, "libother.so")
            shutil.copy(path, own)
            path = own
        return memory("opened", env={"WAY_LIBRARY": path})(session, None)
    return check


def tool(named):
    def check(session, name):
        path = worlds.built("tests/bypass/libbypass-hip-tool.so")
        env = {"WAY_TOOL": path, **({"HSA_TOOLS_LIB": path} if named else {})}
        return (refused if named else memory())(session, name, env=env)
    return check


def part_of_others(player, own):
    """Over this much work of the GPU."""
    before = player.stats()[1]
    player.work([own], (1 - SHARE) * SECONDS)
    ran = {pid: p["run_ns"] - before.get(pid, {"run_ns": 0})["run_ns"]
           for pid, p in player.stats()[1].items()}
    return 1 - ran[own] / sum(ran.values())


def share(way=None):
    """Beside another tenant that is always busy."""
    def check(session, name):
        program = session.way(way or name)
        neighbour = session.start(worlds.built("tests/hip/hip-tenant-6"), "queue", "100000", "60",
                                  options=("--share", str(1 - SHARE), "--name", "neighbour"))
        for each in (program, neighbour):
            if each.stdout.readline() != "ready\n":
                raise RuntimeError(each.communicate(timeout=60))
        own = session.agent.get("/v1/leases/neighbour")["processes"][0]["pid"]
        time.sleep(.5)
        part = part_of_others(session.world.player, own)
        return "held" if part <= SHARE + TOLERATED else "open", f"{part:.3f} of {SHARE}"
    return check


def refused(session, name, env=None):
    program = session.way(name, env=env)
    out, err = program.communicate(timeout=60)
    said = out.split("\n")[1]
    # A variable that is not used is named.
    told = all(f"{variable}=" in err for variable in env or () if variable.startswith("HSA_"))
    return "held" if said.startswith("refused") and told else "open", said


CHECKS = {
    "allocations": memory(),
    "fine-grained": memory(),
    "odd-sizes": memory(),
    "pitched": memory(),
    "arrays": memory(),
    "pool-of-device": memory(),
    "pools-many": memory(),
    "physical": memory(),
    "mapped": memory(),
    "graph-nodes": memory(),
    "below-hip": memory(),
    "regions": memory(),
    "many-processes": memory(n_lines=4),
    "no-preload": memory("allocations", ("env", "-u", "LD_PRELOAD")),
    "empty-environment": memory("allocations", emptied),
    "open-variables": without(("env", *OPEN)),
    "open-empty-environment": without(lambda session: (*emptied(session), *OPEN)),
    "fake-agent": without(fake_agent("named")),
    "fake-agent-beside": without(fake_agent("beside")),
    "fake-agent-in-vendors": without(fake_agent("vendors")),
    "fake-agent-linked": linked_agent,
    "absolute": by_path(False),
    "copy-of-library": by_path(True),
    "waits": share(),
    "streams-destroyed": share(),
    "processes": share(),
    "callbacks": share(),
    "copies-below": share(),
    "queue-below": refused,
    "tool-named": tool(True),
    "tool-loaded": tool(False),
    "sm-wide-mask": sm_checks.hip("all", "0-303"),
    "sm-other-mask": sm_checks.hip("76-151", "200-303"),
    "sm-variable": sm_checks.hip("none", before=("env", "HSA_CU_MASK=0:0-303")),
    "sm-no-preload": sm_checks.hip("none", "all", before=("env", "-u", "LD_PRELOAD")),
    "sm-empty-environment": sm_checks.hip("none", "all", before=emptied),
}


def attempt(name, wanted):
    """One line of TAP."""
    session = Session()
    try:
        session.open()
        verdict, facts = CHECKS[name](session, name)
    except machine.gpus.unittest.SkipTest as reason:
        return f"ok {{}} {name} # SKIP {reason}"
    except (RuntimeError, OSError, AssertionError, machine.gpus.subprocess.TimeoutExpired) as trouble:
        return f"not ok {{}} {name}: {trouble}"
    finally:
        session.doCleanups()
    if verdict == wanted:
        return f"ok {{}} {name}: {verdict}: {facts}"
    return f"not ok {{}} {name}: {verdict}, and the table says {wanted}: {facts}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    worlds.set_build(options.build)
    rows = {row.name: row for row in table.read() if row.api == "hip"}
    if set(rows) != set(CHECKS):
        sys.exit(f"table.tsv and the checks differ: {sorted(set(rows) ^ set(CHECKS))}")
    names = options.names or list(rows)[::4 if options.sample else 1]
    print(f"1..{len(names)}", flush=True)
    failed = 0
    for number, name in enumerate(names, 1):
        # A held attempt to compute more may be measured again.
        lines = [attempt(name, rows[name].verdict)]
        if lines[0].startswith("not"):
            lines.append(attempt(name, rows[name].verdict))
        failed += lines[-1].startswith("not")
        print(lines[-1].replace("{}", str(number), 1), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
