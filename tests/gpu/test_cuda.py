# SPDX-License-Identifier: Apache-2.0
"""That verify_cuda.py runs to its end and finds what it should, on the doubles, and that what no GPU
has been asked is said to be so.

usage: test_cuda.py --build BUILD [unittest arguments]
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("cuda", "integration")]

import cuda_table  # noqa: E402
import machine  # noqa: E402
import worlds  # noqa: E402
from slow import slow  # noqa: E402

VERIFICATION = Path(HERE).parent.parent / "docs/gpu-verification.md"


class OnTheDoubles(unittest.TestCase):
    def setUp(self):
        world = machine.Cuda()
        self.addCleanup(world.close)
        self.docs = os.path.join(world.folder, "docs.md")
        self.env = {**os.environ, **world.environment(),
                    "LD_PRELOAD": worlds.built("tests/doubles/cuda/libnvidia-rm-double.so")}

    def look(self, *names):
        """What was printed; a figure that misses its target is no failure of this."""
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "verify_cuda.py"), "--build", worlds.built(""), "--quick",
             "--only", ",".join(names), "--write-docs", self.docs],
            text=True, capture_output=True, check=False, timeout=200, env=self.env)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertNotIn("could not be looked at", done.stdout)
        self.assertIn("is not written: CLV_CUDA_DOUBLE is set", done.stderr)
        self.assertFalse(os.path.exists(self.docs), "a double is no GPU")
        return done.stdout

    def test_driver(self):
        out = self.look("driver", "try-preempt", "names")
        for line in ("driver: handles seen: 15 objects, 2 channel groups",
                     "try-preempt: answer: ok channels ", "names: wrong: 0, as it should be"):
            self.assertIn(line, out)
        # The double runs no code, so effects are not looked at.
        self.assertIn("\ndriver: preempt, idle: status 0x0, ", out)
        self.assertIn("slice 1024 us (0x0), set 2000 (0x0), then 2000", out)

    def test_memory(self):
        out = self.look("memory", "remains", "nvml", "spill", "units")
        self.assertIn("spill: wrong: 0 cases, as it should be", out)
        self.assertIn("units: shown: 32", out)
        self.assertIn("units: past: 0, as it should be", out)
        self.assertIn("remains: found: 0 words, as it should be", out)
        self.assertRegex(out, r"remains: looked_at: 1,0\d\d MiB")
        self.assertIn("nvml: wrong: 0, as it should be", out)
        self.assertIn("memory: wrong: 0 cases, as it should be", out)
        self.assertIn("memory: not_told: 300 MiB", out)
        self.assertIn("memory: ledger_error: 0, as it should be", out)

    @slow
    def test_benches(self):
        out = self.look("hardware", "gate", "torch")
        for line in ("hardware: turns end by the hardware: ", "gate: turns end by the gate: ",
                     "hardware-three-500ms: worst_error: ", "gate-three-20us: worst_error: ",
                     "hardware-preemption: preempt_p99: ", "gate-launch-open: added_p50: "):
            self.assertIn(line, out)
        worst = float(re.search(r"hardware-three-20us: worst_error: ([\d.]+)", out)[1])
        self.assertLess(worst, 25, "of a second, by what the programs themselves know")


class Documents(unittest.TestCase):
    """As a run on a GPU would write them."""

    def write(self, path, value, key=("try-preempt", "answer"), gpu="CUDA on H9, driver 1.2"):
        target = cuda_table.rows()[key]
        unit = "text" if isinstance(value, str) else "fraction"
        found = {key: cuda_table.Finding(value, unit, target, "2026-01-02")}
        cuda_table.write(path, [cuda_table.gpu_section(path, gpu, "a day", found, ["a note"])])
        return Path(path).read_text()

    def test_a_run_fills_it_in(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "docs.md"
            cuda_table.write(path)
            before = path.read_text()
            self.assertEqual(before.count(cuda_table.UNVERIFIED), len(cuda_table.rows()))
            after = self.write(path, "ok channels | 5 6")
            more = self.write(path, .5, ("torch", "mlp-training"))
        self.assertIn("| try-preempt | answer | ok channels / 5 6 | - | - | 2026-01-02 |", after)
        self.assertEqual(after.count(cuda_table.UNVERIFIED), 2 * len(cuda_table.rows()) - 2)
        self.assertIn("ok channels / 5 6", more, "an earlier run's figure stays")
        self.assertIn("| torch | mlp-training | 0.5 | >= 0.97 | no | 2026-01-02 |", more)
        self.assertEqual(more.count(cuda_table.UNVERIFIED), 2 * len(cuda_table.rows()) - 4)
        self.assertEqual(more.count("## CUDA on H9, driver 1.2"), 1)

    def test_what_stands_in_the_tree(self):
        """Each row has a figure of some GPU or is said to have none."""
        text = VERIFICATION.read_text()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "docs.md"
            path.write_text(text)
            cuda_table.write(path)
            self.assertEqual(path.read_text(), text,
                             "run tests/gpu/verify_cuda.py --list-docs docs/gpu-verification.md")


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
