# SPDX-License-Identifier: Apache-2.0
"""The accuracy of `cleave fit --predict`: each program is profiled alone, the slowdowns of pairs
are predicted, and the pairs are run and compared.

A pair is run in blocks, alone and together alternating, so that other load on the machine
affects both.  All programs wait for their own work: a program with requests at fixed times would
keep its rate until it has no time left, whatever a request takes.

The cases drawn and drawn-double have pairs that are drawn by a seed, new in each run, and say how
many of them the intervals of the prediction hold.  They print each pair with its figure, the larger
factor between a measured and a predicted slowdown: `src/simulate/predict/margin.c` has those of
pairs measured on an idle machine.  The double is a driver whose kernels take a time and no
processor, so that other programs disturb it less.
"""
import json
import math
import random
import statistics
import subprocess
import time

import measure
from tenants import BenchError, Lease, Session

PROFILE_SECONDS, QUICK_PROFILE_SECONDS = 6, 4
BLOCK_SECONDS, QUICK_BLOCK_SECONDS = 1.5, 1.5
TIMES, QUICK_TIMES = 4, 2
HABITS = {
    "train": ["--kernel", 1000],
    "coarse": ["--kernel", 6000],
    "step": ["--mode", "sync", "--kernel", 2000],
    "bursts": ["--mode", "bursts", "--kernel", 500, "--burst", 10000, "--idle", 20000],
    "long": ["--mode", "bursts", "--kernel", 1000, "--burst", 80000, "--idle", 60000],
    "serve": ["--mode", "bursts", "--kernel", 1000, "--burst", 3000, "--idle", 22000],
}
# Two workloads with their shares, and the class of the first.
PAIRS = {
    "train-train": (("train", 0.5, ""), ("train", 0.5, "")),
    "train-coarse": (("train", 0.3, ""), ("coarse", 0.7, "")),
    "step-train": (("step", 0.6, ""), ("train", 0.4, "")),
    "bursts-train": (("bursts", 0.5, ""), ("train", 0.5, "")),
    "long-train": (("long", 0.3, ""), ("train", 0.7, "")),
    "long-bursts": (("long", 0.5, ""), ("bursts", 0.5, "")),
    "serve-coarse": (("serve", 0.3, "latency"), ("coarse", 0.7, "batch")),
    "serve-long": (("serve", 0.5, ""), ("long", 0.5, "")),
}
QUICK_PAIRS = ("train-train", "long-train")
DRAWN, QUICK_DRAWN = 20, 3  # pairs
DRAWN_PROFILE_SECONDS, DRAWN_TIMES, DRAWN_BLOCK_SECONDS = 4, 3, 1.5
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # of the first of a drawn pair
CLASSES = (("", ""), ("", ""), ("latency", "batch"))


def profile(session, name, arguments, seconds):
    """Profiles a tenant alone for a time; returns the path of the report."""
    path = session.folder / f"{name}.json"
    command = [session.cleave(), "profile", "--report", str(path), "--",
               str(session.program("tenant")), "--log", str(session.folder / "profiled"),
               *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=session.environment) as process:
        if not process.stdout.readline().startswith("ready"):
            raise BenchError(f"{name} cannot be profiled")
        process.stdin.write(f"run {time.clock_gettime_ns(time.CLOCK_MONOTONIC)}\n")
        process.stdin.flush()
        time.sleep(seconds)
        process.stdin.write("quit\n")
        process.stdin.close()
        process.wait(30)
    return path


def predict_rows(session, *words):
    """What is predicted of programs given as REPORT=SHARE[,CLASS]."""
    done = session.output([session.cleave(), "fit", "--predict", *words, "-o", "json"])
    return json.loads(done)["items"]


def predict(session, *words):
    """The slowdowns of programs given as REPORT=SHARE[,CLASS]."""
    return [row["slowdown"] for row in predict_rows(session, *words)]


def run_pair(session, tenants, times, seconds):
    """The slowdown of each beside the other: blocks together between blocks alone."""
    alone, both = {t.name: [] for t in tenants}, []
    for at in range(2 * times):
        tenant = tenants[at % 2]
        alone[tenant.name].append(session.block([tenant], seconds).rate(tenant.name))
        both.append(session.block(tenants, seconds))
    return [measure.median(alone[t.name]) / measure.median([b.rate(t.name) for b in both])
            for t in tenants]


def word(report, share, klass):
    return f"{report}={share}" + (f",{klass}" if klass else ",normal")


def spawn_pair(session, pair, calibration):
    """Tenants of (arguments, share, class)."""
    return [session.spawn(f"t{i}", [*habit, "--cal", calibration], Lease(share, klass=klass))
            for i, (habit, share, klass) in enumerate(pair)]


def run_case(context, session, case, reports, calibration):
    pair = PAIRS[case]
    expected = predict(session, *(word(reports[habit], share, klass)
                                  for habit, share, klass in pair))
    tenants = spawn_pair(session, [(HABITS[habit], share, klass) for habit, share, klass in pair],
                         calibration)
    measured = run_pair(session, tenants, QUICK_TIMES if context.quick else TIMES,
                        QUICK_BLOCK_SECONDS if context.quick else BLOCK_SECONDS)
    session.end_tenants()
    for i, (each, seen) in enumerate(zip(expected, measured)):
        context.add("predict", case, f"expected_{i + 1}", each, "")
        context.add("predict", case, f"measured_{i + 1}", seen, "")
    context.add("predict", case, "error",
                100 * max(abs(a / b - 1) for a, b in zip(expected, measured)), "%")


def between(draw, least, most):
    """A whole number, each order of magnitude alike."""
    return round(math.exp(draw.uniform(math.log(least), math.log(most))))


def draw_habit(draw):
    """The arguments of a tenant, in microseconds."""
    kind = draw.choice(("train", "step", "bursts"))
    if kind == "train":
        return ["--kernel", between(draw, 500, 8000)]
    if kind == "step":
        return ["--mode", "sync", "--kernel", between(draw, 500, 6000)]
    kernel = between(draw, 300, 3000)
    return ["--mode", "bursts", "--kernel", kernel,
            "--burst", kernel * between(draw, 3, 40), "--idle", between(draw, 5000, 80000)]


def draw_pair(draw):
    share, classes = draw.choice(SHARES), draw.choice(CLASSES)
    return [(draw_habit(draw), each, klass)
            for each, klass in zip((share, round(1 - share, 1)), classes)]


def factor(one, other):
    return max(one / other, other / one)


class Double:
    """Programs on the double: each has kernels of its own length."""
    CALIBRATION = "0,1"

    def __init__(self, session):
        self.session = session
        session.environment["CLEAVE_DOUBLE_DEVICE"] = str(session.folder / "device")

    def prepare(self, habit):
        self.session.environment["CLEAVE_DOUBLE_KERNEL_US"] = str(habit[habit.index("--kernel") + 1])


class Processor:
    """Programs on PoCL."""

    def __init__(self, session):
        self.CALIBRATION = session.calibrate()

    def prepare(self, habit):
        pass


def predict_pair(session, device, pair):
    """Profiles each of (arguments, share, class) alone; the rows of the prediction."""
    words = []
    for i, (habit, share, klass) in enumerate(pair):
        device.prepare(habit)
        report = profile(session, f"drawn{i}", [*habit, "--cal", device.CALIBRATION],
                         DRAWN_PROFILE_SECONDS)
        words.append(word(report, share, klass))
    return predict_rows(session, *words)


def compare_pair(session, device, pair):
    """Rows of the prediction, and measured slowdowns."""
    rows, tenants = predict_pair(session, device, pair), []
    for i, (habit, share, klass) in enumerate(pair):
        device.prepare(habit)
        tenants.append(session.spawn(f"t{i}", [*habit, "--cal", device.CALIBRATION],
                                     Lease(share, klass=klass)))
    measured = run_pair(session, tenants, DRAWN_TIMES, DRAWN_BLOCK_SECONDS)
    session.end_tenants()
    return rows, measured


def told(pair, rows, measured):
    return " beside ".join(
        f"{' '.join(map(str, habit))}, share {share} {klass or 'normal'}: "
        f"{row['slowdown']:.3f} predicted, {seen:.3f} measured"
        for (habit, share, klass), row, seen in zip(pair, rows, measured))


def run_drawn(context, case, session, device):
    seed = int(time.time())
    context.tell(f"bench predict: the pairs of {case} are drawn by the seed {seed}")
    draw, on = random.Random(seed), "double" if isinstance(device, Double) else ""
    figures, inside = [], 0
    for _ in range(QUICK_DRAWN if context.quick else DRAWN):
        pair = draw_pair(draw)
        rows, measured = compare_pair(session, device, pair)
        figures.append(max(factor(row["slowdown"], seen) for row, seen in zip(rows, measured)))
        inside += all(row["slowdown_from"] <= seen <= row["slowdown_to"]
                      for row, seen in zip(rows, measured))
        context.tell(f"{figures[-1]:.3f}: {told(pair, rows, measured)}")
    context.add("predict", case, "pairs", len(figures), "", on)
    context.add("predict", case, "inside", 100 * inside / len(figures), "%", on)
    context.add("predict", case, "median_error", 100 * (statistics.median(figures) - 1), "%", on)
    context.add("predict", case, "worst_error", 100 * (max(figures) - 1), "%", on)


def run_all_drawn(context):
    if context.wants("drawn"):
        with Session(context.build, True) as session:
            run_drawn(context, "drawn", session, Processor(session))
    if context.wants("drawn-double") and context.double():
        with Session(context.build, True, context.double()) as session:
            run_drawn(context, "drawn-double", session, Double(session))


def run(context):
    if not context.with_cleave:
        return
    cases = [case for case in (QUICK_PAIRS if context.quick else PAIRS) if context.wants(case)]
    if cases:
        with Session(context.build, True) as session:
            calibration = session.calibrate()
            seconds = QUICK_PROFILE_SECONDS if context.quick else PROFILE_SECONDS
            reports = {habit: profile(session, habit, [*HABITS[habit], "--cal", calibration],
                                      seconds)
                       for habit in sorted({each[0] for case in cases for each in PAIRS[case]})}
            for case in cases:
                run_case(context, session, case, reports, calibration)
    run_all_drawn(context)
