# SPDX-License-Identifier: Apache-2.0
"""MIG mode: changes, obstacles, and what survives a reboot."""
from ctypes import byref, c_int, c_uint

import nvml
from harness import Case


class Mode(Case):
    def test_at_once(self):
        for kind in ("A100-40GB", "H100-80GB", "RTX-PRO-6000-Blackwell-96GB"):
            lib, device = self.restart(f"gpu {kind}")
            self.assertEqual(lib.mode(device), (0, 0))
            self.assertEqual(lib.set_mode(device, 1), nvml.SUCCESS)
            self.assertEqual(lib.mode(device), (1, 1))
            self.assertEqual(lib.set_mode(device, 1), nvml.SUCCESS)
            self.assertEqual(lib.set_mode(device, 0), nvml.SUCCESS)
            self.assertEqual(lib.mode(device), (0, 0))

    def test_bad_arguments(self):
        lib = self.start("gpu A30-24GB")
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceSetMigMode", lib.device(), 2,
                        byref(c_int()))
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceSetMigMode", lib.device(), 1, None)
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceGetMigMode", lib.device(),
                        byref(c_uint()), None)

    def test_reset_required(self):
        lib = self.start("gpu A100-40GB reset=required", "gpu A100-40GB reset=impossible")
        for index, status in ((0, nvml.RESET_REQUIRED), (1, nvml.NOT_SUPPORTED)):
            device = lib.device(index)
            self.assertEqual(lib.set_mode(device, 1), status)
            self.assertEqual(lib.mode(device), (0, 1))
            self.assertRaisesCode(nvml.NOT_SUPPORTED, lib.create, device, 19)
        self.control("reset", 0)
        self.assertEqual(lib.mode(lib.device(0)), (1, 1))
        with self.assertRaises(Exception):
            self.control("reset", 1)
        self.assertEqual(lib.mode(lib.device(1)), (0, 1))
        self.control("reboot")
        self.assertEqual(lib.mode(lib.device(1)), (1, 1))

    def test_change_of_mind(self):
        lib = self.start("gpu A100-40GB reset=required")
        self.assertEqual(lib.set_mode(lib.device(), 1), nvml.RESET_REQUIRED)
        self.assertEqual(lib.set_mode(lib.device(), 0), nvml.SUCCESS)
        self.assertEqual(lib.mode(lib.device()), (0, 0))

    def test_in_use(self):
        lib = self.start("gpu H100-80GB", "gpu H100-80GB")
        device = lib.device()
        self.write("processes", "9 0 - - 1 X\n")
        self.assertEqual(lib.set_mode(device, 1), nvml.IN_USE)
        self.assertEqual(lib.mode(device), (0, 1))
        self.assertEqual(lib.set_mode(lib.device(1), 1), nvml.SUCCESS)
        self.write("processes", "")
        self.assertEqual(lib.set_mode(device, 1), nvml.SUCCESS)
        gi = lib.create(device, 19)
        self.assertEqual(lib.set_mode(device, 0), nvml.IN_USE)
        self.assertEqual(lib.mode(device), (1, 0))
        lib.do("nvmlGpuInstanceDestroy", gi)
        self.assertEqual(lib.set_mode(device, 0), nvml.SUCCESS)

    def test_reboot(self):
        lib = self.start("gpu A100-40GB mig=on", "gpu H100-80GB mig=on")
        devices = [lib.device(i) for i in (0, 1)]
        gis = [lib.create(device, 19) for device in devices]
        for gi in gis:
            lib.create_ci(gi, 0)
        self.assertEqual(self.control("show").count("gi "), 2)
        self.control("reboot")
        self.assertEqual([lib.mode(device) for device in devices], [(1, 1), (0, 0)])
        self.assertEqual(lib.instances(devices[0], 19), [])
        self.assertEqual(lib.mig_list(devices[0]), {})
        for gi in gis:
            self.assertCode(nvml.INVALID_ARGUMENT, "nvmlGpuInstanceGetInfo", gi,
                            byref(nvml.GiInfo()))

    def test_reset_loses_instances(self):
        lib, device = self.start_mig("gpu H100-80GB")
        lib.create(device, 19)
        self.control("reset", 0)
        self.assertEqual(lib.mode(device), (1, 1))
        self.assertEqual(lib.instances(device, 19), [])

    def test_minor_moves(self):
        lib = self.start("gpu A100-40GB minor=0 minor=moves", "gpu T4 minor=1")
        device = lib.device()
        lib.set_mode(device, 1)
        self.assertEqual(lib.get("nvmlDeviceGetMinorNumber", device), 2)
        lib.set_mode(device, 0)
        self.assertEqual(lib.get("nvmlDeviceGetMinorNumber", device), 0)

    def test_state_outlives_processes(self):
        lib, device = self.start_mig()
        lib.create_ci(lib.create(device, 9), 2)
        uuid = lib.uuid(lib.mig_list(device)[0])
        lib.do("nvmlShutdown")
        lib.do("nvmlInit_v2")
        self.assertEqual(lib.uuid(lib.mig_list(lib.device())[0]), uuid)

    def test_another_gpu_in_the_slot(self):
        lib, device = self.start_mig("gpu A100-40GB uuid=GPU-1")
        lib.create(device, 9)
        lib.do("nvmlShutdown")
        lib, device = self.start_mig("gpu A100-40GB uuid=GPU-2")
        self.assertEqual(lib.instances(device, 9), [])

    def test_show(self):
        lib, device = self.start_mig("gpu A100-40GB", "gpu T4")
        lib.create_ci(lib.create(device, 9), 1)
        self.assertEqual(self.control("show").splitlines(), [
            "gpu 0 A100-40GB mig=1 pending=1 lost=0 minor=0", "gi 0 1 9 4:4",
            "ci 0 1 0 1 0:2", "gpu 1 T4 mig=0 pending=0 lost=0 minor=1"])
