# SPDX-License-Identifier: Apache-2.0
"""A lease with its own cgroup: the kernel enforces its memory too.

usage: test_kernel_quota.py --build BUILD --rocm 5|6 [unittest arguments]
"""
import os
import signal
import unittest

import machine
import own_cgroup
import worlds

MIB = machine.MIB
REGION = "drm/0000:05:00.0/vram"
NO_LIMIT = f"drm/0000:03:00.0/vram0 max\n{REGION} max\n"


@unittest.skipUnless(own_cgroup.CGROUPS, own_cgroup.NEEDS)
class KernelQuota(own_cgroup.OwnCgroup, machine.Case):
    def begin_with(self, files=None, **more):
        self.TENANT = (machine.program("hip-tenant"), "queue", "100000", "60")
        super().begin_with(files or {"dmem.max": NO_LIMIT}, **more)
        worlds.write_whole(os.path.join(self.folder, "dmem.capacity"),
                           f"drm/0000:03:00.0/vram0 1000\n{REGION} 206158430208\n")

    def limit(self):
        with open(os.path.join(self.mine, "dmem.max"), encoding="ascii") as file:
            return file.read().splitlines()[-1]

    def test_a_cgroup_of_its_own(self):
        self.begin_with()
        self.start_inside()
        self.assertEqual((self.held_by(), self.limit()), ("kernel", f"{REGION} {1024 * MIB}"))
        self.cleave("set", "own", "--memory", "2G")
        self.assertEqual((self.held_by(), self.limit()), ("kernel", f"{REGION} {2048 * MIB}"))
        self.end_lease()
        self.assertEqual(self.limit(), f"{REGION} max")

    def test_the_next_agent_goes_on(self):
        self.begin_with()
        self.start_inside()
        self.agent.process.send_signal(signal.SIGKILL)
        self.agent.process.wait()
        self.assertEqual(self.limit(), f"{REGION} {1024 * MIB}", "it needs no agent")
        self.agent.start()
        self.until_held_by("kernel")
        self.end_lease()
        self.assertEqual(self.limit(), f"{REGION} max")

    def test_another_process_in_the_cgroup(self):
        """The limit would apply to the other process, too."""
        self.begin_with()
        self.start_inside(exec_word="")
        self.assertEqual((self.held_by(), self.limit()), ("gate", f"{REGION} max"))
        self.end_lease()

    def test_a_kernel_that_takes_no_limit(self):
        """The limit that is read back shows it."""
        self.begin_with({"dmem.max": None})
        self.start_inside()
        self.assertEqual(self.held_by(), "gate")
        self.assertIn("does not accept the limit", self.agent.log())
        self.end_lease()

    def test_no_cgroup(self):
        self.begin_with()
        process = self.start(*self.TENANT, options=("--share", "0.5", "--memory", "1G", "--name", "own"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assertEqual((self.held_by(), self.limit()), ("gate", f"{REGION} max"))


if __name__ == "__main__":
    machine.main()
