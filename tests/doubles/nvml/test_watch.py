# SPDX-License-Identifier: Apache-2.0
"""Queries of monitoring tools besides the process lists."""
from ctypes import byref, c_uint, c_void_p

import nvml
from harness import Case

MIB = 1 << 20


class Watch(Case):
    def begin(self, driver=580):
        lib = self.start("gpu H100-80GB", "gpu A100-40GB", driver=driver)
        self.write("processes", "11 0 - - 4096 C\n12 0 - - 8192 G\n13 0 - - 100 M\n14 1 - - 1\n")
        return lib, lib.device()

    def details(self, lib, device, mode, room):
        items = (nvml.Detail * max(1, room))()
        asked = nvml.DetailList(version=nvml.version(nvml.DetailList, 1), mode=mode, n=room,
                                items=items if room else None)
        code = lib.code("nvmlDeviceGetRunningProcessDetailList", device, byref(asked))
        return code, asked.n, [(p.pid, p.bytes) for p in items[:asked.n]] if not code else []

    def test_details(self):
        lib, device = self.begin()
        for mode, found in ((0, [(11, 4096)]), (1, [(12, 8192)]), (2, [(13, 100)]),
                            (3, [(11, 4096), (12, 8192), (13, 100)])):
            self.assertEqual(self.details(lib, device, mode, 9), (0, len(found), found))
        self.assertEqual(self.details(lib, device, 3, 0)[:2], (nvml.INSUFFICIENT_SIZE, 3))
        self.assertEqual(self.details(lib, device, 4, 9)[0], nvml.INVALID_ARGUMENT)
        self.assertEqual(lib.code("nvmlDeviceGetRunningProcessDetailList", device,
                                  byref(nvml.DetailList())), nvml.VERSION_MISMATCH)
        self.assertEqual([p.pid for p in lib.array("nvmlDeviceGetMPSComputeRunningProcesses_v3",
                                                   device, kind=nvml.Process)], [13])

    def test_accounts(self):
        lib, device = self.begin()
        pids = lib.array("nvmlDeviceGetAccountingPids", device, kind=c_uint)
        self.assertEqual(pids, [11, 12, 13])
        stats = nvml.Accounting()
        lib.do("nvmlDeviceGetAccountingStats", device, c_uint(12), byref(stats))
        self.assertEqual((stats.most_bytes, stats.is_running), (8192, 1))
        self.assertEqual(lib.code("nvmlDeviceGetAccountingStats", device, c_uint(14),
                                  byref(stats)), nvml.NOT_FOUND)

    def test_uses(self):
        lib, device = self.begin()
        items = (nvml.UseInfo * 4)()
        asked = nvml.UseList(version=nvml.version(nvml.UseList, 1), n=4, items=items)
        code = ("nvmlDeviceGetProcessesUtilizationInfo", device, byref(asked))
        self.assertEqual(lib.code(*code), nvml.NOT_FOUND)
        self.write("utilization", "11 0 30\n14 1 20\n")
        lib.do(*code)
        self.assertEqual((asked.n, items[0].pid, items[0].sm), (1, 11, 30))
        asked.n = 0
        self.assertEqual(lib.code(*code), nvml.INSUFFICIENT_SIZE)
        self.assertEqual(asked.n, 1)

    def test_topology(self):
        lib, device = self.begin()
        n = c_uint(0)
        lib.do("nvmlDeviceGetTopologyNearestGpus", device, c_uint(30), byref(n), None)
        found = (c_void_p * 1)()
        lib.do("nvmlDeviceGetTopologyNearestGpus", device, c_uint(30), byref(n), found)
        self.assertEqual((n.value, lib.uuid(c_void_p(found[0]))), (1, lib.uuid(lib.device(1))))

    def test_limits(self):
        lib, device = self.begin(driver=615)
        limits = nvml.Limits(cgroup=b"/sys/fs/cgroup/x")
        call = ("nvmlDeviceGetMemoryLimits_v1", device, byref(limits))
        self.assertEqual(lib.code(*call), nvml.NOT_FOUND)
        self.write("readings", f"0 limit {64 * MIB}\n")
        lib.do(*call)
        self.assertEqual((limits.soft, limits.hard, limits.used), (0, 64 * MIB, 4096 + 8192 + 100))
        self.assertEqual(lib.code(*call[:2], None), nvml.INVALID_ARGUMENT)
        limits.hard = 5 * MIB
        lib.do("nvmlDeviceSetMemoryLimits_v1", device, byref(limits))
        limits.hard = 0
        lib.do(*call)
        self.assertEqual(limits.hard, 5 * MIB)
        limits.cgroup = b"/sys/fs/cgroup/y"
        lib.do(*call)
        self.assertEqual(limits.hard, 64 * MIB)
        lib.do("nvmlDeviceSetPowerManagementLimit", device, c_uint(300000))
