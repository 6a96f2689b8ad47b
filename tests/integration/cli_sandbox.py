# SPDX-License-Identifier: Apache-2.0
"""Common parts of the tests of the command line: the paths under test, a sandbox without an
agent, and a terminal."""
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

SYSTEM_SOCKET = "/run/cleave/api.sock"

# A shell makes its background jobs ignore some signals, and programs under test would too.
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Paths:
    """Set by the main program."""
    cleave = cleaved = pages = None


def wait_until(condition, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


def state_of(pid):
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def is_alive(pid):
    return state_of(pid) not in "ZX"


def run_in_terminal(command, env, columns=80, rows=24, keys=(), seconds=60):
    """Runs a command on a terminal of its own; keys are (text to wait for, bytes or a function
    that returns them)."""
    pid, fd = pty.fork()
    if pid == 0:  # which asks for the size as soon as it runs
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
        os.execvpe(command[0], command, env)
    output, seen, until, keys = b"", 0, time.monotonic() + seconds, list(keys)
    while time.monotonic() < until:
        readable, _, _ = select.select([fd], [], [], 0.02)
        if readable:
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            if not data:
                break
            output += data
        if keys and keys[0][0] in output[seen:]:
            seen = len(output)
            key = keys.pop(0)[1]
            os.write(fd, key if isinstance(key, bytes) else key())
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    return os.waitstatus_to_exitcode(status), output.decode(errors="replace")


def hang_up(command, env, ready):
    """Runs a command as the leader of a session on a terminal, which is closed at the first
    output with these bytes.  Returns the exit code and the output."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, env)
    output = b""
    while ready not in output:
        output += os.read(fd, 65536)
    os.close(fd)
    if not wait_until(lambda: not is_alive(pid)):
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), output.decode()


class Sandbox(unittest.TestCase):
    """A runtime folder of its own and no agent."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="clv-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o700)
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(("CLEAVE_", "DOUBLE_", "OCL_", "OPENCL_"))}
        self.env.pop("NO_COLOR", None)
        gate = os.path.join(self.folder, "gate")
        os.mkdir(gate)
        with open(os.path.join(gate, "libcleave-opencl.so"), "w") as file:
            file.write("")
        self.gate = os.path.realpath(os.path.join(gate, "libcleave-opencl.so"))
        self.env.update(XDG_RUNTIME_DIR=self.folder, CLEAVE_GATE_DIR=gate, LC_ALL="C.UTF-8",
                        XDG_STATE_HOME=os.path.join(self.folder, "state"), TERM="xterm")

    def cleave(self, *arguments, env=None, timeout=60, **more):
        return subprocess.run([Paths.cleave, *arguments], env=dict(self.env, **(env or {})),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=timeout, **more)

    def assert_refused(self, result, code, *words):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"\Acleave: [^\n]+\n\Z")
        for word in words:
            self.assertIn(word, result.stderr)


class StartedOnDemand:
    """For a Sandbox: agents that `cleave` starts.  AGENT records its pid and is ended with the
    test."""

    def setUp(self):
        super().setUp()
        if os.path.exists(SYSTEM_SOCKET):
            self.skipTest("the system's agent runs")
        self.started = os.path.join(self.folder, "started")
        self.env.update(CLEAVE_AGENT=self.AGENT, DOUBLE_STARTED=self.started)
        self.addCleanup(self.end_agents)

    def pids(self):
        try:
            with open(self.started) as file:
                return [int(line) for line in file]
        except OSError:
            return []

    def end_agents(self):
        for pid in filter(is_alive, self.pids()):
            os.kill(pid, signal.SIGKILL)
