#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A short sample of the load of `./dev bench engines`: containers come and go, and cleave-kubelet does
not grow.

usage: test_load.py BUILD"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import bed

BUILD = os.path.abspath(sys.argv.pop(1))


class Load(unittest.TestCase):
    def test_memory(self):
        with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
            done = subprocess.run(
                [sys.executable, os.path.join(bed.ROOT, "bench/run.py"), "--build", BUILD, "--quick",
                 "--case", "kubelet-load", "--json", file.name, "engines"],
                capture_output=True, text=True, timeout=600, check=False)
            rows = {row["metric"]: row["value"] for row in map(json.loads, file)}
        self.assertEqual(rows.get("refused"), 0, done.stdout + done.stderr)
        self.assertLessEqual(rows["memory"], 12)
        # The first thousand containers; the bench has a bound for what follows.
        self.assertLessEqual(rows["growth"], 2)


if __name__ == "__main__":
    unittest.main()
