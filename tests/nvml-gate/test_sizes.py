# SPDX-License-Identifier: Apache-2.0
"""The memory sizes of NVML equal CUDA's, to the byte.

usage: test_sizes.py --build BUILD [unittest arguments]
"""
import sys
import unittest

import looking
import worlds
from harness import wait_until
from looking import MIB


class Sizes(looking.Case):
    def test_at_every_step(self):
        for driver in ("r450", "r470", "r580", "r615"):
            with self.subTest(driver):
                self.begin(driver=driver)
                out = self.run_in_lease(
                    worlds.built("tests/nvml-gate/nvml-sizes"), str(1 << 30),
                    options=("--share", "0.25", "--memory", "1G"))
                self.assertGreater(int(out.split()[0]), 20)
                self.doCleanups()

    def expect(self, process, total, used, expression="memory()"):
        for found in self.ask(process, expression):
            self.assertEqual(found, [total * MIB, (total - used) * MIB, used * MIB])

    def test_two_processes_of_a_lease(self):
        """One that computes, one that only queries, like nvidia-smi; and another lease."""
        self.begin()
        owner = self.look()
        self.ask(owner, "spawn()")
        neighbour = self.look()
        self.assertEqual(self.ask(owner, "cuda().alloc(300)"), 0)
        self.assertEqual(self.ask(neighbour, "cuda().alloc(700)"), 0)
        self.expect(owner, 1024, 300)
        self.expect(owner, 1024, 300, 'of("memory()")')
        self.expect(neighbour, 1024, 700)
        self.assertEqual(self.ask(owner, "of('cuda().alloc(600)')"), 0)
        self.expect(owner, 1024, 900)
        self.assertEqual(self.ask(owner, "cuda().info()"), [1024 * MIB, 124 * MIB, 900 * MIB])
        self.assertEqual(self.ask(owner, "cuda().free()"), 0)
        self.expect(owner, 1024, 600, 'of("memory()")')
        self.ask(owner, "end()")
        self.assertTrue(wait_until(lambda: self.ask(owner, "memory()[0][2]") == 0, 5))

    def test_a_quota_that_changes(self):
        self.begin()
        process = self.look("--name", "own")
        self.assertEqual(self.ask(process, "cuda().alloc(600)"), 0)
        for quota, free in ((2048, 1448), (600, 0), (300, 0), (1024, 424)):
            status, answer = self.agent.request(
                "PATCH", "/v1/leases/own", {"memory_bytes": quota * MIB})
            self.assertEqual(status, 200, answer)
            total, left, used = self.ask(process, "cuda().info()")
            self.assertEqual((total, left), (quota * MIB, free * MIB))
            for found in self.ask(process, "memory()"):
                self.assertEqual(found, [total, left, used])

    def agreed(self, process):
        """[total, free, used], once NVML and CUDA agree: other programs, among them the agent's own
        trial of the GPU, change the free memory meanwhile."""
        found = []

        def is_same():
            found[:] = self.ask(process, "[cuda().info(), *memory()]")
            return all(each == found[0] for each in found)
        self.assertTrue(wait_until(is_same, 5), found)
        return found[0]

    def test_another_lease_with_promised_memory(self):
        """Memory that is not free is shown as used, for every owner."""
        self.begin()
        process = self.look("--overcommit", memory="70G")
        neighbour = self.look("--overcommit", memory="70G")
        self.assertEqual(self.ask(neighbour, "cuda().alloc(69 * 1024)"), 0)
        total, left, used = self.agreed(process)
        self.assertEqual((total, used), (70 << 30, total - left))
        self.assertLess(left, 11 << 30)

    def test_a_whole_device(self):
        """Less the driver's reserve, which CUDA never shows."""
        self.begin()
        process = self.start_looking("--share", "1")
        total, _, _ = self.agreed(process)
        lease, = self.agent.get("/v1/leases")["items"]
        self.assertLess(total, lease["memory_bytes"])

    def test_limits_of_the_kernel(self):
        """The lower of that and the quota; and without a quota that."""
        self.begin(driver="r615")
        process = self.look()
        self.assertEqual(self.ask(process, "limits()"), [1024 * MIB, 1024 * MIB, 0])
        self.assertEqual(self.ask(process, "cuda().alloc(100)"), 0)
        for kernels, shown in ((512, 512), (4096, 1024)):
            self.world.put("readings", f"0 limit {kernels * MIB}")
            self.assertEqual(self.ask(process, "limits()"),
                             [shown * MIB, shown * MIB, 100 * MIB])

    def test_functions_that_call_each_other(self):
        """The library's calls to itself are answered by the library."""
        self.begin()
        folder = worlds.built("tests/nvml-gate")
        path = f"{folder}:{self.agent.env['LD_LIBRARY_PATH']}"
        process = self.look(memory="7680M", env={"LD_LIBRARY_PATH": path})
        self.assertEqual(self.ask(process, 'lib.get("nvmlDeviceGetMemoryInfo", c_void_p(1), '
                                           'kind=nvml.Memory).dict()'),
                         {"total": 7 << 30, "free": 7 << 30, "used": 0})

    def test_wrong_arguments(self):
        self.begin()
        process = self.look()
        for call, code in (
                ('"nvmlDeviceGetMemoryInfo", device(), None', 2),
                ('"nvmlDeviceGetMemoryInfo", None, byref(nvml.Memory())', 2),
                ('"nvmlDeviceGetMemoryInfo_v2", device(), byref(nvml.MemoryV2(version=1))', 25),
                ('"nvmlDeviceGetMemoryInfo_v2", device(), None', 2),
                ('"nvmlDeviceGetUtilizationRates", device(), None', 2)):
            self.assertEqual(self.ask(process, f"lib.code({call})"), code, call)


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
