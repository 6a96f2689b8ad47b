# SPDX-License-Identifier: Apache-2.0
"""Programs whose queues, host threads and processes wait for each other: each ends, with the same
result, alone on the device, beside a tenant, and while the agent is killed or stopped.

A program without arguments says what it can do; with a name it does that, says "done N" with what
it computed, and stays until its input ends.  It exits with 0 if N is what it should be.
"""
import os
import select
import signal
import subprocess
import time

import evidence
from harness import wait_until

# Each ends within a few seconds. With any number of hanging ones, all of them together stay within
# the test's time: after the first two no wait is long.
BOUND_SECONDS, NEXT_BOUND_SECONDS, N_LONG = 90, 30, 2
# Patterns of two processes; admitted one after the other during the first turns.
OF_TWO = ("processes", "late-process", "spin-across-processes", "event-of-another")


def parents():
    """{pid: its parent} of all that run."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                found[int(pid)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            pass
    return found


def below(pid):
    of = parents()
    found, new = [], [pid]
    while new:
        new = [child for child, parent in of.items() if parent in new]
        found += new
    return found


def end_hung(process):
    """Ends its children, independent of the agent; returns when they have ended, and its lease with
    them."""
    for pid in below(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()


class Patterns:
    """Shared by the cases below; a class of gpus.Case beside it has the machine."""

    def program(self):
        raise NotImplementedError

    def competitor(self):
        """A command that keeps the device busy and prints ready."""
        raise NotImplementedError

    def list(self):
        """The programs to list."""
        return ()

    def names(self):
        return subprocess.run([self.program(), *self.list()], text=True, capture_output=True,
                              check=True, env=self.agent.env).stdout.split()

    def machinery(self):
        """The pids of the agent and of what simulates the device."""
        player = getattr(self.world, "player", None)
        return [part.process.pid for part in (self.agent, player) if part]

    n_hung = 0

    def go_through(self, process, name):
        """Returns how it ends; a hanging one is killed."""
        bound = BOUND_SECONDS if Patterns.n_hung < N_LONG else NEXT_BOUND_SECONDS
        if not select.select([process.stdout], [], [], bound)[0]:
            Patterns.n_hung += 1
            found = evidence.of_processes([process.pid, *below(process.pid), *self.machinery()])
            end_hung(process)
            self.fail(f"{name} hung: it said nothing for {bound} s, and was ended; "
                      f"the agent: {self.agent.log()[-1500:]}\n{found}")
        line = process.stdout.readline()
        if not line:
            said = process.communicate(timeout=BOUND_SECONDS)
            self.fail((process.returncode, said, self.agent.log()[-1500:]))
        self.assertRegex(line, r"^done \d+$")

    def finish(self, process):
        process.stdin.close()
        self.assertEqual(process.wait(timeout=60), 0)

    def tenant(self):
        process = self.start(*self.competitor(), options=("--share", "0.5", "--name", "competitor"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def pattern(self, name, *options):
        return self.start(self.program(), name,
                          options=("--share", "0.5", "--name", name, *options))

    def wait_until_begun(self, name):
        """A program that starts without an agent is refused, which is not the subject of these
        cases."""
        n = 2 if name in OF_TWO else 1

        def has_begun():
            status, lease = self.agent.request("GET", f"/v1/leases/{name}")
            return status == 200 and len(lease["processes"]) >= n
        wait_until(has_begun)

    def wait_for_end(self, name):
        self.assertTrue(wait_until(
            lambda: self.agent.request("GET", f"/v1/leases/{name}")[0] == 404))

    def go_through_all(self, names=None, meanwhile=None, afterwards=None):
        for name in names or self.names():
            with self.subTest(name):
                process = self.pattern(name)
                if meanwhile:
                    self.wait_until_begun(name)
                    meanwhile()
                self.go_through(process, name)
                if afterwards:
                    afterwards()
                self.finish(process)


# A busy machine delays the first turn, and kernels whose number then fills a window, in some runs
# of a program.  A gate that makes it wait where it need not does so in each.
LOOKS = 3


class Alone(Patterns):
    # The part of the lease's time for which its threads may wait: in each program, where a thread
    # may yield once to one that records a marker; in those that submit more than a window holds; and
    # in one that does so before any of it can complete, which waits for 20 ms for each command of
    # unknown length.
    WAITS, WAITS_FOR_WINDOW, WAITS_UNTIL_DEBT = .001, .1, .95
    FILLS_A_WINDOW = ("full-legacy", "deep-beside", "overlap", "full-of-copies", "full-of-waits")
    FILLS_IT_AT_ONCE = ("full-of-launches",)

    def may_wait(self, name):
        if name in self.FILLS_IT_AT_ONCE:
            return self.WAITS_UNTIL_DEBT
        return self.WAITS_FOR_WINDOW if name in self.FILLS_A_WINDOW else self.WAITS

    def alone(self, name):
        """The lease of a program that has done its work."""
        process = self.pattern(name)
        self.go_through(process, name)
        lease = self.agent.get(f"/v1/leases/{name}")
        self.finish(process)
        self.wait_for_end(name)
        return lease

    def test_nothing_waits(self):
        """By the ledger: the lease has one turn, in which its threads do not wait in line."""
        self.begin()
        for name in self.names():
            part = self.may_wait(name)
            with self.subTest(name):
                for _ in range(LOOKS):
                    lease = self.alone(name)
                    self.assertEqual((lease["turns"], lease["overdue"]), (1, 0), lease)
                    if lease["waited_seconds"] <= part * lease["held_seconds"]:
                        break
                else:
                    self.fail((f"its threads waited in each of {LOOKS} runs", lease))


class Beside(Patterns):
    SOME = ()

    def test_under_the_gate(self):
        self.begin()
        self.tenant()
        self.go_through_all()

    def test_some_under_the_gate(self):
        self.begin()
        self.tenant()
        names = self.names()
        self.go_through_all([name for name in self.SOME if name in names])


class Disturbed(Patterns):
    """The agent ends in the middle of the program."""

    SOME = ()
    MIDDLE_SECONDS = .3  # from a program's first call to the middle of its work

    def disturb(self, how, names=None, afterwards=None):
        def meanwhile():
            time.sleep(self.MIDDLE_SECONDS)
            how()
        self.begin()
        self.tenant()
        self.go_through_all(names, meanwhile, afterwards)

    def kill(self):
        self.agent.process.send_signal(signal.SIGKILL)
        self.agent.process.wait()

    def begin_again(self):
        self.agent.start()

    def start_again(self):
        self.kill()
        self.begin_again()

    def stop(self):
        self.agent.process.send_signal(signal.SIGSTOP)
        time.sleep(.5)
        self.agent.process.send_signal(signal.SIGCONT)

    def test_killed_and_started_again(self):
        self.disturb(self.start_again)

    def test_killed_until_it_ended(self):
        self.disturb(self.kill, afterwards=self.begin_again)

    def test_stopped(self):
        self.disturb(self.stop)

    def test_some(self):
        self.disturb(self.start_again, self.SOME)

    def test_some_stopped(self):
        self.disturb(self.stop, self.SOME)

    def test_some_without_an_agent(self):
        self.disturb(self.kill, self.SOME, self.begin_again)
