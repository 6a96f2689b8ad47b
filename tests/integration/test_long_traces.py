#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cleave simulate` on a trace of ten million rows, some of them wrong: memory is bounded.

Argument: the cleave program.
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CLEAVE = "cleave"
ROWS, WRONG_EVERY = 10_000_000, 100_000
# The shapes of requests and the active leases, and nothing for a row.
MOST_KIB = 64 * 1024


class Long(unittest.TestCase):
    def test_ten_million_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            nodes, pods = Path(folder) / "nodes.csv", Path(folder) / "pods.csv"
            nodes.write_text("sn,cpu_milli,memory_mib,gpu\n"
                             + "".join(f"n{i},64000,262144,4\n" for i in range(8)))
            with open(pods, "w", encoding="utf-8") as file:
                file.write("name,cpu_milli,memory_mib,num_gpu,gpu_milli,arrives_s,stays_s\n")
                file.writelines(f"p{i},4000,1024,1,{-1 if i % WRONG_EVERY == 0 else 500},{i},9\n"
                                for i in range(ROWS))
            done = subprocess.run(
                ["/usr/bin/python3", "-c", "import resource, subprocess, sys\n"
                 "done = subprocess.run(sys.argv[1:], check=False)\n"
                 "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n"
                 "sys.exit(done.returncode)",
                 CLEAVE, "simulate", str(nodes), str(pods), "--times", "--skip-bad", "-p", "first-fit",
                 "-o", "json"], capture_output=True, text=True, timeout=900, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        row, = json.loads(done.stdout)["items"]
        self.assertEqual((row["arrived"], row["placed"]), (ROWS - ROWS // WRONG_EVERY,) * 2)
        self.assertIn(f"{ROWS // WRONG_EVERY} rows were wrong, and were skipped", done.stderr)
        self.assertLess(int(done.stderr.splitlines()[-1]), MOST_KIB)


if __name__ == "__main__":
    CLEAVE = sys.argv.pop(1)
    unittest.main(verbosity=2)
