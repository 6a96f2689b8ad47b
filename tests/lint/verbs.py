#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What verbs of ./dev run: stand-ins for the package manager, meson and ninja write down their
arguments, on a machine that is not this one."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import tree

# dpkg-query -W -f FORMAT PACKAGE...
STAND_INS = {
    "dpkg-query": 'shift 3\nfor package; do case " $CLEAVE_LACKS " in *" $package "*) ;; '
                  '*) printf "%s=installed " "$package" ;; esac; done',
    "meson": 'echo meson "$@" >>"$CLEAVE_CALLS"',
    "ninja": 'echo ninja "$@" >>"$CLEAVE_CALLS"',
    "apt-cache": "exit 0",
    # The verb ends here where it installs: nothing of this machine's is run.
    "apt-get": 'echo apt-get "$@" >>"$CLEAVE_CALLS"\nexit 1',
    "ldconfig": "exit 0",
    "npm": "exit 1",
    "sudo": '"$@"',
}


@unittest.skipUnless(os.path.exists("/etc/debian_version"), "./dev knows Debian's packages")
class Verbs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cleave-verbs-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # A copy, because a verb links compile_commands.json beside it.
        for name in ("dev", "tests/dev.sh", "web/dev.sh"):
            (self.folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(tree.ROOT / name, self.folder / name)
        for name, text in STAND_INS.items():
            self.put(name, text)

    def put(self, name, text):
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def calls(self, *words, lacks=""):
        """The calls of a verb, as lists of words."""
        written = self.folder / "calls"
        written.write_text("")
        env = dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}", CLEAVE_LACKS=lacks,
                   CLEAVE_CALLS=str(written), BUILDDIR=str(self.folder / "build"))
        subprocess.run([self.folder / "dev", *words], env=env, capture_output=True, check=False,
                       stdin=subprocess.DEVNULL)
        return [line.split() for line in written.read_text().splitlines()]

    def test_libraries_are_where_the_loader_looks(self):
        """Also where dpkg-architecture, which meson asks, is missing."""
        triplet = subprocess.run(["cc", "-print-multiarch"], capture_output=True, text=True,
                                 check=True).stdout.strip()
        calls = self.calls("install", f"--prefix={self.folder}/prefix")
        options = [call[2:-1] for call in calls if call[:2] == ["meson", "configure"]]
        self.assertEqual(options, [[f"-Dprefix={self.folder}/prefix", f"-Dlibdir=lib/{triplet}"]])

    def test_new_packages_are_noticed(self):
        """A folder that was configured before a package was there is configured again."""
        ninja = self.folder / "build/build.ninja"
        ninja.parent.mkdir()
        ninja.touch()
        setups = lambda: [call for call in self.calls("build", "x") if call[1] == "setup"]
        self.assertEqual(setups(), [])
        os.utime(ninja, (0, 0))
        self.assertEqual([call[:3] for call in setups()], [["meson", "setup", "--reconfigure"]])

    def test_verbs_install_what_they_run(self):
        for verb, package in ((["build"], "libcmocka-dev"), (["bench", "engines"], "podman"),
                              (["bench", "engines"], "gcc"), (["test", "slurm"], "slurmd"),
                              (["measure"], "clpeak"), (["install"], "gcc")):
            with self.subTest(verb, package=package):
                first, *_ = self.calls(*verb, lacks=package)
                self.assertEqual((first[0], first[-1]), ("apt-get", package))
                self.assertIn("install", first)


if __name__ == "__main__":
    unittest.main()
