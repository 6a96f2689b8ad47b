#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ROCm identifies a partition by its place among all of them, so dividing one GPU changes the
numbers of the next GPU's partitions: a lease that begins at that time has the new numbers.

usage: test_renumbering.py CLEAVED FAULTY_DRIVER [TEST...]
"""
import os
import shutil
import signal
import threading
import time

import harness
from harness import HELLO, HERE, MAGIC, NO_SLOT, VERSION, Agent, Case

NODE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples", "mi300x.yaml")
LAST = "gpu7/DPX/NPS1@1"
ROUNDS = 10
HIP = 3


def layout(modes):
    rules = ["  - {select: {index: %d}, compute-mode: %s}\n" % item for item in modes.items()]
    return "version: 1\ndevices:\n" + "".join(rules)


class Renumbering(Case):
    def setUp(self):
        self.holders = []
        self.agent = Agent()
        shutil.copy(NODE, self.agent.folder)
        self.agent.arguments = ["--sim", os.path.join(self.agent.folder, "mi300x.yaml")]
        self.addCleanup(self.end)
        self.agent.start()
        self.apply({7: "DPX"})

    def begin(self, modes):
        status, operation = self.agent.request("POST", "/v1/apply", layout(modes))
        self.assertEqual(status, 202, operation)
        return operation["id"]

    def wait(self, name, *states):
        operation = self.agent.get("/v1/operations/" + name)
        while operation["state"] not in (*states, "failed", "rolled_back"):
            operation = self.agent.get("/v1/operations/%s?after=%d&wait_ms=10000" %
                                       (name, operation["revision"]))
        self.assertIn(operation["state"], states, operation)

    def apply(self, modes):
        self.wait(self.begin(modes), "done")

    def worker(self):
        """The process that calls the drivers."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/status" % pid, encoding="utf-8") as status, \
                        open("/proc/%s/cmdline" % pid, encoding="utf-8") as line:
                    if ("\nPPid:\t%d\n" % self.agent.process.pid in status.read() and
                            "--drivers" in line.read().split("\0")):
                        return int(pid)
            except OSError:
                pass
        raise AssertionError("there is no worker")

    def slow_drivers(self):
        """The worker runs for one millisecond of eleven."""
        pid, is_over = self.worker(), threading.Event()

        def hinder():
            while not is_over.is_set():
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.01)
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.001)

        thread = threading.Thread(target=hinder)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(is_over.set)

    def take(self, holder):
        """The number that a lease on the last partition gets."""
        number = holder.lease(device=LAST, share=0.5)["devices"][0]["visible"]
        holder.kill()
        return number

    def test_after_the_end(self):
        self.slow_drivers()
        for i in range(ROUNDS):
            mode, number = (("CPX", "22"), ("SPX", "8"))[i % 2]
            holder = self.holder()
            self.apply({0: mode, 1: mode})
            self.assertEqual(self.take(holder), number, i)

    def rounds(self, rounds=ROUNDS):
        """Yields operations that change the numbers, just begun, with the last partition's number after
        them."""
        self.slow_drivers()
        for i in range(rounds):
            mode, number = (("CPX", "57"), ("SPX", "8"))[i % 2]
            operation = self.begin({device: mode for device in range(7)})
            self.wait(operation, "running", "done")
            time.sleep(0.002 * i)
            yield operation, number
            self.wait(operation, "done")

    def test_meanwhile(self):
        """A request while partitions change waits for the change."""
        holder = self.holder()
        for _, number in self.rounds():
            self.assertEqual(self.take(holder), number)
            holder = self.holder()

    def test_in_line(self):
        """A queued request whose turn comes meanwhile."""
        first, second = self.holder(), self.holder()
        first.lease(device=LAST, share=1)
        for _, number in self.rounds():
            waiting = second.lease(device=LAST, share=1, wait=True)
            first.kill()
            status, lease = second.request(
                "GET", "/v1/leases/%s?while=queued&wait_ms=10000" % waiting["id"])
            self.assertEqual((status, lease["state"]), (200, "active"))
            self.assertEqual(lease["devices"][0]["visible"], number)
            first, second = second, self.holder()

    def test_agent_that_starts(self):
        """The state file has an earlier number of a lease."""
        holder = self.holder()
        name = holder.lease(device=LAST, share=0.5)["id"]
        self.apply({0: "CPX"})
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        for url in ("/v1/leases", "/v1/leases/" + name):
            status, answer = holder.request("GET", url)
            self.assertEqual(status, 200)
            (lease,) = answer.get("items", [answer])
            (device,) = lease["devices"]
            self.assertIn(device["visible"], ("15", device["uuid"]))
        self.assertEqual(device["visible"], "15")

    def test_process(self):
        """A process that begins in an earlier lease."""
        holder = self.holder()
        lease = holder.lease(device=LAST, share=0.5)
        hello = HELLO.pack(MAGIC, VERSION, HIP, 1, NO_SLOT, 0, 0, 0)
        for _, number in self.rounds():
            reply = holder.do("attach_raw", socket=lease["socket"], hex=hello.hex())
            self.assertEqual((reply["status"], reply["model"]), (0, number))


if __name__ == "__main__":
    harness.main()
