# SPDX-License-Identifier: Apache-2.0
"""GPUs on the double of CUDA, an agent on them, and programs in leases.

What a program takes is what the GPU itself says that it ran, and what memory it has: nothing
that cleave says is needed to tell, and nothing depends on how busy this machine is.
"""
import os
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cuda"))

import machine  # noqa: E402
import worlds  # noqa: E402
from harness import wait_until  # noqa: E402
from session import Child, Trouble  # noqa: E402

# Contexts take next to nothing, so that memory is what a program asked for; copies within the
# device take a nanosecond a byte.
# The "process" with the memory that outlives its own.
NOBODY = 0

GPU = "tell-nvml 1\ncontext-mib 1\ndevice-mb-s 1000"
NOTICE = ("lease_over_quota", "lease_past_gate", "ungated_api", "device_degraded",
          "sm_not_held")
WATCH = "every: 1s, grace: 1s"


class Machine(machine.Cuda):
    def __init__(self, watch=WATCH, cuda="", **options):
        super().__init__(cuda=GPU + cuda, config=f"version: 1\nwatch: {{{watch}}}\n", **options)
        self.last, self.is_closed = self.stats(), threading.Event()
        self.teller = threading.Thread(target=self.tell, daemon=True)
        self.teller.start()

    def tell(self):
        """Writes the utilization of each process, as NVIDIA's driver reports it."""
        while not self.is_closed.wait(.5):
            now, before = self.stats(), self.last
            passed, self.last = max(now[0] - before[0], 1), now
            parts = {pid: (p["run_ns"] - before[1].get(pid, {"run_ns": 0})["run_ns"]) / passed
                     for pid, p in now[1].items()}
            self.put("utilization", "\n".join(
                f"{pid} 0 {min(100, round(100 * part))}" for pid, part in parts.items() if part > 0))

    def close(self):
        self.is_closed.set()
        self.teller.join()
        super().close()

    def let_others_in(self):
        """Gives all users access to the GPUs."""
        os.chmod(self.folder, 0o755)
        for name in os.listdir(self.folder):
            os.chmod(os.path.join(self.folder, name), 0o777)

    def stats(self):
        """(nanoseconds of the machine's clock, {pid: {word: value}}): a process that executed
        another program has the sum of both"""
        text = subprocess.run([self.gpu, "--ask", self.folder, "stats"], text=True,
                              capture_output=True, check=True).stdout
        now, processes = 0, {}
        for words in map(str.split, text.splitlines()):
            if words[0] == "now":
                now = int(words[1])
            elif words[0] == "process":
                said = dict(zip(words[2::2], words[3::2]))
                one = processes.setdefault(int(words[1]), {"run_ns": 0, "bytes": 0})
                one["run_ns"] += int(said["run_ns"])
                one["bytes"] += int(said["bytes"]) if said["state"] == "alive" else 0
            elif words[0] == "kept" and words[4] != "0":
                processes.setdefault(NOBODY, {"run_ns": 0, "bytes": 0})["bytes"] += int(words[4])
        return now, processes

    def trace(self):
        """(pid, begin, end) of each kernel and copy, in nanoseconds of the machine's clock"""
        text = subprocess.run([self.gpu, "--ask", self.folder, "trace"], text=True,
                              capture_output=True, check=True).stdout
        words = [line.split() for line in text.splitlines()]
        return [(int(w[0]), int(w[-2]), int(w[-1])) for w in words if len(w) >= 7]


class Program(Child):
    """A command, in a lease or not."""

    def __init__(self, name, command, env):
        super().__init__(name, command, env, start_new_session=True)

    def wait_for(self, words, seconds=60):
        """The first line that begins with one of the words; None at the end."""
        while True:
            try:
                line = self.line(seconds)
            except TimeoutError:
                raise Trouble(f"{self.name} said {self.lines[-3:]}, then nothing") from None
            if line is None or line.split(" ")[0].rstrip(":") in words:
                return line

    def all_lines(self, seconds):
        """Its output until it ends, or is silent for this long."""
        try:
            while self.line(seconds) is not None:
                pass
        except TimeoutError:
            pass
        return self.lines


class Session:
    def __init__(self, **options):
        self.world = Machine(**options)
        self.agent = self.world.agent()
        self.agent.start()
        self.programs = []
        self.n_noticed = {}

    def notice_from_here(self):
        """Later calls ignore the events before this one."""
        self.n_noticed = {kind: len(self.agent.events(kind)) for kind in NOTICE}

    def executor_is(self, word, seconds=60):
        """Whether the agent determines the executor, after the first program has started."""
        return wait_until(lambda: word in (self.agent.get("/v1/devices")["items"][0]
                                           ["executor_reason"] or ""), seconds)

    def start(self, options, command, name, env=None):
        """In a lease of its own."""
        full = [worlds.built("src/cli/cleave"), "run", "--socket", self.agent.api, *options,
                "--name", name, "--device", "gpu0", "--", *map(str, command)]
        program = Program(name, full, {**self.agent.env, **(env or {})})
        self.programs.append(program)
        return program

    def start_outside(self, command, name, env=None):
        program = Program(name, [*map(str, command)], {**self.agent.env, **(env or {})})
        self.programs.append(program)
        return program

    def end(self, program):
        """Ends it, and waits until its share is free again."""
        self.programs.remove(program)
        program.end()
        for _ in range(3000):
            if program.name not in self.leases():
                return
            time.sleep(.02)
        raise Trouble(f"the lease of {program.name} does not end")

    def leases(self):
        return {item["name"]: item for item in self.agent.get("/v1/leases")["items"]}

    def stats(self):
        return self.world.stats()

    def noticed_within(self, seconds):
        """The agent's report of it, and the delay; None: none."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            for kind in NOTICE:
                if len(self.agent.events(kind)) > self.n_noticed[kind]:
                    return kind, time.monotonic() - began
            time.sleep(.05)
        return None

    def close(self):
        for program in self.programs:
            program.end()
        self.agent.close()
        self.world.close()
