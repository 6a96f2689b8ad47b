# SPDX-License-Identifier: Apache-2.0
"""Starts and controls the workloads of a bench, in shares of cleave or without cleave.

A Session keeps cleave's sockets and state in a folder of its own, so that a bench neither
uses nor disturbs an agent that is already running, and ends the processes that it started.
"""
import dataclasses
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import measure

ANSWER_SECONDS = 60
START_AHEAD_NS = 20_000_000  # time enough for every tenant to get the start
SAMPLE_NS = 25_000_000  # a part of the step between the windows of measure.windows
AUTO, CPU = "auto", "cpu"  # executors on a processor, as in the agent's settings


class BenchError(Exception):
    """A bench could not be carried out; the text says why."""


@dataclasses.dataclass(frozen=True)
class Lease:
    """The options of `cleave run`."""
    share: float
    cap: float = 0.0
    klass: str = ""
    memory: str = "64M"

    def options(self):
        options = ["--share", f"{self.share:g}", "--memory", self.memory]
        if self.cap:
            options += ["--cap", f"{self.cap:g}"]
        if self.klass:
            options += ["--class", self.klass]
        return options


def raw_ns():
    """The clock of the kernels' profiling events."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def processor_ns(pid):
    """Processor nanoseconds of all threads of a process; 0 for a process that has ended."""
    try:
        return time.clock_gettime_ns(~pid << 3 | 2)  # include/linux/posix-timers.h
    except OSError:
        return 0


def wait_until(moment_ns):
    """Sleeps until a time of the device's clock."""
    time.sleep(max(0.0, (moment_ns - raw_ns()) / 1e9))


class Tenant:
    """One workload process tree, controlled by lines and read through its logs."""

    def __init__(self, session, name, arguments, lease, processes=1):
        self.name = name
        self.log = session.folder / f"{name}.log"
        self.errors = session.folder / f"{name}.err"
        self.processes = processes
        self.read_so_far = [0] * processes
        command = [str(session.program("tenant")), "--log", str(self.log), *arguments]
        if processes > 1:
            command += ["--processes", str(processes)]
        if lease:
            command = session.run_command(name, lease) + command
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                env=session.environment)
        self.pending = b""
        try:
            self.pid = int(self.answer("ready"))
        except BenchError:
            self.close()
            raise

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise BenchError(f"tenant {self.name} ended: {self.last_error()}") from None

    def answer(self, word, seconds=ANSWER_SECONDS):
        """The rest of the next line, which must begin with word."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self.pending:
            left = max(0, deadline - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                raise BenchError(f"tenant {self.name} did not say '{word}' "
                                 f"within {seconds} s")
            data = os.read(self.process.stdout.fileno(), 4096)
            if not data:
                raise BenchError(f"tenant {self.name} ended: {self.last_error()}")
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        first, _, rest = line.decode().partition(" ")
        if first != word:
            raise BenchError(f"tenant {self.name} said '{line.decode()}', not '{word}'")
        return rest.strip()

    def last_error(self):
        lines = self.errors.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "with no word on standard error"

    def take(self):
        """The records written since the last call, in order of their start."""
        records = []
        for i in range(self.processes):
            with open(f"{self.log}.{i}", "rb") as log:
                log.seek(self.read_so_far[i])
                data = log.read()
            whole = len(data) // measure.RECORD.size * measure.RECORD.size
            self.read_so_far[i] += whole
            records += measure.parse_log(data[:whole])
        return sorted(records)

    def processor_ns(self):
        """Processor time of its processes; with one process there is no relay."""
        pids = [self.pid]
        if self.processes > 1:
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
            pids = [int(pid) for pid in children.split()]
        return sum(map(processor_ns, pids))

    def close(self):
        """Requests the workload to end, and kills it if it does not."""
        try:
            self.process.stdin.write(b"quit\n")
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@dataclasses.dataclass(frozen=True)
class Block:
    """The kernels that ran between two times of the device's clock."""
    begin: int
    end: int
    records: dict
    computed: dict = None  # {name: (processor seconds until the end, until the pause)}
    spans: dict = None  # {name: [(start, end, processor nanoseconds)]}, under the CPU executor

    def rate(self, name):
        return measure.rate(self.records[name], self.begin, self.end)

    def work_rate(self):
        """The work of all its tenants together."""
        return sum(self.rate(name) for name in self.records)

    def parts(self):
        """Each tenant's part of the work of all."""
        return {name: self.rate(name) / self.work_rate() for name in self.records}

    def triple(self):
        return self.begin, self.end, self.records

    def computed_triple(self):
        return self.begin, self.end, self.spans


class Session:
    """The build under test, a private agent, and the tenants of one case."""

    def __init__(self, build, with_cleave, vendors=None, executor=None):
        """executor: the executor on a processor, where it differs from the default."""
        self.build = Path(build)
        self.with_cleave = with_cleave
        self.executor = executor
        self.folder = Path(tempfile.mkdtemp(prefix="cleave-bench-"))
        self.environment = dict(os.environ)
        for name in [n for n in self.environment if n.startswith("CLEAVE_")]:
            del self.environment[name]
        # Locks of its own, too, because another running agent holds the device's.
        for variable, sub in (("XDG_RUNTIME_DIR", "run"), ("XDG_STATE_HOME", "state"),
                              ("CLEAVE_LOCK_DIR", "locks")):
            (self.folder / sub).mkdir(mode=0o700)
            self.environment[variable] = str(self.folder / sub)
        if vendors:
            self.environment["OCL_ICD_VENDORS"] = str(vendors)
        if executor:
            self.set_executor()
        self.tenants = []
        self.computed = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def set_executor(self):
        settings = self.folder / "config/cleave/cleaved.yaml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f"version: 1\nexecutor: {self.executor}\n")
        self.environment["XDG_CONFIG_HOME"] = str(self.folder / "config")

    def program(self, name, folder="bench"):
        path = self.build / folder / name
        if not path.exists():
            raise BenchError(f"{path} is not built: build the project, then try again")
        return path

    def cleave(self):
        path = self.build / "src/cli/cleave"
        if not path.exists():
            raise BenchError(f"{path} is not built: build the project, then try again")
        return str(path)

    def run_command(self, name, lease):
        return [self.cleave(), "run", *lease.options(), "--name", name, "--"]

    def spawn(self, name, arguments, lease=None, processes=1):
        """Starts a tenant; without cleave a lease is left out."""
        tenant = Tenant(self, name, [str(a) for a in arguments],
                        lease if self.with_cleave else None, processes)
        self.tenants.append(tenant)
        return tenant

    def output(self, command, seconds=300):
        """The output of a command; a failure ends the bench with the last lines of its output."""
        try:
            done = subprocess.run(command, env=self.environment, capture_output=True,
                                  text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise BenchError(f"{' '.join(command)} took over {seconds} s") from None
        except OSError as error:
            raise BenchError(f"{command[0]}: {error.strerror}") from None
        if done.returncode:
            raise BenchError(f"{' '.join(command)} ended with {done.returncode}: "
                             f"{done.stderr.strip()[-300:]}")
        return done.stdout

    def instructions(self, commands, counts, collect=(), runs=1):
        """Instructions of one call, by callgrind: commands make counts[0] and counts[1]
        calls, so that the difference is of calls alone.  Each is the least of so many runs: they
        agree, unless the machine is so busy that an idle lease wakes up and the measured one
        gets turns that end."""
        totals = [min(self.collected(before, command, collect) for _ in range(runs))
                  for before, command in commands]
        return (totals[1] - totals[0]) / (counts[1] - counts[0])

    def collected(self, before, command, collect):
        """What callgrind counts in one run of a command."""
        out = self.folder / "callgrind.out"
        self.output([*before, "valgrind", "--quiet", "--tool=callgrind",
                     f"--callgrind-out-file={out}", *collect, *command])
        found = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.M)
        if not found:
            raise BenchError("callgrind wrote no totals")
        return int(found[1])

    def calibrate(self):
        """Loops per microsecond on this machine, measured once without the gate."""
        words = self.output([str(self.program("tenant")), "--calibrate"]).split()
        return f"{words[1]},{words[2]}"

    def ledger(self):
        """cleave's own account: seconds held by each lease."""
        if not self.with_cleave:
            return {}
        output = self.output([self.cleave(), "ps", "-o", "json"])
        try:
            return {item["name"]: item["held_seconds"]
                    for item in json.loads(output)["items"]}
        except (KeyError, ValueError) as error:
            raise BenchError(f"cleave ps -o json has another form than expected: {error!r}") from None

    def start(self, tenants):
        """Starts these tenants at the same time; returns that time on the device's clock."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        start = now + START_AHEAD_NS
        begin = raw_ns() + START_AHEAD_NS
        self.computed = {t.name: t.processor_ns() for t in tenants}
        for tenant in tenants:
            tenant.send(f"run {start}")
        for tenant in tenants:
            tenant.answer("running")
        return begin

    def stop(self, tenants, begin):
        """Pauses all tenants, waits until work in flight has drained, and collects the records."""
        end = raw_ns()
        until_end = self.computed_since(tenants)
        for tenant in tenants:
            tenant.send("pause")
        for tenant in tenants:
            tenant.answer("paused")
        whole = self.computed_since(tenants)
        return Block(begin, end, {t.name: t.take() for t in tenants},
                     {name: (until_end[name], whole[name]) for name in whole})

    def computed_since(self, tenants):
        """Processor seconds since the start."""
        return {t.name: (t.processor_ns() - self.computed[t.name]) / 1e9 for t in tenants}

    def block(self, tenants, seconds):
        """Runs these tenants together; all others stay idle."""
        begin = self.start(tenants)
        end = begin + int(seconds * 1e9)
        spans = self.sample_until(tenants, begin, end) if self.executor == CPU else None
        wait_until(end)
        return dataclasses.replace(self.stop(tenants, begin), spans=spans)

    @staticmethod
    def sample_until(tenants, begin, end):
        """The processor time of each tenant in short spans: a kernel that is stopped in the middle
        has one record for all its parts."""
        spans = {tenant.name: [] for tenant in tenants}
        wait_until(begin)
        last = [(raw_ns(), tenant.processor_ns()) for tenant in tenants]
        for moment in range(begin + SAMPLE_NS, end + 1, SAMPLE_NS):
            wait_until(moment)
            for i, tenant in enumerate(tenants):
                now = raw_ns(), tenant.processor_ns()
                spans[tenant.name].append((last[i][0], now[0], now[1] - last[i][1]))
                last[i] = now
        return spans

    def alternate(self, outer, inner, times, seconds):
        """Blocks in the order outer, inner, outer, ..., outer; returns both as lists."""
        outers = [self.block(outer, seconds)]
        inners = []
        for _ in range(times):
            inners.append(self.block(inner, seconds))
            outers.append(self.block(outer, seconds))
        return outers, inners

    def end_tenants(self):
        for tenant in self.tenants:
            tenant.close()
        self.tenants = []

    def agent_pid(self):
        """The process that listens on the private socket, if one does."""
        path = self.folder / "run/cleave/api.sock"
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.connect(str(path))
                peer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        except OSError:
            return 0
        return struct.unpack("iII", peer)[0]

    def stop_agent(self):
        """Ends the private agent and waits until it is gone."""
        pid = self.agent_pid()
        if pid <= 0 or pid == os.getpid():
            return
        os.kill(pid, signal.SIGTERM)
        for _ in range(100):
            if not self.agent_pid():
                return
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)

    def close(self):
        self.end_tenants()
        self.stop_agent()
        shutil.rmtree(self.folder, ignore_errors=True)
