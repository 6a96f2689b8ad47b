# SPDX-License-Identifier: Apache-2.0
"""A latency tenant's requests: alone, beside a batch tenant, and beside it without cleave."""
import measure
from tenants import Lease, Session

BLOCK_SECONDS = 5
REQUESTS = 1200
QUICK_REQUESTS = 40
MOST_ROUNDS = 24
REQUEST = ["--mode", "request", "--request", 2000, "--hz", 20, "--kernel", 500]
CASES = {"1ms": 1000, "20ms": 20000}
KINDS = ("alone", "none", "cleave")


def latencies(block, name):
    return [r[1] - r[0] for r in block.records[name]
            if r[2] == measure.REQUEST and r[1] <= block.end]


def kernel_lengths(block, name):
    return [r[1] - r[0] for r in measure.kernels(block.records[name])]


def collect(context, kernel_us):
    """Request latencies of each kind, and the batch's kernel lengths on a free device."""
    took = {kind: [] for kind in KINDS if context.with_cleave or kind != "cleave"}
    wanted = QUICK_REQUESTS if context.quick else REQUESTS
    with Session(context.build, context.with_cleave) as session:
        cal = ["--cal", session.calibrate()]
        batch = ["--kernel", kernel_us, *cal]
        plain = [session.spawn("plain-latency", [*REQUEST, *cal]),
                 session.spawn("plain-batch", batch)]
        pairs = {"alone": plain[:1], "none": plain}
        if context.with_cleave:
            pairs["cleave"] = [
                session.spawn("latency", [*REQUEST, *cal], Lease(.5, klass="latency")),
                session.spawn("batch", batch, Lease(.5, klass="batch"))]
        lengths = kernel_lengths(session.block(plain[1:], 2), "plain-batch")
        for _ in range(MOST_ROUNDS):
            for kind, tenants in pairs.items():
                block = session.block(tenants, 1 if context.quick else BLOCK_SECONDS)
                took[kind] += latencies(block, tenants[0].name)
            if all(len(values) >= wanted for values in took.values()):
                break
    return took, measure.median(lengths)


def run_case(context, case, kernel_us):
    took, kernel_ns = collect(context, kernel_us)
    for kind, values in took.items():
        context.tell(f"latency {case} {kind}: {len(values)} requests, p50 "
                     f"{measure.percentile(values, .5) / 1e6:.2f} ms, p99 "
                     f"{measure.percentile(values, .99) / 1e6:.2f} ms")
    if not context.with_cleave:
        return

    excess = {kind: {f: measure.percentile(took[kind], f)
                     - measure.percentile(took["alone"], f) for f in (.5, .99)}
              for kind in ("none", "cleave")}
    context.add("latency", case, "p50_excess", excess["cleave"][.5] / kernel_ns, "kernels")
    context.add("latency", case, "p99_excess",
                (excess["cleave"][.99] - kernel_ns) / 1e6, "ms")
    if case == "1ms":
        for name, f in (("p50_of_none", .5), ("p99_of_none", .99)):
            context.add("latency", case, name,
                        excess["cleave"][f] / max(excess["none"][f], 1), "x")


def run(context):
    for case, kernel_us in CASES.items():
        if context.wants(case):
            run_case(context, case, kernel_us)
