# SPDX-License-Identifier: Apache-2.0
"""CUDA programs with an empty environment: in place of the driver's libraries they find the gate,
by every kind of lookup.

usage: test_unset.py --build BUILD [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import machine
import worlds
from harness import wait_until
from measured import disagreements, settles

QUOTA = ("--share", "0.5", "--memory", "1G", "--name", "own")
REFUSED, LOST = "2 found\n", "0 found\n"  # an allocation over the quota


NVML = """
import ctypes, sys
library, device, memory = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p(), (ctypes.c_uint64 * 3)()
assert library.nvmlInit_v2() == 0
assert library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
assert library.nvmlDeviceGetMemoryInfo(device, memory) == 0
print(memory[0] >> 20)
"""


class Unset(machine.Case):
    def begin(self, **more):
        super().begin(**more)
        self.driver = worlds.built("tests/doubles/cuda/driver/libcuda.so.1")
        # The variables that the doubles of NVIDIA's libraries need are kept.
        self.emptied = ("env", "-i", f"CLV_CUDA_DOUBLE={self.world.folder}")

    def run_emptied(self, *command, **more):
        return self.run_in_lease(*self.emptied, *command, **more)

    def test_every_way_leads_to_the_gate(self):
        self.begin()
        self.assertEqual(self.run_emptied(machine.program("cuda-names")), "0 failed\n")

    def test_what_programs_open_themselves(self):
        self.begin()
        opener = machine.program("cuda-opener")
        path = f"LD_LIBRARY_PATH={os.path.dirname(self.driver)}"
        by_name = [(path, opener, how, "libcuda.so.1") for how in ("open", "again", "deep", "apart")]
        for words in (*by_name, (path, opener, "open", "libcuda.so"),
                      (opener, "open", self.driver)):
            for begin in (self.emptied, ("env",), ("env", "-u", "LD_PRELOAD")):
                with self.subTest((begin[1:2], words)):
                    self.assertEqual(self.run_in_lease(*begin, *words, options=QUOTA), REFUSED)
        # The figure is exact.
        self.assertEqual(self.run_emptied(opener, "open", self.driver,
                                          options=(*QUOTA, "--no-namespace")), LOST)

    def test_memory(self):
        self.begin()
        names = subprocess.run([machine.program("cuda-memory")], text=True, check=True,
                               capture_output=True, env=self.agent.env).stdout.split()
        for name in names:
            with self.subTest(name):
                self.run_emptied(machine.program("cuda-memory"), name, options=QUOTA)

    def test_what_programs_do(self):
        self.begin()
        for words in (("forks",), ("execs", machine.program("cuda-count")), ("threads",),
                      ("race",), ("signals",), ("unready",)):
            with self.subTest(words[0]):
                self.run_emptied(machine.program("cuda-life"), *words, options=QUOTA)

    def test_the_leases_device_alone(self):
        self.begin(node="gpu H100-80GB\ngpu A100-40GB")
        self.assertEqual(self.run_emptied(machine.program("cuda-count")), "1\n")

    def test_a_static_program(self):
        """A gate cannot be loaded into it: an error says so, and there is no device."""
        self.begin()
        # The double's library has more static TLS than glibc keeps for a library loaded late.
        tls = "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=65536"
        static = self.static_program("cuda-opener-static")
        process = self.start("env", tls, static, "open", self.driver, options=QUOTA)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (0, "801 found\n"), err)
        self.assertIn("no share can be enforced in a statically linked", err)
        self.assertEqual(self.run_in_lease("env", tls, static, "open", self.driver,
                                           options=(*QUOTA, "--allow-ungated")), LOST)

    def test_nvml(self):
        """As nvidia-smi opens it; the device's memory is the quota."""
        self.begin()
        library = worlds.built("tests/doubles/nvml/r580/libnvidia-ml.so.1")
        for begin in (("env", "-i", f"CLV_NVML_DOUBLE={self.world.folder}"), ("env",)):
            self.assertEqual(self.run_in_lease(*begin, sys.executable, "-c", NVML, library,
                                               options=QUOTA), "1024\n")

    def test_shares(self):
        self.begin()
        for share in ("0.25", "0.75"):
            tenant = self.start(*self.emptied, machine.program("cuda-tenant"), "queue", "100000",
                                "60", options=("--share", share, "--name", f"of-{share}"))
            self.assertEqual(tenant.stdout.readline(), "ready\n")
        pids = [self.agent.get(f"/v1/leases/of-{share}")["processes"][0]["pid"]
                for share in ("0.25", "0.75")]
        def look():
            less, more = self.world.player.work(pids, 2)
            return disagreements((.25, .75), (less / (less + more), more / (less + more)), 10)

        self.assertEqual(settles(look), [])
        self.assertEqual(self.agent.events("ungated_api"), [])

    def test_a_driver_without_a_function(self):
        """A lookup reports that it is not there."""
        self.begin()
        old = worlds.built("tests/doubles/cuda/cuda-11")
        script = ("import ctypes; library = ctypes.CDLL('libcuda.so.1')\n"
                  "print(hasattr(library, 'cuLaunchKernel'), hasattr(library, 'cuLaunchKernelEx'))")
        out = self.run_in_lease(sys.executable, "-c", script, env={"LD_LIBRARY_PATH": old})
        self.assertEqual(out, "True False\n")

    def test_a_lease_in_a_lease(self):
        """The gate belongs to the inner lease."""
        self.begin()
        inner = (worlds.built("src/cli/cleave"), "run", "--socket", self.agent.api, "--share",
                 "0.25", "--memory", "512M", "--device", "gpu0", "--name", "inner", "--",
                 *self.emptied, machine.program("cuda-life"), "hold", "600")
        process = self.start(*inner, options=("--share", "0.5", "--memory", "1G"))
        self.assertEqual(process.communicate(timeout=60)[0][:2], "2\n")
        self.assertEqual(self.agent.events("ungated_api"), [])

    def test_several_copies(self):
        """All of them lead to the one that the program would have found."""
        self.begin()
        other = tempfile.mkdtemp(prefix="cleave-copy-")
        self.addCleanup(shutil.rmtree, other)
        copy = shutil.copy(self.driver, other)
        libraries = f"{self.world.environment()['LD_LIBRARY_PATH']}:{other}"
        for path in (copy, self.driver):
            self.assertEqual(self.run_emptied(
                machine.program("cuda-opener"), "open", path, options=QUOTA,
                env={"LD_LIBRARY_PATH": libraries}), REFUSED)

    def test_what_the_doctor_says(self):
        self.begin()
        gates = tempfile.mkdtemp(prefix="cleave-gates-")
        self.addCleanup(shutil.rmtree, gates)
        shutil.copy(worlds.built("src/gate/libcleave-opencl.so"), gates)
        for more, verdict, words in (
                ({}, "ok", f"libcleave-cuda.so, in front of {os.path.realpath(self.driver)}"),
                ({"CLEAVE_GATE_DIR": gates}, "warning", "is not a working gate"),
                ({"LD_LIBRARY_PATH": ""}, "info", "no libcuda.so.1")):
            out = subprocess.run(
                [worlds.built("src/cli/cleave"), "doctor", "-o", "json", "--socket",
                 self.agent.api], text=True, capture_output=True, env={**self.agent.env, **more})
            found = {each["check"]: each for each in json.loads(out.stdout)["items"]}["gate-cuda"]
            if words.startswith("no ") and found["verdict"] == "ok":
                continue  # this machine has a driver
            self.assertEqual(found["verdict"], verdict, found)
            self.assertIn(words, found["found"])

    def test_nothing_is_left(self):
        """Outside nothing was mounted, and the lease's folder is removed."""
        self.begin()
        before = os.stat(self.driver)
        process = self.start(*self.emptied, machine.program("cuda-tenant"), "queue",
                             "100000", "60", options=QUOTA)
        self.assertEqual(process.stdout.readline(), "ready\n")
        lease, = self.agent.get("/v1/leases")["items"]
        folder = os.path.dirname(lease["socket"])
        self.assertIn("drivers", os.listdir(folder))
        self.assertEqual(os.stat(self.driver).st_ino, before.st_ino)
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            self.assertNotIn("libcuda", file.read())
        process.kill()  # cleave run itself, so that it cannot clean up
        for attached in lease["processes"]:
            os.kill(attached["pid"], 9)
        self.assertTrue(wait_until(lambda: not os.path.exists(folder)), folder)


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
