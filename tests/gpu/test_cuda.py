# SPDX-License-Identifier: Apache-2.0
"""verify_cuda.py runs to its end and finds the right results on the doubles, and the checks that no
GPU has run are listed as such.

usage: test_cuda.py --build BUILD [unittest arguments]
"""
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / folder) for folder in ("cuda", "integration")]

import cuda_table  # noqa: E402
import machine  # noqa: E402
import worlds  # noqa: E402
from harness import wait_until  # noqa: E402
from slow import slow  # noqa: E402

VERIFICATION = HERE.parent.parent / "docs/gpu-verification.md"


class OnTheDoubles(unittest.TestCase):
    def setUp(self):
        world = machine.Cuda()
        self.addCleanup(world.close)
        self.folder = world.folder
        self.docs = os.path.join(world.folder, "docs.md")
        self.results = os.path.join(world.folder, "results.json")
        self.env = {**os.environ, **world.environment(),
                    "LD_PRELOAD": worlds.built("tests/doubles/cuda/libnvidia-rm-double.so")}

    def command(self, *names, root=HERE.parent.parent, build=None):
        return [sys.executable, root / "tests/gpu/verify_cuda.py", "--build",
                build or worlds.built(""), "--quick", "--only", ",".join(names),
                "--write-docs", self.docs, "--results", self.results]

    def saved(self):
        return json.loads(Path(self.results).read_text())

    def look(self, *names, more=(), **where):
        """Returns its output; a figure that misses its target is not a failure here."""
        done = subprocess.run(
            [*self.command(*names, **where), *more],
            text=True, capture_output=True, check=False, timeout=200, env=self.env)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertNotIn("could not be looked at", done.stdout)
        self.assertEqual(list(self.saved()["looks"]), list(names))
        self.assertIn("is not written: CLV_CUDA_DOUBLE is set", done.stderr)
        self.assertFalse(os.path.exists(self.docs), "a double is no GPU")
        return done.stdout

    def test_driver(self):
        out = self.look("driver", "try-preempt", "names")
        for line in ("driver: handles seen: 15 objects, 2 channel groups",
                     "try-preempt: answer: ok channels ", "names: wrong: 0, as it should be"):
            self.assertIn(line, out)
        # The double runs no code, so effects are not checked.
        self.assertIn("\ndriver: preempt, idle: status 0x0, ", out)
        self.assertIn("slice 1024 us (0x0), set 2000 (0x0), then 2000", out)

    def test_memory(self):
        out = self.look("memory", "nvml")
        self.assertIn("nvml: wrong: 0, as it should be", out)
        self.assertIn("memory: wrong: 0 cases, as it should be", out)
        self.assertIn("memory: not_told: 300 MiB", out)
        self.assertIn("memory: ledger_error: 0, as it should be", out)

    @slow
    def test_more_of_memory(self):
        out = self.look("remains", "spill", "units")
        self.assertIn("spill: wrong: 0 cases, as it should be", out)
        self.assertIn("units: shown: 32", out)
        self.assertIn("units: past: 0, as it should be", out)
        self.assertIn("remains: found: 0 words, as it should be", out)
        self.assertRegex(out, r"remains: looked_at: 1,0\d\d MiB")

    def test_ways_round(self):
        out = self.look("streams", "bypass-opencl")
        self.assertRegex(out, r"streams: longest_launch: [\d,]+ us")
        # The double runs no code.
        self.assertIn("streams: let_go: 0, NOT", out)
        self.assertIn("bypass-opencl: OpenCL shows no GPU in a lease here", out)

    @slow
    def test_every_way_round(self):
        out = self.look("bypass")
        self.assertIn("bypass: open: 0 ways, as it should be", out)
        self.assertRegex(out, r"\nbypass: least_left: [01]")

    def test_frameworks_that_are_not_here(self):
        """As on a machine without them."""
        empty = os.path.join(self.folder, "bin")
        os.mkdir(empty)
        python = os.path.join(empty, "python3")
        Path(python).write_text(f"#!/bin/sh\nexec {sys.executable} -I -S \"$@\"\n")
        os.chmod(python, 0o755)
        self.env["PATH"] = f"{empty}:{os.environ['PATH']}"
        out = self.look("torch-runs", "jax", "cupy", "triton")
        for name in ("torch", "jax", "cupy", "triton"):
            self.assertIn(f"{name}: python3 has no {name} here", out)

    def test_the_time_is_up(self):
        """Results obtained in time are kept, and missing ones are listed."""
        self.look("try-preempt", "hardware", "names", more=("--minutes", "0.2"))
        looks = self.saved()["looks"]
        self.assertEqual(looks["try-preempt"]["how"], "done")
        self.assertIn("ended before it was complete", looks["hardware"]["how"])
        self.assertIn("not looked at", looks["names"]["how"])
        self.assertEqual(self.saved()["findings"][0]["check"], "try-preempt")

    def test_a_run_that_is_killed(self):
        """It keeps the results so far."""
        with subprocess.Popen(self.command("try-preempt", "hardware"), env=self.env,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as run:
            try:
                self.assertTrue(wait_until(lambda: os.path.exists(self.results), 60))
            finally:
                os.killpg(run.pid, signal.SIGKILL)
        found = self.saved()["findings"]
        self.assertIn("ok channels ", found[0]["found"])

    def test_the_pack(self):
        out = self.look_packed("try-preempt", "streams", "names")
        self.assertIn("try-preempt: answer: ok channels ", out)
        self.assertIn("names: wrong: 0, as it should be", out)

    def test_libraries_of_a_pack_are_for_its_own_programs(self):
        """A program of a check, here Python, gets no folder in which to look for libraries."""
        calls = self.record_python()
        for library in self.env.pop("LD_LIBRARY_PATH").split(":"):
            self.env["LD_PRELOAD"] += "".join(f":{path}" for path in Path(library).glob("*.so.1"))
        out = self.look_packed("torch-runs")
        self.assertIn("torch-runs: wrong: ", out)
        lines = Path(calls).read_text().splitlines()
        self.assertTrue(any("torch_work.py" in line for line in lines), lines)
        self.assertEqual({line.split("|")[0] for line in lines}, {"unset"})

    def record_python(self):
        """A python3 that has torch and only notes its calls; returns the file with them."""
        folder = Path(self.folder) / "bin"
        folder.mkdir()
        calls = folder / "calls"
        (folder / "python3").write_text(
            '#!/bin/sh\necho "${LD_LIBRARY_PATH-unset}| $*" >>' f"{calls}\n")
        (folder / "python3").chmod(0o755)
        self.env["PATH"] = f"{folder}:{os.environ['PATH']}"
        return calls

    @slow
    def test_more_of_the_pack(self):
        out = self.look_packed("shares", "memory", "bypass", "nvml", "units", "spill")
        for line in ("hardware-two-1ms: worst_error: ", "hardware-three-500ms: held_error: ",
                     "memory: wrong: 0 cases, as it should be", "bypass: open: 0 ways",
                     "spill: wrong: 0 cases"):
            self.assertIn(line, out)

    def look_packed(self, *names):
        """Unpacked elsewhere, on the double as on a GPU."""
        if not os.path.exists(worlds.built("bench/tenant")):
            self.skipTest("bench is not built")
        archive = os.path.join(self.folder, "gpu.tar")
        subprocess.run([sys.executable, HERE / "pack.py", "--build", worlds.built(""), archive],
                       check=True, capture_output=True)
        with tarfile.open(archive) as tar:
            tar.extractall(self.folder)
        top = Path(self.folder) / "cleave-gpu"
        return self.look(*names, root=top, build=top / "build")

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
    """The documents as a run on a GPU would write them."""

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

    def test_document_in_the_tree(self):
        """Each row has a figure of some GPU or is listed as unverified."""
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
