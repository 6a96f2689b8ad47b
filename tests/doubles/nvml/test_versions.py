# SPDX-License-Identifier: Apache-2.0
"""Older and newer drivers: fewer functions, fewer profiles, other names."""
from ctypes import byref, c_uint, c_void_p

import nvml
from harness import Case, Setup

SINCE = {
    470: ("nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlComputeInstanceGetInfo_v2",
          "nvmlDeviceGetGpuInstancePossiblePlacements_v2", "nvmlDeviceGetAttributes_v2",
          "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetArchitecture"),
    580: ("nvmlDeviceGetGpuInstanceProfileInfoV", "nvmlDeviceGetMemoryInfo_v2",
          "nvmlGpuInstanceGetComputeInstanceProfileInfoV", "nvmlDeviceGetNumGpuCores",
          "nvmlGpuInstanceCreateComputeInstanceWithPlacement",
          "nvmlGpuInstanceGetComputeInstancePossiblePlacements",
          "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetRunningProcessDetailList",
          "nvmlDeviceGetProcessesUtilizationInfo"),
    615: ("nvmlDeviceGetMemoryLimits_v1", "nvmlDeviceSetMemoryLimits_v1"),
}


class Versions(Case):
    def test_symbols(self):
        for driver in (450, 470, 580, 615):
            lib = Setup.library(driver)
            for since, names in SINCE.items():
                for name in names:
                    self.assertEqual(lib.has(name), driver >= since, (driver, name))
            for name in ("nvmlInit_v2", "nvmlDeviceSetMigMode", "nvmlDeviceCreateGpuInstance",
                         "nvmlDeviceGetComputeRunningProcesses"):
                self.assertTrue(lib.has(name), (driver, name))
            self.assertFalse(lib.has("dnv_state"))

    def test_profiles(self):
        for driver, n in ((450, 5), (470, 6), (580, 7)):
            lib, device = self.restart("gpu A100-40GB mig=on", driver=driver)
            self.assertEqual(len(lib.profiles(device)), n)
            self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceGetGpuInstanceProfileInfo",
                            device, {450: 5, 470: 8, 580: 17}[driver],
                            byref(nvml.GiProfile()))

    def test_old_ones_want_the_mode(self):
        for driver in (450, 470):
            lib, device = self.restart("gpu A100-40GB", driver=driver)
            self.assertEqual(lib.profiles(device), {})
            lib.set_mode(device, 1)
            self.assertTrue(lib.profiles(device))

    def test_texts(self):
        for driver, name, text, api in (
                (450, "A100-SXM4-40GB", "450.248.02", "11.450.248.02"),
                (470, "NVIDIA A100-SXM4-40GB", "470.256.02", "11.470.256.02"),
                (580, "NVIDIA A100-SXM4-40GB", "580.82.07", "13.580.82.07"),
                (615, "NVIDIA A100-SXM4-40GB", "615.71.09", "13.615.71.09")):
            lib, device = self.restart("gpu A100-40GB", driver=driver)
            self.assertEqual(lib.text("nvmlDeviceGetName", device), name)
            self.assertEqual(lib.text("nvmlSystemGetDriverVersion"), text)
            self.assertEqual(lib.text("nvmlSystemGetNVMLVersion"), api)

    def test_uuids(self):
        for driver, begin in ((450, "MIG-GPU-x/"), (470, "MIG-"), (580, "MIG-")):
            lib, device = self.restart("gpu A100-40GB mig=on uuid=GPU-x", driver=driver)
            lib.create_ci(lib.create(device, 9), 2)
            uuid = lib.uuid(lib.mig_list(device)[0])
            self.assertTrue(uuid.startswith(begin), uuid)
            self.assertEqual("GPU" in uuid, driver == 450)

    def test_first_release(self):
        lib, device = self.restart("gpu A100-40GB mig=on", driver=450)
        places, count = (nvml.Placement * 7)(), c_uint()
        lib.do("nvmlDeviceGetGpuInstancePossiblePlacements", device, 9, places, byref(count))
        self.assertEqual([p.start for p in places[:count.value]], [0, 4])
        gi = lib.create(device, 9)
        ci = lib.create_ci(gi, 2)
        info = lib.get("nvmlComputeInstanceGetInfo", ci, kind=nvml.CiInfoV1)
        self.assertEqual((info.gi, info.profile), (gi.value, 2))
        mig = lib.mig_list(device)[0]
        counts = lib.get("nvmlDeviceGetAttributes", mig, kind=nvml.Attributes)
        self.assertEqual((counts.sms, counts.gi_slices), (42, 0))
        self.write("processes", "5 0 1 0 9\n")
        found = lib.array("nvmlDeviceGetComputeRunningProcesses", mig, kind=nvml.ProcessV1)
        self.assertEqual([p.pid for p in found], [5])
        self.assertCode(nvml.NOT_FOUND, "nvmlDeviceGetGpuInstanceById", device, 7,
                        byref(c_void_p()))

    def test_one_node_for_all(self):
        lib, device = self.restart("gpu A100-40GB mig=on", driver=450)
        lib.create(device, 9)
        new = self.load(580)
        self.assertEqual(len(new.instances(new.device(), 9)), 1)
        new.do("nvmlGpuInstanceDestroy", new.instances(new.device(), 9)[0])
        self.assertEqual(lib.instances(device, 9), [])
        lib.do("nvmlShutdown")
