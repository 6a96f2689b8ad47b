# SPDX-License-Identifier: Apache-2.0
"""The accuracy of `cleave fit --predict`: each program is profiled alone, the slowdowns of pairs
are predicted, and the pairs are run and compared.

A pair is run in blocks, alone and together alternating, so that other load on the machine
affects both.  All programs wait for their own work: a program with requests at fixed times would
keep its rate until it has no time left, whatever a request takes.
"""
import json
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


def predict(session, *words):
    """The slowdowns of programs given as REPORT=SHARE[,CLASS]."""
    done = session.output([session.cleave(), "fit", "--predict", *words, "-o", "json"])
    return [row["slowdown"] for row in json.loads(done)["items"]]


def run_pair(session, tenants, times, seconds):
    """The slowdown of each beside the other: blocks together between blocks alone."""
    alone, both = {t.name: [] for t in tenants}, []
    for at in range(2 * times):
        tenant = tenants[at % 2]
        alone[tenant.name].append(session.block([tenant], seconds).rate(tenant.name))
        both.append(session.block(tenants, seconds))
    return [measure.median(alone[t.name]) / measure.median([b.rate(t.name) for b in both])
            for t in tenants]


def word(reports, habit, share, klass):
    return f"{reports[habit]}={share}" + (f",{klass}" if klass else ",normal")


def run_case(context, session, case, reports, calibration):
    pair = PAIRS[case]
    expected = predict(session, *(word(reports, *each) for each in pair))
    tenants = [session.spawn(f"t{i}", [*HABITS[habit], "--cal", calibration],
                             Lease(share, klass=klass))
               for i, (habit, share, klass) in enumerate(pair)]
    measured = run_pair(session, tenants, QUICK_TIMES if context.quick else TIMES,
                        QUICK_BLOCK_SECONDS if context.quick else BLOCK_SECONDS)
    session.end_tenants()
    for i, (each, seen) in enumerate(zip(expected, measured)):
        context.add("predict", case, f"expected_{i + 1}", each, "")
        context.add("predict", case, f"measured_{i + 1}", seen, "")
    context.add("predict", case, "error",
                100 * max(abs(a / b - 1) for a, b in zip(expected, measured)), "%")


def run(context):
    if not context.with_cleave:
        return
    cases = [case for case in (QUICK_PAIRS if context.quick else PAIRS) if context.wants(case)]
    with Session(context.build, True) as session:
        calibration = session.calibrate()
        seconds = QUICK_PROFILE_SECONDS if context.quick else PROFILE_SECONDS
        reports = {habit: profile(session, habit, [*HABITS[habit], "--cal", calibration], seconds)
                   for habit in sorted({each[0] for case in cases for each in PAIRS[case]})}
        for case in cases:
            run_case(context, session, case, reports, calibration)
