# SPDX-License-Identifier: Apache-2.0
"""Makes every call of an apply fail, one at a time: it returns each error, does nothing and reports
success, or kills the process that calls the driver; and kills the agent at every write of its
journal and every request to the worker. After each: the operation is done and the node as declared,
or rolled back and the node exactly as before, or failed and the error names the rest; partitions in
use still exist.

usage: faults.py --build BUILD [--all] [--json FILE] [--seed S] [--only TEXT] [SCENARIO...]

Without --all a sample, drawn from the seed, with each kind of call and of fault in it.
"""
import argparse
import collections
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

import steps
import worlds
from scenarios import SCENARIOS

# Results of an NVML call: for a change all of them, for a query the significant ones.
CHANGE_CODES = (1, 3, 4, 8, 9, 10, 15, 17, 18, 19, 23, 999)
QUESTION_CODES = (3, 15, 999)
KILLS = ("kill before", "kill during", "kill after")
CHANGES = ("SetMigMode", "CreateGpuInstance", "CreateComputeInstance", "InstanceDestroy")
WRITE_ERRORS = ("EBUSY", "EIO", "EINVAL", "ENOMEM", "ENOSPC", "EPERM", "ENODEV", "EACCES",
                "ENOENT")
# "MIG or a profile is not supported" is not a fault: the GPU lacks it.
AGAIN = "apply the layout again"
SAMPLE = {"call": 1, "agent": 1, "during": 1}


class Failure(Exception):
    pass


def expect(condition, *what):
    if not condition:
        raise Failure(" ".join(str(w) for w in what))


def is_change(function):
    return any(word in function for word in CHANGES)


def is_telling(function):
    return "ProfileInfo" in function or function == "nvmlDeviceGetMigMode"


def nvml_faults(calls):
    """(kind, lines of the file) of every fault of every call."""
    for at, (function, _) in enumerate(calls, 1):
        codes = CHANGE_CODES if is_change(function) else QUESTION_CODES
        for code in codes[1:] if is_telling(function) else codes:
            yield f"{function} fails", f"* {at} {code}"
        if is_change(function):
            yield f"{function} fails after", f"* {at} 999 after"
            yield f"{function} does nothing", f"* {at} 0"
        for kill in KILLS if is_change(function) else KILLS[:1]:
            yield f"{function} {kill}", f"* {at} {kill}"


def sysfs_faults(calls):
    counts = collections.Counter()
    for operation, path in calls:
        counts[operation, path] += 1
        name, where = path.rsplit("/", 1)[-1], f"{operation} {path}"
        nth = counts[operation, path]
        for error in WRITE_ERRORS:
            yield f"{name} fails", f"{where} {nth} fail {error}"
        yield f"{name} fails after", f"{where} {nth} fail-after EIO"
        yield f"{name} does nothing", f"{where} {nth} ignore"
        yield f"{name} kill", f"{where} {nth} kill"
        yield f"{name} kill-after", f"{where} {nth} kill-after"


def slow_calls(scenario, calls):
    """A delay that keeps the agent's worker inside each call that changes something."""
    if scenario.is_nvml():
        return [f"* {at} hang 20" for at, (function, _) in enumerate(calls, 1)
                if is_change(function)]
    counts, found = collections.Counter(), []
    for operation, path in calls:
        counts[operation, path] += 1
        found.append(f"{operation} {path} {counts[operation, path]} delay 3000")
    return found


class Bench:
    """One scenario, with the shapes that its node may have."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.world = scenario.make()
        with self.running() as agent:
            agent.done(scenario.first)
            scenario.occupy(self.world)
        self.saved, self.before = self.world.save(), self.world.shape()
        self.calls = self.record()
        self.wanted = self.world.shape()
        for name in scenario.kept:
            expect(name in self.before and name in self.wanted, name, "is not kept:", self.before)

    def running(self, folder=None, **env):
        return Running(self.world.agent(folder, **env))

    def record(self):
        with self.running() as agent:
            return self.world.calls(lambda: agent.done(self.scenario.second))

    def close(self):
        self.world.close()

    # --- Checks afterwards ---

    def judge(self, operation, fault):
        now, state = self.world.shape(), operation["state"]
        error = operation["error"]
        for name in self.scenario.kept:
            expect(name in now, fault, "lost", name)
        expect((error is None) == (state == "done"), fault, operation)
        text = error["detail"] if error else ""
        expect("\n" not in text and len(text) < 512, fault, text)
        if state == "done":
            self.same(now, self.wanted, fault, "done and not as declared:")
        elif state == "rolled_back":
            expect(len(text) > 20, fault, "says too little:", text)
            self.same(now, self.before, fault, "rolled back and not as before:", text)
        else:
            expect(state == "failed", fault, operation)
            self.judge_failure(now, text, fault)
        return state

    def judge_failure(self, now, text, fault):
        if now == self.before:
            return
        expect("put back" in text or "stays" in text, fault, "failed, not as before",
               difference(now, self.before), "and does not say so:", text)

    @staticmethod
    def same(now, wanted, fault, *what):
        now, wanted = [alike(shape) for shape in (now, wanted)]
        expect(now == wanted, fault, *what, difference(now, wanted))

    # --- Cases ---

    def call_goes_wrong(self, fault):
        self.world.restore(self.saved)
        with self.running() as agent:
            self.world.faults(fault)
            began = time.monotonic()
            operation = agent.finish(self.scenario.second)
            took = time.monotonic() - began
            self.world.faults()
            return self.judge(operation, fault), took

    def agent_dies(self, order):
        """Killed at the given call of its own; the next one continues."""
        self.world.restore(self.saved)
        path = os.path.join(self.world.folder, "kill")
        library = worlds.built("tests/apply/libapply-kill.so")
        with self.running(LD_PRELOAD=library, CLEAVE_KILL_AT=path) as agent:
            worlds.write_whole(path, order)
            ended = self.ask_and_die(agent)
            os.unlink(path)
            if ended:
                return self.judge(ended, order), 0
            return self.next_agent(agent, order)

    def ask_and_die(self, agent):
        """The operation, if the agent completed it with fewer writes this time."""
        try:
            ended = agent.finish(self.scenario.second)
        except OSError:
            ended = None
        try:
            agent.process.wait(0.5 if ended else 30)
        except subprocess.TimeoutExpired:
            expect(ended, "neither killed nor done")
            return ended
        expect(agent.process.returncode == -signal.SIGKILL, "it ended by itself")
        return None

    def next_agent(self, agent, fault):
        began = time.monotonic()
        agent.start()
        operations = [each for each in agent.get("/v1/operations")["items"]
                      if each["what"] != AGAIN]
        if not operations:
            # It had not begun.
            self.same(self.world.shape(), self.before, fault, "begun and forgotten:")
            return "not begun", time.monotonic() - began
        expect(len(operations) == 1, fault, operations)
        operation = agent.wait(operations[0])
        return self.judge(operation, fault), time.monotonic() - began

    def agent_dies_during(self, fault):
        """Killed while its worker is inside a driver's call."""
        self.world.restore(self.saved)
        with self.running() as agent:
            self.world.faults(fault)
            operation = agent.apply(self.scenario.second)
            seen = operation["step"]
            until = time.monotonic() + 20
            while time.monotonic() < until and not self.is_inside(agent, operation):
                time.sleep(0.05)
            agent.stop(signal.SIGKILL)
            self.world.faults()
            expect(seen == 0, seen)
            return self.next_agent(agent, fault)

    @staticmethod
    def is_inside(agent, operation):
        """Nothing has changed for a while, so it is in the slow call."""
        now = agent.get(f"/v1/operations/{operation['id']}")
        time.sleep(0.3)
        return agent.get(f"/v1/operations/{operation['id']}")["revision"] == now["revision"]

    def points(self):
        """How many calls of the agent have a lasting effect in one apply."""
        self.world.restore(self.saved)
        path = os.path.join(self.world.folder, "kill")
        library = worlds.built("tests/apply/libapply-kill.so")
        with self.running(LD_PRELOAD=library, CLEAVE_KILL_AT=path) as agent:
            worlds.write_whole(path, "0 count")
            agent.done(self.scenario.second)
            os.unlink(path)
        n = os.path.getsize(f"{path}.count")
        os.unlink(f"{path}.count")
        return n

    def cases(self):
        faults = nvml_faults if self.scenario.is_nvml() else sysfs_faults
        for kind, fault in faults(self.calls):
            yield "call", kind, fault, self.call_goes_wrong
        for at in range(1, self.points() + 1):
            for when in ("before", "after"):
                yield "agent", f"agent killed {when}", f"{at} {when}", self.agent_dies
        for fault in slow_calls(self.scenario, self.calls):
            yield "during", "agent killed during", fault, self.agent_dies_during


def alike(shape):
    """A layout gives the number of vGPUs of a type, not their functions."""
    return sorted(re.sub(r"\.\d+ vgpu_type ([1-9])", r".x vgpu_type \1", line)
                  for line in shape if not line.endswith(" vgpu_type 0"))


def difference(now, wanted):
    return [f"+{x}" for x in now if x not in wanted] + \
        [f"-{x}" for x in wanted if x not in now]


class Running:
    def __init__(self, agent):
        self.agent = agent

    def __enter__(self):
        self.agent.start()
        return self.agent

    def __exit__(self, *_):
        if self.agent.process.poll() is None:
            self.agent.stop(signal.SIGKILL)
        self.agent.close()


def sample(cases, chance):
    """Some of each kind."""
    chosen = []
    for sort, most in SAMPLE.items():
        of_sort = [case for case in cases if case[0] == sort]
        chance.shuffle(of_sort)
        by_kind = {case[1]: case for case in of_sort}
        first = list(by_kind.values())[:most]
        chosen += first + of_sort[:max(0, most - len(first))]
    return chosen


class Figures:
    def __init__(self):
        self.outcomes = collections.defaultdict(collections.Counter)
        self.took = collections.defaultdict(list)
        self.failures = []

    def note(self, scenario, sort, outcome, took):
        self.outcomes[f"{scenario} {sort}"][outcome] += 1
        self.took[f"{scenario} {sort}"].append(took)

    def to_json(self):
        return {name: {"cases": sum(counts.values()), **counts,
                       "median_s": round(statistics.median(self.took[name]), 3),
                       "worst_s": round(max(self.took[name]), 3)}
                for name, counts in self.outcomes.items()}


def run(bench, cases, figures):
    for sort, kind, fault, act in cases:
        try:
            outcome, took = act(fault)
            figures.note(bench.scenario.name, sort, outcome, took)
        except Failure as failure:
            figures.note(bench.scenario.name, sort, "wrong", 0)
            figures.failures.append(f"{bench.scenario.name}: {kind}: {failure}")
            print("FAILED", figures.failures[-1][:1500], flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("scenarios", nargs="*")
    options = parser.parse_args()
    worlds.set_build(options.build)
    figures = Figures()
    for scenario in SCENARIOS:
        if options.scenarios and scenario.name not in options.scenarios:
            continue
        try:
            bench = Bench(scenario)
        except worlds.Unavailable as why:
            print("skipped", scenario.name, why)
            continue
        cases = [case for case in bench.cases()
                 if options.only in f"{case[0]} {case[1]} {case[2]}"]
        if not options.all and not options.only:
            cases = sample(cases, random.Random(options.seed))
        run(bench, cases, figures)
        bench.close()
    text = json.dumps({"faults": figures.to_json(), "time": steps.measure()}, indent=2)
    print(text)
    if options.json:
        worlds.write_whole(options.json, text + "\n")
    sys.exit(f"{len(figures.failures)} failed" if figures.failures else 0)


if __name__ == "__main__":
    main()
