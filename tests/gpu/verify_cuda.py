#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of CUDA holds on this machine's GPU: the rows of cuda.tsv and, of the bench `cuda`,
those that there is time for.  Changes nothing that outlives its programs.

What tells most comes first, and after each look all that was found so far is written, so that a
run that is ended keeps it.  With --minutes no look begins that cannot be done in time, and one that
takes longer than it was thought to is ended.

usage: verify_cuda.py --build BUILD [--quick] [--only LOOK,LOOK...] [--minutes N]
                      [--results FILE] [--write-docs FILE]
       verify_cuda.py --list-docs FILE     writes what no GPU has been asked yet; needs none
"""
import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import cuda_table
import verify

# Behind what is here: both folders have an agent.py.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "bench"))

import cuda as bench  # noqa: E402
import cuda_bed  # noqa: E402
from cuda_bed import CLEAVE, GATE, HARDWARE, NONE, Kind, Tenant  # noqa: E402

HERE = Path(__file__).resolve().parent
MOST_SECONDS, QUICK_SECONDS = 10, 1.5
HOLD_MIB = 1024
PAIRS, TORCH_SECONDS = 3, 2
FIRST_CASES = ("two-1ms", "three-500ms")
BYPASS_MIB, BYPASS_SECONDS = 1024, 30
# Ways to take memory and to compute that need no more of a driver than any GPU's has.
BYPASS_MEMORY = ("allocations", "odd-sizes", "managed", "pitched", "pool-of-device", "pool-of-own",
                 "physical", "mapped", "second-context", "contexts-many")
BYPASS_SHARE = ("queue", "urgent-stream", "streams-many", "legacy", "per-thread-by-symbol")
FRAMEWORKS = ("jax", "cupy", "triton")
QUICK_CASES = ("three-20us", "two-1ms", "three-500ms", "preemption", "launch-open")
TORCH_LIMIT_S = 280
SPILL_CASES = ("beyond", "freed", "managed", "pitch", "hints", "comes-back", "is-freed-on-its-way",
               "processes")
# Whatever of these is set, there is no GPU behind the driver.
DOUBLES = ("CLV_CUDA_DOUBLE", *verify.DOUBLES)


def words_of(done):
    """What a program printed, in one line."""
    return (done.stdout + done.stderr).strip().replace("\n", "; ")[-300:]


class Shorter(bench.Run):
    """A bench on a GPU: as long as a machine that is lent has time for."""

    def seconds(self, seconds):
        return QUICK_SECONDS if self.context.quick else min(seconds / 2, MOST_SECONDS)


class Context:
    """What the bench is told, and where its results go."""

    def __init__(self, gpu, quick):
        self.gpu, self.quick, self.case = gpu, quick, None

    def wants(self, case):
        is_quick = case.partition("-")[2] in QUICK_CASES
        return case in cuda_table.CASE_NAMES and (is_quick or not self.quick)

    def add(self, _, case, metric, value, unit, *__):
        self.gpu.find(case, metric, value, unit)

    @staticmethod
    def tell(text):
        print(text, file=sys.stderr, flush=True)


class Look:
    """The beds and what was found on them."""

    def __init__(self, arguments):
        self.build, self.quick = arguments.build.resolve(), arguments.quick
        self.rows, self.findings, self.notes = cuda_table.rows(), {}, []
        self.day = time.strftime("%Y-%m-%d", time.gmtime())

    def find(self, check, metric, value, unit="text"):
        target = self.rows.get((check, metric))
        if not target:
            self.note(f"{check} {metric}: {value} {unit}")
            return
        found = cuda_table.Finding(value, unit, target, self.day)
        self.findings[check, metric] = found
        verdict = {"yes": ", as it should be", "no": f", NOT {target}"}.get(found.met, "")
        print(f"{check}: {metric}: {found.found}{verdict}", flush=True)

    def note(self, text):
        self.notes.append(text)
        print(text, flush=True)

    def bed(self, executor):
        return cuda_bed.Gpu(self.build, executor)

    # --- The driver ---

    def driver(self):
        with self.bed(GATE) as bed:
            program, env = bed.built("tests/gpu/gpu-channel-groups"), bed.agent.env
            done = subprocess.run([program], text=True, capture_output=True, check=False,
                                  timeout=130, env=env)
        for line in (done.stdout + done.stderr).splitlines():
            what, _, text = line.partition(": ")
            if ("driver", what) in self.rows:
                self.find("driver", what, text)
            else:
                self.note(f"driver: {line}")
        if done.returncode:
            self.note(f"driver: it ended with {done.returncode}")

    def try_preempt(self):
        with self.bed(GATE) as bed:
            uuid = bed.uuid()
            done = subprocess.run([bed.built("src/rm/cleave-try-preempt"), uuid], text=True,
                                  capture_output=True, check=False, timeout=60,
                                  env=bed.agent.env)
        self.find("try-preempt", "answer", words_of(done))

    # --- The gate ---

    def names(self):
        with self.bed(GATE) as bed:
            done = bed.run([bed.built("tests/cuda/cuda-names")], Tenant(1, None), CLEAVE,
                           check=False)
        self.find("names", "wrong", int(bool(done.returncode)), "")
        if done.returncode:
            self.note(f"names: {words_of(done)}")

    def memory(self):
        wrong = 0
        with self.bed(GATE) as bed:
            program = bed.built("tests/cuda/cuda-memory")
            for case in bench.MEMORY_CASES:
                done = bed.run([program, case], Tenant(.5, None, memory=bench.QUOTA), CLEAVE,
                               check=False)
                wrong += bool(done.returncode)
                if done.returncode:
                    self.note(f"memory, {case}: {words_of(done)}")
            self.find("memory", "wrong", wrong, "cases")
            self.compare_ledger(bed)

    def compare_ledger(self, bed):
        """A program that has nothing, and one that has 1 GiB."""
        seen = [bed.memory_of(Kind("hold", 1, ("hold-mib", str(mib)))) for mib in (0, HOLD_MIB)]
        if None in (pair[1] for pair in seen):
            self.find("memory", "not_told", "the driver does not say what a process holds")
            return
        (ledger0, driver0), (ledger1, driver1) = seen
        self.find("memory", "not_told", (driver0 - ledger0) / 2**20, "MiB")
        self.find("memory", "ledger_error",
                  abs((ledger1 - ledger0) - (driver1 - driver0)) / (HOLD_MIB << 20), "fraction")

    def remains(self):
        """Of what a lease wrote, in the next one's memory."""
        with self.bed(GATE) as bed:
            quota = bench.QUOTA if self.quick else bed.gpu["memory_bytes"]
            tenant = Tenant(1, None, memory=quota)
            program = bed.built("tests/cuda/cuda-remains")
            bed.run([program, "write"], tenant, CLEAVE)
            mib, words = re.findall(r"\d+", bed.run([program, "look"], tenant, CLEAVE).stdout)
        self.find("remains", "looked_at", int(mib), "MiB")
        self.find("remains", "found", int(words), "words")

    def spill(self):
        """Beyond the quota, in the host's memory, which the program sees no difference of."""
        wrong = 0
        tenant = Tenant(.5, None, memory=bench.QUOTA, more=("--spill", "2G"))
        with self.bed(GATE) as bed:
            for case in SPILL_CASES:
                done = bed.run([bed.built("tests/cuda/cuda-spill"), case], tenant, CLEAVE,
                               check=False)
                wrong += bool(done.returncode)
                if done.returncode:
                    self.note(f"spill, {case}: {words_of(done)}")
        self.find("spill", "wrong", wrong, "cases")

    def units(self):
        """Of a quarter of the multiprocessors, where a kernel of very many blocks ran."""
        tenant = Tenant(.5, None, memory=bench.QUOTA, more=("--sm", "25%"))
        with self.bed(GATE) as bed:
            done = bed.run([bed.built("tests/gpu/gpu-units")], tenant, CLEAVE, check=False)
            if done.returncode:
                self.note(f"units: {words_of(done)}")
                return
        shown, in_stream, in_default = (int(word) for word in done.stdout.split())
        self.find("units", "shown", shown, "")
        self.find("units", "past", max(0, in_stream - shown), "")
        self.find("units", "in_default", in_default, "")

    def nvml(self):
        """A program of ours, and the vendor's, which may know ways that headers do not tell."""
        held = Tenant(.5, None, memory=bench.QUOTA)
        tool = shutil.which("nvidia-smi")
        with self.bed(GATE) as bed:
            done = bed.run([bed.built("tests/nvml-gate/nvml-sizes"), bench.QUOTA], held, CLEAVE,
                           check=False)
            self.find("nvml", "wrong", int(bool(done.returncode)), "")
            self.note(f"nvml: {words_of(done)}")
            if not tool:
                self.note("nvidia-smi: is not here")
                return
            sizes = bed.run([tool, "--query-gpu=memory.total,memory.used,memory.free",
                             "--format=csv,noheader,nounits"], held, CLEAVE, check=False)
            shown = bed.run([tool, "--list-gpus"], held, CLEAVE, check=False)
        self.find("nvidia-smi", "memory", f"{words_of(sizes)} MiB")
        self.find("nvidia-smi", "gpus", len(shown.stdout.splitlines()), "")

    # --- Shares, latency, launches ---

    def run_bench(self, executor):
        context = Context(self, self.quick)
        with self.bed(executor) as bed:
            found, reason = bed.executor_there()
            self.note(f"{executor}: turns end by the {found}: {reason}")
            if found == executor:
                bench.run_bed(Shorter(context, bed))

    def gate(self):
        self.run_bench(GATE)

    def hardware(self):
        self.run_bench(HARDWARE)

    # --- PyTorch ---

    def torch_rates(self, bed, way):
        done = bed.run([shutil.which("python3"), HERE / "torch_work.py", TORCH_SECONDS],
                       Tenant(1, None, memory=bed.memory()), way, seconds=TORCH_LIMIT_S,
                       check=False)
        rates = {}
        for line in done.stdout.splitlines():
            name, _, text = line.partition(" ")
            try:
                rates[name] = float(text)
            except ValueError:
                self.note(f"torch, {way}: {line}")
        if done.returncode:
            self.note(f"torch, {way}: ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        return rates

    def torch(self):
        if subprocess.run(["python3", "-c", "import torch"], capture_output=True,
                          check=False).returncode:
            self.note("torch: python3 has no torch here")
            return
        rates = {NONE: [], CLEAVE: []}
        with self.bed(GATE) as bed:
            for _ in range(1 if self.quick else PAIRS):
                for way, found in rates.items():
                    found.append(self.torch_rates(bed, way))
        for name in rates[NONE][0]:
            ratios = [held[name] / free[name] for held, free in zip(rates[CLEAVE], rates[NONE])
                      if name in held and name in free]
            if ratios:
                self.find("torch", name, statistics.median(ratios), "fraction")

    def all(self, names):
        for name in names:
            began = time.monotonic()
            try:
                LOOKS[name](self)
            except (OSError, subprocess.SubprocessError, AssertionError, RuntimeError, KeyError,
                    cuda_bed.BedError) as error:
                self.note(f"{name}: could not be looked at: {error!r}")
            print(f"({name}: {time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True)


LOOKS = {
    "driver": Look.driver, "try-preempt": Look.try_preempt, "names": Look.names,
    "memory": Look.memory, "remains": Look.remains, "nvml": Look.nvml,
    "spill": Look.spill, "units": Look.units,
    "hardware": Look.hardware, "gate": Look.gate, "torch": Look.torch,
}


def write(path, look, where):
    real = next((f"{name} is set" for name in DOUBLES if os.environ.get(name)), None)
    why = real or verify.why_not_real()
    if why:
        print(f"{path} is not written: {why}", file=sys.stderr)
        return
    system = os.uname()
    title = f"CUDA on {where}"
    text = f"{look.day}, on {system.sysname} {system.release} {system.version}"
    cuda_table.write(path, [cuda_table.gpu_section(path, title, text, look.findings,
                                                   look.notes)])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=HERE.parent.parent / "build")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", metavar="LOOK,...",
                        default=os.environ.get("CLEAVE_GPU_LOOKS") or ",".join(LOOKS),
                        help=f"of {', '.join(LOOKS)} (default: $CLEAVE_GPU_LOOKS, or all)")
    parser.add_argument("--write-docs", metavar="FILE")
    parser.add_argument("--list-docs", metavar="FILE")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    unknown = [name for name in arguments.only if name not in LOOKS]
    if unknown:
        parser.error(f"there is no look '{unknown[0]}': choose from {', '.join(LOOKS)}")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.list_docs:
        cuda_table.write(arguments.list_docs)
        return 0
    look = Look(arguments)
    with look.bed(GATE) as bed:
        where = bed.name_and_driver()
    look.note(f"on {where}")
    look.all(arguments.only)
    if arguments.write_docs:
        write(arguments.write_docs, look, where)
    return int(any(finding.met == "no" for finding in look.findings.values()))


if __name__ == "__main__":
    sys.exit(main())
