# SPDX-License-Identifier: Apache-2.0
"""The AppArmor profile, parsed by AppArmor's own parser: without the constructs of version 4.0, where
the parser is older. test_apparmor_4.py parses it as it is shipped.

usage: test_apparmor.py
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent.parent
PROFILE = TREE / "packaging/apparmor/cleave"
PARSER = shutil.which("apparmor_parser", path=f"{os.environ['PATH']}:/sbin:/usr/sbin")


def version():
    said = subprocess.run([PARSER, "--version"], capture_output=True, text=True, check=True).stdout
    return [int(part) for part in re.search(r"version (\d+)\.(\d+)", said).groups()]


class Profile(unittest.TestCase):
    def test_it_is_read(self):
        text = PROFILE.read_text(encoding="ascii")
        if version() < [4, 0]:  # newer constructs
            text, n = re.subn(r"^abi <abi/4\.0>,|^  userns,", "", text, flags=re.M)
            self.assertEqual(n, 2)
        with tempfile.NamedTemporaryFile("w", prefix="cleave-profile-") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([PARSER, "--skip-kernel-load", "--skip-cache", "--names",
                                   file.name], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.strip(), "cleave")

    def test_it_is_for_what_is_installed(self):
        """The command line is where the packages install it."""
        attached = re.search(r"^profile cleave (\S+) ", PROFILE.read_text(encoding="ascii"), re.M)[1]
        prefixes = re.fullmatch(r"/\{(.*)\}bin/cleave", attached)[1].split(",")
        self.assertIn("usr/", prefixes)
        self.assertIn("usr/bin/cleave",
                      (TREE / "packaging/debian/cleave.install").read_text(encoding="ascii"))


if __name__ == "__main__":
    if not PARSER:
        print("skipped: apparmor is not installed")
        sys.exit(77)  # skipped, for meson
    unittest.main()
