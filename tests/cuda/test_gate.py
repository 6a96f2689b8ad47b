# SPDX-License-Identifier: Apache-2.0
"""What a CUDA program in a lease finds, sees and may allocate.

usage: test_gate.py --build BUILD [unittest arguments]
"""
import sys
import unittest

import machine
import worlds


class Names(machine.Case):
    def test_every_way_leads_to_the_gate(self):
        self.begin()
        self.assertEqual(self.run_in_lease(machine.program("cuda-names")), "0 failed\n")


class Memory(machine.Case):
    def test_quota(self):
        self.begin()
        self.run_all()
        self.assertEqual(max(p["peak"] // machine.MIB for p in self.world.stats()[1].values()),
                         1024 + 300, "with the context, what the GPU has seen")

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
