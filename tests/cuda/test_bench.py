# SPDX-License-Identifier: Apache-2.0
"""A short sample of the CUDA bench on the doubles, beside a library without limits.

usage: test_bench.py --build BUILD [unittest arguments]
"""
import json
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(sys.argv[2])
PASS = BUILD / "tests/cuda/libcuda-pass.so"


def bench(*arguments):
    """{(case, metric): result}"""
    done = subprocess.run([sys.executable, str(ROOT / "bench/run.py"), "--build", str(BUILD),
                           "cuda", *arguments], text=True, capture_output=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert found, done.stderr
    return {(r["case"], r["metric"]): r for r in found}


class Bench(unittest.TestCase):
    def test_shares_beside_a_library_that_knows_none(self):
        """It turns .1 and .9 into halves, which shows in its own column alone."""
        found = bench("--quick", "--case", "hardware-two-1ms", "--peer", str(PASS))
        result = found["hardware-two-1ms", "worst_error"]
        self.assertEqual(result["on"], "double")
        self.assertTrue(result["ok"], result)
        self.assertGreater(result["peer"], 30)

    def test_a_tenant_that_only_copies(self):
        """Copies within the device take half of it where nothing divides it."""
        result = bench("--quick", "--case", "gate-copies-within", "--peer", str(PASS))[
            "gate-copies-within", "work"]
        self.assertEqual(result["on"], "double")
        self.assertGreater(result["value"], .65, result)
        self.assertLess(result["peer"], .65, result)

    def test_cost_of_a_library(self):
        found = bench("--quick", "--case", "gate-instructions-open", "--peer", str(PASS))
        result = found["gate-instructions-open", "added"]
        self.assertGreater(result["value"], 0)
        self.assertTrue(0 < result["peer"] < result["value"], result)

    def test_memory_without_a_quota(self):
        found = bench("--case", "memory", "--peer", str(PASS))
        self.assertEqual(found["memory", "over_quota"]["value"], 0)
        self.assertEqual(found["memory", "wrong"]["value"], 0)
        self.assertGreater(found["memory", "over_quota"]["peer"], 1 << 20)

    def test_preemption_time(self):
        """With kernels of half a second: far sooner than their end."""
        found = bench("--quick", "--case", "hardware-preemption")
        self.assertLess(found["hardware-preemption", "preempt_p50"]["value"], 5000)
        self.assertGreater(found["hardware-preemption", "preempt_p50"]["value"], 0)

    def test_requests_beside_a_batch(self):
        found = bench("--quick", "--case", "hardware-latency-500ms")
        ratio = found["hardware-latency-500ms", "p99_ratio"]["value"]
        self.assertTrue(.9 < ratio < 5, ratio)

    def test_there_is_no_such_library(self):
        done = subprocess.run([sys.executable, str(ROOT / "bench/run.py"), "cuda", "--peer",
                               "/nonexistent.so"], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no file /nonexistent.so", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
