#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two versions beside each other: the agent of one with the command line and gates of the other,
agents of both, alternating, on one runtime and state folder while programs run, and operations that
the agent of one begins and the agent of the other ends.

CLEAVE_OLD_BUILD=FOLDER names the build of an earlier version; without it this test exits with 77 and is
skipped.
It needs src/agent/cleaved, src/cli/cleave, src/gate/libcleave-opencl.so and
src/gate/libcleave-cuda.so.  OpenCL programs run on PoCL, CUDA programs on the double.

usage: test_versions.py --build BUILD [unittest arguments]
"""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("apply", "crash", "cuda"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))

import faults  # noqa: E402
import machine  # noqa: E402
import world  # noqa: E402
import worlds  # noqa: E402
from harness import PROGRAMS, wait_until  # noqa: E402
from scenarios import SCENARIOS  # noqa: E402
from world import MIB, Tenant, World  # noqa: E402

OLD = os.environ.get("CLEAVE_OLD_BUILD", "")
NO_OLD = "CLEAVE_OLD_BUILD names no build of an earlier version"
PAIRS = [("old", "new"), ("new", "old")]
STOPS = [signal.SIGKILL, signal.SIGTERM]


def built(version, path):
    return os.path.join(OLD if version == "old" else worlds.BUILD["path"], path)


def cleave_of(version):
    return built(version, "src/cli/cleave")


def cleaved_of(version):
    return built(version, "src/agent/cleaved")


def uses_gate(pid, version, name):
    """Compares the file, because a program may see it at another path."""
    inode = str(os.stat(built(version, f"src/gate/{name}")).st_ino)
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return any(line.split()[4] == inode for line in maps)


class Beside(World):
    """Tenants of both versions, and one agent at a time."""

    def __init__(self, arguments=()):
        super().__init__(worlds.BUILD["path"], use_double=False)
        self.arguments = arguments
        if arguments:
            self.agent_arguments = [*arguments, "--runtime-dir", self.runtime, "--state-dir",
                                    os.path.join(self.folder, "state"), "--lock-dir", self.locks]

    def begin(self, version):
        self.cleaved = cleaved_of(version)
        self.start_agent()

    def follow(self, version, stop):
        """Replaces the current agent by one of the other version."""
        self.agent.send_signal(stop)
        self.agent.wait(60)
        self.begin(version)

    def tenant_of(self, version, name, *arguments):
        self.cleave = cleave_of(version)
        tenant = Tenant(self, name, 0.2, 64 * MIB, ["kernel=500", *arguments])
        tenant.wait_running(60)
        world.expect(uses_gate(tenant.account.pid, version, "libcleave-opencl.so"),
                     name, "has another version's gate")
        return tenant

    def check(self):
        """The ledger is exact, also as the command line of each version shows it; the programs make
        progress, and had no error."""
        for tenant in self.tenants:
            world.expect(tenant.process.poll() is None, tenant.name, tenant.errors())
        for version in ("old", "new"):
            self.cleave = cleave_of(version)
            self.check_exact(60)
        for tenant in self.tenants:
            account = tenant.account
            before = account.completed
            world.wait_until(lambda: account.completed > before + 20, 60, account.error_text)
            world.expect(account.error == 0 and account.wrong == 0, account.error_text())

    def command(self, version, *arguments):
        done = subprocess.run([cleave_of(version), *arguments], env=self.env, timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        world.expect(done.returncode == 0, arguments, done.stderr)
        return done.stdout


class OpenCL(unittest.TestCase):
    ARGUMENTS = ()

    def begin(self, version):
        beside = Beside(self.ARGUMENTS)
        self.addCleanup(beside.close)
        beside.begin(version)
        return beside

    def test_verbs(self):
        for agent, gates in PAIRS:
            with self.subTest(agent=agent, gates=gates):
                self.use_verbs(self.begin(agent), gates)

    def use_verbs(self, beside, gates):
        left = beside.tenant_of(gates, "left")
        right = beside.tenant_of(gates, "right")
        beside.check()
        for words in (("devices",), ("top", "--once"), ("version",), ("profiles",)):
            beside.command(gates, *words)
        self.assertIn("left", beside.command(gates, "top", "--once"))
        beside.command(gates, "set", "left", "--share", "0.4", "--memory", "48M")
        left.share, left.memory = 0.4, 48 * MIB
        beside.check()
        world.wait_until(lambda: right.account.n_refused > 0, 60, "allocations over the quota")
        beside.command(gates, "release", "--force", "right")
        right.gone()
        beside.command(gates, "reserve", "--name", "kept", "--share", "0.1")
        self.assertTrue(beside.leases()["kept"]["kept"])
        beside.command(gates, "release", "kept")
        beside.check()
        shown = json.loads(beside.command(gates, "events", "-o", "json"))
        kinds = {event["type"] for event in shown["items"]}
        self.assertLessEqual({"lease_created", "process_attached", "lease_resized",
                              "lease_ended"}, kinds)

    def test_agents_in_turn(self):
        for stop in STOPS:
            for agent, other in PAIRS:
                with self.subTest(stop=stop.name, agent=agent):
                    self.take_turns(self.begin(agent), agent, other, stop)

    def take_turns(self, beside, agent, other, stop):
        beside.command(agent, "reserve", "--name", "kept", "--share", "0.1")
        kept = beside.leases()["kept"]["id"]
        beside.follow(other, stop)
        self.assertEqual(beside.leases()["kept"]["id"], kept)
        beside.command(agent, "release", "kept")
        for version in ("old", "new"):
            beside.tenant_of(version, f"from-{version}")
        for version in (agent, other, agent):
            beside.follow(version, stop)
            beside.check()
            short = beside.tenant_of(other, "short")
            beside.check()
            short.end()
        beside.check()


@unittest.skipUnless(os.geteuid() == 0, "needs root, as the system's agent does")
class System(OpenCL):
    ARGUMENTS = ("--system",)


class OnDemand(unittest.TestCase):
    """cleave run starts an agent, and the next one when it dies."""

    def setUp(self):
        self.beside = Beside()
        self.addCleanup(self.beside.close)
        self.agent = os.path.join(self.beside.folder, "cleaved")
        del self.beside.env["CLEAVE_SOCKET"]
        self.beside.env["CLEAVE_AGENT"] = self.agent
        if os.path.exists("/run/cleave/api.sock"):
            self.skipTest("the system's agent runs")

    def choose(self, version):
        """Chooses the version of agents that are started from now on."""
        os.symlink(cleaved_of(version), self.agent + ".new")
        os.rename(self.agent + ".new", self.agent)

    def find_agent(self):
        """The pid that listens on the socket; 0: none."""
        with socket.socket(socket.AF_UNIX) as call:
            if call.connect_ex(self.beside.api) != 0:
                return 0
            peer = call.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return struct.unpack("=3i", peer)[0]

    def kill_agent(self):
        pid = self.find_agent()
        if pid:
            os.kill(pid, signal.SIGKILL)

    def test_agents_in_turn(self):
        self.addCleanup(self.kill_agent)
        self.choose("old")
        for version in ("new", "old"):
            self.beside.tenant_of(version, f"from-{version}")
        for version in ("new", "old", "new"):
            before = self.find_agent()
            self.choose(version)
            os.kill(before, signal.SIGKILL)
            self.assertTrue(wait_until(lambda: self.find_agent() not in (0, before)))
            self.assertEqual(os.readlink(f"/proc/{self.find_agent()}/exe"), cleaved_of(version))
            self.beside.check()


class CUDA(machine.Case):
    def begin_with(self, agent, gates, **more):
        self.doCleanups()  # those of the pair before
        PROGRAMS["cleaved"], PROGRAMS["cleave"] = cleaved_of(agent), cleave_of(gates)
        self.begin(**more)

    def follow(self, version, stop):
        self.agent.stop(stop)
        PROGRAMS["cleaved"] = cleaved_of(version)
        self.agent.start()

    def launch(self, gates, name, kernel_ns):
        """Starts a tenant that computes; returns its process as the GPU sees it."""
        PROGRAMS["cleave"] = cleave_of(gates)
        process = self.start(machine.program("cuda-tenant"), "queue", str(kernel_ns), "300",
                             options=("--share", "0.3", "--name", name))
        self.assertEqual(process.stdout.readline(), "ready\n", process.poll())
        pid = self.agent.get(f"/v1/leases/{name}")["processes"][0]["pid"]
        self.assertTrue(uses_gate(pid, gates, "libcleave-cuda.so"))
        return pid

    def device(self):
        return self.agent.get("/v1/devices")["items"][0]

    def test_memory(self):
        for agent, gates in PAIRS:
            with self.subTest(agent=agent, gates=gates):
                self.begin_with(agent, gates)
                names = subprocess.run([machine.program("cuda-memory")], text=True, check=True,
                                       capture_output=True, env=self.agent.env).stdout.split()
                for name in names:
                    self.run_in_lease(machine.program("cuda-memory"), name,
                                      options=("--share", "0.5", "--memory", "1G"))

    def test_agents_in_turn(self):
        for agent, other in PAIRS:
            with self.subTest(agent=agent):
                self.begin_with(agent, other)
                pids = [self.launch(gates, gates, 1_000_000) for gates in ("old", "new")]
                for version, stop in ((other, signal.SIGKILL), (agent, signal.SIGTERM)):
                    self.follow(version, stop)
                    self.assert_all_run(pids)

    def assert_all_run(self, pids):
        """All tenants have found the new agent, and each makes progress."""
        def attached():
            items = self.agent.get("/v1/leases")["items"]
            return sorted(p["pid"] for lease in items for p in lease["processes"])
        self.assertTrue(wait_until(lambda: attached() == sorted(pids)), attached())
        self.assertTrue(all(ns > 0 for ns in self.world.player.work(pids, 2)))

    def test_work_that_is_stopped(self):
        """Long kernels beside short ones, where the agent stops work before it is complete."""
        for agent, other in PAIRS:
            with self.subTest(agent=agent):
                self.begin_with(agent, other, kernel=True,
                                cuda="tell-nvml 1\ndevice-mb-s 1000\n")
                self.world.put("policy", "")
                pids = [self.launch(gates, gates, 500_000_000) for gates in ("old", "new")]
                self.assert_stopped(pids)
                for version in (other, agent):
                    self.follow(version, signal.SIGKILL)
                    self.assert_stopped(pids)

    def assert_stopped(self, pids):
        """The agent stopped work at the ends of turns."""
        def preempts():
            device = self.device()  # an earlier version says "is stopped half-way"
            return device["executor"] == "hardware" and (
                "is preempted" in device["executor_reason"] or
                "is stopped half-way" in device["executor_reason"])
        self.assertTrue(wait_until(preempts), self.device())
        self.assert_all_run(pids)


class Handed(faults.Bench):
    """One version's agent begins an operation and is killed, the other version's ends it."""

    def __init__(self, scenario, agent, other):
        self.other = other
        PROGRAMS["cleaved"] = cleaved_of(agent)
        super().__init__(scenario)

    def next_agent(self, agent, fault):
        mine, PROGRAMS["cleaved"] = PROGRAMS["cleaved"], cleaved_of(self.other)
        try:
            return super().next_agent(agent, fault)
        finally:
            PROGRAMS["cleaved"] = mine

    def some(self):
        """Early, in the middle and late: inside a driver's call, and at the agent's own writes."""
        inside, n = faults.slow_calls(self.scenario, self.calls), self.points()
        for at in sorted({0, len(inside) // 2, len(inside) - 1}):
            yield inside[at], self.agent_dies_during
        for at in sorted({n // 4, n // 2, n - 1}):
            yield f"{at} after", self.agent_dies


class Operations(unittest.TestCase):
    def test_killed_half_way(self):
        for scenario in SCENARIOS:
            for agent, other in PAIRS:
                with self.subTest(scenario=scenario.name, agent=agent):
                    self.assertIn("done", self.hand_over(scenario, agent, other))

    def hand_over(self, scenario, agent, other):
        """How each operation ended; the bench has judged the node by it."""
        try:
            bench = Handed(scenario, agent, other)
        except worlds.Unavailable as why:
            self.skipTest(why)
        self.addCleanup(bench.close)
        return [act(fault)[0] for fault, act in bench.some()]


if __name__ == "__main__":
    if not OLD:
        print(NO_OLD)
        sys.exit(77)
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
