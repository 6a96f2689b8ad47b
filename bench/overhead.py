# SPDX-License-Identifier: Apache-2.0
"""The cost of the gate for single calls: nanoseconds, instructions, and the time to attach."""
import time

import measure
from tenants import Lease, Session

ROUNDS = 15
QUICK_ROUNDS = 5
LEASE = Lease(.5)
POCL_BATCH, DOUBLE_BATCH = 1, 16
LAUNCHES, ALLOCATIONS = 20000, 10000
COUNTED = (4096, 12288)
COUNTED_RUNS = 3
# {case: (phase, mode of the program)}.  Beside another lease a launch of unknown duration waits for
# the one before it, which takes another number of instructions each time.
COUNTS = {"instructions-open": ("open", "count"), "instructions-shared": ("shared", "count"),
          "instructions-marked-open": ("open", "count-marked")}


def rounds(context):
    return QUICK_ROUNDS if context.quick else ROUNDS


class Pairs:
    """Runs bench/launch with and without the gate in one session.

    The phase is open while the measured lease is the only one attached, and shared once
    another lease is attached too, which stays idle."""

    def __init__(self, context, double):
        vendors = context.double() if double else None
        self.context = context
        self.session = Session(context.build, context.with_cleave, vendors)
        self.double = double
        self.number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session.close()

    def share_the_device(self):
        self.session.spawn("neighbour", ["--kernel", 1000, "--cal", "0,1"], LEASE)

    def prefix(self, gated):
        if not gated or not self.context.with_cleave:
            return []
        self.number += 1
        return self.session.run_command(f"launch{self.number}", LEASE)

    def launch(self, arguments):
        return [str(self.session.program("launch")), *[str(a) for a in arguments]]

    def p50(self, arguments, gated):
        """The first number that the program prints: its median, in nanoseconds."""
        output = self.session.output(self.prefix(gated) + self.launch(arguments))
        return float(output.split()[1])

    def added(self, arguments):
        """Median over the rounds of gated less ungated, the order changing each round."""
        differences = []
        for i in range(rounds(self.context)):
            first = i % 2 == 0
            a = self.p50(arguments, first)
            b = self.p50(arguments, not first)
            differences.append(a - b if first else b - a)
        return measure.median(differences)

    def added_instructions(self, mode):
        """Instructions of one launch with the gate less those without it."""
        gated, ungated = (self.session.instructions(
            [(self.prefix(gated), self.launch([mode, n])) for n in COUNTED], COUNTED,
            ["--toggle-collect=launch_once"], COUNTED_RUNS if gated else 1)
            for gated in (True, False))
        return gated - ungated


def run_launches(context, driver, double):
    """Launches, allocations and, on the double, instructions, in both phases."""
    batch = DOUBLE_BATCH if double else POCL_BATCH
    cases = [f"launch-{driver}-open", f"alloc-{driver}", f"launch-{driver}-shared"]
    if double:
        cases += [*COUNTS, "attach"]
    if not any(context.wants(case) for case in cases):
        return
    with Pairs(context, double) as pairs:
        for phase in ("open", "shared"):
            if phase == "shared":
                pairs.share_the_device()
            if context.wants(f"launch-{driver}-{phase}"):
                context.add("overhead", f"launch-{driver}-{phase}", "added_p50",
                            pairs.added(["launch", LAUNCHES, batch]), "ns")
            for case, (when, mode) in COUNTS.items():
                if double and when == phase and context.wants(case):
                    context.add("overhead", case, "added", pairs.added_instructions(mode),
                                "instructions")
        # From here on the idle lease keeps the agent running.
        if context.wants(f"alloc-{driver}"):
            context.add("overhead", f"alloc-{driver}", "added_p50",
                        pairs.added(["alloc", ALLOCATIONS]), "ns")
        if double and context.wants("attach"):
            context.add("overhead", "attach", "added_p50",
                        pairs.added(["attach"]) / 1e6, "ms")


def run_cold(context):
    if not context.with_cleave or not context.wants("cold-run"):
        return
    took = []
    for _ in range(rounds(context)):
        with Session(context.build, True) as session:
            begin = time.monotonic()
            session.output(session.run_command("cold", LEASE) + ["/bin/true"])
            took.append((time.monotonic() - begin) * 1e3)
    context.add("overhead", "cold-run", "p50", measure.median(took), "ms")


def run(context):
    run_launches(context, "pocl", False)
    if context.double():
        run_launches(context, "double", True)
    run_cold(context)
