# SPDX-License-Identifier: Apache-2.0
"""The test beds of the CUDA benches: the double of NVIDIA's libraries, or this machine's own GPU.

A bed has an agent and starts programs in one of three ways: in a lease, with another preload
library in place of the gate, or with neither.  It reports the work of each program independently
of the program: on the double by the double's record, on a GPU by what the kernels wrote.
"""
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLEAVE, PEER, NONE = "cleave", "peer", "none"
GATE, HARDWARE = "gate", "hardware"
DOUBLE = "double"
MEMORY = 2 << 30  # the quota of a tenant's lease
STEP_SECONDS = 0.05
EXECUTOR_SECONDS = 60  # the agent tests the executor, and a first context may take long
DRIVER_SECONDS = 10  # until the agent has queried the driver for the memory of processes
COUNTED_RUNS = 3
CALL_US = 30  # a batch fits into the bound of work in flight beside an idle lease
SETTINGS = {HARDWARE: "auto", GATE: "gate"}


class BedError(Exception):
    """A part of the bed is missing or did not start; the text says which."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """How a program uses the GPU."""
    mode: str
    kernel_us: float
    more: tuple = ()


@dataclasses.dataclass(frozen=True)
class Tenant:
    share: float
    kind: Kind
    klass: str = "normal"
    memory: int = MEMORY
    more: tuple = ()  # further options of cleave run


@dataclasses.dataclass(frozen=True)
class Peer:
    """Another preload library, and the environment that gives it a share."""
    path: str = ""
    settings: tuple = ()

    def environment(self, tenant):
        known = {"share": f"{tenant.share:g}", "percent": f"{100 * tenant.share:.0f}",
                 "bytes": str(tenant.memory), "mebibytes": str(tenant.memory >> 20)}
        pairs = [setting.partition("=") for setting in self.settings]
        return {name: value.format(**known) for name, _, value in pairs}


class Program:
    """A running workload.  It ends when its input does."""

    def __init__(self, command, env, log):
        self.log = log
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        words = self.process.stdout.readline().split()
        if not words or words[0] != "ready":
            self.close()
            raise BedError(f"{' '.join(command)} did not start: {self.last_words()}")
        self.pid = int(words[1])

    def last_words(self):
        self.errors.seek(0)
        return self.errors.read().strip()[-300:] or "without a word"

    def lines(self, word):
        """The numbers of the lines of its log that begin with the word."""
        found = []
        for line in Path(self.log).read_text().splitlines():
            first, *rest = line.split()
            if first == word:
                found.append(tuple(int(n) if n.isdigit() else float(n) for n in rest))
        return found

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Bed:
    """The common part of both beds."""

    device = ()  # options of cleave run that choose the device
    slot_kib = 16384  # a copy of this size takes about as long as a kernel of 0.5 ms
    is_double = False

    def __init__(self, build, executor, peer):
        self.build, self.executor, self.peer = Path(build), executor, peer
        self.programs, self.n_started = [], 0
        self.folder = Path(tempfile.mkdtemp(prefix="cleave-cuda-"))
        self.agent = None
        self.cal = ()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def built(self, name):
        path = self.build / name
        if not path.exists():
            raise BedError(f"{path} is not built: build the project, then try again")
        return str(path)

    def way(self, tenant, way):
        """(the command before the program's own words, its environment)"""
        env = dict(self.agent.env)
        if way == CLEAVE:
            return [self.built("src/cli/cleave"), "run", "--socket", self.agent.api,
                    "--share", f"{tenant.share:g}", "--memory", str(tenant.memory),
                    "--class", tenant.klass, *tenant.more, *self.device, "--"], env
        if way == PEER:
            env["LD_PRELOAD"] = ":".join(filter(None, (self.peer.path, env.get("LD_PRELOAD"))))
            env.update(self.peer.environment(tenant))
        return [], env

    def start(self, tenant, way):
        self.n_started += 1
        log = self.folder / f"log{self.n_started}"
        before, env = self.way(tenant, way)
        kind = tenant.kind
        program = Program([*before, self.built("bench/cuda-bench"), kind.mode,
                           f"{kind.kernel_us:g}", "log", str(log), "slot-kib", str(self.slot_kib), *self.cal,
                           *kind.more],
                          env, log)
        self.programs.append(program)
        return program

    def start_all(self, tenants, way):
        return [self.start(tenant, way) for tenant in tenants]

    def end_programs(self):
        for program in self.programs:
            program.process.stdin.close()
        for program in self.programs:
            program.close()
        self.programs = []

    def run(self, words, tenant, way, before=(), seconds=120, check=True):
        """Runs a program that ends by itself, and returns its output."""
        front, env = self.way(tenant, way)
        command = [*front, *before, *map(str, words)]
        done = subprocess.run(command, env=env, text=True, capture_output=True,
                              timeout=seconds, check=False)
        if check and done.returncode:
            raise BedError(f"{' '.join(command)} ended with {done.returncode}: "
                           f"{(done.stdout + done.stderr).strip()[-300:]}")
        return done

    def call(self, mode, calls, way, before=()):
        """The cost of n launches of kernels that keep the GPU busy meanwhile."""
        return self.run([self.built("bench/cuda-bench"), mode, CALL_US, "calls", calls,
                         *self.cal], Tenant(.5, None), way, before).stdout

    def instructions(self, way, counts):
        """Instructions of one launch, by callgrind over two numbers of launches.  Each is the least
        of several runs: see Session.instructions() in tenants.py."""
        totals = [min(self.collected(way, n) for _ in range(1 if way == NONE else COUNTED_RUNS))
                  for n in counts]
        return (totals[1] - totals[0]) / (counts[1] - counts[0])

    def collected(self, way, n):
        """What callgrind counts in one run with this number of launches."""
        out = self.folder / "callgrind.out"
        self.call("count", n, way, ("valgrind", "--quiet", "--tool=callgrind",
                                    f"--callgrind-out-file={out}",
                                    "--toggle-collect=launch_once"))
        found = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.M)
        if not found:
            raise BedError("callgrind wrote no totals")
        return int(found[1])

    def executor_there(self):
        """(executor, reason) of the GPU, once the agent has determined how its turns end."""
        with_work = self.start(Tenant(.5, Kind("queue", 100)), CLEAVE)
        until = time.monotonic() + EXECUTOR_SECONDS
        while True:
            device = self.agent.get("/v1/devices")["items"][0]
            if device["executor_reason"] or time.monotonic() > until:
                break
            time.sleep(.1)
        with_work.close()
        self.programs.remove(with_work)
        return device["executor"], device["executor_reason"] or "nothing was said"

    def held(self, programs):
        """Seconds that each lease held the GPU, by cleave's own account."""
        leases = self.agent.get("/v1/leases")["items"]
        seconds = {process["pid"]: lease["held_seconds"]
                   for lease in leases for process in lease["processes"]}
        return [seconds[program.pid] for program in programs]

    def close(self):
        self.end_programs()
        if self.agent:
            self.agent.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Double(Bed):
    """The double computes its time, so its figures do not depend on the speed of the machine."""

    is_double = True
    device = ("--device", "gpu0")
    # The double's memory is real: a slower bus needs less of the machine.
    slot_kib = 512

    def __init__(self, build, executor, peer=Peer(), words="trace 1\nhost-mb-s 1000\ndevice-mb-s 1000"):
        super().__init__(build, executor, peer)
        for folder in ("tests/cuda", "tests/apply"):
            sys.path.insert(0, str(ROOT / folder))
        import machine  # needs files that are not packed for GPUs
        import worlds

        worlds.set_build(self.build)
        self.world = machine.Cuda(
            cuda=f"tell-nvml 1\n{words}", kernel=executor == HARDWARE,
            config=f"version: 1\nexecutor: {SETTINGS[executor]}\nwatch: {{every: off}}\n")
        self.world.put("policy", "")
        self.agent = self.world.agent()
        self.agent.start()

    def where(self):
        return DOUBLE

    def work(self, programs, seconds):
        """[(time, nanoseconds of kernels)] of each program, at the double's own times."""
        samples = [[] for _ in programs]
        until = time.monotonic() + seconds
        while True:
            now, processes = self.world.stats()
            for curve, program in zip(samples, programs):
                curve.append((now, processes[program.pid]["run_ns"]))
            if time.monotonic() >= until:
                return samples
            time.sleep(STEP_SECONDS)

    def used_ns(self, program):
        """The time that the GPU and its copy engines have spent for it."""
        used = self.world.stats()[1][program.pid]
        return used["run_ns"] + used["copy_ns"]

    def trace(self):
        """[(pid, name, start, end)] of the last 100,000 kernels, in order of their end."""
        text = subprocess.run([self.world.gpu, "--ask", self.world.folder, "trace"], text=True,
                              capture_output=True, check=True).stdout
        rows = (line.split() for line in text.splitlines())
        return [(int(row[0]), row[4], int(row[5]), int(row[6])) for row in rows]

    def peak(self):
        """The most memory that any process had, by the double's own account."""
        return max((p["peak"] for p in self.world.stats()[1].values()), default=0)

    def close(self):
        super().close()
        self.world.close()


class Gpu(Bed):
    """This machine's first NVIDIA GPU.  The gate's agent is one of its own."""

    def __init__(self, build, executor, peer=Peer(), watch="1s"):
        super().__init__(build, executor, peer)
        sys.path.insert(0, str(ROOT / "tests/integration"))
        import harness

        harness.PROGRAMS["cleaved"] = self.built("src/agent/cleaved")
        config = self.folder / "cleaved.yaml"
        config.write_text(f"version: 1\nexecutor: {SETTINGS[executor]}\nwatch: {{every: {watch}}}\n")
        (self.folder / "empty").mkdir()
        self.agent = harness.Agent(arguments=("--config", str(config)), env=self.environment())
        self.agent.start()
        self.gpu = self.first_gpu()
        self.device = ("--device", self.gpu["name"])
        self.cal = ("cal", self.call("calibrate", 0, NONE).strip())

    def environment(self):
        """Without this, programs of an unpacked build would find the double's library before the
        driver's."""
        env = {"OCL_ICD_VENDORS": str(self.folder / "empty")}
        if not (self.build / "lib").is_dir():
            folders = [os.environ.get("LD_LIBRARY_PATH", ""), driver_folder()]
            env["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
        return env

    def first_gpu(self):
        for device in self.agent.get("/v1/devices")["items"]:
            if device["backend"] == "nvidia":
                return device
        raise BedError("the agent knows of no NVIDIA GPU")

    def name_and_driver(self):
        return f"{self.gpu['model']}, driver {self.gpu['driver']}"

    def where(self):
        """The text of the column that names the place of measurement."""
        return f"{self.name_and_driver()}, {time.strftime('%Y-%m-%d', time.gmtime())}"

    def uuid(self):
        return self.gpu["uuid"]

    def memory(self):
        """The quota of a tenant that has the GPU alone."""
        return self.gpu["memory_bytes"] // 2

    def memory_of(self, kind):
        """(memory of such a program in the ledger, memory that the driver reports for it or None)"""
        program = self.start(Tenant(.5, kind, memory=4 << 30), CLEAVE)
        until = time.monotonic() + DRIVER_SECONDS
        try:
            while True:
                lease = next(lease for lease in self.agent.get("/v1/leases")["items"]
                             if program.pid in [p["pid"] for p in lease["processes"]])
                if lease["driver_memory_bytes"] or time.monotonic() > until:
                    return lease["memory_used_bytes"], lease["driver_memory_bytes"]
                time.sleep(.2)
        finally:
            self.end_programs()

    def work(self, programs, seconds):
        """The same, from values that the kernels wrote and each program recorded every 10 ms."""
        begin = time.monotonic_ns()
        time.sleep(seconds)
        end = time.monotonic_ns()
        return [[(t, us * 1e3) for t, us in program.lines("work") if begin <= t <= end]
                for program in programs]


def driver_folder():
    """The folder in which the loader finds NVIDIA's library; empty if no cache has it."""
    if os.environ.get("CLV_CUDA_DOUBLE"):
        return ""
    try:
        cache = subprocess.run(["ldconfig", "-p"], text=True, capture_output=True,
                               check=False).stdout
    except OSError:
        return ""
    found = re.search(r"libcuda\.so\.1 \([^)]*64[^)]*\) => (\S+)/libcuda\.so\.1", cache)
    return found[1] if found else ""


def has_gpu():
    return os.path.exists("/dev/nvidiactl")
