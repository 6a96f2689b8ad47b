# SPDX-License-Identifier: Apache-2.0
"""Checks of verify_cuda.py that start programs and read their output: bypass attempts, programs of
two streams, frameworks, and OpenCL."""
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from cuda_bed import CLEAVE, GATE, Kind, Tenant

HERE = Path(__file__).resolve().parent
LIMIT_S = 280
RATE_SECONDS = 1.5
FRAMEWORKS = ("jax", "cupy", "triton")
BYPASS_MIB, BYPASS_SECONDS, LEASES_SECONDS = 1024, 30, 10
# Attempts to get memory and compute time that need no rare feature of a driver.
BYPASS_MEMORY = ("allocations", "odd-sizes", "managed", "pitched", "pool-of-device", "pool-of-own",
                 "physical", "mapped", "second-context")
BYPASS_OPENCL = ("buffer", "image", "svm", "retained")
BYPASS_SHARE = ("queue", "urgent-stream", "streams-many", "legacy", "per-thread-by-symbol")


def words_of(done):
    """A program's output, in one line."""
    return (done.stdout + done.stderr).strip().replace("\n", "; ")[-300:]


class TimeUp(BaseException):
    """The time of the whole run is over."""


class Programs:
    """For class Look, which has bed(), find() and note()."""

    # --- Attempts to bypass the limits ---

    def way_out(self, bed, program, name, tenant):
        """(output of an attempt, its memory in MiB or None)"""
        front, env = bed.way(tenant, CLEAVE)
        done = subprocess.run([*front, bed.built(program), name], env=env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=BYPASS_SECONDS)
        got = re.findall(r"^got (\d+)", done.stdout, re.M)
        return words_of(done), sum(map(int, got)) >> 20 if got else None

    def bypass_memory(self, bed, check, program, names):
        """Attempts that allocate memory until they are refused, by their own output."""
        tenant = Tenant(.5, None, memory=BYPASS_MIB << 20)
        wide = []
        for name in names:
            said, mib = self.way_out(bed, program, name, tenant)
            if mib is None:
                self.note(f"{check} {name}: {said}")
            elif mib > BYPASS_MIB:
                wide.append(name)
                self.note(f"{check} {name}: got {mib} MiB of {BYPASS_MIB}")
        self.find(check, "open", len(wide), "ways")

    def bypass_share(self, bed):
        """The part that another lease with a promise of .8 keeps beside each."""
        neighbour = bed.start(Tenant(.8, Kind("queue", 1000)), CLEAVE)
        alone, least = self.rate(bed, neighbour), None
        for name in BYPASS_SHARE:
            self.wait_for_leases(bed, 1)
            front, env = bed.way(Tenant(.2, None), CLEAVE)
            with subprocess.Popen([*front, bed.built("tests/bypass/bypass-cuda"), name], env=env,
                                  text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  start_new_session=True) as way:
                try:
                    said = way.stdout.readline().strip()
                    if said != "go":
                        self.note(f"bypass {name}: {said or 'said nothing'}")
                        continue
                    time.sleep(.3)
                    left = self.rate(bed, neighbour) / alone
                    self.note(f"bypass {name}: another lease with a promise of .8 kept {left:.3f}")
                    least = left if least is None else min(least, left)
                finally:
                    os.killpg(way.pid, signal.SIGKILL)
        if least is not None:
            self.find("bypass", "least_left", least, "fraction")

    @staticmethod
    def wait_for_leases(bed, n):
        """Until no more than so many are left: that of a killed program ends shortly after it."""
        until = time.monotonic() + LEASES_SECONDS
        while len(bed.agent.get("/v1/leases")["items"]) > n and time.monotonic() < until:
            time.sleep(.02)

    @staticmethod
    def rate(bed, program):
        (first, *_, last), = bed.work([program], RATE_SECONDS)
        return (last[1] - first[1]) / (last[0] - first[0])

    def bypass(self):
        with self.bed(GATE) as bed:
            self.bypass_memory(bed, "bypass", "tests/bypass/bypass-cuda", BYPASS_MEMORY)
            self.bypass_share(bed)

    # --- OpenCL ---

    def bypass_opencl(self):
        vendors = os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")
        with self.bed(GATE) as bed:
            bed.agent.env["OCL_ICD_VENDORS"] = vendors
            said, _ = self.way_out(bed, "tests/bypass/bypass", "hold", Tenant(.5, None))
            if not said.startswith("go"):
                self.note(f"bypass-opencl: OpenCL shows no GPU in a lease here: {said}")
                return
            self.bypass_memory(bed, "bypass-opencl", "tests/bypass/bypass", BYPASS_OPENCL)

    def opencl(self):
        """Shares through OpenCL, by a separate bench."""
        with subprocess.Popen([str(HERE / "share-opencl.sh"), str(self.build)], text=True,
                              cwd=HERE.parent.parent, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True) as shares:
            try:
                for line in shares.stdout:
                    self.note(f"opencl: {line.rstrip()}")
            except TimeUp:
                os.killpg(shares.pid, signal.SIGTERM)
                raise
        self.find("opencl", "failed", int(bool(shares.returncode)), "")

    # --- Programs of two streams ---

    def streams(self):
        with self.bed(GATE) as bed:
            done = bed.run([bed.built("tests/gpu/gpu-streams")], Tenant(.5, None), CLEAVE,
                           check=False, seconds=60)
        if done.returncode:
            self.note(f"streams: {words_of(done)}")
            return
        longest_us, was_let_go = map(int, done.stdout.split())
        self.find("streams", "longest_launch", longest_us, "us")
        self.find("streams", "let_go", was_let_go, "")

    # --- Frameworks ---

    def has_module(self, name):
        is_there = not subprocess.run(["python3", "-c", f"import {name}"], capture_output=True,
                                      check=False).returncode
        if not is_there:
            self.note(f"{name}: python3 has no {name} here")
        return is_there

    def framework(self, name):
        if not self.has_module(name):
            return
        with self.bed(GATE) as bed:
            done = bed.run([shutil.which("python3"), HERE / "framework_work.py", name],
                           Tenant(.5, None, memory=bed.memory()), CLEAVE, check=False,
                           seconds=LIMIT_S)
        lines = done.stdout.splitlines()
        for line in lines:
            if not line.endswith(" ok"):
                self.note(f"{name}: {line}")
        if done.returncode or not lines:
            self.note(f"{name}: ended with {done.returncode}: {words_of(done)}")
        self.find(name, "wrong", sum(not line.endswith(" ok") for line in lines) +
                  bool(done.returncode or not lines), "")
