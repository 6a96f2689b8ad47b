# SPDX-License-Identifier: Apache-2.0
"""Programs whose streams, host and processes wait for each other (patterns.c): each ends, with the
same result, alone on the device and beside a tenant, under both executors, and while the agent
is killed or stopped. Alone no thread of it ever waits at the gate.

usage: test_patterns.py --build BUILD [unittest arguments]
"""
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import machine
import worlds
from harness import wait_until

BOUND_SECONDS = 50


class Case(machine.Case):
    def names(self):
        return subprocess.run([machine.program("cuda-patterns")], text=True, capture_output=True,
                              check=True, env=self.agent.env).stdout.split()

    def go_through(self, process, name):
        """Says how it ends; one that hangs is ended."""
        watch = threading.Timer(BOUND_SECONDS, self.end_lease, (name,))
        watch.start()
        line = process.stdout.readline()
        watch.cancel()
        self.assertRegex(line, r"^done \d+$", (process.poll(), self.agent.log()[-1500:]))

    def end_lease(self, name):
        for each in self.agent.get(f"/v1/leases/{name}")["processes"]:
            os.kill(each["pid"], signal.SIGKILL)

    def finish(self, process):
        process.stdin.close()
        self.assertEqual(process.wait(timeout=30), 0)

    def tenant(self):
        process = self.start(machine.program("cuda-tenant"), "queue", "1000000", "600",
                             options=("--share", "0.5", "--name", "neighbour"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def pattern(self, name, *options):
        return self.start(machine.program("cuda-patterns"), name,
                          options=("--share", "0.5", "--name", name, *options))


class Alone(Case):
    def test_nothing_waits(self):
        """By the ledger: the time for which its threads stood in line."""
        self.begin()
        for name in self.names():
            with self.subTest(name):
                process = self.pattern(name)
                self.go_through(process, name)
                lease = self.agent.get(f"/v1/leases/{name}")
                self.finish(process)
                # Two processes at once are let in one after the other while the first turns come.
                if name != "processes":
                    self.assertEqual(lease["waited_seconds"], 0, lease)


class Beside(Case):
    def go_through_all(self, names=None):
        for name in names or self.names():
            with self.subTest(name):
                process = self.pattern(name)
                self.go_through(process, name)
                self.finish(process)

    def test_under_the_gate(self):
        self.begin()
        self.tenant()
        self.go_through_all()

    def test_some_under_the_gate(self):
        self.begin()
        self.tenant()
        self.go_through_all(("early-receive", "legacy-and-blocking", "mixed-defaults", "overlap"))

    def test_under_the_hardware(self):
        self.begin(kernel=True)
        self.world.put("policy", "")
        self.tenant()
        self.assertTrue(wait_until(
            lambda: self.agent.get("/v1/devices")["items"][0]["executor"] == "hardware", 30))
        self.go_through_all()


class Disturbed(Case):
    """In the middle of it the agent goes."""

    def disturb(self, how):
        self.begin()
        self.tenant()
        for name in self.names():
            with self.subTest(name):
                process = self.pattern(name)
                time.sleep(.4)
                how()
                self.go_through(process, name)
                self.finish(process)

    def test_killed_and_started_again(self):
        def how():
            self.agent.process.send_signal(signal.SIGKILL)
            self.agent.process.wait()
            self.agent.start()
        self.disturb(how)

    def test_stopped(self):
        def how():
            self.agent.process.send_signal(signal.SIGSTOP)
            time.sleep(.5)
            self.agent.process.send_signal(signal.SIGCONT)
        self.disturb(how)


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
