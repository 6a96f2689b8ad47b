# SPDX-License-Identifier: Apache-2.0
"""Another root file system inside a lease, by the programs that make such: what lies over the
machine's drivers is not in it.  Each is held, or is reported within seconds.

usage: test_roots.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import podman as podman_here
from container_cases import CLEAVE, MIB, Machine

PYTHON = "/usr/bin/python3"
# Says how much memory the devices have that it finds, and stays for as long as it is looked at.
PROBE = """
import sys
try:
    import pyopencl
    print([device.global_mem_size for platform in pyopencl.get_platforms()
           for device in platform.get_devices()], flush=True)
except pyopencl.Error as error:
    print([], flush=True)
sys.stdin.read()
"""
# As `cleave run` does, what a program mounts is its own.
CHROOT = """
for folder in proc dev sys; do mount --rbind "/$folder" "$0/$folder"; done
exec chroot "$0" "$@"
"""
SANDBOX = ("--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",
           "/lib64", "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev",
           "--tmpfs", "/tmp")


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


@unittest.skipUnless(os.geteuid() == 0, "needs root to make a root file system")
class Roots(Machine):
    def setUp(self):
        super().setUp()
        top = tempfile.mkdtemp(prefix="cleave-roots-")
        self.addCleanup(os.rmdir, top)
        subprocess.run(["mount", "-t", "tmpfs", "cleave-test", top], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", top], check=True)
        # The machine's own files, without what is mounted over them.
        self.root = os.path.join(top, "root")
        for name in ("root", "upper", "work"):
            os.mkdir(os.path.join(top, name))
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                        f"lowerdir=/,upperdir={top}/upper,workdir={top}/work", self.root],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.root], check=True)

    def start(self, *way):
        """Its line, with all that was started still there."""
        program = subprocess.Popen(
            [CLEAVE, "run", "--socket", self.socket, "--share", ".3", "--memory", "200M",
             "--name", "one", "--", *way, PYTHON, "-c", PROBE],
            env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.wait, 60)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stdin.close)
        return json.loads(program.stdout.readline())

    def uses_ungated(self):
        return self.leases()["one"]["uses_ungated"]

    def is_held(self, *way):
        self.assertEqual(self.start(*way), [200 * MIB])
        time.sleep(3)
        self.assertEqual(self.uses_ungated(), [])

    def is_reported(self, *way):
        # In an image there is no gate where the machine's is.
        (memory_bytes,) = self.start("env", "-u", "OPENCL_LAYERS", "-u", "OCL_ICD_LAYERS", *way)
        self.assertGreater(memory_bytes, 200 * MIB)
        until = time.monotonic() + 20
        while not self.uses_ungated() and time.monotonic() < until:
            time.sleep(.1)
        self.assertEqual(self.uses_ungated(), ["opencl"])
        events = json.loads(self.call("events", "-o", "json").stdout)["items"]
        event, = (each for each in events if each["type"] == "ungated_api")
        self.assertIn("uses opencl, in another root file system, without its gate",
                      event["message"])

    def test_chroot(self):
        self.is_reported("unshare", "--mount", "sh", "-c", CHROOT, self.root)

    @needs("bwrap")
    def test_bubblewrap_with_a_root_of_its_own(self):
        self.is_reported("bwrap", "--bind", self.root, "/", "--proc", "/proc", "--dev", "/dev",
                         "--ro-bind", "/sys", "/sys")

    @needs("bwrap")
    def test_bubblewrap_with_the_machines_root(self):
        self.is_held("bwrap", "--dev-bind", "/", "/")

    @needs("bwrap")
    def test_bubblewrap_without_the_leases_folder(self):
        """The gate cannot be loaded, and lies in the drivers' place."""
        self.assertEqual(self.start("bwrap", *SANDBOX, "--unshare-pid"), [])

    @unittest.skipIf(why_not := podman_here.why_not(), why_not)
    def test_podman(self):
        """A container of a lease is `--device cleave.dev/gpu=NAME`."""
        with podman_here.Podman() as podman:
            self.is_reported(*podman.command("run", "--rm", "--interactive",
                                             *podman.options((), "/:O")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
