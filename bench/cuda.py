# SPDX-License-Identifier: Apache-2.0
"""Programs that use a GPU through CUDA, in shares: on the double of NVIDIA's libraries, and on
a GPU where there is one; each figure names the place where it was measured.  `--peer LIB` also
runs the same programs with that library preloaded in place of the gate.
"""
import cuda_bed
import curves
import measure
from cuda_bed import CLEAVE, GATE, HARDWARE, NONE, PEER, Kind, Tenant
from tenants import BenchError

SECONDS, LONG_SECONDS, QUICK_SECONDS = 10, 20, 2
ALONE_SECONDS, SETTLE_SECONDS = 1, 1
COUNTS = (5000, 25000)
CALLS, ROUNDS, QUICK_ROUNDS = 10000, 5, 3
WAKES = 3000
QUOTA = 1 << 30
EXECUTORS = (GATE, HARDWARE)

SETS = {"three": (.2, .5, .3), "two": (.1, .9), "four": (.07, .13, .35, .45)}
LENGTHS = {"20us": 20, "1ms": 1000, "5ms": 5000}
LONG_US = 500_000


def queues(shares, lengths):
    return [Tenant(share, Kind("queue", us)) for share, us in zip(shares, lengths)]


# {case: tenants}; those of LONG need work that can be stopped before it is complete.
SHARES = {
    **{f"{name}-{length}": queues(shares, [us] * len(shares))
       for name, shares in SETS.items() for length, us in LENGTHS.items()},
    "mixed-beside": queues((.2, .5, .3), (20, 1000, 5000)),
    "sync": [Tenant(.3, Kind("sync", 200)), Tenant(.7, Kind("queue", 200))],
}
LONG = {
    "three-500ms": queues((.2, .5, .3), [LONG_US] * 3),
    "long-beside": queues((.1, .9), (LONG_US, 20)),
}
GAPS = [Tenant(.5, Kind("sync", 500, ("gap-us", "1000"))), Tenant(.5, Kind("queue", 50))]
VICTIM = Tenant(.8, Kind("queue", 1000))
COPIES = {"copies-in": Kind("copies-in", 500), "copies-within": Kind("copies-within", 500)}
TOGETHER = {"two-100us": queues((.5, .5), [100] * 2), "two-5ms": queues((.5, .5), [5000] * 2),
            "three-1ms": queues((.2, .5, .3), [1000] * 3)}

REQUEST_KERNELS, REQUEST_KERNEL_US = 10, 1000
REQUEST = Kind("requests", REQUEST_KERNEL_US, ("kernels", str(REQUEST_KERNELS), "hz", "20"))
TOUCH = Tenant(.5, Kind("requests", 100, ("kernels", "1", "hz", "25")), "latency")
FILL = ("blocks", "0")  # a kernel on all of the GPU, so that nothing runs beside it
# {case: the latency tenant's share, the batch tenant's kernels}; the batch tenant has the rest.
LATENCY = {"latency-1ms": (.5, 1000), "latency-1ms-most": (.9, 1000),
           "latency-500ms": (.5, LONG_US), "latency-500ms-most": (.9, LONG_US)}
# Copies that take as long as the kernels, in streams of their own.
PIPELINE = Kind("pipeline", 500)
OVERLAP_ROUNDS = 7
BESIDE = [Tenant(.5, PIPELINE), Tenant(.5, Kind("queue", 100))]
# {case: (mode, microseconds of a kernel, calls)}
CALLS_OF = {"pipeline": ("pipeline-calls", 500, 6000),
            "two-streams": ("two-streams-calls", 20, 50000)}
LONG_CALL_US = 1000
MEMORY_CASES = ("plain", "managed", "pitch", "size", "contexts", "async", "pools", "mapped",
                "imported", "arrays", "graphs")


class Run:
    """A test bed, and the state that all its cases share."""

    def __init__(self, context, bed):
        self.context, self.bed = context, bed
        self.known = {}  # {kind: rate alone}

    def wants(self, case):
        return self.context.wants(f"{self.bed.executor}-{case}")

    def ways(self):
        return (CLEAVE, PEER) if self.bed.peer.path else (CLEAVE,)

    def seconds(self, seconds):
        return QUICK_SECONDS if self.context.quick else seconds

    def add(self, case, metric, values, unit, prefix=True):
        """values: {way: value}"""
        name = f"{self.bed.executor}-{case}" if prefix else case
        self.context.add("cuda", name, metric, values[CLEAVE], unit, self.bed.where(),
                         values.get(PEER))

    def curves(self, tenants, way, seconds):
        return self.curves_and_held(tenants, way, seconds)[0]

    def curves_and_held(self, tenants, way, seconds):
        """(a curve of each tenant, the time that each held meanwhile by cleave's ledger)"""
        programs = self.bed.start_all(tenants, way)
        try:
            self.bed.work(programs, SETTLE_SECONDS)
            before = self.bed.held(programs) if way == CLEAVE else ()
            found = self.bed.work(programs, seconds)
            after = self.bed.held(programs) if way == CLEAVE else ()
            return found, [b - a for a, b in zip(before, after)]
        finally:
            self.bed.end_programs()

    def alone(self, kind):
        """Work per nanosecond of such a program, alone on the device without the gate."""
        if kind not in self.known:
            found = self.curves([Tenant(1, kind)], NONE, ALONE_SECONDS)
            self.known[kind], = curves.rates(found, *curves.span(found))
        return self.known[kind]


# --- Shares ---

def run_shares(run, case, tenants, seconds):
    promised = [tenant.share for tenant in tenants]
    alone = [run.alone(tenant.kind) for tenant in tenants]
    whole, window = {}, {}
    for way in run.ways():
        found, held = run.curves_and_held(tenants, way, run.seconds(seconds))
        whole[way], window[way] = curves.errors(found, alone, promised)
        rates = curves.rates(found, *curves.span(found))
        if way == CLEAVE:
            ledger = curves.error_points(held, [1] * len(held), promised)
        run.context.tell(f"cuda {run.bed.executor} {case}: {way} got "
                         + " ".join(f"{rate / one:.4f}" for rate, one in zip(rates, alone)))
    run.add(case, "worst_error", whole, "points")
    if case not in LONG:
        run.add(case, "worst_error_1s", window, "points")
    run.add(case, "held_error", {CLEAVE: ledger}, "points")


def run_wakes(run):
    """How late this machine wakes a thread meanwhile: at the end of a turn three threads wake up
    one after the other."""
    run.bed.start_all(SHARES["three-1ms"], CLEAVE)
    try:
        words = run.bed.call("wakes", WAKES, NONE).split()
    finally:
        run.bed.end_programs()
    for metric, word in zip(("wake_p50", "wake_p99"), words):
        run.add("machine", metric, {CLEAVE: float(word)}, "us")


def run_gaps(run):
    """The rate of a program that is often idle, over its rate alone."""
    rate = {}
    for way in run.ways():
        found = run.curves(GAPS, way, run.seconds(SECONDS))
        rate[way] = curves.rates(found, *curves.span(found))[0] / run.alone(GAPS[0].kind)
    run.add("gaps", "rate", rate, "fraction")


def run_copies(run, case, kind):
    """The rate of a program with a deep queue beside one that only copies, over its rate alone."""
    rate = {}
    for way in run.ways():
        programs = run.bed.start_all((VICTIM, Tenant(1 - VICTIM.share, kind)), way)
        try:
            run.bed.work(programs, SETTLE_SECONDS)
            before = run.bed.used_ns(programs[1]) if run.bed.is_double else 0
            found = run.bed.work(programs, run.seconds(SECONDS))
            if run.bed.is_double and run.bed.used_ns(programs[1]) == before:
                raise BenchError(f"'{case}' copied nothing")
        finally:
            run.bed.end_programs()
        rate[way] = curves.rates(found, *curves.span(found))[0] / run.alone(VICTIM.kind)
    run.add(case, "work", rate, "fraction")


def run_together(run, case, tenants):
    """Work of all tenants together over that of one program without the gate."""
    work = {}
    for way in run.ways():
        found = run.curves(tenants, way, run.seconds(SECONDS))
        work[way] = sum(rate / run.alone(tenant.kind) for rate, tenant in
                        zip(curves.rates(found, *curves.span(found)), tenants))
    run.add(case, "work", work, "fraction")


# --- Several streams ---

def pipeline_rate(run, tenants, way):
    found = run.curves(tenants, way, QUICK_SECONDS)
    return curves.rates(found, *curves.span(found))[0]


def run_overlap(run):
    """The rate of a pipeline with the gate over its rate without, alone and beside a tenant that
    uses the GPU without a pause, alternating."""
    alone, beside = ({way: [] for way in run.ways()} for _ in range(2))
    for _ in range(1 if run.context.quick else OVERLAP_ROUNDS):
        plain = pipeline_rate(run, BESIDE[:1], NONE)
        for way in run.ways():
            alone[way].append(pipeline_rate(run, BESIDE[:1], way) / plain)
            beside[way].append(pipeline_rate(run, BESIDE, way) / plain / BESIDE[0].share)
            run.context.tell(f"cuda {run.bed.executor} overlap, {way}: of {plain:.4f} without, "
                             f"alone {alone[way][-1]:.4f}, beside {beside[way][-1]:.4f}")
    for metric, values in (("alone", alone), ("beside", beside)):
        run.add("overlap", metric, {way: measure.median(each) for way, each in values.items()},
                "fraction")


def long_calls(run, case, way):
    """{index of a call: microseconds}, of the calls that took long."""
    mode, kernel_us, calls = CALLS_OF[case]
    words = [run.bed.built("bench/cuda-bench"), mode, kernel_us, "calls", calls,
             "slot-kib", run.bed.slot_kib, *run.bed.cal]
    lines = run.bed.run(words, Tenant(.5, None), way).stdout.split("\n")
    found = dict(map(int, line.split()) for line in lines if line[:1].isdigit())
    run.context.tell(f"cuda {run.bed.executor} longest {case}, {way}: "
                     f"{max(found.values(), default=0)} us, {len(found)} calls over 100 us")
    return found


def run_longest(run, case):
    """Calls that are long with the gate and short without it."""
    rounds = 1 if run.context.quick else ROUNDS
    plain = [long_calls(run, case, NONE) for _ in range(rounds)]
    n, most = {}, {}
    for way in run.ways():
        held = [long_calls(run, case, way) for _ in range(rounds)]
        n[way] = sum(us > LONG_CALL_US and not any(i in each for each in plain)
                     for found in held for i, us in found.items())
        most[way] = max((us for found in held for us in found.values()), default=0)
    run.add(f"longest-{case}", "long_calls", n, "calls")
    run.add(f"longest-{case}", "longest", most, "us")


def run_streams(run):
    if run.wants("overlap"):
        run_overlap(run)
    for case in CALLS_OF:
        if run.wants(f"longest-{case}"):
            run_longest(run, case)


# --- Requests ---

def requests_beside(run, tenant, batch_us, way, seconds):
    """[(submitted, returned, started)] of each request, and on the double the kernels that ran."""
    asking = run.bed.start(tenant, way)
    try:
        if batch_us:
            run.bed.start(Tenant(1 - tenant.share, Kind("queue", batch_us, FILL), "batch"), way)
        run.bed.work([asking], seconds)
        found = asking.lines("request")
        rows = run.bed.trace() if run.bed.is_double else []
        return found, rows, asking.pid
    finally:
        run.bed.end_programs()


def own_kernels(rows, pid):
    """(start, end) of one process's kernels, in order."""
    return sorted((start, end) for who, name, start, end in rows
                  if who == pid and not name.startswith("["))


def exact_ms(found, rows, pid, n):
    """Milliseconds of each request of n kernels, from its submission to the end of its last kernel."""
    ends = [end for _, end in own_kernels(rows, pid)]
    return [(ends[i * n + n - 1] - request[0]) / 1e6
            for i, request in enumerate(found) if i * n + n <= len(ends)]


def run_latency(run, case, share, batch_us):
    """Requests of 10 ms: on the double up to the end of the last kernel, by the double's clock."""
    exact, seen, alone = {}, {}, {}
    seconds = run.seconds(LONG_SECONDS)
    for way, batch in ((NONE, 0), *((way, batch_us) for way in run.ways())):
        found, rows, pid = requests_beside(run, Tenant(share, REQUEST, "latency"), batch, way,
                                           seconds)
        took = [(r[1] - r[0]) / 1e6 for r in found]
        inner = exact_ms(found, rows, pid, REQUEST_KERNELS) if rows else took
        p99 = [measure.percentile(values, .99) for values in (inner, took)]
        run.context.tell(f"cuda {run.bed.executor} {case}: {len(found)} requests, {way}: p50 "
                         f"{measure.percentile(inner, .5):.3f} ms, p99 {p99[0]:.3f} ms, as the "
                         f"program saw it {p99[1]:.3f} ms")
        if way == NONE:
            alone = p99
        else:
            exact[way], seen[way] = p99[0] / alone[0], p99[1] / alone[1]
    run.add(case, "p99_ratio", exact, "x")
    run.add(case, "p99_seen", seen, "x")


def off_to_start_us(found, rows, pid):
    """The time from the agent's request to the driver to stop another lease's kernel, the first
    effect of its decision, to the first instruction of the process's own kernel; and the time
    that the driver took."""
    stops = [(start, end) for who, name, start, end in rows if name == "[off]" and who != pid]
    waits, calls = [], []
    for request, (start, _) in zip(found, own_kernels(rows, pid)):
        began, ended = max((s for s in stops if request[0] <= s[0] <= start), default=(0, 0))
        if began:
            waits.append((start - began) / 1e3)
            calls.append((ended - began) / 1e3)
    return waits, calls


def submitted_to_start_us(found, rows, pid):
    return [(start - request[0]) / 1e3
            for request, (start, _) in zip(found, own_kernels(rows, pid))]


def run_preemption(run):
    """How soon a kernel of half a second of another lease is stopped."""
    found, rows, pid = requests_beside(run, TOUCH, LONG_US, CLEAVE, run.seconds(2 * LONG_SECONDS))
    waits, calls = off_to_start_us(found, rows, pid)
    for case, values in (("preempt", waits), ("driver", calls),
                         ("submit", submitted_to_start_us(found, rows, pid))):
        run.context.tell(f"cuda {run.bed.executor} preemption, {case}: {len(values)} of them, "
                         f"slowest {max(values, default=0):.0f} us")
        for metric, part in (("p50", .5), ("p99", .99)):
            run.add("preemption", f"{case}_{metric}",
                    {CLEAVE: measure.percentile(values, part)}, "us")


def by_the_gpu(found):
    """(submitted, lead of the GPU's clock at the first instruction) of each request that wrote it."""
    return [(submitted, started - submitted) for submitted, _, started in found if started]


def beyond_quickest_us(before, found, after):
    """The time to the first instruction less that on an idle GPU.  The GPU's clock has another
    origin and rate than the processor's: the quickest requests before and after give the offset."""
    if not by_the_gpu(before) or not by_the_gpu(after):
        return []
    (t0, ahead0), (t1, ahead1) = (min(by_the_gpu(each), key=lambda pair: pair[1])
                                  for each in (before, after))
    return [(ahead - ahead0 - (ahead1 - ahead0) * (t - t0) / (t1 - t0)) / 1e3
            for t, ahead in by_the_gpu(found)]


def run_preemption_by_the_gpu(run):
    """An upper bound of the same: from a launch beside another lease's kernel to its first
    instruction."""
    seconds = run.seconds(LONG_SECONDS)
    before, found, after = (
        requests_beside(run, TOUCH, batch, way, part)[0]
        for batch, way, part in ((0, NONE, seconds / 2), (LONG_US, CLEAVE, 2 * seconds),
                                 (0, NONE, seconds / 2)))
    more = beyond_quickest_us(before, found, after)
    for metric, part in (("p50", .5), ("p99", .99)):
        run.add("preemption", f"preempt_{metric}", {CLEAVE: measure.percentile(more, part)},
                "us")


# --- Calls and memory ---

def added(run, measured):
    """{way: the additional cost of a launch}; the program without a library is measured beside each."""
    plain = measured(NONE)
    return {way: measured(way) - plain for way in run.ways()}


def run_overhead(run, phase):
    """phase: open, where the measured lease is alone, or shared with an idle lease."""
    if phase == "shared":
        run.bed.start(Tenant(.4, Kind("requests", 1, ("hz", "0.001"))), CLEAVE)
    try:
        if run.bed.is_double and run.wants(f"instructions-{phase}"):
            run.add(f"instructions-{phase}", "added",
                    added(run, lambda way: run.bed.instructions(way, COUNTS)), "instructions")
        if run.wants(f"launch-{phase}"):
            run.add(f"launch-{phase}", "added_p50", launch_ns(run), "ns")
    finally:
        run.bed.end_programs()


def launch_ns(run):
    """Median over rounds of a launch's cost less that without a library, alternating."""
    more = {way: [] for way in run.ways()}
    for _ in range(QUICK_ROUNDS if run.context.quick else ROUNDS):
        ns = {way: float(run.bed.call("launches", CALLS, way)) for way in (NONE, *more)}
        for way, values in more.items():
            values.append(ns[way] - ns[NONE])
    return {way: measure.median(values) for way, values in more.items()}


def run_memory(run):
    """Each way to allocate, by programs that try to exceed their quota: the memory that the double
    gave beyond it, and the number of programs that saw another result than on a smaller GPU."""
    program = run.bed.built("tests/cuda/cuda-memory")
    failed, over = {}, {}
    for way in run.ways():
        with cuda_bed.Double(run.bed.build, GATE, run.bed.peer, "context-mib 0") as bed:
            codes = [bed.run([program, case], Tenant(.5, None, memory=QUOTA), way,
                             check=False).returncode for case in MEMORY_CASES]
            failed[way], over[way] = sum(map(bool, codes)), max(0, bed.peak() - QUOTA)
    run.context.add("cuda", "memory", "over_quota", over[CLEAVE], "bytes", run.bed.where(),
                    over.get(PEER))
    run.context.add("cuda", "memory", "wrong", failed[CLEAVE], "cases", run.bed.where(),
                    failed.get(PEER))


def run_bed(run):
    is_hardware = run.bed.executor == HARDWARE
    for case, tenants in {**SHARES, **(LONG if is_hardware else {})}.items():
        if run.wants(case):
            run_shares(run, case, tenants, LONG_SECONDS if case in LONG else SECONDS)
    if run.wants("machine"):
        run_wakes(run)
    if run.wants("gaps"):
        run_gaps(run)
    for case, kind in COPIES.items():
        if run.wants(case):
            run_copies(run, case, kind)
    for case, tenants in TOGETHER.items():
        if run.wants(f"together-{case}"):
            run_together(run, f"together-{case}", tenants)
    run_streams(run)
    for case, (share, batch_us) in LATENCY.items():
        if run.wants(case) and (is_hardware or batch_us < LONG_US):
            run_latency(run, case, share, batch_us)
    if is_hardware and run.wants("preemption"):
        (run_preemption if run.bed.is_double else run_preemption_by_the_gpu)(run)
    for phase in ("open", "shared"):
        if run.wants(f"instructions-{phase}") or run.wants(f"launch-{phase}"):
            run_overhead(run, phase)


def wants_any(context, executor):
    return context.case is None or context.case.startswith(executor)


def run_on(context, make_bed):
    for executor in EXECUTORS:
        if not wants_any(context, executor):
            continue
        with make_bed(executor) as bed:
            found, reason = bed.executor_there()
            if found != executor:
                raise BenchError(f"on {bed.where()} turns end by the {found}, not by the "
                                 f"{executor}: {reason}")
            run_bed(Run(context, bed))


def run(context):
    if not context.with_cleave:
        return
    peer = cuda_bed.Peer(str(context.peer.resolve()) if context.peer else "",
                         tuple(context.peer_settings))
    beds = [lambda executor: cuda_bed.Double(context.build, executor, peer)]
    if cuda_bed.has_gpu():
        beds.append(lambda executor: cuda_bed.Gpu(context.build, executor, peer))
    try:
        for make_bed in beds:
            run_on(context, make_bed)
        if context.wants("memory"):
            with beds[0](GATE) as bed:
                run_memory(Run(context, bed))
    except cuda_bed.BedError as error:
        raise BenchError(str(error)) from None
