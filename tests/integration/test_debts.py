#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The debt of device time that a lease has when it ends, by the agent's own ledger.

The test plays the gates: the victim's waits in line all the time and yields the device at once,
the attacker's submits one command that takes long."""
import contextlib
import json
import os
import signal
import sqlite3
import tempfile
import unittest

from harness import Agent, Case, main, wait_until, writable_cgroups
from measured import bound

KERNEL_S = 0.3
CGROUPS = writable_cgroups() if os.geteuid() == 0 else None


class Bed(Case):
    def start_victim(self):
        victim = self.holder()
        lease = victim.lease(share=0.8, memory_bytes=1 << 20, name="victim")
        victim.do("attach", socket=lease["socket"])
        victim.do("stand_in_line", threads=1)
        return victim

    def start_attacker(self, cgroup=None):
        attacker = self.holder()
        if cgroup:
            os.makedirs(cgroup, exist_ok=True)
            with open(f"{cgroup}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(attacker.pid))
        lease = attacker.lease(share=0.1, memory_bytes=1 << 20, name="attacker")
        attacker.do("attach", socket=lease["socket"])
        return attacker

    def run_kernel(self, attacker):
        """Waits for its turn, and overruns it."""
        attacker.do("run", seconds=KERNEL_S)

    def leave(self, attacker):
        attacker.kill()
        self.assertTrue(wait_until(lambda: len(self.leases()) == 1))

    def state(self, statement, rows=()):
        """Executes a statement on the state file of an agent that has ended."""
        path = os.path.join(self.agent.state, "cleaved.db")
        with contextlib.closing(sqlite3.connect(path)) as state, state:
            if rows:
                return state.executemany(statement, rows)
            return state.execute(statement).fetchall()

    def owed(self):
        return self.agent.get("/v1/devices")["items"][0]["debt_seconds"]

    def indebt(self, cgroup=None):
        """Ends a lease in debt, which stays with the tenant.  The victim then computes nothing, so
        the debt is not paid."""
        attacker = self.start_attacker(cgroup)
        self.run_kernel(attacker)
        self.assertLess(self.lease("attacker")["lag_seconds"], -KERNEL_S / 2)
        self.leave(attacker)


class Debts(Bed):
    def test_next_lease_takes_over(self):
        victim = self.start_victim()
        self.assertEqual(self.owed(), 0)
        self.indebt()
        self.assertGreater(self.owed(), KERNEL_S / 2)
        self.start_attacker()
        shown = self.lease("attacker")
        self.assertEqual(shown["turns"], 0)
        self.assertLess(shown["lag_seconds"], -KERNEL_S / 2)
        self.assertGreater(shown["tenant_debt_seconds"], KERNEL_S / 2)
        self.assertEqual(self.owed(), 0)
        # The victim is served the time that it is owed, and then the debt is 0.
        victim.do("commands", entered=1, done=0)
        self.assertTrue(wait_until(
            lambda: self.lease("attacker")["tenant_debt_seconds"] == 0, 60))

    def test_fresh_leases(self):
        """One command per lease, again and again, beside a victim with a promise of .8."""
        self.start_victim()
        attackers_s = 0
        for n in range(4):
            attacker = self.start_attacker()
            if n == 3:
                # When it has its turn, the debts of all leases before it are paid.
                attacker.do("stand_in_line", threads=1)
                self.assertTrue(wait_until(
                    lambda: self.lease("attacker")["turns"] > 0, 60))
                break
            self.run_kernel(attacker)
            attackers_s += self.lease("attacker")["held_seconds"]
            self.leave(attacker)
        victim_s = self.lease("victim")["held_seconds"]
        self.assertGreater(attackers_s, 3 * KERNEL_S * 0.9)
        self.assertGreaterEqual(victim_s / (victim_s + attackers_s), bound(0.78, 0.6))

    def test_over_agents(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            victim = self.start_victim()
            self.indebt()
            self.agent.stop(how)
            self.assertEqual(self.state("SELECT weight_ppm FROM debts WHERE debt_ns>0"),
                             [(100_000,)])
            self.agent.start()
            self.start_attacker()
            self.assertLess(self.lease("attacker")["lag_seconds"], -KERNEL_S / 2)
            for holder in self.holders:
                if holder.process.poll() is None:
                    holder.kill()
            self.assertIsNotNone(victim.process.returncode)
            self.assertTrue(wait_until(lambda: not self.leases()))
            self.agent.stop()
            self.state("DELETE FROM debts")
            self.agent.start()

    def test_state_with_nonsense(self):
        uuid = self.agent.get("/v1/devices")["items"][0]["uuid"]
        self.agent.stop()
        self.state("INSERT INTO debts VALUES(?,?,?,?,?)", [
            (uuid, "a", 0, "normal", 7), (uuid, "a", -5, "normal", 7),
            (uuid, "", 5, "normal", 7), (uuid, "a", 5, "quick", 7),
            (uuid, "a", 5, "normal", -7), (uuid, None, None, None, None),
            (uuid, "a", 1 << 40, "normal", 7), (uuid, "a", "x", "batch", "y"),
            ("x", "a", 5, "normal", 1 << 40)])
        self.agent.start()
        self.start_victim()
        self.assertEqual(self.owed(), 0)
        self.assertTrue(wait_until(lambda: self.lease("victim")["turns"] > 0))


@unittest.skipUnless(CGROUPS, "needs root and cgroups that can be written")
class Accounts(Bed):
    """The account follows from the cgroup of the first process."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-test-", dir=CGROUPS)
        self.addCleanup(lambda: [os.rmdir(path) for path, _, _ in
                                 os.walk(self.folder, topdown=False)])
        super().setUp()

    def test_accounts(self):
        pods = [f"{self.folder}/kubepods.slice/kubepods-pod{n}.slice" for n in (1, 2)]
        for setting, takers in (
                ("tenant", {f"{pods[0]}/a": True, f"{pods[1]}/a": True}),
                ("container", {f"{pods[0]}/a": True, f"{pods[0]}/b": False,
                               f"{pods[0]}/a/own": False}),
                ("pod", {f"{pods[0]}/b/own": True, f"{pods[1]}/a": False})):
            for cgroup, takes in takers.items():
                for holder in self.holders:
                    holder.end()
                self.agent.close()
                self.agent = Agent()
                settings = os.path.join(self.agent.folder, "settings.yaml")
                with open(settings, "w", encoding="utf-8") as file:
                    json.dump({"version": 1, "debts": setting}, file)
                self.agent.arguments = ["--config", settings]
                self.agent.start()
                self.start_victim()
                self.indebt(f"{pods[0]}/a")
                self.start_attacker(cgroup)
                lag_s = self.lease("attacker")["lag_seconds"]
                self.assertEqual(lag_s < -KERNEL_S / 2, takes, (setting, cgroup, lag_s))


if __name__ == "__main__":
    main()
