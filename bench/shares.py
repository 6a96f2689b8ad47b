# SPDX-License-Identifier: Apache-2.0
"""Achieved against promised shares, caps, and what gaps on the host cost."""
import dataclasses

import measure
from tenants import Lease, Session

BLOCK_SECONDS = 2
ALONE_SLOT_SECONDS = 0.5
CYCLES = 5
LONG_SECONDS = 20


@dataclasses.dataclass(frozen=True)
class Part:
    """One tenant of a case: its share and its habits."""
    share: float
    arguments: tuple = ("--kernel", 1000)
    processes: int = 1


SYNC = ("--mode", "sync", "--kernel", 1000)
GAPS = ("--mode", "gaps", "--kernel", 500, "--gap", 1000)

CASES = {
    "three": [Part(.2), Part(.5), Part(.3)],
    "four": [Part(.07), Part(.13), Part(.35), Part(.45)],
    "eight": [Part(.125)] * 8,
    "sync-deep": [Part(.6, SYNC), Part(.4)],
    "two-processes": [Part(.4, processes=2), Part(.6)],
    "out-of-order": [Part(.3, ("--kernel", 1000, "--out-of-order")), Part(.7)],
    "mixed": [Part(s, ("--kernel", "50,1000,20000")) for s in (.2, .5, .3)],
    "mixed-beside": [Part(s, ("--kernel", k))
                     for s, k in ((.2, 50), (.5, 1000), (.3, 20000))],
    "long": [Part(.5, ("--kernel", 200000, "--depth", 2)), Part(.5)],
}
NO_WINDOWS = {"long"}


class Meter:
    """Adds up blocks of one case: work and time, shared and alone, and the ledger."""

    def __init__(self, session, tenants, promised):
        self.session = session
        self.tenants = tenants
        self.promised = promised
        self.shared = []
        self.alone = {name: [] for name in promised}
        self.ledger = {name: 0.0 for name in promised}

    def run_shared(self, seconds):
        before = self.session.ledger()
        block = self.session.block(self.tenants, seconds)
        after = self.session.ledger()
        self.shared.append(block)
        for name in self.ledger:
            self.ledger[name] += after.get(name, 0.0) - before.get(name, 0.0)

    def run_alone(self, seconds, slot):
        """Each tenant alone for that long, in short slots that take turns: the speed of a
        machine drifts, and tenants measured at the same time drift together."""
        for _ in range(max(1, round(seconds / slot))):
            for tenant in self.tenants:
                block = self.session.block([tenant], slot)
                self.alone[tenant.name].append(block.rate(tenant.name))

    def alone_rates(self):
        return {name: measure.middle_mean(rates) for name, rates in self.alone.items()}

    def achieved(self):
        work = {name: 0.0 for name in self.promised}
        for block in self.shared:
            for name in work:
                work[name] += block.rate(name) * (block.end - block.begin)
        return measure.normalised(work, self.alone_rates())

    def held(self, whole=False):
        """Held time rebuilt, within the blocks' windows or with what drained after."""
        total = {name: 0 for name in self.promised}
        for block in self.shared:
            window = (0, measure.NEVER) if whole else (block.begin, block.end)
            for name, held in measure.held_ns(block.records, *window).items():
                total[name] += held
        return measure.fractions(total)


def run_blocks(meter, case, quick):
    if case == "long":
        meter.run_alone(1 if quick else 2 * BLOCK_SECONDS, 1 if quick else BLOCK_SECONDS)
        meter.run_shared(LONG_SECONDS / 4 if quick else LONG_SECONDS)
        meter.run_alone(1 if quick else 2 * BLOCK_SECONDS, 1 if quick else BLOCK_SECONDS)
        return

    for _ in range(1 if quick else CYCLES):
        meter.run_shared(BLOCK_SECONDS)
        meter.run_alone(BLOCK_SECONDS / 2 if quick else BLOCK_SECONDS,
                        ALONE_SLOT_SECONDS / 2 if quick else ALONE_SLOT_SECONDS)


def run_case(context, case, parts):
    with Session(context.build, context.with_cleave) as session:
        cal = session.calibrate()
        tenants, promised = [], {}
        for i, part in enumerate(parts):
            name = f"t{i}"
            promised[name] = part.share
            tenants.append(session.spawn(
                name, [*part.arguments, "--cal", cal, "--seed", i + 1],
                Lease(part.share), part.processes))
        meter = Meter(session, tenants, promised)
        run_blocks(meter, case, context.quick)

    achieved, held = meter.achieved(), meter.held()
    for title, values in (("promised", promised), ("achieved", achieved), ("held", held)):
        context.tell(f"shares {case}: {title:9}"
                     + " ".join(f"{values[n]:.3f}" for n in promised))
    context.add("shares", case, "worst_error",
                measure.worst_points(achieved, promised), "points")
    if case not in NO_WINDOWS:
        context.add("shares", case, "worst_error_1s", measure.worst_window_points(
            [b.triple() for b in meter.shared], meter.alone_rates(), promised), "points")
    context.add("shares", case, "held_error",
                measure.worst_points(held, promised), "points")
    if context.with_cleave:
        rebuilt = meter.held(whole=True)
        context.add("shares", case, "ledger_error", measure.worst_points(
            measure.fractions(meter.ledger), rebuilt), "points")


def busy_part(block, name, begin=None, end=None):
    """The part of a block, or of a window in it, in which a kernel was on the device."""
    begin, end = begin or block.begin, end or block.end
    return measure.busy_curve(block.records[name]).between(begin, end) / (end - begin)


def run_cap(context, case, arguments):
    """One capped lease, alone on the device in its blocks; the same in a lease with no cap
    in between.  A cap is of the device's time, so that is what is held to it: the machine's
    own speed, which drifts from block to block, is in the rate alone."""
    cap, worst = 0.3, 0.0
    with Session(context.build, context.with_cleave) as session:
        common = [*arguments, "--cal", session.calibrate()]
        capped = session.spawn("capped", common, Lease(cap, cap=cap))
        plain = session.spawn("plain", common, Lease(cap))
        free, held = session.alternate(
            [plain], [capped], 1 if context.quick else CYCLES, BLOCK_SECONDS)

    for block in held:
        busy = measure.busy_curve(block.records["capped"])
        for begin, end in measure.windows(block.begin, block.end):
            part = busy.between(begin, end) / (end - begin)
            worst = max(worst, abs(part - cap))
    whole = [busy_part(block, "capped") for block in held]
    context.add("shares", case, "device_time", sum(whole) / len(whole), "fraction")
    context.add("shares", case, "worst_1s", worst, "fraction")
    context.add("shares", case, "rate", measure.median(measure.between_ratios(
        [b.work_rate() for b in held], [b.work_rate() for b in free])), "fraction")


def run_gaps(context):
    with Session(context.build, context.with_cleave) as session:
        cal = ["--cal", session.calibrate()]
        gaps = session.spawn("gaps", [*GAPS, *cal], Lease(.5))
        deep = session.spawn("deep", ["--kernel", 50, *cal], Lease(.5))
        alone, shared = session.alternate(
            [gaps], [gaps, deep], 1 if context.quick else CYCLES, BLOCK_SECONDS)
    context.add("shares", "gaps", "rate", measure.median(measure.between_ratios(
        [b.rate("gaps") for b in shared], [b.rate("gaps") for b in alone])), "fraction")


def run(context):
    for case, parts in CASES.items():
        if context.wants(case):
            run_case(context, case, parts)
    if context.with_cleave and context.wants("cap-deep"):
        run_cap(context, "cap-deep", ["--kernel", 1000])
    if context.with_cleave and context.wants("cap-sync"):
        run_cap(context, "cap-sync", SYNC)
    if context.wants("gaps"):
        run_gaps(context)
