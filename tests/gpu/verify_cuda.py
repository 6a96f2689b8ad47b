#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks CUDA on this machine's GPU: the rows of cuda.tsv and the cases of the bench `cuda` for
which there is time. Changes nothing that outlives its programs.

What tells most comes first, and after each look all that was found so far is written, so that a
run that is ended keeps it.  With --minutes the look that the time is up in is ended, and what it
found by then stays.

usage: verify_cuda.py --build BUILD [--quick] [--only LOOK,LOOK...] [--cases CASE,CASE...]
                      [--minutes N] [--results FILE] [--write-docs FILE]
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

# After the folder here in the path: both folders have an agent.py.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "bench"))

import cuda as bench  # noqa: E402
import cuda_bed  # noqa: E402
import program_looks  # noqa: E402
from cuda_bed import CLEAVE, GATE, HARDWARE, NONE, Kind, Tenant  # noqa: E402

HERE = Path(__file__).resolve().parent
MOST_SECONDS, QUICK_SECONDS = 10, 1.5
HOLD_MIB = 1024
PAIRS, TORCH_SECONDS = 3, 2
FIRST_CASES = ("two-1ms", "three-500ms")
TORCH_WORKS = {"mlp-training", "mlp-inference", "convolution-training",
               "convolution-inference", "graph-training", "compiled-inference", "two-processes"}
QUICK_CASES = ("three-20us", "two-1ms", "three-500ms", "preemption", "launch-open")
SPILL_CASES = ("beyond", "freed", "managed", "pitch", "hints", "comes-back", "is-freed-on-its-way",
               "processes")
# With any of these set, the driver may have no GPU.
DOUBLES = ("CLV_CUDA_DOUBLE", *verify.DOUBLES)


class Shorter(bench.Run):
    """A bench on a GPU, shortened to the time for which a machine is lent."""

    def seconds(self, seconds):
        return QUICK_SECONDS if self.context.quick else min(seconds / 2, MOST_SECONDS)


class Context:
    """The bench's options, and the destination of its results."""

    def __init__(self, gpu, quick, cases=()):
        self.gpu, self.quick, self.cases, self.case = gpu, quick, cases, None

    def wants(self, case):
        cases = self.cases or (QUICK_CASES if self.quick else ())
        return case in cuda_table.CASE_NAMES and (not cases or case.partition("-")[2] in cases)

    def add(self, _, case, metric, value, unit, *__):
        self.gpu.find(case, metric, value, unit)

    @staticmethod
    def tell(text):
        print(text, file=sys.stderr, flush=True)


class Look(program_looks.Programs):
    """The beds and the findings on them."""

    def __init__(self, arguments):
        self.build, self.quick = arguments.build.resolve(), arguments.quick
        self.cases = arguments.cases
        self.rows, self.findings, self.notes = cuda_table.rows(), {}, []
        self.where, self.looks, self.outputs = "", {}, []
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

    def bed(self, executor, watch="1s"):
        """watch off: where a program counts what is left of its quota, of which the watchdog takes
        what the driver reports for contexts as soon as it has seen it."""
        return cuda_bed.Gpu(self.build, executor, watch=watch)

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
        self.find("try-preempt", "answer", program_looks.words_of(done))

    # --- The gate ---

    def names(self):
        with self.bed(GATE) as bed:
            done = bed.run([bed.built("tests/cuda/cuda-names")], Tenant(1, None), CLEAVE,
                           check=False)
        self.find("names", "wrong", int(bool(done.returncode)), "")
        if done.returncode:
            self.note(f"names: {program_looks.words_of(done)}")

    def memory(self):
        wrong = 0
        with self.bed(GATE) as bed:
            program = bed.built("tests/cuda/cuda-memory")
            for case in bench.MEMORY_CASES:
                done = bed.run([program, case], Tenant(.5, None, memory=bench.QUOTA), CLEAVE,
                               check=False)
                wrong += bool(done.returncode)
                if done.returncode:
                    self.note(f"memory, {case}: {program_looks.words_of(done)}")
            self.find("memory", "wrong", wrong, "cases")
            self.compare_ledger(bed)

    def compare_ledger(self, bed):
        """A program without memory, and one with 1 GiB."""
        seen = [bed.memory_of(Kind("hold", 1, ("hold-mib", str(mib)))) for mib in (0, HOLD_MIB)]
        if None in (pair[1] for pair in seen):
            self.find("memory", "not_told", "the driver does not say what a process holds")
            return
        (ledger0, driver0), (ledger1, driver1) = seen
        self.find("memory", "not_told", (driver0 - ledger0) / 2**20, "MiB")
        self.find("memory", "ledger_error",
                  abs((ledger1 - ledger0) - (driver1 - driver0)) / (HOLD_MIB << 20), "fraction")

    def remains(self):
        """Whether the next lease reads memory that a lease wrote."""
        with self.bed(GATE, watch="off") as bed:
            quota = bench.QUOTA if self.quick else bed.gpu["memory_bytes"]
            tenant = Tenant(1, None, memory=quota)
            program = bed.built("tests/cuda/cuda-remains")
            bed.run([program, "write"], tenant, CLEAVE)
            mib, words = re.findall(r"\d+", bed.run([program, "look"], tenant, CLEAVE).stdout)
        self.find("remains", "looked_at", int(mib), "MiB")
        self.find("remains", "found", int(words), "words")

    def spill(self):
        """Memory beyond the quota, in host memory, which is transparent to the program."""
        wrong = 0
        tenant = Tenant(.5, None, memory=bench.QUOTA, more=("--spill", "2G"))
        with self.bed(GATE, watch="off") as bed:
            for case in SPILL_CASES:
                done = bed.run([bed.built("tests/cuda/cuda-spill"), case], tenant, CLEAVE,
                               check=False)
                wrong += bool(done.returncode)
                if done.returncode:
                    self.note(f"spill, {case}: {program_looks.words_of(done)}")
        self.find("spill", "wrong", wrong, "cases")

    def units(self):
        """The multiprocessors of a quarter on which a kernel of very many blocks ran."""
        tenant = Tenant(.5, None, memory=bench.QUOTA, more=("--sm", "25%"))
        with self.bed(GATE) as bed:
            done = bed.run([bed.built("tests/gpu/gpu-units")], tenant, CLEAVE, check=False)
            if done.returncode:
                self.note(f"units: {program_looks.words_of(done)}")
                return
        shown, in_stream, in_default = (int(word) for word in done.stdout.split())
        self.find("units", "shown", shown, "")
        self.find("units", "past", max(0, in_stream - shown), "")
        self.find("units", "in_default", in_default, "")

    def nvml(self):
        """A program of the tests, and the vendor's, which may use functions that no header has."""
        held = Tenant(.5, None, memory=bench.QUOTA)
        tool = shutil.which("nvidia-smi")
        with self.bed(GATE) as bed:
            done = bed.run([bed.built("tests/nvml-gate/nvml-sizes"), bench.QUOTA], held, CLEAVE,
                           check=False)
            self.find("nvml", "wrong", int(bool(done.returncode)), "")
            self.note(f"nvml: {program_looks.words_of(done)}")
            if not tool:
                self.note("nvidia-smi: is not here")
                return
            sizes = bed.run([tool, "--query-gpu=memory.total,memory.used,memory.free",
                             "--format=csv,noheader,nounits"], held, CLEAVE, check=False)
            shown = bed.run([tool, "--list-gpus"], held, CLEAVE, check=False)
        self.find("nvidia-smi", "memory", f"{program_looks.words_of(sizes)} MiB")
        self.find("nvidia-smi", "gpus", len(shown.stdout.splitlines()), "")

    # --- Shares, latency, launches ---

    def run_bench(self, executor, cases=()):
        """Returns whether this executor works here."""
        context = Context(self, self.quick, cases or self.cases)
        with self.bed(executor) as bed:
            found, reason = bed.executor_there()
            self.note(f"{executor}: turns end by the {found}: {reason}")
            if found == executor:
                bench.run_bed(Shorter(context, bed))
            return found == executor

    def shares(self):
        """Few cases, by the best executor that works."""
        if not self.run_bench(HARDWARE, FIRST_CASES):
            self.run_bench(GATE, FIRST_CASES)

    def gate(self):
        self.run_bench(GATE)

    def hardware(self):
        self.run_bench(HARDWARE)

    # --- PyTorch ---

    def torch_runs(self):
        """Each once, in a share."""
        if not self.has_module("torch"):
            return
        with self.bed(GATE) as bed:
            rates = self.torch_rates(bed, CLEAVE)
        self.find("torch-runs", "wrong", len(TORCH_WORKS - set(rates)), "")

    def torch_rates(self, bed, way):
        done = bed.run([shutil.which("python3"), HERE / "torch_work.py", TORCH_SECONDS],
                       Tenant(1, None, memory=bed.memory()), way, seconds=program_looks.LIMIT_S,
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
        if not self.has_module("torch"):
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

    # --- All of them ---

    def look_at(self, name):
        """Returns how it went."""
        try:
            LOOKS[name](self)
        except (OSError, subprocess.SubprocessError, AssertionError, RuntimeError, KeyError,
                ValueError, cuda_bed.BedError) as error:
            self.note(f"{name}: could not be looked at: {error!r}")
            return "failed"
        return "done"

    def all(self, names):
        """Until the time is over."""
        is_time_up = False
        for name in names:
            began, how = time.monotonic(), "not looked at: the time is up"
            if not is_time_up:
                try:
                    how = self.look_at(name)
                except program_looks.TimeUp:
                    is_time_up, how = True, "ended before it was complete: the time is up"
            if how != "done":
                self.note(f"{name}: {how}")
            self.looks[name] = {"how": how, "seconds": round(time.monotonic() - began, 1)}
            print(f"({name}: {time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True)
            self.save()

    def save(self):
        """Saves the findings so far to the requested files."""
        for output in self.outputs:
            output(self)


# In this order: preemption, shares, programs, bypass attempts; then the rest, and last the longest
# checks.
LOOKS = {
    "try-preempt": Look.try_preempt, "shares": Look.shares, "torch-runs": Look.torch_runs,
    "streams": Look.streams, "names": Look.names, "memory": Look.memory, "bypass": Look.bypass,
    **{name: lambda look, name=name: look.framework(name) for name in program_looks.FRAMEWORKS},
    "nvml": Look.nvml, "bypass-opencl": Look.bypass_opencl, "units": Look.units,
    "spill": Look.spill, "remains": Look.remains, "driver": Look.driver,
    "hardware": Look.hardware, "gate": Look.gate, "torch": Look.torch, "opencl": Look.opencl,
}


def write_results(path, look):
    """Atomically: the machine may be taken away at any time."""
    findings = [{"check": check, "metric": metric, "found": found.found, "met": found.met}
                for (check, metric), found in look.findings.items()]
    text = json.dumps({"where": look.where, "day": look.day, "looks": look.looks,
                       "findings": findings, "notes": look.notes}, indent=1)
    beside = Path(f"{path}.new")
    beside.write_text(text + "\n")
    os.replace(beside, path)


def why_not_written():
    return next((f"{name} is set" for name in DOUBLES if os.environ.get(name)), None) or \
        verify.why_not_real()


def write_docs(path, look):
    system = os.uname()
    title = f"CUDA on {look.where}"
    text = f"{look.day}, on {system.sysname} {system.release} {system.version}"
    cuda_table.write(path, [cuda_table.gpu_section(path, title, text, look.findings,
                                                   look.notes)])


def outputs(arguments):
    found = []
    if arguments.results:
        found.append(lambda look: write_results(arguments.results, look))
    if arguments.write_docs:
        why = why_not_written()
        if why:
            print(f"{arguments.write_docs} is not written: {why}", file=sys.stderr)
        else:
            found.append(lambda look: write_docs(arguments.write_docs, look))
    return found


def end_in(minutes):
    def end(*_):
        raise program_looks.TimeUp

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 60 * minutes)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=HERE.parent.parent / "build")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", metavar="LOOK,...",
                        default=os.environ.get("CLEAVE_GPU_LOOKS") or ",".join(LOOKS),
                        help=f"of {', '.join(LOOKS)} (default: $CLEAVE_GPU_LOOKS, or all)")
    parser.add_argument("--cases", metavar="CASE,...", default=[],
                        type=lambda text: text.split(","),
                        help="of the looks gate and hardware, such as two-1ms (default: all)")
    parser.add_argument("--minutes", type=float, metavar="N", help="as long as all of it may take")
    parser.add_argument("--results", metavar="FILE", help="written after each look")
    parser.add_argument("--write-docs", metavar="FILE", help="likewise")
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
    look.outputs = outputs(arguments)
    if arguments.minutes:
        end_in(arguments.minutes)
    try:
        with look.bed(GATE) as bed:
            look.where = bed.name_and_driver()
        look.note(f"on {look.where}")
        look.all(arguments.only)
    except program_looks.TimeUp:
        look.note("the time is up")
        look.save()
    return int(any(finding.met == "no" for finding in look.findings.values()))


if __name__ == "__main__":
    sys.exit(main())
