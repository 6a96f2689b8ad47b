# SPDX-License-Identifier: Apache-2.0
"""Memory beyond the quota, in host memory: what a program gets, and what the GPU sees.

usage: test_spill.py --build BUILD [unittest arguments]
"""
import subprocess
import sys
import unittest

import machine
import worlds
from harness import wait_until

SIZE = ("--share", "0.5", "--memory", "1G", "--spill", "2G")
CONTEXT_MIB = 300
MIB = machine.MIB


class Spill(machine.Case):
    def peaks(self):
        return {pid: p["peak"] // MIB for pid, p in self.world.stats()[1].items()}

    def cleave(self, *words):
        return subprocess.run([worlds.built("src/cli/cleave"), words[0], "--socket", self.agent.api,
                               *words[1:]], text=True, capture_output=True, check=False)

    def lease(self):
        return self.agent.get("/v1/leases")["items"][0]

    def test_what_programs_do(self):
        """None ever has more of the device than its quota, and the context."""
        self.begin()
        for name, peak in (("beyond", 1024), ("freed", 600), ("managed", 600), ("pitch", 600),
                           ("hints", 600), ("beside-a-hint", 600), ("beside-a-batch", 600),
                           ("is-not-freed", 600), ("comes-back", 900),
                           ("is-freed-on-its-way", 1024 + CONTEXT_MIB)):
            with self.subTest(name):
                before = self.peaks()
                self.run_in_lease(machine.program("cuda-spill"), name, options=SIZE)
                mine = max(p for pid, p in self.peaks().items() if pid not in before)
                self.assertLessEqual(mine, peak + CONTEXT_MIB)

    def test_a_hint_that_is_changed_in_line(self):
        """A batch is read when its turn has come, not before."""
        self.begin()
        other = self.start(machine.program("cuda-tenant"), "queue", "5000000", "60",
                           options=("--share", "0.5", "--memory", "1G"))
        self.assertEqual(other.stdout.readline(), "ready\n", other.poll())
        before = self.peaks()
        self.run_in_lease(machine.program("cuda-spill"), "changed-batch", options=SIZE)
        mine = max(p for pid, p in self.peaks().items() if pid not in before)
        self.assertLessEqual(mine, 600 + CONTEXT_MIB)

    def test_one_limit_for_all_processes(self):
        self.begin()
        self.run_in_lease(machine.program("cuda-spill"), "processes",
                          options=SIZE)

    def test_only_on_request(self):
        self.begin()
        self.run_in_lease(machine.program("cuda-spill"), "no-room",
                          options=("--share", "0.5", "--memory", "1G"))

    def test_spill_is_shown_and_returns(self):
        """After the quota has grown; and the spilled memory stays when the limit shrinks."""
        self.begin()
        process = self.start(machine.program("cuda-spill"), "stays", options=SIZE)
        self.assertEqual(process.stdout.readline(), "ready\n")
        lease = self.lease()
        self.assertEqual((lease["spill_bytes"], lease["spilled_bytes"]), (2048 * MIB, 800 * MIB))
        self.assertEqual(lease["refusals"], 0)
        self.assertIn("800M spilled", self.cleave("ps").stdout)
        done = self.cleave("set", lease["name"], "--spill", "none")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.lease()["spill_bytes"], self.lease()["spilled_bytes"]), (0, 800 * MIB))
        self.assertEqual(self.cleave("set", lease["name"], "--memory", "2G").returncode, 0)
        self.assertTrue(wait_until(lambda: self.lease()["spilled_bytes"] == 0, 10), self.lease())
        self.assertTrue(wait_until(lambda: max(self.peaks().values()) >= 1400, 10), "it is on the device")
        self.assertEqual(self.lease()["memory_used_bytes"],
                         1400 * MIB + self.lease()["memory_overhead_bytes"])

    def test_a_device_that_cannot_reach_the_host(self):
        """Each kernel would move all managed memory to the device: refused as before."""
        self.begin(cuda="tell-nvml 1\nconcurrent-managed 0")
        self.run_in_lease(machine.program("cuda-spill"), "no-room", options=SIZE)


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
