# SPDX-License-Identifier: Apache-2.0
"""Plans of hardware partitions and their steps.

`plan` measures how long a plan takes (bench/plan.c) and how long a step of an apply takes
beside its driver (tests/apply/steps.py), and counts the orders of events beside an apply that
tests/agent/test-explore.c goes through.  `plan-all`, which takes an hour, runs completely what
the tests sample: every case of the MIG planner against brute force (tests/core/mig.py), and
a fault in every call of an apply (tests/apply/faults.py).
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tenants import BenchError

TESTS = Path(__file__).resolve().parent.parent / "tests"
ROUNDS, QUICK_ROUNDS = 1000, 30
DEPTH, QUICK_DEPTH = 6, 3
# {name of the rows: beginning of the names of plan-bench's cases}; a row has the slowest case.
SIZES = {"eight": "a100-", "thousand": "mixed-"}
HOURS = 3600 * 2


def lines_of(command, seconds=300):
    """The lines of its standard output; its standard error is passed on."""
    try:
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                              text=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"{command[0]}: {error}") from error
    if not done.stdout:
        raise BenchError(f"{command[0]} ended with {done.returncode} and said nothing")
    return done.stdout.splitlines()


def built(context, name):
    path = Path(context.build) / name
    if not path.exists():
        raise BenchError(f"{name} is not built: build the project, then try again")
    return path


def slowest(rows, prefix, key):
    return max(row[key] for row in rows if row["case"].startswith(prefix))


def measure_plans(context):
    rounds = QUICK_ROUNDS if context.quick else ROUNDS
    rows = [json.loads(line)
            for line in lines_of([built(context, "bench/plan-bench"), rounds])]
    for name, prefix in SIZES.items():
        context.add("plan", name, "slowest_p50", slowest(rows, prefix, "median_ms"), "ms")
        context.add("plan", name, "worst", slowest(rows, prefix, "longest_ms"), "ms")


def explore_orders(context):
    depth = QUICK_DEPTH if context.quick else DEPTH
    done = subprocess.run(
        [str(built(context, "tests/agent/test-agent-explore"))], capture_output=True, text=True,
        timeout=HOURS, check=False, env={**os.environ, "CLEAVE_DEPTH": str(depth)})
    output = done.stdout + done.stderr
    counts = re.findall(r"^# depth \d+: (\d+) states, (\d+) events$", output, re.MULTILINE)
    wrong = max(output.count("wrong: "), int(done.returncode != 0))
    for metric, n in (("depth", depth), ("states", sum(int(n) for n, _ in counts)),
                      ("events", sum(int(n) for _, n in counts)), ("wrong", wrong)):
        context.add("plan", "orders", metric, n, "")


def measure_steps(context):
    built(context, "tests/doubles/nvml")
    took = json.loads(lines_of([sys.executable, TESTS / "apply/steps.py", "--build",
                                context.build])[-1])
    context.add("plan", "step", "p50", took["apply_ms_per_step"], "ms")
    context.add("plan", "step", "p99", took["p99_ms"], "ms")


def run(context):
    if not context.with_cleave:
        return
    if any(context.wants(name) for name in SIZES):
        measure_plans(context)
    if context.wants("step"):
        measure_steps(context)
    if context.wants("orders"):
        explore_orders(context)


def check_completeness(context):
    programs = [built(context, f"tests/core/{name}") for name in ("mig-solve", "plan-mig")]
    context.tell("plan-all: the planner against brute force, some minutes")
    lines = lines_of([sys.executable, TESTS / "core/mig.py", *programs, "--all"], HOURS)
    for row in (json.loads(line) for line in lines if line.startswith("{")):
        context.add("plan-all", row["model"], "layouts", row["layouts"], "")
        context.add("plan-all", row["model"], "cases", row["cases"], "")
        context.add("plan-all", row["model"], "wrong", row["wrong"], "")


def check_faults(context):
    context.tell("plan-all: a fault in every call of an apply, an hour")
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "faults.json"
        lines = lines_of([sys.executable, TESTS / "apply/faults.py", "--build", context.build,
                          "--all", "--json", results], HOURS)
        for line in lines:
            if line.startswith(("FAILED", "skipped")):
                context.tell(line)
        faults = json.loads(results.read_text())["faults"]
    context.add("plan-all", "faults", "cases", sum(f["cases"] for f in faults.values()), "")
    for outcome in ("done", "rolled_back", "failed", "not begun", "wrong"):
        context.add("plan-all", "faults", outcome.replace(" ", "_"),
                    sum(f.get(outcome, 0) for f in faults.values()), "")


def run_all(context):
    if not context.with_cleave:
        return
    if context.wants("faults"):
        check_faults(context)
    if context.case != "faults":
        check_completeness(context)
