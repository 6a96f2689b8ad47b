# SPDX-License-Identifier: Apache-2.0
"""Work done by sharers together against one program alone with no layer loaded."""
import measure
from tenants import Lease, Session

BLOCK_SECONDS = 2
ALTERNATIONS = 5
SLICE_NS = 4_000_000
CASES = {"two": 2, "three": 3, "eight": 8}


def run_case(context, case, sharers):
    ratios, longest_ns = [], 0
    with Session(context.build, context.with_cleave) as session:
        common = ["--kernel", 1000, "--cal", session.calibrate()]
        plain = session.spawn("plain", common)
        tenants = [session.spawn(f"t{i}", common, Lease(1 / sharers))
                   for i in range(sharers)]
        for _ in range(1 if context.quick else ALTERNATIONS):
            alone = session.block([plain], BLOCK_SECONDS).rate("plain")
            block = session.block(tenants, BLOCK_SECONDS)
            ratios.append(sum(block.rate(t.name) for t in tenants) / alone)
            longest_ns = max([longest_ns] + [
                measure.longest_wait_ns(block.records[t.name], block.begin, block.end)
                for t in tenants])
    context.add("throughput", case, "work", measure.median(ratios), "fraction")
    context.add("throughput", case, "longest_wait", longest_ns / SLICE_NS, "slices")


def run(context):
    for case, sharers in CASES.items():
        if context.wants(case):
            run_case(context, case, sharers)
