# SPDX-License-Identifier: Apache-2.0
"""Shares of a GPU that programs use through CUDA, measured by the GPU itself.

usage: test_shares.py --build BUILD [unittest arguments]
"""
import sys
import time
import unittest

import machine
import gpus
import worlds
from harness import wait_until


MANY_LAUNCHES = 20


class Shares(gpus.Tenants, machine.Case):
    MACHINE = {"cuda": "tell-nvml 1\ndevice-mb-s 1000"}
    TENANT = "tests/cuda/cuda-tenant"

    def test_three_queues(self):
        self.assert_parts([(.1, "queue", 100_000), (.6, "queue", 100_000), (.3, "queue", 100_000)])

    def test_short_kernels(self):
        self.assert_parts([(.2, "queue", 20_000), (.8, "queue", 20_000)])

    def test_long_beside_short(self):
        """The time until the end of a kernel is noticed is charged to the lease itself."""
        self.assert_parts([(.5, "queue", 5_000_000), (.5, "queue", 50_000)], 9)

    def test_a_wait_for_each_kernel(self):
        self.assert_parts([(.3, "sync", 200_000), (.7, "queue", 200_000)], 4)

    def test_many_kinds(self):
        self.assert_parts([(.4, "kinds", 100_000), (.6, "queue", 100_000)], 3)

    def test_every_way_to_submit(self):
        """Beside a plain queue: none bypasses the share."""
        for style in ("legacy", "thread", "streams", "cooperative", "extended", "ancient", "graph",
                      "captures", "host-function", "copy"):
            with self.subTest(style):
                self.assert_parts([(.25, style, 100_000), (.75, "queue", 100_000)], 3)
            self.doCleanups()


class Alone(machine.Case):
    def test_markers_of_many_kinds(self):
        """An event behind each kernel would slow the GPU down: the gate records one only until it
        knows how long a kind of kernel takes, and then with many kernels between."""
        self.begin()
        self.run_in_lease(machine.program("cuda-tenant"), "kinds", "100000", "2",
                          options=("--share", "1", "--memory", "1G"))
        used = max(self.world.stats()[1].values(), key=lambda process: process["launches"])
        self.assertGreater(used["launches"], 1000)
        self.assertLess(used["records"], used["launches"] / MANY_LAUNCHES)


class Life(machine.Case):
    def test_a_killed_program_leaves_nothing(self):
        self.begin()
        process = self.start(machine.program("cuda-tenant"), "queue", "100000", "60")
        self.assertEqual(process.stdout.readline(), "ready\n")
        lease = self.agent.get("/v1/leases")["items"][0]
        machine.os.kill(lease["processes"][0]["pid"], 9)
        process.wait(60)
        self.assertTrue(wait_until(lambda: not self.agent.get("/v1/leases")["items"]))
        self.run_in_lease(machine.program("cuda-tenant"), "queue", "100000", "1",
                          options=("--share", "1"))

    def test_no_lease_no_device(self):
        """A process with the gate and without a lease sees no GPU."""
        self.begin()
        gate = worlds.built("src/gate/libcleave-cuda.so")
        done = machine.subprocess.run(
            [machine.program("cuda-tenant"), "queue", "100000", "1"], text=True,
            capture_output=True, check=False,
            env={**self.agent.env, "LD_PRELOAD": gate, "CLEAVE_LEASE": "/nonexistent"})
        self.assertIn("cuInit(0): 100", done.stderr)

    def begun_without_agent(self, *options):
        """A program that sets the variable itself, and opens the GPU when the agent is gone."""
        self.begin()
        process = self.start(
            "sh", "-c", 'echo begun; read -r _; CLEAVE_IF_NO_AGENT=open exec "$@"', "sh",
            machine.program("cuda-tenant"), "queue", "100000", ".1",
            options=("--share", "0.5", *options))
        self.assertEqual(process.stdout.readline(), "begun\n")
        self.agent.stop()
        return process.communicate("\n", timeout=60)

    def test_open_is_the_choice_of_who_starts_the_program(self):
        out, err = self.begun_without_agent()
        self.assertNotIn("ready", out)
        self.assertIn("cuInit(0): 100", err)
        self.assertRegex(err, "cleave: no device for process .*--if-no-agent=open, which it cannot")

    def test_open_without_an_agent(self):
        out, err = self.begun_without_agent("--if-no-agent=open")
        self.assertIn("ready", out, err)
        self.assertNotIn("no device", err)

    def test_a_gated_program_is_not_reported(self):
        self.begin()
        process = self.start(machine.program("cuda-tenant"), "queue", "100000", "60")
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(3)
        lease = self.agent.get("/v1/leases")["items"][0]
        self.assertEqual(lease["uses_ungated"], [])


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
