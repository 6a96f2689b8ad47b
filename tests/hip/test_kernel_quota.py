# SPDX-License-Identifier: Apache-2.0
"""A lease with a cgroup of its own: the kernel holds its memory too.  The cgroup is a real one; dmem's
files, which few kernels have, are plain ones beside it.

usage: test_kernel_quota.py --build BUILD --rocm 5|6 [unittest arguments]
"""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import machine
import worlds
from harness import wait_until, writable_cgroups

MIB = machine.MIB
CGROUPS = writable_cgroups() if os.geteuid() == 0 else None
REGION = "drm/0000:05:00.0/vram"
NO_LIMIT = f"drm/0000:03:00.0/vram0 max\n{REGION} max\n"


@unittest.skipUnless(CGROUPS, "needs root and cgroups that can be written")
class KernelQuota(machine.Case):
    def begin_with(self, limits=NO_LIMIT):
        self.cgroup = tempfile.mkdtemp(prefix="cleave-test-", dir=CGROUPS)
        self.addCleanup(lambda: wait_until(self.cgroup_removed, 5))
        self.folder = tempfile.mkdtemp(prefix="cleave-dmem-")
        self.addCleanup(shutil.rmtree, self.folder)
        mine = os.path.join(self.folder, os.path.basename(self.cgroup))
        os.mkdir(mine)
        os.symlink(os.path.join(self.cgroup, "cgroup.procs"), os.path.join(mine, "cgroup.procs"))
        self.limits = os.path.join(mine, "dmem.max")
        if limits is None:
            os.symlink("/dev/null", self.limits)
        else:
            worlds.write_whole(self.limits, limits)
        worlds.write_whole(os.path.join(self.folder, "dmem.capacity"),
                           f"drm/0000:03:00.0/vram0 1000\n{REGION} 206158430208\n")
        os.environ["CLEAVE_CGROUPFS"] = self.folder
        self.addCleanup(os.environ.pop, "CLEAVE_CGROUPFS")
        self.begin()

    def cgroup_removed(self):
        try:
            os.rmdir(self.cgroup)
        except OSError:
            return False
        return True

    def start_inside(self, exec_word="exec"):
        """cleave run in the cgroup; without the exec beside the shell."""
        words = [worlds.built("src/cli/cleave"), "run", "--socket", self.agent.api, "--share", "0.5",
                 "--memory", "1G", "--name", "own", "--device", "gpu0", "--",
                 machine.program("hip-tenant"), "queue", "100000", "60"]
        process = subprocess.Popen(
            ["sh", "-c", f'echo $$ > {self.cgroup}/cgroup.procs; {exec_word} "$@"; exit $?', "sh", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.agent.env)
        self.started.append(process)
        self.assertEqual(process.stdout.readline(), "ready\n", process.poll())
        return process

    def held_by(self):
        return self.agent.get("/v1/leases/own")["memory_held_by"]

    def limit(self):
        with open(self.limits, encoding="ascii") as file:
            return file.read().splitlines()[-1]

    def end_lease(self):
        subprocess.run([worlds.built("src/cli/cleave"), "release", "--socket", self.agent.api, "--force",
                        "own"], check=True, capture_output=True, env=self.agent.env)
        self.assertTrue(wait_until(lambda: not self.agent.get("/v1/leases")["items"], 10))

    def test_a_cgroup_of_its_own(self):
        self.begin_with()
        self.start_inside()
        self.assertEqual((self.held_by(), self.limit()), ("kernel", f"{REGION} {1024 * MIB}"))
        subprocess.run([worlds.built("src/cli/cleave"), "set", "--socket", self.agent.api, "own",
                        "--memory", "2G"], check=True, capture_output=True, env=self.agent.env)
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
        self.assertTrue(wait_until(lambda: self.held_by() == "kernel", 5))
        self.end_lease()
        self.assertEqual(self.limit(), f"{REGION} max")

    def test_somebody_else_is_there(self):
        """He would be held, too."""
        self.begin_with()
        self.start_inside(exec_word="")
        self.assertEqual((self.held_by(), self.limit()), ("gate", f"{REGION} max"))
        self.end_lease()

    def test_a_kernel_that_takes_no_limit(self):
        """Reading it back says so."""
        self.begin_with(limits=None)
        self.start_inside()
        self.assertEqual(self.held_by(), "gate")
        self.assertIn("does not take the limit", self.agent.log())
        self.end_lease()

    def test_no_cgroup(self):
        self.begin_with()
        process = self.start(machine.program("hip-tenant"), "queue", "100000", "60",
                             options=("--share", "0.5", "--memory", "1G", "--name", "own"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assertEqual((self.held_by(), self.limit()), ("gate", f"{REGION} max"))


if __name__ == "__main__":
    machine.main()
