# SPDX-License-Identifier: Apache-2.0
"""Simulated GPUs (cuda-double-gpu, hip-double-gpu), an agent on their node, and programs that
cleave run starts there."""
import itertools
import re
import subprocess
import time
import unittest

import worlds
from harness import PROGRAMS, wait_until
from measured import MEASURES, disagreements, settles

MIB = 1 << 20
KERNEL = "spin"  # the program of tenants
PATIENCE_S = 60  # a bound for what hangs, not a figure


def one_of_each(figures):
    """Without repetitions."""
    return [figure for figure, _ in itertools.groupby(figures)]


class Player:
    """The process that simulates the GPUs of a folder."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.process = subprocess.Popen([program, "--with-parent", folder],
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stats(self):
        """(nanoseconds of the machine's clock, {pid: {word: value}})"""
        text = subprocess.run([self.program, "--ask", self.folder, "stats"], text=True,
                              capture_output=True, check=True).stdout
        now, processes = 0, {}
        for line in text.splitlines():
            kind, *words = line.split()
            if kind == "now":
                now = int(words[0])
            elif kind == "process":
                pairs = dict(zip(words[1::2], words[2::2]))
                processes[int(words[0])] = {
                    key: int(value) if re.fullmatch(r"\d+", value) else value
                    for key, value in pairs.items()}
        return now, processes

    def work(self, pids, seconds):
        """Nanoseconds of the GPU's work for each process, from now until it has done this many
        seconds of it."""
        idle = {"run_ns": 0}  # a process that has only begun
        _, before = self.stats()
        until = time.monotonic() + PATIENCE_S
        while True:
            _, now = self.stats()
            did = [now.get(pid, idle)["run_ns"] - before.get(pid, idle)["run_ns"] for pid in pids]
            if sum(did) >= seconds * 1e9:
                return did
            assert time.monotonic() < until, f"the GPU did {did} ns of work"
            time.sleep(.1)

    def kernels(self, pid):
        """Nanoseconds of each kernel, by the machine's own clock, which no load changes. The
        machine's settings must say "trace 1"."""
        text = subprocess.run([self.program, "--ask", self.folder, "trace"], text=True,
                              capture_output=True, check=True).stdout
        lines = [line.split() for line in text.splitlines()]
        return [int(words[-1]) - int(words[-2]) for words in lines
                if words[0] == str(pid) and words[4].startswith(KERNEL)]


class Case(unittest.TestCase):
    WORLD = None  # the class of begin()'s world, with a stats()

    def begin(self, **machine):
        self.world = self.WORLD(**machine)
        self.addCleanup(self.world.close)
        self.agent = self.world.agent()
        self.addCleanup(self.end)
        self.agent.start()
        self.started = []

    def end(self):
        for process in self.started:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                pipe.close()
        self.assertEqual(self.agent.close(), 0)

    def start(self, *command, options=("--share", "0.5"), env=None, device="gpu0"):
        """Starts a program in a lease of its own."""
        place = ("--device", device) if device else ()
        process = subprocess.Popen(
            [PROGRAMS["cleave"], "run", "--socket", self.agent.api, *options,
             *place, "--", *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**self.agent.env, **(env or {})})
        self.started.append(process)
        return process

    def run_in_lease(self, *command, **more):
        """Returns its output; it must succeed. Its lease has ended, so that the next may have its
        name."""
        before = self.leases()
        process = self.start(*command, **more)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, (out, err, self.agent.log()[-1500:]))
        wait_until(lambda: self.leases() <= before)
        return out

    def leases(self):
        return {lease["id"] for lease in self.agent.get("/v1/leases")["items"]}


class Tenants(Case):
    """Shares, as the GPUs measure them."""

    SECONDS = 2  # of the GPU's work
    MACHINE = {}
    TENANT = None  # a program: STYLE KERNEL_NS SECONDS

    def launch(self, share, style, kernel_ns):
        """A busy tenant; returns its process as the GPU sees it."""
        name = f"t{len(self.started)}"
        process = self.start(worlds.built(self.TENANT), style, str(kernel_ns), "60",
                             options=("--share", str(share), "--name", name))
        if process.stdout.readline() != "ready\n":
            self.fail(process.communicate(timeout=PATIENCE_S))
        lease = self.agent.get(f"/v1/leases/{name}")
        return process, lease["processes"][0]["pid"]

    def busy(self, pids, seconds):
        """The part of the time for which the GPU ran each."""
        time.sleep(.3)
        before = self.world.stats()
        time.sleep(seconds)
        after = self.world.stats()
        return [(after[1][pid]["run_ns"] - before[1][pid]["run_ns"]) / (after[0] - before[0])
                for pid in pids]

    def divided(self, pids):
        """How the GPU's work was divided, as soon as it has done enough."""
        self.world.player.work(pids, .3)
        did = self.world.player.work(pids, self.SECONDS)
        return [each / sum(did) for each in did]

    def alone(self, style, kernel_ns):
        """The rate of such a tenant alone on a GPU."""
        process, pid = self.launch(1, style, kernel_ns)
        part, = self.busy([pid], 1)
        process.terminate()
        process.wait()
        return part

    def tenants(self, *wanted):
        """(share, style, kernel_ns) each. Returns their rates relative to those alone."""
        self.begin(**self.MACHINE)
        could = [self.alone(*kind) for _, *kind in wanted]
        pids = [self.launch(*tenant)[1] for tenant in wanted]
        did = [part / alone for part, alone in zip(self.busy(pids, self.SECONDS), could)]
        self.assertGreater(sum(did), .6, "the GPU was mostly idle")
        return [part / sum(did) for part in did]

    def assert_parts(self, tenants, points=2):
        """Parts of the GPU's work, where the figure is not measured."""
        shares = [share for share, *_ in tenants]
        if MEASURES:
            self.assertEqual(disagreements(shares, self.tenants(*tenants), points), [])
            return
        self.begin(**self.MACHINE)
        pids = [self.launch(*tenant)[1] for tenant in tenants]
        self.assertEqual(settles(lambda: disagreements(shares, self.divided(pids), points)), [])
