#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kernel without an end on a device that is the processor: its threads are stopped while others
have the device, during all acts of its program and the agent.

usage: halting.py CLEAVE WAYS HALTED [unittest arguments]

What each has is counted in processor time and in the ledger, never against the clock; the
times here only bound how long a failure takes.
"""
import os
import signal
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "bypass"))
sys.path.insert(0, str(Path(__file__).parent.parent / "integration"))
from measured import bound  # noqa: E402
from session import Session, Trouble  # noqa: E402

PROGRAMS = {}
PATIENCE = 90
MEMORY = ["--memory", "64M"]


class Halting(unittest.TestCase):
    settings = "executor: cpu"

    def setUp(self):
        self.session = Session(PROGRAMS["cleave"], settings=self.settings)
        self.addCleanup(self.session.close)
        self.session.environment["BYPASS_LOOPS_PER_MS"] = "100000"
        self.neighbour = self.start("0.8", [PROGRAMS["ways"], "neighbour"], "neighbour")

    def start(self, share, command, name):
        program = self.session.start(["--share", share, *MEMORY], command, name)
        program.wait_for("go", PATIENCE)
        return program

    def endless(self, *arguments):
        return self.start("0.2", [PROGRAMS["halted"], *arguments], "endless")

    @staticmethod
    def order(program, word, answer):
        program.process.stdin.write(f"{word}\n".encode())
        program.process.stdin.flush()
        if answer:
            program.wait_for(answer, PATIENCE)

    def account(self):
        leases = self.session.leases()
        return [leases[name]["held_seconds"] for name in ("neighbour", "endless")]

    def taken(self, programs, seconds):
        """The processor time of each, and its held time, over this much of the processor's time."""
        def look():
            return [p.processor_seconds() for p in programs], self.account()
        until = time.monotonic() + PATIENCE
        first = look()
        while True:
            busy, held = ([b - a for a, b in zip(*pair)] for pair in zip(first, look()))
            if sum(held) >= seconds and sum(busy) >= seconds / 4:
                return busy, held
            self.assertLess(time.monotonic(), until, f"{busy} busy, {held} held")
            time.sleep(0.1)

    def until(self, is_so, what, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not is_so():
            self.assertLess(time.monotonic(), end, f"no {what} within {seconds} s")
            time.sleep(0.1)

    def both_go_on(self, program, seconds=0.1):
        """Both use the processor from here on."""
        before = [p.processor_seconds() for p in (self.neighbour, program)]
        until = time.monotonic() + PATIENCE
        while any(p.processor_seconds() < b + seconds
                  for p, b in zip((self.neighbour, program), before)):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)


    def assert_shares(self, program, least=0.15):
        busy, held = self.taken((self.neighbour, program), 4)
        self.assertGreaterEqual(held[0] / sum(held), bound(0.78, 0.6), held)
        self.assertGreater(held[1] / sum(held), bound(least, 0), held)
        self.assertGreater(busy[0] / sum(busy), bound(0.70, 0.55), busy)


class Beside(Halting):
    def test_shares(self):
        program = self.endless()
        time.sleep(1)
        self.assert_shares(program)
        self.order(program, "end", "ended")

    def test_agent_is_away_for_a_moment(self):
        program = self.endless()
        time.sleep(1)
        agent = self.session.agent_pid()
        for _ in range(4):
            os.kill(agent, signal.SIGSTOP)
            time.sleep(0.3)
            os.kill(agent, signal.SIGCONT)
            time.sleep(0.1)
        self.assert_shares(program)
        self.order(program, "end", "ended")

    def test_fork_and_allocate(self):
        program = self.endless()
        for _ in range(5):
            self.order(program, "fork", "forked")
            self.order(program, "allocate", "allocated")
        self.both_go_on(program)
        self.order(program, "end", "ended")

    def test_exec_exit_and_kill(self):
        for word, answer in (("exec", "became"), ("exit", None), ("kill", None)):
            program = self.endless()
            self.both_go_on(program)
            if word == "kill":
                os.kill(program.tree()[-1], signal.SIGKILL)
            else:
                self.order(program, word, answer)
            program.finish(PATIENCE)
            self.session.end(program)

    def test_handlers_of_their_own(self):
        program = self.endless("before")
        self.both_go_on(program)
        self.order(program, "raise", "raised")
        self.order(program, "end", "ended")
        self.session.end(program)

        # It blocks the signal: the agent waits for its work, and charges it while it runs on.
        program = self.endless("after")
        self.both_go_on(program)
        busy, held = self.taken((self.neighbour, program), 2)
        self.assertGreater(held[1], 0, held)
        self.order(program, "end", "ended")

    def agent(self):
        """The PID of the current agent; an agent that was stopped for long has been replaced."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            pid = self.session.agent_pid()
            if pid > 0:
                return pid
            time.sleep(0.05)
        raise Trouble("there is no agent")

    def test_agent_dies_and_stops(self):
        program = self.endless()
        for number in (0, signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL):
            os.kill(self.agent(), number)
            self.both_go_on(program)
        self.order(program, "end", "ended")


class Overdue(Halting):
    """The agent waits for work; what has not ended within a second is stopped."""
    settings = "executor: auto"

    def test_shares(self):
        program = self.endless()
        time.sleep(3)
        # It is charged for the time in which it held the device.
        self.assert_shares(program, least=0.01)
        self.order(program, "end", "ended")


class WaitedFor(Halting):
    """The settings may disable stopping."""
    settings = "executor: gate"

    def test_ends(self):
        program = self.endless()
        self.both_go_on(program)
        self.order(program, "end", "ended")


class Restarted(Halting):
    """The next agent is a child of init, or of the program's subreaper, and younger than the
    program: so is a surviving child that shares the program's memory."""
    settings = "executor: gate"

    def setUp(self):
        self.session = Session(PROGRAMS["cleave"], settings=self.settings)
        self.addCleanup(self.session.close)
        self.session.environment["BYPASS_LOOPS_PER_MS"] = "100000"

    def test_lease_ends_with_its_program(self):
        for number in range(4):
            program = self.start("0.1", [PROGRAMS["halted"]], f"ends{number}")
            agent = self.session.agent_pid()
            os.kill(agent, signal.SIGKILL)
            self.until(lambda agent=agent: self.session.agent_pid() not in (0, agent),
                       "new agent")
            time.sleep(0.5)
            self.order(program, "end", "ended")
            program.finish(PATIENCE)
            self.until(lambda name=program.name: name not in self.session.leases(),
                       "end of the lease")


if __name__ == "__main__":
    PROGRAMS.update(zip(("cleave", "ways", "halted"), sys.argv[1:4]))
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
