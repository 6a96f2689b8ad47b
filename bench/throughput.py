# SPDX-License-Identifier: Apache-2.0
"""Work of several leases together over that of one program alone without the gate."""
import measure
from tenants import CPU, Lease, Session

BLOCK_SECONDS = 2
ALTERNATIONS = 5
SLICE_NS = 8_000_000
CASES = {"two": 2, "three": 3, "eight": 8}


def run_case(context, case, sharers, executor=None):
    with Session(context.build, context.with_cleave, executor=executor) as session:
        common = ["--kernel", 1000, "--cal", session.calibrate()]
        plain = session.spawn("plain", common)
        tenants = [session.spawn(f"t{i}", common, Lease(1 / sharers))
                   for i in range(sharers)]
        alone, shared = session.alternate(
            [plain], tenants, 2 if context.quick else ALTERNATIONS,
            1 if context.quick else BLOCK_SECONDS)

    ratios = measure.between_ratios([b.work_rate() for b in shared],
                                    [b.work_rate() for b in alone])
    longest_ns = max(measure.longest_wait_ns(b.records[t.name], b.begin, b.end)
                     for b in shared for t in tenants)
    context.add("throughput", case, "work", measure.median(ratios), "fraction")
    context.add("throughput", case, "longest_wait", longest_ns / SLICE_NS, "slices")


def run(context):
    for case, sharers in CASES.items():
        if context.wants(case):
            run_case(context, case, sharers)
        if context.with_cleave and context.wants(f"cpu-{case}"):
            run_case(context, f"cpu-{case}", sharers, CPU)
