# SPDX-License-Identifier: Apache-2.0
"""Programs whose streams, host and processes wait for each other (patterns.c): each ends, with the
same result, alone on the device and beside a tenant, under both executors, and while the agent
is killed or stopped. Alone no thread of it ever waits at the gate.

usage: test_patterns.py --build BUILD [unittest arguments]
"""
import sys
import unittest

import machine
import patterns
import worlds
from harness import wait_until


class Cuda(machine.Case):
    def program(self):
        return machine.program("cuda-patterns")

    def neighbour(self):
        return machine.program("cuda-tenant"), "queue", "1000000", "600"


class Alone(Cuda, patterns.Alone):
    pass


class Beside(Cuda, patterns.Beside):
    SOME = ("early-receive", "legacy-and-blocking", "mixed-defaults", "overlap")

    def test_what_waits_for_somebody_outside(self):
        """What stands behind it is not in flight: no turn is kept by it."""
        self.begin()
        self.tenant()
        for name in ("external-semaphore", "event-of-another"):
            self.go_through_all((name,))
            self.assertNotIn("drain_overdue", self.agent.log(), name)

    def test_under_the_hardware(self):
        self.begin(kernel=True)
        self.world.put("policy", "")
        self.tenant()
        self.assertTrue(wait_until(
            lambda: self.agent.get("/v1/devices")["items"][0]["executor"] == "hardware", 30))
        self.go_through_all()


class Disturbed(Cuda, patterns.Disturbed):
    SOME = ("early-receive",)


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
