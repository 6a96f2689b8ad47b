# SPDX-License-Identifier: Apache-2.0
"""What a HIP program in a lease finds, sees and may allocate.

usage: test_gate.py --build BUILD --rocm 5|6 [unittest arguments]
"""
import ctypes.util
import subprocess
import sys

import machine
import worlds

QUOTA = ("--share", "0.5", "--memory", "1G")


class Names(machine.Case):
    def test_every_way_leads_to_the_gate(self):
        self.begin()
        self.assertEqual(self.run_in_lease(machine.program("hip-names")), "0 failed\n")


class Early(machine.Case):
    def test_calls_before_the_driver_is_initialized(self):
        """They return what they do without the gate, from several threads, and do no harm."""
        self.begin()
        found = self.run_in_lease(machine.program("hip-early"))
        self.assertEqual(found, subprocess.run([machine.program("hip-early")], text=True, check=True,
                                               capture_output=True, env=self.agent.env).stdout)
        self.assertEqual(found.splitlines()[-1], "0 0 0 0 0")


class Memory(machine.Case):
    def cases(self):
        names = subprocess.run([machine.program("hip-memory")], text=True, capture_output=True,
                               check=True, env=self.agent.env).stdout.split()
        self.assertGreater(len(names), 10)
        return names

    def test_quota(self):
        self.begin()
        for name in self.cases():
            with self.subTest(name):
                self.run_in_lease(machine.program("hip-memory"), name, options=QUOTA)
        self.assertLessEqual(max(p["peak"] // machine.MIB for p in self.world.stats()[1].values()),
                             1024 + 64, "with the context, what the GPU has seen")

    def test_without_an_environment(self):
        """The gate is found through the libraries mounted in place of the real ones."""
        self.begin()
        emptied = ("env", "-i", f"CLV_HIP_DOUBLE={self.world.gpus}")
        for name in self.cases():
            with self.subTest(name):
                self.run_in_lease(*emptied, machine.program("hip-memory"), name, options=QUOTA)
        process = self.start(*emptied, machine.program("hip-names"), "unset")
        self.assertEqual(process.communicate(timeout=60), ("0 failed\n", ""))


class Devices(machine.Case):
    def test_the_leases_device_alone(self):
        """For all values of the program's own variables; a number is an index of the lease's
        devices."""
        self.begin(models=("MI300X", "MI210"))
        for variable in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
            for said, seen in ((None, "1"), ("0", "1"), ("2", "0"), ("GPU-", "0")):
                with self.subTest(variable=variable, said=said):
                    script = "" if said is None else f"export {variable}={said}; "
                    out = self.run_in_lease(
                        "sh", "-c", f"{script}exec {machine.program('hip-count')}", device="gpu1")
                    self.assertEqual(out.strip(), seen)

    def test_a_list_that_is_lost(self):
        self.begin(models=("MI300X", "MI210"))
        out = self.run_in_lease("env", "-u", "ROCR_VISIBLE_DEVICES", machine.program("hip-count"))
        self.assertEqual(out.strip(), "1")

    def test_two_whole_devices(self):
        self.begin(models=("MI300X", "MI300X", "MI210"))
        out = self.run_in_lease(machine.program("hip-count"), options=("--count", "2"), device=None)
        self.assertEqual(out.strip(), "2")

    def test_no_lease_no_device(self):
        """A process with the gate and without a lease sees no GPU."""
        self.begin()
        done = subprocess.run(
            [machine.program("hip-tenant"), "queue", "100000", "1"], text=True,
            capture_output=True, check=False,
            env={**self.agent.env, "CLEAVE_LEASE": "/nonexistent",
                 "LD_PRELOAD": worlds.built("src/gate/libcleave-hip.so")})
        self.assertIn("hipInit(0): 100", done.stderr)


CALLS = """
import ctypes, sys
hip, n, p, size = ctypes.CDLL(sys.argv[1]), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_size_t()
print(hip.hipModuleLaunchKernel(None, 1, 1, 1, 1, 1, 1, 0, None, None, None), hip.hipInit(0),
      hip.hipGetDeviceCount(ctypes.byref(n)), hip.hipMalloc(ctypes.byref(p), ctypes.c_size_t(4096)),
      hip.hipMemGetInfo(ctypes.byref(size), ctypes.byref(size)), hip.hipMemcpy(None, None, 0, 0),
      hip.hipStreamSynchronize(None), hip.hipStreamBeginCapture(ctypes.c_void_p(2), 0))
"""


class Installed(machine.Case):
    def test_the_vendors_own_library(self):
        """Behind the gate it reports the same as alone: without a GPU, that there is none."""
        library = ctypes.util.find_library("amdhip64")
        if not library:
            self.skipTest("no libamdhip64 is installed")
        self.begin()
        command = (sys.executable, "-c", CALLS, library)
        own = {"LD_LIBRARY_PATH": machine.os.environ.get("LD_LIBRARY_PATH", "")}
        alone = subprocess.run(command, text=True, capture_output=True, check=True,
                               env={**self.agent.env, **own}).stdout
        if alone.split()[1] == "0":
            self.skipTest("there is a GPU")
        self.assertEqual(self.run_in_lease(*command, env=own), alone)


class Hsa(machine.Case):
    def test_calls_below_hip(self):
        """It gets no queue; a copy is complete when the call returns."""
        self.begin()
        direct = machine.program("hip-direct")
        alone = subprocess.run([direct], text=True, capture_output=True, check=True,
                               env=self.agent.env).stdout
        self.assertEqual(alone.split()[:4], ["0", "0", "0", "0"])
        self.assertEqual(self.run_in_lease(direct), "1002 1008 0 0 0\n")


if __name__ == "__main__":
    machine.main()
