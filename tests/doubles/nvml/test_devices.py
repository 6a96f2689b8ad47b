# SPDX-License-Identifier: Apache-2.0
"""Finding GPUs, and the queries of a whole one."""
import ctypes
import os
import subprocess
from ctypes import byref, c_uint, c_ulonglong, c_void_p

import nvml
from harness import VARIABLE, Case, Setup, in_child

GIB = 1 << 30


class Devices(Case):
    def test_struct_sizes(self):
        for struct, size in nvml.SIZES.items():
            self.assertEqual(ctypes.sizeof(struct), size, struct.__name__)

    def test_no_driver(self):
        self.lib = Setup.library()
        self.assertCode(nvml.DRIVER_NOT_LOADED, "nvmlInit_v2")
        os.environ.pop(VARIABLE)
        self.assertCode(nvml.DRIVER_NOT_LOADED, "nvmlInitWithFlags", 0)

    def test_no_gpus(self):
        self.write("node", "# nothing\n")
        self.lib = Setup.library()
        self.assertCode(nvml.GPU_NOT_FOUND, "nvmlInit_v2")
        self.lib.do("nvmlInitWithFlags", 1)
        self.assertEqual(self.lib.get("nvmlDeviceGetCount_v2"), 0)

    def test_init_is_counted(self):
        lib = self.start("gpu T4")
        lib.do("nvmlInit_v2")
        lib.do("nvmlShutdown")
        device = lib.device()
        lib.do("nvmlShutdown")
        self.assertCode(nvml.UNINITIALIZED, "nvmlShutdown")
        self.assertCode(nvml.UNINITIALIZED, "nvmlDeviceGetCount_v2", byref(c_uint()))
        lib.do("nvmlInit_v2")
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceGetIndex", device, byref(c_uint()))

    def test_misspelt_node(self):
        def start(text):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            self.write("node", text)
            Setup.library().code("nvmlInit_v2")

        for text in ("gpu A200\n", "gpu T4 uid=x\n", "gpu\n", "driverr 1\n",
                     "gpu T4 pci=zz\n", "gpu T4\nvgpu-type 0\n",
                     "gpu A30-24GB\nalter 0 1g.5gb memory 5\n",
                     "gpu A30-24GB\nalter 1 1g.6gb memory 5\n",
                     "gpu A30-24GB\nalter 0 1g.6gb starts 0,12\n"):
            self.assertEqual(in_child(start, text), -6, text)

    def test_finding(self):
        lib = self.start("gpu A100-40GB uuid=GPU-abc pci=00000001:3B:02.0 minor=5", "gpu T4")
        self.assertEqual(lib.get("nvmlDeviceGetCount_v2"), 2)
        first = lib.device(0)
        self.assertEqual(lib.uuid(first), "GPU-abc")
        self.assertNotEqual(lib.uuid(lib.device(1)), "GPU-abc")
        self.assertEqual(lib.get("nvmlDeviceGetIndex", lib.device(1)), 1)
        self.assertEqual(lib.get("nvmlDeviceGetMinorNumber", first), 5)
        for name, key in (("UUID", b"GPU-abc"), ("PciBusId_v2", b"1:3b:2"),
                          ("PciBusId_v2", b"00000001:3B:02.0")):
            found = lib.handle(f"nvmlDeviceGetHandleBy{name}", key)
            self.assertEqual(found.value, first.value, key)
        second = lib.handle("nvmlDeviceGetHandleByPciBusId_v2", b"0f:0.0")
        self.assertEqual(second.value, lib.device(1).value)

    def test_not_finding(self):
        self.start("gpu T4")
        ret = byref(c_void_p())
        for code, name, key in (
                (nvml.INVALID_ARGUMENT, "Index_v2", 1),
                (nvml.NOT_FOUND, "UUID", b"GPU-0"), (nvml.INVALID_ARGUMENT, "UUID", b"0"),
                (nvml.NOT_FOUND, "UUID", b"MIG-0"), (nvml.INVALID_ARGUMENT, "UUID", None),
                (nvml.NOT_FOUND, "PciBusId_v2", b"0:1:0.0"),
                (nvml.NOT_FOUND, "PciBusId_v2", b"0:7:0.1"),
                (nvml.INVALID_ARGUMENT, "PciBusId_v2", b"seven")):
            self.assertCode(code, f"nvmlDeviceGetHandleBy{name}", key, ret)

    def test_invalid_handles(self):
        lib = self.start("gpu T4")
        device = lib.device()
        for handle in (None, c_void_p(1), c_void_p(device.value + 1), lib.dll.nvmlInit_v2):
            self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceGetIndex", handle,
                            byref(c_uint()))
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceGetIndex", device, None)
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlGpuInstanceDestroy", device)

    def test_texts(self):
        lib = self.start("gpu H100-80GB", "driver 575.1")
        self.assertEqual(lib.text("nvmlSystemGetDriverVersion"), "575.1")
        self.assertEqual(lib.text("nvmlSystemGetNVMLVersion"), "13.575.1")
        self.assertEqual(lib.text("nvmlDeviceGetName", lib.device()), "NVIDIA H100 80GB HBM3")
        self.assertCode(nvml.INSUFFICIENT_SIZE, "nvmlDeviceGetName", lib.device(),
                        ctypes.create_string_buffer(8), 8)
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceGetName", lib.device(), None, 8)
        self.assertEqual(lib.dll.nvmlErrorString(19), b"In use by another client")
        self.assertEqual(lib.dll.nvmlErrorString(31), b"Unknown Error")

    def test_pci(self):
        lib = self.start("gpu A100-40GB pci=00000001:3b:02.0")
        info = lib.get("nvmlDeviceGetPciInfo_v3", lib.device(), kind=nvml.PciInfo)
        self.assertEqual((info.domain, info.bus, info.device), (1, 0x3b, 2))
        self.assertEqual((info.id, info.legacy_id), (b"00000001:3B:02.0", b"0001:3B:02.0"))
        self.assertEqual(info.device_id, 0x20b010de)

    def test_memory(self):
        lib = self.start("gpu A100-40GB")
        device = lib.device()
        self.write("processes", f"41 0 - - {GIB}\n42 0 - - {2 * GIB} G\n43 0 - - - \n")
        old = lib.get("nvmlDeviceGetMemoryInfo", device, kind=nvml.Memory)
        new = lib.versioned("nvmlDeviceGetMemoryInfo_v2", device, kind=nvml.MemoryV2, number=2)
        self.assertEqual((old.total, new.total), (40 * GIB, 40 * GIB))
        self.assertEqual(new.used, 3 * GIB)
        self.assertEqual(old.used, new.used + new.reserved)
        self.assertEqual(new.free, new.total - new.used - new.reserved)
        for number in (nvml.version(nvml.MemoryV2, 1), 0, 2):
            self.assertCode(nvml.VERSION_MISMATCH, "nvmlDeviceGetMemoryInfo_v2", device,
                            byref(nvml.MemoryV2(version=number)))

    def test_cores_and_rates(self):
        lib = self.start("gpu A100-40GB mig=on", "gpu T4")
        for name, kind in (("NumGpuCores", c_uint), ("UtilizationRates", nvml.Utilization)):
            self.assertCode(nvml.NOT_SUPPORTED, f"nvmlDeviceGet{name}", lib.device(0),
                            byref(kind()))
            self.assertTrue(lib.get(f"nvmlDeviceGet{name}", lib.device(1), kind=kind))
        self.assertEqual(lib.get("nvmlDeviceGetNumGpuCores", lib.device(1)), 2560)

    def test_no_mig(self):
        lib = self.start("gpu V100", "gpu T4")
        for device in (lib.device(0), lib.device(1)):
            self.assertRaisesCode(nvml.NOT_SUPPORTED, lib.mode, device)
            self.assertRaisesCode(nvml.NOT_SUPPORTED, lib.set_mode, device, 1)
            self.assertEqual(lib.profiles(device), {})
            self.assertEqual(lib.get("nvmlDeviceGetMaxMigDeviceCount", device), 0)
            self.assertEqual(lib.get("nvmlDeviceIsMigDeviceHandle", device), 0)
            self.assertRaisesCode(nvml.NOT_SUPPORTED, lib.create, device, 19)

    def test_lost(self):
        lib, device = self.start_mig("gpu A100-40GB", "gpu T4")
        gi = lib.create(device, 9)
        lib.create_ci(gi, 2)
        mig = lib.mig_list(device)[0]
        self.control("lose", 0)
        self.assertEqual(lib.get("nvmlDeviceGetCount_v2"), 2)
        for name, *arguments in (("DeviceGetHandleByIndex_v2", 0), ("DeviceGetIndex", device),
                                 ("DeviceGetIndex", mig)):
            self.assertCode(nvml.GPU_IS_LOST, f"nvml{name}", *arguments, byref(c_void_p()))
        self.assertCode(nvml.GPU_IS_LOST, "nvmlGpuInstanceDestroy", gi)
        self.assertTrue(lib.uuid(lib.device(1)))
        self.control("find", 0)
        self.assertEqual(len(lib.instances(device, 9)), 1)


    def test_taken_by_another_driver(self):
        """Not while a process has it open: from its first handle to its last nvmlShutdown."""
        lib = self.start("gpu T4", "gpu A100-40GB")
        count = lambda: lib.get("nvmlDeviceGetCount_v2")
        self.control("unbind", 0)
        self.assertEqual(count(), 1)
        second = lib.uuid(lib.device(0))
        self.control("bind", 0)
        self.assertEqual((count(), lib.uuid(lib.device(1))), (2, second))
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            self.control("unbind", 1)
        self.assertIn(f"GPU 1 is open in process {os.getpid()}", refused.exception.stderr)
        lib.do("nvmlShutdown")
        self.control("unbind", 1)
        lib.do("nvmlInit_v2")
        self.assertEqual(count(), 1)
        self.assertCode(nvml.NOT_FOUND, "nvmlDeviceGetHandleByPciBusId_v2", b"0f:0.0",
                        byref(c_void_p()))
        self.assertCode(nvml.NOT_FOUND, "nvmlDeviceGetHandleByUUID", second.encode(),
                        byref(c_void_p()))


class Processes(Case):
    NAME = "nvmlDeviceGetComputeRunningProcesses_v3"

    def test_two_calls(self):
        lib = self.start("gpu T4", "gpu T4")
        device, count = lib.device(), c_uint(0)
        self.assertEqual(lib.array(self.NAME, device, kind=nvml.Process), [])
        self.write("processes", "# pid gpu gi ci bytes\n7 0 - - 100\n8 0 - - -\n9 1 - - 5\n")
        self.assertCode(nvml.INSUFFICIENT_SIZE, self.NAME, device, byref(count), None)
        self.assertEqual(count.value, 2)
        few = c_uint(1)
        self.assertCode(nvml.INSUFFICIENT_SIZE, self.NAME, device, byref(few),
                        (nvml.Process * 1)())
        self.assertEqual(few.value, 2)
        self.assertCode(nvml.INVALID_ARGUMENT, self.NAME, device, byref(count), None)
        found = lib.array(self.NAME, device, kind=nvml.Process)
        self.assertEqual([p.dict() for p in found], [
            {"pid": 7, "bytes": 100, "gi": nvml.NONE, "ci": nvml.NONE},
            {"pid": 8, "bytes": nvml.NOT_AVAILABLE, "gi": nvml.NONE, "ci": nvml.NONE}])

    def test_kinds(self):
        lib = self.start("gpu T4")
        self.write("processes", "1 0 - - 1 C\n2 0 - - 1 G\n3 0 - - 1 X\n")
        for kind, pids in (("Compute", [1]), ("Graphics", [2])):
            for version, struct in (("", nvml.ProcessV1), ("_v2", nvml.Process),
                                    ("_v3", nvml.Process)):
                found = lib.array(f"nvmlDeviceGet{kind}RunningProcesses{version}",
                                  lib.device(), kind=struct)
                self.assertEqual([p.pid for p in found], pids)

    def test_of_instances(self):
        lib, device = self.start_mig()
        for _ in range(2):
            lib.create_ci(lib.create(device, 9), 2)
        ids = [lib.gi(h).id for h in lib.instances(device, 9)]
        self.write("processes", f"5 0 {ids[0]} 0 1000\n6 0 {ids[1]} 0 2000\n")
        found = lib.array(self.NAME, device, kind=nvml.Process)
        self.assertEqual([(p.pid, p.gi, p.ci) for p in found], [(5, ids[0], 0), (6, ids[1], 0)])
        for handle in lib.mig_list(device).values():
            gi = lib.get("nvmlDeviceGetGpuInstanceId", handle)
            pid = 5 + ids.index(gi)
            self.assertEqual([p.pid for p in lib.array(self.NAME, handle, kind=nvml.Process)],
                             [pid])
            memory = lib.get("nvmlDeviceGetMemoryInfo", handle, kind=nvml.Memory)
            self.assertEqual(memory.total, 19968 << 20)
            self.assertEqual(memory.used - (11 << 20), (pid - 4) * 1000)


class Vgpus(Case):
    def test_host(self):
        lib = self.start("gpu A100-40GB vgpu=host sriov", "gpu T4",
                         "vgpu-type 0 471 10240 4 GRID A100-10C",
                         "vgpu-type 0 472 20480 2 GRID A100-20C")
        device = lib.device()
        self.assertEqual(lib.get("nvmlDeviceGetVirtualizationMode", device), 3)
        self.assertEqual(lib.get("nvmlDeviceGetHostVgpuMode", device), 1)

        def ask(what):
            return lib.array(f"nvmlDeviceGet{what}Vgpus", device, kind=c_uint)

        self.assertEqual((ask("Supported"), ask("Creatable"), ask("Active")),
                         ([471, 472], [471, 472], []))
        self.write("vgpus", "0 472 100\n")
        self.assertEqual((ask("Creatable"), ask("Active")), ([472], [100]))
        self.write("vgpus", "0 472 100\n0 472 101\n")
        self.assertEqual((ask("Creatable"), ask("Active")), ([], [100, 101]))
        self.assertEqual(lib.get("nvmlVgpuTypeGetFramebufferSize", 471, kind=c_ulonglong),
                         10 * GIB)
        self.assertEqual(lib.get("nvmlVgpuTypeGetMaxInstances", device, 471), 4)
        name, size = ctypes.create_string_buffer(64), c_uint(4)
        self.assertCode(nvml.INSUFFICIENT_SIZE, "nvmlVgpuTypeGetName", 471, name, byref(size))
        lib.do("nvmlVgpuTypeGetName", 471, name, byref(size))
        self.assertEqual(name.value, b"GRID A100-10C")

    def test_no_host(self):
        lib = self.start("gpu T4", "gpu A100-40GB mig=on vgpu=guest")
        self.assertCode(nvml.NOT_SUPPORTED, "nvmlDeviceGetSupportedVgpus", lib.device(),
                        byref(c_uint(0)), None)
        self.assertCode(nvml.NOT_SUPPORTED, "nvmlDeviceGetHostVgpuMode", lib.device(),
                        byref(c_uint()))
        self.assertEqual(lib.get("nvmlDeviceGetVirtualizationMode", lib.device(1)), 2)
        self.assertRaisesCode(nvml.NOT_SUPPORTED, lib.create, lib.device(1), 19)
