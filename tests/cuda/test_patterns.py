# SPDX-License-Identifier: Apache-2.0
"""Programs whose streams, host threads and processes wait for each other (patterns.c): each ends,
with the same result, alone on the device and beside a tenant, under both executors, and while the
agent is killed or stopped. Alone no thread of it ever waits at the gate.

usage: test_patterns.py --build BUILD [unittest arguments]
"""
import sys
import time
import unittest

import machine
import patterns
import worlds
from harness import wait_until


class Cuda(machine.Case):
    def program(self):
        return machine.program("cuda-patterns")

    def competitor(self):
        return machine.program("cuda-tenant"), "queue", "1000000", "600"


class Hardware(Cuda):
    """The device's executor is the driver's hardware preemption."""

    def begin(self):
        super().begin(kernel=True)
        self.world.put("policy", "")

    def begun(self):
        """The hardware executor has taken over the attached processes."""
        self.assertTrue(wait_until(
            lambda: self.agent.get("/v1/devices")["items"][0]["executor"] == "hardware", 30))


class Alone(Cuda, patterns.Alone):
    pass


class AloneLazy(Alone):
    """The first launch of each kernel returns when its context is idle."""

    def begin(self):
        super().begin(cuda="tell-nvml 1\nlazy-sync 1\n")


class AloneHardware(Hardware, patterns.Alone):
    """Behind a first program, with which the agent tests the hardware."""

    def begin(self):
        super().begin()
        first = self.pattern("ping-pong")
        self.begun()
        self.go_through(first, "ping-pong")
        self.finish(first)

    def test_nothing_waits(self):
        super().test_nothing_waits()
        self.begun()


class Beside(Cuda, patterns.Beside):
    SOME = ("early-receive", "legacy-and-blocking", "event-and-blocking", "event-and-own-streams",
            "mixed-defaults", "overlap", "context-ends", "graph-functions", "full-of-launches",
            "full-of-copies", "full-of-waits")

    def test_waits_for_outside(self):
        """Work behind the wait is not in flight, so it keeps no turn."""
        self.begin()
        self.tenant()
        for name in ("external-semaphore", "graph-of-semaphore", "event-of-another"):
            self.go_through_all((name,))
            self.assertNotIn("drain_overdue", self.agent.log(), name)

    def holds_little(self):
        """Work that stays in flight after the end of its context keeps the turn for some 0.2 s each
        time, of which there are 12; the work itself takes 0.01 s."""
        process = self.pattern("green-ends")
        self.go_through(process, "green-ends")
        lease = self.agent.get("/v1/leases/green-ends")
        self.finish(process)
        self.wait_for_end("green-ends")
        self.assertEqual(lease["overdue"], 0, lease)
        return lease["held_seconds"] < 12 * .1

    def test_green_contexts_that_end(self):
        """Their streams end with them, and no work of these stays in flight."""
        self.begin()
        self.tenant()
        self.assertTrue(any(self.holds_little() for _ in range(patterns.LOOKS)))

    def test_a_later_lease(self):
        """Then a thread that makes no call cannot mark its own stream any more."""
        self.begin()
        process = self.pattern("own-stream")
        self.wait_until_begun("own-stream")
        time.sleep(1)
        self.tenant()
        self.go_through(process, "own-stream")
        lease = self.agent.get("/v1/leases/own-stream")
        self.finish(process)
        self.assertEqual(lease["overdue"], 0, lease)


class Failed(Cuda, patterns.Patterns):
    """The driver refuses the wait for a context, as after a kernel that failed.  Here all its kernels
    run on: they are in flight and are charged until they have ended."""

    def test_context_that_ends(self):
        self.begin()
        self.tenant()
        self.world.put("cuda-faults", "cuCtxSynchronize 2 719")
        process = self.pattern("context-ends")
        self.go_through(process, "context-ends")
        lease = self.agent.get("/v1/leases/context-ends")
        ran = self.world.stats()[1][lease["processes"][0]["pid"]]["run_ns"] / 1e9
        self.assertGreater(ran, 0)
        self.assertGreater(min(lease["busy_seconds"], lease["held_seconds"]), .8 * ran, lease)
        self.finish(process)


class BesideFlood(Cuda, patterns.Patterns):
    """The other lease never waits for its work, so the device is never free."""

    def competitor(self):
        return machine.program("cuda-tenant"), "flood", "1000000", "600"

    def test_work_that_another_process_waits_for(self):
        self.begin()
        self.tenant()
        self.go_through_all(("late-process",))


class BesideHardware(Hardware, patterns.Patterns):
    def test_all(self):
        self.begin()
        self.tenant()
        self.begun()
        self.go_through_all()


class BesideIdle(Cuda, patterns.Patterns):
    """Another lease is attached and idle: a busy one has one turn, and its threads wait little."""

    def waits_little(self, name):
        process = self.pattern(name)
        self.go_through(process, name)
        lease = self.agent.get(f"/v1/leases/{name}")
        self.finish(process)
        self.wait_for_end(name)
        self.assertEqual((lease["turns"], lease["revocations"], lease["overdue"]), (1, 0, 0), lease)
        return lease["waited_seconds"] < lease["held_seconds"] / 3

    def test_work_that_another_stream_waits_for(self):
        self.begin()
        idle = self.pattern("ping-pong")
        self.go_through(idle, "ping-pong")
        for name in ("syncs-beside", "deep-beside", "many-streams", "context-ends"):
            with self.subTest(name):
                self.assertTrue(any(self.waits_little(name) for _ in range(patterns.LOOKS)))
        self.finish(idle)


class Late(Cuda, patterns.Patterns):
    """A thread is preempted between its command in the legacy stream and the gate's marker behind
    it, for longer than the program takes to reach a cycle of waits."""

    def test_marker_in_the_legacy_stream(self):
        self.begin(cuda="tell-nvml 1\nrecord-us 20000\n")
        self.go_through_all(("late-marker", "late-free"))


class Disturbed(Cuda, patterns.Disturbed):
    SOME = ("early-receive", "event-and-blocking", "overlap")


class DisturbedHardware(Hardware, patterns.Disturbed):
    SOME = ("early-receive", "event-and-blocking", "overlap")

    def tenant(self):
        super().tenant()
        self.begun()


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
