# SPDX-License-Identifier: Apache-2.0
"""What a CUDA program in a lease finds, sees and may allocate.

usage: test_gate.py --build BUILD [unittest arguments]
"""
import os
import subprocess
import sys
import unittest

import coverage
import machine
import worlds

HOOKS = os.path.join(machine.HERE, "..", "..", "src", "gate", "cuda", "hooks.list")


class Names(machine.Case):
    def test_every_way_leads_to_the_gate(self):
        self.begin()
        process = self.start(machine.program("cuda-names"))
        found, said = process.communicate(timeout=60)
        self.assertEqual(found, "0 failed\n")
        self.assertEqual(said.count("cuMemAllocLaterAsync is not found"), 1, said)
        self.assertEqual(said.count("is not found"), 1, said)

    def test_a_driver_that_returns_addresses_of_no_symbol(self):
        """Then the version decides which function a name means."""
        self.begin(cuda="tell-nvml 1\ninner-addresses 1\n")
        self.assertEqual(self.run_in_lease(machine.program("cuda-names")), "0 failed\n")

    def test_every_name_and_version_as_without_the_gate(self):
        """As a runtime asks at its start, whichever version it is of: what it gets is the driver's
        choice, by its own symbol or the gate's of that name."""
        names = "".join(f"{name}\n" for name in sorted({coverage.base_of(symbol) for symbol in
                                                        coverage.read_list(HOOKS)[1]}))
        for version in ("12090", "13000", "13030", "99000"):
            self.begin(cuda=f"tell-nvml 1\nversion {version}\n")
            command = [machine.program("cuda-names"), "each"]
            process = self.start(*command)
            found, _ = process.communicate(names, timeout=60)
            expected = subprocess.run(command, input=names, text=True, check=True, timeout=60,
                                      capture_output=True, env=self.agent.env).stdout
            self.assertGreater(expected.count("\n"), 10000)
            differ = [pair for pair in zip(expected.splitlines(), found.splitlines())
                      if pair[0] != pair[1]]
            self.assertEqual(differ, [])
            self.assertEqual(found.count("\n"), expected.count("\n"))
            self.doCleanups()


class Early(machine.Case):
    def test_calls_before_the_driver_is_initialized(self):
        """They fail as they do without the gate, from several threads, and do no harm."""
        self.begin()
        found = self.run_in_lease(machine.program("cuda-early"))
        self.assertEqual(found, subprocess.run([machine.program("cuda-early")], text=True, check=True,
                                               capture_output=True, env=self.agent.env).stdout)
        self.assertEqual(found.splitlines()[-1], "0 0 0 0 0")


class Memory(machine.Case):
    def test_quota(self):
        self.begin()
        self.run_all()
        self.assertEqual(max(p["peak"] // machine.MIB for p in self.world.stats()[1].values()),
                         1024 + 300, "with the context, what the GPU has seen")

    def test_refusals_are_those_that_the_program_saw(self):
        """Not the charges that were tried again when freed memory had been counted."""
        self.begin()
        process = self.start(machine.program("cuda-memory"), "async", "stay",
                             options=("--share", "0.5", "--memory", "1G"))
        self.assertEqual(process.stdout.readline(), "done\n")
        self.assertEqual([lease["refusals"] for lease in self.agent.get("/v1/leases")["items"]], [2])

    def test_exports_of_one_inode(self):
        """As in a real driver."""
        if not machine.knows("one-inode"):
            self.skipTest("the double's exports have an inode each")
        self.begin(cuda="tell-nvml 1\none-inode 1\n")
        self.run_all("imported", "exported", "imported-elsewhere", "outlived", "mapped")

    def run_all(self, *only):
        names = machine.subprocess.run([machine.program("cuda-memory")], text=True,
                                       capture_output=True, check=True,
                                       env=self.agent.env).stdout.split()
        self.assertGreater(len(names), 10)
        for name in only or names:
            with self.subTest(name):
                self.run_in_lease(machine.program("cuda-memory"), name,
                                  options=("--share", "0.5", "--memory", "1G"))


class Devices(machine.Case):
    def test_the_leases_device_alone(self):
        """For all values of the program's own variables; a number is an index of the lease's
        devices."""
        self.begin(node="gpu H100-80GB\ngpu A100-40GB")
        for said, seen in ((None, "1"), ("0", "1"), ("1", "0"), ("GPU-", "0")):
            script = "" if said is None else f"export CUDA_VISIBLE_DEVICES={said}; "
            out = self.run_in_lease("sh", "-c", f"{script}exec {machine.program('cuda-count')}")
            self.assertEqual(out.strip(), seen, said)

    def test_the_leases_devices_alone(self):
        self.begin(node="gpu H100-80GB\ngpu H100-80GB\ngpu A100-40GB")
        for said, seen in ((None, "2"), ("0", "1"), ("1", "1"), ("1,0", "2"), ("2", "0"),
                           ("1,2", "1"), ("0,0", "1")):
            script = "" if said is None else f"export CUDA_VISIBLE_DEVICES={said}; "
            out = self.run_in_lease("sh", "-c", f"{script}exec {machine.program('cuda-count')}",
                                    options=("--count", "2"), device=None)
            self.assertEqual(out.strip(), seen, said)



TAKE_ALL = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
for device in range(2):
    context, total, address = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_uint64()
    cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device)
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    print(total.value >> 20, [cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(n << 20))
                              for n in (60000, 60000)])
"""


class Several(machine.Case):
    def test_two_whole_devices(self):
        """Each with its own memory."""
        self.begin(node="gpu H100-80GB\ngpu H100-80GB")
        done = machine.subprocess.run(
            [worlds.built("src/cli/cleave"), "run", "--socket", self.agent.api, "--count", "2", "--",
             sys.executable, "-c", TAKE_ALL], text=True, capture_output=True, check=True,
            env=self.agent.env)
        sizes = [line.split(" ", 1) for line in done.stdout.splitlines()]
        self.assertEqual([answers for _, answers in sizes], ["[0, 2]", "[0, 2]"], done)
        self.assertEqual(sizes[0][0], sizes[1][0])


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
