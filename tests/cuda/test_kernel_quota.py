# SPDX-License-Identifier: Apache-2.0
"""A lease with its own cgroup, on a driver that enforces a cgroup's memory limit: the agent sets
it.

usage: test_kernel_quota.py --build BUILD [unittest arguments]
"""
import os
import signal
import sys
import unittest

import machine
import own_cgroup
import worlds
from harness import wait_until

MIB = machine.MIB


@unittest.skipUnless(own_cgroup.CGROUPS, own_cgroup.NEEDS)
class KernelQuota(own_cgroup.OwnCgroup, machine.Case):
    def begin_with(self, files=None, driver="r615", **more):
        self.TENANT = (machine.program("cuda-tenant"), "queue", "100000", "60")
        super().begin_with(files, driver=driver, **more)

    def limits(self):
        """(soft, hard) of each setting, in MiB; all are of the cgroup."""
        try:
            with open(os.path.join(self.world.folder, "limits"), encoding="ascii") as file:
                lines = [line.split() for line in file]
        except FileNotFoundError:
            return []
        self.assertEqual({(line[0], line[3]) for line in lines}, {("0", self.mine)})
        return [(int(line[1]) // MIB, int(line[2]) // MIB) for line in lines]

    def test_a_cgroup_of_its_own(self):
        self.begin_with()
        self.start_inside()
        self.until_held_by("kernel")
        self.assertEqual(self.limits(), [(0, 1024)])
        self.cleave("set", "own", "--memory", "2G")
        self.assertTrue(wait_until(lambda: self.limits()[1:] == [(0, 2048)], 10), self.limits())
        self.end_lease()
        self.assertTrue(wait_until(lambda: len(self.limits()) == 3, 10), self.limits())
        self.assertGreater(self.limits()[-1][1], 80000, "all that the GPU has")

    def test_the_next_agent_goes_on(self):
        self.begin_with()
        self.start_inside()
        self.until_held_by("kernel")
        self.agent.process.send_signal(signal.SIGKILL)
        self.agent.process.wait()
        self.agent.start()
        self.until_held_by("kernel")
        self.end_lease()

    def test_a_driver_without_permission(self):
        self.begin_with(node="gpu H100-80GB\nunprivileged 1")
        self.start_inside()
        self.assertTrue(wait_until(lambda: "only its gates enforce its memory" in self.agent.log(), 15))
        self.assertEqual((self.held_by(), self.limits()), ("gate", []))
        self.end_lease()

    def test_an_older_driver(self):
        self.begin_with(driver="r580")
        self.start_inside()
        self.assertEqual((self.held_by(), self.limits()), ("gate", []))
        self.end_lease()
        self.assertNotIn("only its gates enforce its memory", self.agent.log(), "it is no news")


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
