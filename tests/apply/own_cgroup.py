# SPDX-License-Identifier: Apache-2.0
"""A lease whose programs have a real cgroup of their own; the files of dmem, which few kernels
have, are plain files beside it."""
import os
import shutil
import subprocess
import tempfile

import worlds
from harness import wait_until, writable_cgroups

CGROUPS = writable_cgroups() if os.geteuid() == 0 else None
NEEDS = "needs root and cgroups that can be written"


class OwnCgroup:
    """For a gpus.Case."""

    TENANT = ()  # a program that prints when it is ready

    def begin_with(self, files=None, **machine):
        """files: {name: text} of the cgroup's folder, None for a file that keeps nothing."""
        self.cgroup = tempfile.mkdtemp(prefix="cleave-test-", dir=CGROUPS)
        self.addCleanup(lambda: wait_until(self.cgroup_removed, 5))
        self.folder = tempfile.mkdtemp(prefix="cleave-dmem-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.mine = os.path.join(self.folder, os.path.basename(self.cgroup))
        os.mkdir(self.mine)
        os.symlink(os.path.join(self.cgroup, "cgroup.procs"), os.path.join(self.mine, "cgroup.procs"))
        for name, text in (files or {}).items():
            path = os.path.join(self.mine, name)
            if text is None:
                os.symlink("/dev/null", path)
            else:
                worlds.write_whole(path, text)
        os.environ["CLEAVE_CGROUPFS"] = self.folder
        self.addCleanup(os.environ.pop, "CLEAVE_CGROUPFS")
        self.begin(**machine)

    def cgroup_removed(self):
        try:
            os.rmdir(self.cgroup)
        except OSError:
            return False
        return True

    def start_inside(self, exec_word="exec"):
        """cleave run in the cgroup; without the exec beside the shell."""
        words = [worlds.built("src/cli/cleave"), "run", "--socket", self.agent.api, "--share", "0.5",
                 "--memory", "1G", "--name", "own", "--device", "gpu0", "--", *self.TENANT]
        process = subprocess.Popen(
            ["sh", "-c", f'echo $$ > {self.cgroup}/cgroup.procs; {exec_word} "$@"; exit $?', "sh", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.agent.env)
        self.started.append(process)
        self.assertEqual(process.stdout.readline(), "ready\n", process.poll())
        return process

    def held_by(self):
        return self.agent.get("/v1/leases/own")["memory_held_by"]

    def until_held_by(self, who):
        self.assertTrue(wait_until(lambda: self.held_by() == who, 15), self.agent.log()[-1500:])

    def cleave(self, *words):
        subprocess.run([worlds.built("src/cli/cleave"), words[0], "--socket", self.agent.api,
                        *words[1:]], check=True, capture_output=True, env=self.agent.env)

    def end_lease(self):
        self.cleave("release", "--force", "own")
        self.assertTrue(wait_until(lambda: not self.agent.get("/v1/leases")["items"], 10))
