# SPDX-License-Identifier: Apache-2.0
"""Injected faults, and the log that lists the calls that can fail."""
import os
import signal
import time
from ctypes import byref, c_uint, c_void_p

import nvml
from harness import Case, Child, Setup, in_child, wait_until

CREATE = "nvmlDeviceCreateGpuInstance"
DESTROY = "nvmlGpuInstanceDestroy"
COUNT = "nvmlDeviceGetCount_v2"


class Faults(Case):
    def counts(self, n):
        """The codes of n harmless calls."""
        return [self.lib.code(COUNT, byref(c_uint())) for _ in range(n)]

    def made(self):
        return self.control("show").count("gi ")

    def test_which_call(self):
        self.start("gpu T4")
        for rule, codes in ((f"{COUNT} 3 999", [0, 0, 999, 0]), (f"{COUNT} * 15", [15] * 4),
                            (f"{COUNT} 2+ 4", [0, 4, 4, 4]), ("* 1 7", [7, 0, 0, 0]),
                            (f"# none\n{COUNT} 1 2\n{COUNT} 3 3", [2, 0, 3, 0]),
                            (f"{CREATE} * 15", [0] * 4)):
            self.write("faults", rule + "\n")
            self.assertEqual(self.counts(4), codes, rule)

    def test_rewritten_file_restarts_counts(self):
        self.start("gpu T4")
        for _ in range(3):
            self.write("faults", f"{COUNT} 2 999\n")
            self.assertEqual(self.counts(3), [0, 999, 0])
        os.unlink(os.path.join(self.folder, "faults"))
        self.assertEqual(self.counts(2), [0, 0])

    def test_any_process(self):
        self.start("gpu T4")
        self.write("faults", f"{COUNT} 3 999\n")
        self.assertEqual(in_child(self.counts, 2), [0, 0])
        self.assertEqual(self.counts(2), [999, 0])

    def test_misspelt(self):
        self.start("gpu T4")

        def call():
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            self.counts(1)

        for rule in ("nvmlNone 1 2", f"{COUNT} 0 2", f"{COUNT} x 2", f"{COUNT} 1 bad",
                     f"{COUNT} 1", f"{COUNT} 1 2 later", f"{COUNT} 1 2 during",
                     f"{COUNT} 1 hang 1 2 3"):
            self.write("faults", rule + "\n")
            self.assertEqual(in_child(call), -signal.SIGABRT, rule)
        self.write("faults", "")

    def test_init(self):
        self.write("node", "gpu T4\n")
        self.write("faults", "nvmlInit_v2 1 18\n")
        self.lib = Setup.library()
        self.assertCode(18, "nvmlInit_v2")
        self.assertCode(nvml.UNINITIALIZED, COUNT, byref(c_uint()))
        self.lib.do("nvmlInit_v2")

    def test_before_and_after(self):
        lib, device = self.start_mig()
        for when, made in (("", 0), ("before", 0), ("after", 1)):
            self.write("faults", f"{CREATE} 1 999 {when}\n")
            self.assertRaisesCode(999, lib.create, device, 19)
            self.assertEqual(self.made(), made, when)

    def test_success_that_is_none(self):
        """Drivers have reported success for instances that they did not destroy."""
        lib, device = self.start_mig()
        gi = lib.create(device, 19)
        self.write("faults", f"{DESTROY} 1 0\n")
        lib.do(DESTROY, gi)
        self.assertEqual(self.made(), 1)
        lib.do(DESTROY, gi)
        self.assertEqual(self.made(), 0)

    def test_killed(self):
        lib, device = self.start_mig()
        for when, made in (("", 0), ("before", 0), ("during", 0), ("after", 1)):
            self.write("faults", f"{CREATE} 1 kill {when}\n")
            self.assertEqual(in_child(lib.create, device, 19), -signal.SIGKILL)
            self.assertEqual(self.made(), made, when)
        self.write("faults", f"{DESTROY} 1 kill during\n")
        gi = lib.instances(device, 19)[0]
        self.assertEqual(in_child(lib.do, DESTROY, gi), -signal.SIGKILL)
        self.assertEqual(self.made(), 1)
        lib.do(DESTROY, gi)

    def test_hang(self):
        lib, device = self.start_mig()
        self.write("calls", "")
        for when, made in (("", 0), ("after", 1)):
            self.write("faults", f"{CREATE} 1 hang {when}\n")
            child = Child(lib.create, device, 19)
            self.assertTrue(wait_until(lambda: (CREATE, 1 + made, "hangs") in self.calls()))
            # Other processes continue.
            self.assertEqual(lib.get(COUNT), 1)
            self.assertEqual(self.made(), made)
            child.kill(signal.SIGKILL)
            self.assertEqual(child.result(), -signal.SIGKILL)

    def test_hang_for_a_while(self):
        lib, device = self.start_mig()
        self.write("faults", f"{CREATE} 1 hang 0.05\n{CREATE} 2 hang 0.05 after\n")
        for made in (1, 2):
            start = time.monotonic()
            lib.create(device, 19)
            self.assertGreaterEqual(time.monotonic() - start, .05)
            self.assertEqual(self.made(), made)

    def test_log(self):
        lib = self.start("gpu T4")
        self.assertEqual(lib.get(COUNT), 1)
        self.write("calls", "")
        self.write("faults", f"{COUNT} 2 999\n")
        self.counts(2)
        lib.code("nvmlDeviceGetHandleByIndex_v2", 5, byref(c_void_p()))
        self.assertEqual(self.calls(), [(COUNT, 2, "0"), (COUNT, 3, "999"),
                                        ("nvmlDeviceGetHandleByIndex_v2", 1, "2")])

    def session(self):
        """The calls of a careless program, up to the first failure."""
        lib = Setup.library()
        lib.do("nvmlInit_v2")
        device = lib.device()
        gi = lib.create(device, 9)
        ci = lib.create_ci(gi, 2)
        lib.do("nvmlComputeInstanceDestroy", ci)
        lib.do(DESTROY, gi)
        lib.do("nvmlShutdown")

    def clean(self):
        lib = Setup.library()
        lib.do("nvmlInit_v2")
        for gi in lib.instances(lib.device(), 9):
            for ci in lib.compute_instances(gi, 2):
                lib.do("nvmlComputeInstanceDestroy", ci)
            lib.do(DESTROY, gi)
        lib.do("nvmlShutdown")

    def fate(self, what):
        def run():
            try:
                self.session()
            except nvml.NvmlError as e:
                return e.code
            return 0

        self.write("faults", what + "\n")
        return in_child(run)

    def test_each_call_in_turn(self):
        self.write("node", "gpu A100-40GB mig=on\n")
        self.write("calls", "")
        in_child(self.session)
        n = len(self.calls())
        self.assertEqual(n, 7)
        for i in range(1, n + 2):
            there = i <= n
            for when in ("before", "after"):
                self.assertEqual(self.fate(f"* {i} 999 {when}"), 999 if there else 0)
                self.fate("")
                in_child(self.clean)
                self.assertEqual(self.fate(f"* {i} kill {when}"), -9 if there else 0)
                self.write("faults", "")
                in_child(self.clean)
                self.assertEqual(self.made(), 0)
