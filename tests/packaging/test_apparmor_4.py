# SPDX-License-Identifier: Apache-2.0
"""The AppArmor profile as it is shipped, parsed by the AppArmor of Debian 13, in a root of that
release; and the package that has the profile, installed and purged there.

usage: test_apparmor_4.py PACKAGES ROOT

PACKAGES is a folder of built packages; ROOT is where a bare Debian is kept from run to run.
"""
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import root as roots

TREE = Path(__file__).resolve().parent.parent.parent
PROFILE = TREE / "packaging/apparmor/cleave"
RELEASE = "trixie"
# With the libraries of the package cleave, so that dpkg alone installs it.
WITH = ("apparmor", "libjansson4", "libncursesw6", "libsmartcols1", "libyaml-0-2")
INSTALLED = "etc/apparmor.d/cleave"


class Case(unittest.TestCase):
    def setUp(self):
        self.root = roots.Root(ROOT)
        self.addCleanup(self.root.close)
        # The package loads the profile where AppArmor is enabled, which would be this machine's.
        subprocess.run(["umount", "--recursive", "--lazy", self.root.path / "sys"], check=True)

    def parse(self, path):
        return subprocess.run(["chroot", self.root.path, "/usr/sbin/apparmor_parser",
                               "--skip-kernel-load", "--skip-cache", "--names", path],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=False)


class Profile(Case):
    def test_it_is_read_unchanged(self):
        shutil.copy(PROFILE, self.root.path / "tmp/cleave")
        done = self.parse("/tmp/cleave")
        self.assertEqual((done.returncode, done.stdout), (0, "cleave\n"), done.stderr)

    def test_each_rule_is_parsed(self):
        """A word that the parser does not know is refused in the place of each."""
        text = PROFILE.read_text(encoding="ascii")
        for rule, other in (("\n  userns,", "\n  usernz,"), ("abi <abi/4.0>", "abi <abi/4.9>"),
                            ("(unconfined)", "(unconfinez)")):
            self.assertEqual(text.count(rule), 1, rule)
            (self.root.path / "tmp/other").write_text(text.replace(rule, other), encoding="ascii")
            self.assertNotEqual(self.parse("/tmp/other").returncode, 0, rule)


class Package(Case):
    def test_installed_and_purged(self):
        files = roots.packages_in(PACKAGES)
        if not {"cleave", "libcleave0"} <= set(files):
            self.skipTest("there are no packages: ./dev package --test")
        installed = self.root.path / INSTALLED
        self.root.install([files["libcleave0"], files["cleave"]])
        self.assertTrue(installed.exists())
        self.assertEqual(installed.read_bytes(), PROFILE.read_bytes())
        done = self.parse(f"/{INSTALLED}")
        self.assertEqual((done.returncode, done.stdout), (0, "cleave\n"), done.stderr)
        self.root.run("dpkg", "--purge", "cleave")
        self.assertFalse(installed.exists())

    def test_an_older_apparmor(self):
        """It cannot parse the profile, and gets none."""
        files = roots.packages_in(PACKAGES)
        if not {"cleave", "libcleave0"} <= set(files):
            self.skipTest("there are no packages: ./dev package --test")
        (self.root.path / "etc/apparmor.d/abi/4.0").unlink()
        self.root.install([files["libcleave0"], files["cleave"]])
        self.assertFalse((self.root.path / INSTALLED).exists())


if __name__ == "__main__":
    PACKAGES, ROOT = map(os.path.abspath, sys.argv[1:3])
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("skipped: needs root and debootstrap")
        sys.exit(77)  # skipped, for meson
    roots.enter_namespace()
    roots.make_base(ROOT, WITH, RELEASE)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
