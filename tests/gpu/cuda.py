#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of the CUDA gate holds on this machine's GPU, a line each, and what the kernel driver lets
a process do with its own channel groups.  Changes nothing that outlives its programs.

usage: cuda.py --build BUILD [--quick] [--write-docs FILE]
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import document
from agent import Cleave
from harness import PROGRAMS, Agent

SECONDS = 4
STYLES = ("legacy", "thread", "streams", "cooperative", "extended", "graph", "captures",
          "host-function")
SHARES = (
    ((.2, "queue", 100_000), (.5, "queue", 100_000), (.3, "queue", 100_000)),
    ((.1, "queue", 20_000), (.9, "queue", 20_000)),
    ((.07, "queue", 1_000_000), (.13, "queue", 1_000_000), (.35, "queue", 1_000_000),
     (.45, "queue", 1_000_000)),
    ((.5, "queue", 5_000_000), (.5, "queue", 50_000)),
    ((.3, "sync", 200_000), (.7, "queue", 200_000)),
    ((.3, "gaps", 200_000), (.7, "queue", 200_000)),
    *(((.25, style, 100_000), (.75, "queue", 100_000)) for style in STYLES),
)
LAUNCHES = 200_000


class Gpu:
    def __init__(self, build, quick):
        self.cleave, self.quick, self.lines = Cleave(build), quick, []
        PROGRAMS["cleaved"] = self.cleave.path("src/agent/cleaved")
        self.folder = tempfile.mkdtemp(prefix="cleave-gpu-")
        self.empty = os.path.join(self.folder, "empty")
        os.mkdir(self.empty)
        self.agent = Agent(self.folder, env={**self.cleave.env, "OCL_ICD_VENDORS": self.empty})
        self.agent.start()

    def say(self, what, text):
        self.lines.append(f"{what}: {text}")
        print(self.lines[-1], flush=True)

    def start(self, options, program, *words):
        return subprocess.Popen(
            [self.cleave.path("src/cli/cleave"), "run", "--socket", self.agent.api, *options, "--",
             self.cleave.path(f"tests/cuda/{program}"), *map(str, words)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.agent.env)

    def output(self, options, program, *words, seconds=60):
        """(exit code, what it printed)"""
        process = self.start(options, program, *words)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += "it did not end"
        return process.returncode, (out + err).strip().replace("\n", "; ")

    def groups(self):
        program = self.cleave.path("tests/gpu/gpu-channel-groups")
        done = subprocess.run([program], text=True, capture_output=True, check=False, timeout=130,
                              env=self.cleave.env)
        for line in (done.stdout + done.stderr).splitlines():
            self.say("driver", line)
        if done.returncode:
            self.say("driver", f"ended with {done.returncode}")

    def names(self):
        code, out = self.output(("--share", "1"), "cuda-names")
        self.say("names", "every way leads to the gate" if code == 0 else out)

    def memory(self):
        done = subprocess.run([self.cleave.path("tests/cuda/cuda-memory")], text=True,
                              capture_output=True, check=False, env=self.cleave.env)
        for case in done.stdout.split():
            code, out = self.output(("--share", ".5", "--memory", "1G"), "cuda-memory", case)
            self.say(f"memory, {case}", "the quota holds" if code == 0 else out)

    def counts(self, tenants, seconds):
        """How much each did in the same time."""
        begin = time.monotonic_ns() + 2_000_000_000
        end = begin + int(seconds * 1e9)
        started = [self.start(("--share", str(share)), "cuda-tenant", style, kernel_ns,
                              int(seconds) + 4, begin, end)
                   for share, style, kernel_ns in tenants]
        counts = []
        for process in started:
            out, err = process.communicate(timeout=120)
            if process.returncode:
                raise RuntimeError(err.strip())
            counts.append(int(out.split()[-1]))
        return counts

    def shares(self):
        seconds = 1 if self.quick else SECONDS
        for tenants in SHARES[:1] if self.quick else SHARES:
            what = "shares " + ", ".join(f"{s} {style} {ns / 1000:g} us"
                                         for s, style, ns in tenants)
            try:
                alone = [self.counts([(1, *kind)], 1)[0] / 1 for _, *kind in tenants]
                beside = self.counts(tenants, seconds)
            except RuntimeError as error:
                self.say(what, str(error))
                continue
            parts = [count / seconds / one for count, one in zip(beside, alone)]
            worst = max(abs(part / sum(parts) - tenant[0]) for part, tenant in zip(parts, tenants))
            self.say(what, "got " + " ".join(f"{part / sum(parts):.4f}" for part in parts)
                     + f", worst {100 * worst:.2f} points; together {sum(parts):.3f} of one alone")

    def seconds_of(self, is_held, n, more):
        begin = time.monotonic()
        if is_held:
            self.output(("--share", "1"), "cuda-launches", n, *more)
        else:
            subprocess.run([self.cleave.path("tests/cuda/cuda-launches"), str(n), *more],
                           check=True, env=self.cleave.env)
        return time.monotonic() - begin

    def overhead(self):
        """By two numbers of launches each, so that start and end are not in it."""
        n = LAUNCHES // 20 if self.quick else LAUNCHES
        for more in ((), ("default",)):
            ns = {False: [], True: []}
            for _ in range(1 if self.quick else 5):
                for is_held in ns:
                    took = (self.seconds_of(is_held, 3 * n, more)
                            - self.seconds_of(is_held, n, more))
                    ns[is_held].append(1e9 * took / (2 * n))
            self.say(f"launch on {'the default stream' if more else 'a stream'}",
                     f"{statistics.median(ns[False]):.0f} ns without the gate, "
                     f"{statistics.median(ns[True]):.0f} ns with it")

    def close(self):
        self.agent.stop()


def write(path, lines):
    if any(os.environ.get(name) for name in ("CLV_CUDA_DOUBLE", "CLV_NVML_DOUBLE")):
        print(f"{path} is not written: this is a double of the driver", file=sys.stderr)
        return
    machine = next((line for line in lines if line.startswith("driver: machine: ")), "unknown")
    title = "CUDA on " + machine.rsplit(";", 2)[-2].strip() if ";" in machine else "CUDA"
    system = os.uname()
    document.write(path, [(title, "\n".join([
        f"<!-- gpu {title} -->", f"## {title}", "",
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, on {system.sysname} {system.release}", "",
        *[f"- {line}" for line in lines], f"<!-- end of {title} -->", ""]))])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write-docs", metavar="FILE")
    arguments = parser.parse_args()
    gpu = Gpu(arguments.build, arguments.quick)
    try:
        for look in (gpu.groups, gpu.names, gpu.memory, gpu.shares, gpu.overhead):
            try:
                look()
            except (OSError, subprocess.SubprocessError, RuntimeError) as error:
                gpu.say(look.__name__, f"could not be looked at: {error}")
    finally:
        gpu.close()
    if arguments.write_docs:
        write(arguments.write_docs, gpu.lines)


if __name__ == "__main__":
    main()
