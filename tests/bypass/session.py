# SPDX-License-Identifier: Apache-2.0
"""cleave in separate folders, programs in its leases, and their resources.

How much of the device a program takes is read from the processor time of its processes:
the device is the processor, so nothing that cleave says is needed to tell.
"""
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")


# Other work on the machine must not change the results, as far as priorities are allowed.  The
# agent's thread that ends turns gives itself -15, so that it is ahead of the programs.
PRIORITY = -10


# By which a program asks to run without its lease, in the words of `env`.
OPEN = ("CLEAVE_LEASE=/nonexistent/lease.sock", "CLEAVE_IF_NO_AGENT=open")


def fake_agent(how):
    """The beginning of a command that is its own agent, as fake.py has them."""
    return (sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake.py"), how)


class Trouble(Exception):
    """An attempt could not be made; the text says why."""


class Child:
    """A process, with its lines of output."""

    def __init__(self, name, command, env, **options):
        self.name = name
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        self.pending, self.lines = b"", []

    def line(self, seconds):
        """The next line, or None at the end of the output."""
        until = time.monotonic() + seconds
        while b"\n" not in self.pending:
            left = max(0, until - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return None
            self.pending += data
        first, self.pending = self.pending.split(b"\n", 1)
        self.lines.append(first.decode(errors="replace"))
        return self.lines[-1]

    def tree(self):
        """The processes below it."""
        children = {}
        for entry in os.listdir("/proc"):
            fields = stat_of(entry) if entry.isdigit() else None
            if fields:
                children.setdefault(int(fields[1]), []).append(int(entry))
        found, todo = [], [self.process.pid]
        while todo:
            below = children.get(todo.pop(), [])
            found += below
            todo += below
        return found

    def end(self):
        """Ends it with all its processes."""
        for pid in [*self.tree(), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass


class Program(Child):
    """A command under `cleave run`; without options, in the lease of that name."""

    def __init__(self, session, options, command, name):
        where = [*options, "--name", name] if options else ["--lease", name]
        super().__init__(name, [session.cleave, "run", *where, "--", *map(str, command)],
                         session.environment)

    def line(self, seconds):
        try:
            return super().line(seconds)
        except TimeoutError:
            raise Trouble(f"{self.name} said nothing for {seconds} s") from None

    def wait_for(self, word, seconds=60):
        while True:
            line = self.line(seconds)
            if line is None:
                raise Trouble(f"{self.name} ended before it said '{word}': {self.lines}")
            if line == word:
                return

    def finish(self, seconds=60):
        """Ends it; returns all its lines."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        while self.line(seconds) is not None:
            pass
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Trouble(f"{self.name} does not end") from None
        return self.lines

    def processor_seconds(self):
        total = 0
        for pid in self.tree():
            fields = stat_of(pid)
            if fields:
                # Its own, and that of children that it has waited for.
                total += sum(map(int, fields[11:15]))
        return total / TICK


def stat_of(pid):
    """The fields of /proc/PID/stat from the third on, or None."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()
    except OSError:
        return None


def go_first():
    """Only root may; for others the figures depend on the machine's load."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    except PermissionError:
        pass


class Session:
    def __init__(self, cleave, environment=None, settings=None):
        self.cleave = cleave
        self.folder = tempfile.mkdtemp(prefix="clv-")
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("CLEAVE_", "OPENCL_", "OCL_"))}
        self.environment.update(environment or {})
        # Locks of its own, because another running agent holds the device's.
        for sub, variable in (("run", "XDG_RUNTIME_DIR"), ("state", "XDG_STATE_HOME"),
                              ("locks", "CLEAVE_LOCK_DIR")):
            path = os.path.join(self.folder, sub)
            os.mkdir(path, 0o700)
            self.environment[variable] = path
        if settings:
            self.set(settings)
        self.programs = []

    def set(self, settings):
        folder = os.path.join(self.folder, "config")
        os.makedirs(os.path.join(folder, "cleave"))
        with open(os.path.join(folder, "cleave/cleaved.yaml"), "w", encoding="utf-8") as file:
            file.write(f"version: 1\n{settings}\n")
        self.environment["XDG_CONFIG_HOME"] = folder

    def start(self, options, command, name):
        program = Program(self, options, command, name)
        self.programs.append(program)
        return program

    def end(self, program):
        """Ends a program, and waits until its share is free again."""
        self.programs.remove(program)
        program.end()
        for _ in range(250):
            if program.name not in self.leases():
                return
            time.sleep(0.02)
        raise Trouble(f"the lease of {program.name} does not end")

    def output(self, options, command, name, seconds=60):
        """All lines of a command in a lease of its own."""
        program = self.start(options, command, name)
        try:
            return program.finish(seconds)
        finally:
            self.end(program)

    def in_sequence(self, options, commands, name, seconds=60):
        """All lines of the last of several commands, which follow each other in one lease."""
        self.change("reserve", "--name", name, *options)
        try:
            for command in commands:
                lines = Program(self, [], command, name).finish(seconds)
            return lines
        finally:
            self.change("release", name)

    def change(self, *arguments):
        done = subprocess.run([self.cleave, *arguments], env=self.environment,
                              capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise Trouble(f"cleave {arguments[0]}: {done.stderr.strip()}")

    def items(self, verb):
        done = subprocess.run([self.cleave, verb, "-o", "json"], env=self.environment,
                              capture_output=True, text=True, timeout=30)
        if done.returncode:
            raise Trouble(f"cleave {verb}: {done.stderr.strip()}")
        return json.loads(done.stdout)["items"]

    def leases(self):
        return {item["name"]: item for item in self.items("ps")}

    def events(self):
        """The kinds of all events so far."""
        return [item["type"] for item in self.items("events")]

    def agent_pid(self):
        path = os.path.join(self.environment["XDG_RUNTIME_DIR"], "cleave/api.sock")
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.connect(path)
                peer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        except OSError:
            return 0
        return struct.unpack("iII", peer)[0]

    def close(self):
        for program in self.programs:
            program.end()
        pid = self.agent_pid()
        if pid > 0:
            os.kill(pid, signal.SIGTERM)
            for _ in range(100):
                if not self.agent_pid():
                    break
                time.sleep(0.05)
            else:
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
