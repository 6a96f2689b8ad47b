# SPDX-License-Identifier: Apache-2.0
"""CUDA programs with a limit in space: cleave run --sm.

usage: test_units.py --build BUILD [unittest arguments]
"""
import os
import signal
import socket
import subprocess
import sys
import unittest

import machine
import worlds
from gpus import one_of_each
from harness import wait_until

QUARTER = ("--share", "0.25", "--sm", "25%")
UNITS = 132  # of an H100
PART = 32    # of the 33 of a quarter; an MPS server rounds in the same way
SLOWER = UNITS / PART
KERNEL_NS = 10_000_000


class Units(machine.Case):
    def begin(self, **more):
        super().begin(cuda="tell-nvml 1\ntrace 1", **more)

    def units(self, *words, before=(), options=QUARTER, env=None):
        """The output of cuda-units, once it is complete."""
        process = self.start(*before, machine.program("cuda-units"), *words, options=options,
                             env=env)
        line = process.stdout.readline()
        if not line:
            self.fail(process.communicate(timeout=60))
        return [float(word) for word in line.split()]

    def took(self):
        """By which factor each kernel of the last program took longer, by the GPU's clock."""
        lease = self.agent.get("/v1/leases")["items"][-1]
        took = self.world.player.kernels(lease["processes"][0]["pid"])
        return [round(ns / KERNEL_NS, 1) for ns in took]

    def assert_units(self, said, n, *times):
        """The program runs one or two kernels in each place."""
        self.assertEqual((said[0], len(said)), (n, 1 + len(times)), said)
        self.assertEqual(one_of_each(self.took()), one_of_each(round(each, 1) for each in times))

    def sm(self):
        return self.agent.get("/v1/leases")["items"][-1]["sm"]

    def assert_held_by(self, held_by):
        self.assertTrue(wait_until(lambda: self.sm()["held_by"] == held_by, 5), self.sm())
        self.assertEqual(len(self.agent.events("sm_not_held")), held_by == "nothing")


class Green(Units):
    """Without an MPS server."""

    def test_without_a_limit(self):
        self.begin()
        self.assert_units(self.units("stream", "legacy", "green", options=("--share", "0.5")),
                          UNITS, 1, 1, 1)
        self.assertIsNone(self.sm())

    def test_streams(self):
        self.begin()
        self.assert_units(self.units("stream", "priority", "thread", "graph", "reset", "stream"),
                          PART, *[SLOWER] * 6)
        self.assertEqual(self.sm(), {"fraction": .25, "count": PART, "first": None,
                                     "held_by": "green_contexts", "reason": None})
        self.assert_held_by("green_contexts")

    def test_a_green_context_of_its_own(self):
        self.begin()
        self.assert_units(self.units("green", "stream"), PART, SLOWER, SLOWER)
        self.assert_held_by("green_contexts")

    def test_a_primary_context_that_others_have(self):
        """References that no call showed: its streams stay when the gate's reference is
        released."""
        self.begin()
        self.assert_units(self.units("kept"), PART, SLOWER)

    def test_the_end_of_the_primary_context(self):
        """It is destroyed with the program's last stream there, and no earlier."""
        self.begin()
        self.assertEqual(self.units("release")[2], 0)

    def test_streams_beside_a_library(self):
        self.begin()
        self.assertEqual(self.units("race"), [PART, 0])

    def test_where_the_driver_ends_turns(self):
        self.begin(kernel=True)
        busy = self.start(machine.program("cuda-tenant"), "queue", "1000000", "30")
        self.assertEqual(busy.stdout.readline(), "ready\n")
        said = self.units("stream", "stream")
        self.assertEqual(said[0], PART)
        # By the GPU's clock no kernel is quicker than on its part of the units; beside the other
        # lease most of them take longer.
        self.assertGreaterEqual(min(self.took()), round(SLOWER, 1))
        for lease in self.agent.get("/v1/leases")["items"]:
            self.assertGreater(lease["turns"], 1, lease)
        self.assert_held_by("green_contexts")

    def test_a_cooperative_launch(self):
        self.begin()
        self.assertEqual(self.units("cooperative"), [PART, 0, 720])

    def test_unenforced_limits(self):
        """It is reported once for each process, and stays reported."""
        self.begin()
        for word, why in (("legacy", "default"), ("blocking", "default"),
                          ("context", "context of its own")):
            with self.subTest(word):
                before = len(self.agent.events("sm_not_held"))
                self.assert_units(self.units("stream", word, word), PART, SLOWER, 1, 1)
                self.assertTrue(wait_until(lambda: self.sm()["held_by"] == "nothing", 5))
                self.assertIn(why, self.sm()["reason"])
                events = self.agent.events("sm_not_held")[before:]
                self.assertEqual(len(events), 1, events)
                self.assertIn(why, events[0]["message"])
                self.started[-1].communicate("\n", timeout=60)
                self.assertTrue(wait_until(lambda: not self.agent.get("/v1/leases")["items"]))

    def test_a_launch_that_is_known_elsewhere(self):
        """A kernel of known length passes quickly, but the limit still applies."""
        self.begin()
        self.units("stream", *["stream"] * 5, "legacy")
        self.assert_held_by("nothing")

    def test_a_graph_by_hand(self):
        """Its kernels run where they were loaded; the double runs them where the graph is."""
        self.begin()
        self.units("graph")
        self.assert_held_by("green_contexts")
        self.units("node")
        self.assert_held_by("nothing")
        self.assertIn("explicitly", self.sm()["reason"])

    def test_a_driver_that_refuses(self):
        for call in ("cuDeviceGetDevResource", "cuGreenCtxCreate", "cuGreenCtxStreamCreate"):
            with self.subTest(call):
                self.begin()
                self.world.put("cuda-faults", f"{call} 1000 801")
                self.assert_units(self.units("stream"), PART, 1)
                self.assert_held_by("nothing")
                self.doCleanups()

    def test_a_new_agent(self):
        self.begin()
        self.units("stream")
        before = self.sm()
        self.assertEqual(before["held_by"], "green_contexts")
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.assertTrue(wait_until(lambda: self.sm() == before, 10), (before, self.sm()))


class Mps(Units):
    """With a daemon that answers."""

    def begin(self, **more):
        super().begin(**more)
        self.pipes = os.path.join(self.world.folder, "mps")
        os.mkdir(self.pipes)
        self.daemon = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.daemon.close)
        self.daemon.bind(os.path.join(self.pipes, "control"))
        self.daemon.listen(64)

    def units(self, *words, env=None, **more):
        return super().units(*words, env={"CUDA_MPS_PIPE_DIRECTORY": self.pipes, **(env or {})},
                             **more)

    def test_all_that_it_launches(self):
        self.begin()
        self.assert_units(self.units("legacy", "blocking", "stream", "context"),
                          PART, *[SLOWER] * 4)
        self.assert_held_by("mps")
        self.assertEqual(self.sm()["count"], PART)

    def test_an_environment_of_its_own(self):
        self.begin()
        variable = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
        for before in (("env", f"{variable}=100"), ("env", "-u", variable)):
            with self.subTest(before):
                self.assert_units(self.units("legacy", before=before), PART, SLOWER)
        n, _ = self.units("legacy", before=("env", f"{variable}=10"))
        self.assertEqual(n, PART, "it asks before the driver says so")
        self.assertGreater(min(self.took()), 9, "less than its part it may have")
        self.assert_held_by("mps")

    def test_a_daemon_that_has_gone(self):
        """Its socket does not answer any more: green contexts are used."""
        self.begin()
        self.daemon.close()
        self.assert_units(self.units("stream"), PART, SLOWER)
        self.assert_held_by("green_contexts")
        self.assert_units(self.units("legacy"), PART, 1)
        self.assert_held_by("nothing")


class Requests(machine.Case):
    def refused(self, *options):
        process = self.start("true", options=options)
        _, err = process.communicate(timeout=60)
        self.assertEqual(len(err.splitlines()), 1, err)
        return process.returncode, err

    def test_several_devices(self):
        self.begin()
        self.assertEqual(self.refused("--count", "1", "--share", "0.5", "--sm", "2")[0], 64)

    def test_a_driver_without_them(self):
        self.begin(driver="r470")
        code, err = self.refused(*QUARTER)
        self.assertEqual(code, 64, err)
        self.assertIn("no green contexts", err)
        self.assertEqual(subprocess.run(
            [worlds.built("src/cli/cleave"), "run", "--socket", self.agent.api, "--share", "0.5",
             "--", "true"], env=self.agent.env, check=False).returncode, 0)


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
