# SPDX-License-Identifier: Apache-2.0
"""A latency tenant's requests: alone, beside a batch tenant, and beside it without cleave."""
import measure
from tenants import CPU, Lease, Session

BLOCK_SECONDS = 5
REQUESTS = 1200
QUICK_REQUESTS = 40
MOST_ROUNDS = 24
REQUEST = ["--mode", "request", "--request", 2000, "--hz", 20, "--kernel", 500]
CASES = {"1ms": 1000, "20ms": 20000}
STOPPED = ("20ms",)  # also with the driver's threads stopped at the end of a turn
KINDS = ("alone", "none", "cleave")


def latencies(block, name):
    return [r[1] - r[0] for r in block.records[name]
            if r[2] == measure.REQUEST and r[1] <= block.end]


def kernel_lengths(block, name):
    return [r[1] - r[0] for r in measure.kernels(block.records[name])]


def collect(context, kernel_us, executor=None, kinds=KINDS):
    """Request latencies of each kind, and the batch's kernel lengths on a free device."""
    took = {kind: [] for kind in kinds if context.with_cleave or kind != "cleave"}
    wanted = QUICK_REQUESTS if context.quick else REQUESTS
    with Session(context.build, context.with_cleave, executor=executor) as session:
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
            for kind in took:
                tenants = pairs[kind]
                block = session.block(tenants, 1 if context.quick else BLOCK_SECONDS)
                took[kind] += latencies(block, tenants[0].name)
            if all(len(values) >= wanted for values in took.values()):
                break
    return took, measure.median(lengths)


def tell(context, case, took):
    for kind, values in took.items():
        context.tell(f"latency {case} {kind}: {len(values)} requests, p50 "
                     f"{measure.percentile(values, .5) / 1e6:.2f} ms, p99 "
                     f"{measure.percentile(values, .99) / 1e6:.2f} ms")


def run_stopped(context, case, kernel_us):
    """The requests wait for no kernel of the batch tenant, so none is subtracted."""
    took, _ = collect(context, kernel_us, CPU, ("alone", "cleave"))
    tell(context, f"cpu-{case}", took)
    for name, f in (("p50", .5), ("p99", .99)):
        alone, beside = (measure.percentile(took[kind], f) for kind in ("alone", "cleave"))
        context.add("latency", f"cpu-{case}", f"{name}_excess", (beside - alone) / 1e6, "ms")
        context.add("latency", f"cpu-{case}", f"{name}_ratio", beside / alone, "x")


def run_case(context, case, kernel_us):
    took, kernel_ns = collect(context, kernel_us)
    tell(context, case, took)
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
    for case in STOPPED if context.with_cleave else ():
        if context.wants(f"cpu-{case}"):
            run_stopped(context, case, CASES[case])
