# SPDX-License-Identifier: Apache-2.0
"""The time that a tenant does not use: how soon other tenants get it, and how much of it."""
import measure
from tenants import Lease, Session

BLOCK_SECONDS = 2
BLOCKS = 8
ALTERNATIONS = 5


def run_hand_over(context):
    waits = []
    with Session(context.build, context.with_cleave) as session:
        cal = ["--cal", session.calibrate()]
        giver = session.spawn("giver", ["--mode", "bursts", "--kernel", 500,
                                        "--burst", 6000, "--idle", 6000, *cal], Lease(.5))
        taker = session.spawn("taker", ["--kernel", 200, *cal], Lease(.5))
        for _ in range(1 if context.quick else BLOCKS):
            block = session.block([giver, taker], BLOCK_SECONDS)
            # The last idle time may be longer than the block of the other tenant.
            records = [r for r in block.records["giver"] if r[1] < block.end]
            waits += measure.hand_overs_ns(records, block.records["taker"])
    context.tell(f"donate hand-over: {len(waits)} times")
    for name, fraction in (("p50", .5), ("p99", .99)):
        context.add("donate", "hand-over", name,
                    measure.percentile(waits, fraction) / 1e6, "ms")


def run_third_idle(context):
    with Session(context.build, context.with_cleave) as session:
        common = ["--kernel", 1000, "--cal", session.calibrate()]
        tenants = [session.spawn(f"t{i}", common, Lease(share))
                   for i, share in enumerate((.2, .5, .3))]
        every, two = session.alternate(
            tenants, tenants[:2], 2 if context.quick else ALTERNATIONS,
            1 if context.quick else BLOCK_SECONDS)
    ratio = measure.median(measure.between_ratios([b.work_rate() for b in two],
                                                  [b.work_rate() for b in every]))
    context.add("donate", "third-idle", "lost", max(0.0, 1 - ratio), "fraction")


def run(context):
    if context.wants("hand-over"):
        run_hand_over(context)
    if context.wants("third-idle"):
        run_third_idle(context)
