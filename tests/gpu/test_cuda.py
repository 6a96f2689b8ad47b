# SPDX-License-Identifier: Apache-2.0
"""That cuda.py runs to its end and finds what it should, on the doubles.

usage: test_cuda.py --build BUILD [unittest arguments]
"""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cuda"))

import machine  # noqa: E402
import worlds  # noqa: E402


class Verify(unittest.TestCase):
    def test_on_the_doubles(self):
        world = machine.Cuda()
        self.addCleanup(world.close)
        docs = os.path.join(world.folder, "docs.md")
        shim = worlds.built("tests/doubles/cuda/libnvidia-rm-double.so")
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "cuda.py"), "--build", worlds.built(""), "--quick",
             "--write-docs", docs], text=True, capture_output=True, check=True, timeout=100,
            env={**os.environ, **world.environment(), "LD_PRELOAD": shim})
        for line in ("driver: handles seen: 15 objects, 2 channel groups",
                     "names: every way leads to the gate", "memory, plain: the quota holds",
                     "memory, graphs: the quota holds", "launch on a stream: "):
            self.assertIn(line, done.stdout)
        self.assertIn("slice 1024 us (0x0), set 2000 (0x0), then 2000", done.stdout)
        self.assertRegex(done.stdout, r"shares 0.2 queue 100 us.*: got 0\.\d+ 0\.\d+ 0\.\d+, worst")
        self.assertFalse(os.path.exists(docs), "a double is no GPU")


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
