# SPDX-License-Identifier: Apache-2.0
"""OpenCL programs whose queues, host threads and processes wait for each other (patterns.c): each
ends, with the same result, alone on the device, beside a tenant (on PoCL also where the agent stops
the driver's threads), and while the agent is killed or stopped; on PoCL, those without polled memory
on the strict double, which runs nothing before a flush, and those that oclgrind and rusticl complete
without the gate there, where these are installed.

usage: test_patterns.py --build BUILD --on pocl|double|oclgrind|rusticl [unittest arguments]
"""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("apply", "bypass")]

import gpus  # noqa: E402
import patterns  # noqa: E402
import vendors  # noqa: E402
import worlds  # noqa: E402
from harness import wait_until  # noqa: E402

ON = sys.argv[4]
SKIPPED = 77
# What the other drivers complete without the gate as well. Otherwise oclgrind hangs; rusticl hangs in
# native-signals, and has no out-of-order queues, which the others use.
SOME_ON = {"oclgrind": ("graph", "unflushed", "ping-pong", "processes"),
           "rusticl": ("ping-pong", "callbacks", "blocking", "processes")}
# Tests that a driver cannot pass, and why.
NOT_ON = {
    "oclgrind": {
        "test_threads_are_forbidden": "it creates threads for each kernel, and ends the program "
                                      "where it may not",
    },
    "rusticl": {
        "test_more_workers_than_processors": "it has no out-of-order queues, which the program uses",
    },
}


class OpenCl(worlds.World):
    def environment(self):
        if ON == "pocl":
            return {"OCL_ICD_VENDORS": "/etc/OpenCL/vendors"}
        if ON in SOME_ON:
            return vendors.name_only(ON, self.folder)[1]
        return {"OCL_ICD_VENDORS": worlds.built("tests/doubles/opencl/vendors"),
                "CLEAVE_DOUBLE_DEVICE": os.path.join(self.folder, "device")}


class Stopping(OpenCl):
    """The agent stops the driver's threads at the end of a turn."""

    def settings(self):
        path = os.path.join(self.folder, "cleaved.yaml")
        worlds.write_whole(path, "version: 1\nexecutor: cpu\nwatch: {every: off}\n")
        return ("--config", path)


class Case(gpus.Case):
    WORLD = OpenCl

    def setUp(self):
        reason = NOT_ON.get(ON, {}).get(self._testMethodName)
        if self.WORLD is Stopping and ON != "pocl":
            reason = "only PoCL's threads can be stopped"
        if reason:
            self.skipTest(reason)
        super().setUp()

    def list(self):
        return () if ON == "pocl" else ("events",)

    def names(self):
        return SOME_ON.get(ON) or super().names()

    def program(self):
        return worlds.built("tests/deadlock/opencl-patterns")

    def competitor(self):
        return self.program(), "competitor"


class Alone(Case, patterns.Alone):
    # A command waits in line for microseconds behind what the gate holds itself; where the program
    # lasts for milliseconds only, that is a large part.
    WAITS, WAITS_FOR_WINDOW = .05, .5
    FILLS_A_WINDOW = ("callbacks", "threads", "two-contexts")

    def test_more_workers_than_processors(self):
        """PoCL ends a program whose workers it cannot place on separate processors."""
        self.begin()
        n = str(2 * os.cpu_count())
        out = self.run_in_lease(self.program(), "graph", env={"POCL_MAX_PTHREAD_COUNT": n})
        self.assertRegex(out, r"^done \d+$")


class Beside(Case, patterns.Beside):
    SOME = ("graph", "barriers", "many-behind", "native-awaits", "one-queue", "blocking-read")


class BesideStopping(Beside):
    """Work that is stopped at the end of a turn waits for the next, and so does what waits for it."""

    WORLD = Stopping

    def tenant(self):
        super().tenant()
        self.assertTrue(wait_until(
            lambda: self.agent.get("/v1/devices")["items"][0]["executor"] == "cpu"))


class Disturbed(Case, patterns.Disturbed):
    SOME = SOME_ON.get(ON) or ("callbacks", "native-awaits", "many-behind")
    MIDDLE_SECONDS = .05


class Rare(Case, patterns.Patterns):
    """Cases that would hang in states that the gate does not expect."""

    def run_beside(self, program, *arguments):
        self.begin()
        self.tenant()
        process = self.start(worlds.built(f"tests/deadlock/{program}"), *arguments)
        try:
            out, err = process.communicate(timeout=patterns.BOUND_SECONDS)
        except subprocess.TimeoutExpired:
            patterns.end_hung(process)
            self.fail(f"{program} hung, and was ended; the agent: {self.agent.log()[-1500:]}")
        return out, err

    def test_contexts_end(self):
        self.assertEqual(self.run_beside("endings"), ("done\n", ""))

    def test_threads_are_forbidden(self):
        self.assertEqual(self.run_beside("sandbox", "late"), ("done\n", ""))

    def test_threads_are_forbidden_too_early(self):
        """The gate reports what it lacks, and the program does not continue without."""
        out, err = self.run_beside("sandbox", "early")
        self.assertEqual(out, "code -6\n", err)
        self.assertRegex(err, r"\Acleave: no device for process \d+: the gate cannot create its "
                              r"threads: [^\n]+\n\Z")


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    if ON in SOME_ON and not vendors.is_there(vendors.library_of(ON)):
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
