# SPDX-License-Identifier: Apache-2.0
"""Apptainer under `cleave run`, in a root of the release of Debian that has it, which is also the
image: made once and kept in a folder.

usage: test_apptainer.py CLEAVE CLEAVED GATES ROOT [unittest arguments]
"""
import os
import shutil
import sys
import unittest

import engine_root
import test_roots
from container_cases import GATES, Machine

RELEASE = os.environ.get("CLEAVE_APPTAINER_FROM", "sid")
# With the libraries of the command line and the agent.
WITH = ("apptainer", "clinfo", "libjansson4", "libmicrohttpd12t64", "libncursesw6", "libsmartcols1",
        "libsqlite3-0", "libsystemd0", "libyaml-0-2", "ocl-icd-libopencl1", "pocl-opencl-icd",
        "python3-pyopencl")
ROOT = os.path.abspath(sys.argv[4])
BUILD = os.path.dirname(os.path.dirname(GATES))
SESSIONS = "/var/lib/apptainer/mnt/session"  # of the package, and hidden in this root
USER = "54321"
IN_IMAGE = ("apptainer", "exec", "--userns")


class Apptainer(test_roots.RootCase):
    """Programs, agent and image are of that root."""
    become = ()

    def set_apart(self):
        specs = os.path.join(self.folder, "specs")
        os.mkdir(specs)
        here = engine_root.Root(ROOT, specs, [BUILD, self.folder, ROOT])
        self.addCleanup(here.close)
        for command in (("mkdir", "-p", SESSIONS),
                        ("useradd", "--no-create-home", f"--home-dir={self.folder}",
                         f"--uid={USER}", "tester")):
            done = here.call(*command)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.as_user = here.command(
            *self.become, "env", f"HOME={self.folder}", f"XDG_RUNTIME_DIR={self.folder}",
            f"XDG_STATE_HOME={self.folder}", f"CLEAVE_GATE_DIR={GATES}")

    def setUp(self):
        Machine.setUp(self)

    def test_reported(self):
        self.is_reported(*IN_IMAGE, ROOT)

    def test_reported_with_no_environment(self):
        self.is_reported(*IN_IMAGE, "--cleanenv", "--containall", ROOT)

    def test_held_with_the_gates_folder(self):
        """By default it keeps the environment, which names the gate and the lease, and /tmp, which has
        the lease here."""
        self.is_held(*IN_IMAGE, "--bind", GATES, "--bind", self.folder, ROOT)


class AsUser(Apptainer):
    """As another user than root, for whom each namespace is one of users too."""
    become = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")

    def set_apart(self):
        os.chown(self.folder, int(USER), int(USER))
        super().set_apart()


if __name__ == "__main__":
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("skipped: needs root and debootstrap")
        sys.exit(77)  # skipped, for meson
    engine_root.root.make_base(ROOT, WITH, RELEASE)
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
