# SPDX-License-Identifier: Apache-2.0
"""Common parts of the tests of the verbs for partitions: a node, plans and operations as the
API shows them, and a sandbox with a double that returns them."""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from cli_sandbox import Paths, Sandbox, is_alive, run_in_terminal, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
DOUBLE = os.path.join(HERE, "partition_double.py")
GIB = 1 << 30

BOB = {"text": "lease train of bob", "lease": "l4f9c0a1b2c3d4e5", "pid": 0}
PYTHON = {"text": "process 4711 (python3)", "lease": "", "pid": 4711}


def partition(name, profile, gib, **more):
    return {"name": name, "profile": profile, "uuid": "MIG-" + name, "address": "",
            "start": int(name.rpartition("@")[2]), "size": 1, "compute_units": 14 * gib // 10,
            "memory_bytes": gib * GIB, "half_made": False, "holders": [], "parts": [], **more}


def device(name, **more):
    return {"name": name, "uuid": "GPU-" + name, "model": "A100-80GB", "vendor": "nvidia",
            "driver": "1", "type": "gpu", "memory_bytes": 80 * GIB, "compute_units": 108,
            "pci_address": "0000:3b:00.0", "hive": "", "numa_node": 0, "cannot_divide": "",
            "scheme": "none", "mig": None, "xcp": None, "vf": None, "cores": None,
            "partitions": [], "holders": [], **more}


PARTS = [partition("gpu0/3g.40gb@4/1c@0", "1c.3g.40gb", 40),
         partition("gpu0/3g.40gb@4/2c@1", "2c.3g.40gb", 40, holders=[PYTHON])]
NODE = {"name": "lab", "problems": [], "devices": [
    device("gpu0", scheme="mig", partitions=[
        partition("gpu0/1g.10gb@0", "1g.10gb", 10, holders=[BOB]),
        partition("gpu0/1g.10gb@2", "1g.10gb", 10, half_made=True),
        partition("gpu0/3g.40gb@4", "3g.40gb", 40, parts=PARTS)]),
    device("gpu1", model="T4", cannot_divide="a T4 has no MIG: use shares")]}


def step(number, kind, text, needs=(), name="", **more):
    return {"number": number, "kind": kind, "text": text, "device": "gpu0",
            "partition": name, "needs": list(needs), "affects": ["gpu0"],
            "why": "because of %d" % number, **more}


CREATE = step(1, "create", "create gpu0/2g.20gb@0", name="gpu0/2g.20gb@0")
DESTROY = step(1, "destroy", "destroy gpu0/1g.10gb@0", name="gpu0/1g.10gb@0")
MIG_ON = step(1, "mig-mode", "turn MIG on on gpu0", ["idle", "reset"])
OBSTACLE = {"device": "gpu0", "partition": "gpu0/1g.10gb@0", "why": "2g.20gb fits nowhere else",
            "holders": [BOB, PYTHON]}
SHARE = {"name": "gpu0/1g.10gb@2/infer", "where": "gpu0/1g.10gb@2", "share": 0.25,
         "memory_bytes": 2 * GIB, "class": "latency"}


def plan(*steps, **more):
    return {"steps": [dict(each, number=i + 1) for i, each in enumerate(steps)], "kept": [],
            "obstacles": [], "warnings": [], "shares": [], "share_changes": [],
            "on_busy": "fail", **more}


def done(text, seconds=0.5):
    return {"text": text, "state": "done", "seconds": seconds}


def states(*texts, last="done", **more):
    """An operation whose steps take a fifth of a second each."""
    result = [[0, {"state": "surveying"}]]
    for at in range(len(texts) + 1):
        steps = [{"text": text, "seconds": 0.2,
                  "state": "done" if i < at else "running" if i == at else "pending"}
                 for i, text in enumerate(texts)]
        state = "running" if at < len(texts) else last
        result.append([0.2 * (at + 1), {"state": state, "steps": steps}])
    return {"states": result, **more}


ROLLED_BACK = {"states": [
    [0, {"state": "running", "steps": [
        {"text": "destroy gpu0/1g.10gb@2", "state": "running", "seconds": 0}]}],
    [0.2, {"state": "rolling_back", "steps": [
        done("destroy gpu0/1g.10gb@2"),
        {"text": "create gpu0/2g.20gb@0", "state": "failed", "seconds": 0.1}]}],
    # The rollback has steps of its own.
    [0.4, {"state": "rolled_back", "steps": [done("create gpu0/1g.10gb@2")],
        "error": {"code": "internal", "detail": "NVML says Insufficient Resources: a process "
                  "may hold the GPU, see cleave devices"}}]]}

WAITING = [[0, {"state": "surveying"}],
           [0.1, {"state": "waiting", "obstacles": [OBSTACLE]}]]


def run_tests(usage):
    """Runs the tests of a program with the arguments CLEAVE [CLEAVED] [TEST...]."""
    paths = [each for each in sys.argv[1:] if os.sep in each]
    if not paths:
        sys.exit(usage)
    Paths.cleave = os.path.abspath(paths[0])
    Paths.cleaved = os.path.abspath(paths[1]) if len(paths) > 1 else None
    unittest.main(argv=sys.argv[:1] + [each for each in sys.argv[1:] if os.sep not in each])


class WithAgent(Sandbox):
    """The real agent, on simulated nodes."""

    NODES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples")

    def setUp(self):
        super().setUp()
        if not Paths.cleaved:
            self.skipTest("no cleaved given")
        wrapper = os.path.join(self.folder, "cleaved")
        with open(wrapper, "w") as file:
            file.write("#!/bin/sh\nexec '%s' '--lock-dir=%s' \"$@\"\n" %
                       (Paths.cleaved, self.folder))
        os.chmod(wrapper, 0o755)
        self.env["CLEAVE_AGENT"] = wrapper
        self.addCleanup(self.end_agents)

    def agents(self):
        """The pids of agents: each has the sandbox's folder in its arguments."""
        found = []
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                with open("/proc/%d/cmdline" % pid) as file:
                    words = file.read().split("\0")
            except OSError:
                continue
            if "--lock-dir=" + self.folder in words and is_alive(pid):
                found.append(pid)
        return found

    def end_agents(self):
        for pid in self.agents():
            os.kill(pid, signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not is_alive(pid)))

    def on(self, node, *arguments):
        """Copies the node into the sandbox, so that it is in the initial state of its file."""
        path = os.path.join(self.folder, node + ".yaml")
        if not os.path.exists(path):
            shutil.copy(os.path.join(self.NODES, os.path.basename(path)), path)
        return self.cleave("--sim", path, *arguments)

    def start(self, node, *arguments, command=("sleep", "60")):
        """Starts a program that runs until it is ended; returns when its lease exists."""
        n = len(self.leases(node))
        program = subprocess.Popen(
            [Paths.cleave, "--sim", os.path.join(self.folder, node + ".yaml"), "run", *arguments,
             "--", *command], env=self.env)
        self.addCleanup(program.wait)
        self.addCleanup(program.terminate)
        self.assertTrue(wait_until(lambda: len(self.leases(node)) > n))
        return program

    def leases(self, node):
        return json.loads(self.on(node, "ps", "-o", "json").stdout)["items"]


class WithDouble(Sandbox):
    """A double whose answers are in a script."""

    def setUp(self):
        super().setUp()
        self.script = os.path.join(self.folder, "script")
        self.layout = os.path.join(self.folder, "layout.yaml")
        with open(self.layout, "w") as file:
            file.write("version: 1\n")
        self.env.update(DOUBLE_SCRIPT=self.script, COLUMNS="")
        self.agents = []
        self.write(node=NODE, plan=plan(), operation=states(),
                   layout="version: 1\ndevices: []\n")

    def write(self, **answers):
        answers = {**getattr(self, "answers", {}), **answers}
        self.answers = {key: value for key, value in answers.items() if value is not None}
        with open(self.script + ".w", "w") as file:
            json.dump(self.answers, file)
        os.rename(self.script + ".w", self.script)

    def log(self):
        try:
            with open(self.script + ".log") as file:
                return [json.loads(line) for line in file]
        except OSError:
            return []

    def asked(self, method, path):
        return [each[2:] for each in self.log() if each[:2] == [method, path]]

    def start_double(self):
        path = os.path.join(self.folder, "cleave", "api.sock")
        agent = subprocess.Popen([sys.executable, DOUBLE], env=self.env)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        self.env["CLEAVE_SOCKET"] = path
        self.assertTrue(wait_until(lambda: self.cleave("ps").returncode == 0))
        return agent

    def terminal(self, *arguments, keys=(), **more):
        return run_in_terminal([Paths.cleave, *arguments], self.env, keys=keys, **more)

    def rows(self, *arguments):
        result = self.cleave(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return [line.rstrip() for line in result.stdout.splitlines()]
