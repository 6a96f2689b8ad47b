# SPDX-License-Identifier: Apache-2.0
"""Achieved against promised shares, caps, and the cost of gaps on the host."""
import dataclasses

import measure
from tenants import CPU, Lease, Session

BLOCK_SECONDS = 2
ALONE_SLOT_SECONDS = 0.5
CYCLES = 5
LONG_SECONDS = 20
CAP = 0.3
PERIOD_NS = 100_000_000  # of caps


@dataclasses.dataclass(frozen=True)
class Part:
    """One tenant of a case: its share and its workload."""
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
CAPS = {"cap-deep": ("--kernel", 1000), "cap-sync": SYNC}
NO_WINDOWS = {"long"}
# Also with the driver's threads stopped at the end of a turn, as cpu-NAME.
STOPPED = ("three", "mixed", "mixed-beside", "long")


def computed_rate(block, name):
    return block.computed[name][0] / (block.end - block.begin)


class Meter:
    """Sums up the blocks of one case: work and time, shared and alone, and the ledger."""

    def __init__(self, session, tenants, promised):
        self.session = session
        self.tenants = tenants
        self.promised = promised
        self.shared = []
        self.alone = {name: [] for name in promised}
        self.computed_alone = {name: [] for name in promised}
        self.ledger = {name: 0.0 for name in promised}

    def run_shared(self, seconds):
        before = self.session.ledger()
        block = self.session.block(self.tenants, seconds)
        after = self.session.ledger()
        self.shared.append(block)
        for name in self.ledger:
            self.ledger[name] += after.get(name, 0.0) - before.get(name, 0.0)

    def run_alone(self, seconds, slot):
        """Runs each tenant alone for that time, in alternating short slots: the speed of a machine
        drifts, and tenants measured at the same time drift together."""
        for _ in range(max(1, round(seconds / slot))):
            for tenant in self.tenants:
                block = self.session.block([tenant], slot)
                self.alone[tenant.name].append(block.rate(tenant.name))
                self.computed_alone[tenant.name].append(computed_rate(block, tenant.name))

    def alone_rates(self):
        return {name: measure.middle_mean(rates) for name, rates in self.alone.items()}

    def achieved(self):
        work = {name: 0.0 for name in self.promised}
        for block in self.shared:
            for name in work:
                work[name] += block.rate(name) * (block.end - block.begin)
        return measure.normalised(work, self.alone_rates())

    def held(self, whole=False):
        """Held time by profiling events, within the blocks' windows or including the drained work."""
        total = {name: 0 for name in self.promised}
        for block in self.shared:
            window = (0, measure.NEVER) if whole else (block.begin, block.end)
            for name, held in measure.held_ns(block.records, *window).items():
                total[name] += held
        return measure.fractions(total)

    def computed(self, whole=False):
        """Each tenant's processor time over that alone: a kernel may have been stopped within the
        time of its event."""
        total = {name: 0.0 for name in self.promised}
        for block in self.shared:
            for name, seconds in block.computed.items():
                total[name] += seconds[whole]
        return measure.normalised(total, self.computed_alone_rates())

    def computed_alone_rates(self):
        return {name: measure.middle_mean(rates) for name, rates in self.computed_alone.items()}

    def worst_computed_window(self):
        return measure.worst_window_points([b.computed_triple() for b in self.shared],
                                           self.computed_alone_rates(), self.promised,
                                           curve=measure.Curve)


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


def run_case(context, case, parts, executor=None):
    with Session(context.build, context.with_cleave, executor=executor) as session:
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

    add_errors(context, case, meter, meter.computed if executor == CPU else meter.held)


def add_errors(context, case, meter, held):
    """held: the function that measures the held time of each."""
    promised, achieved = meter.promised, meter.achieved()
    name = f"cpu-{case}" if held == meter.computed else case
    for title, values in (("promised", promised), ("achieved", achieved), ("held", held())):
        context.tell(f"shares {name}: {title:9}"
                     + " ".join(f"{values[n]:.3f}" for n in promised))
    context.add("shares", name, "worst_error",
                measure.worst_points(achieved, promised), "points")
    if case not in NO_WINDOWS:
        context.add("shares", name, "worst_error_1s",
                    meter.worst_computed_window() if held == meter.computed else
                    measure.worst_window_points([b.triple() for b in meter.shared],
                                                meter.alone_rates(), promised), "points")
    context.add("shares", name, "held_error",
                measure.worst_points(held(), promised), "points")
    if context.with_cleave:
        context.add("shares", name, "ledger_error", measure.worst_points(
            measure.fractions(meter.ledger), held(whole=True)), "points")


def run_cap(context, case, arguments, executor=None):
    """One capped lease, alone on the device in its blocks, alternating with a device that is never
    idle, so that neither the machine's speed nor the driver's gaps between two kernels count."""
    with Session(context.build, context.with_cleave, executor=executor) as session:
        free, held = alternate_cap(context, session, arguments)
    whole = measure.middle_mean([used_part(used_curve(b, executor), *whole_periods(b))
                                 for b in free])
    parts, worst = [], 0.0
    for block in held:
        curve = used_curve(block, executor)
        parts.append(used_part(curve, *whole_periods(block)) / whole)
        for window in measure.windows(*whole_periods(block)):
            worst = max(worst, abs(used_part(curve, *window) / whole - CAP))
    name = f"cpu-{case}" if executor == CPU else case
    context.add("shares", name, "device_time", sum(parts) / len(parts), "fraction")
    context.add("shares", name, "worst_1s", worst, "fraction")


def used_curve(block, executor):
    """Of a block with one tenant: time with a kernel on the device; under the CPU executor, where
    the time of a stopped kernel includes that of others, its work. Processor time would include
    the threads that submit and wait, which do more for each kernel if each is waited for."""
    (records,) = block.records.values()
    return measure.work_curve(records) if executor == CPU else measure.busy_curve(records)


def used_part(curve, begin, end):
    return curve.between(begin, end) / (end - begin)


def whole_periods(block):
    """The part of a block after a lease that was idle has used the budgets of two periods, one
    directly after the other: a whole number of periods, so that it does not matter when they
    begin."""
    begin = block.begin + 2 * PERIOD_NS
    return begin, begin + (block.end - begin) // PERIOD_NS * PERIOD_NS


def alternate_cap(context, session, arguments):
    cal = ["--cal", session.calibrate()]
    capped = session.spawn("capped", [*arguments, *cal], Lease(CAP, cap=CAP))
    plain = session.spawn("plain", [*CAPS["cap-deep"], *cal], Lease(CAP))
    return session.alternate([plain], [capped], 1 if context.quick else CYCLES, BLOCK_SECONDS)


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
    for case in STOPPED if context.with_cleave else ():
        if context.wants(f"cpu-{case}"):
            run_case(context, case, CASES[case], CPU)
    for case, arguments in CAPS.items() if context.with_cleave else ():
        if context.wants(case):
            run_cap(context, case, arguments)
        if context.wants(f"cpu-{case}"):
            run_cap(context, case, arguments, CPU)
    if context.wants("gaps"):
        run_gaps(context)
