# SPDX-License-Identifier: Apache-2.0
"""Compute instances, and the queries of profiles."""
from ctypes import byref, c_uint, c_void_p

import nvml
from harness import Case

INFO = "nvmlGpuInstanceGetComputeInstanceProfileInfo"


class Compute(Case):
    def profiles(self, gi):
        """By number: how many fit, and their multiprocessors."""
        found = {}
        for index in range(9):
            info = nvml.CiProfile()
            code = self.lib.code(INFO, gi, index, 0, byref(info))
            if code == nvml.SUCCESS:
                self.assertEqual(info.id, index)
                found[index] = (info.max, info.sms)
            else:
                self.assertEqual(code, nvml.INVALID_ARGUMENT if index > 7
                                 else nvml.NOT_SUPPORTED)
        return found

    def test_profiles(self):
        for line, profile, expected in (
                ("gpu A100-40GB", 9, {0: (3, 14), 1: (1, 28), 2: (1, 42)}),
                ("gpu A100-40GB", 5, {0: (4, 14), 1: (2, 28), 3: (1, 56)}),
                ("gpu A100-40GB", 0,
                 {0: (7, 14), 1: (3, 28), 2: (2, 42), 3: (1, 56), 4: (1, 98)}),
                ("gpu A100-40GB", 15, {0: (1, 14)}),
                ("gpu H100-80GB", 14, {0: (2, 16), 7: (1, 26), 1: (1, 32)}),
                ("gpu H100-80GB", 15, {7: (1, 26)}),
                ("gpu RTX-PRO-6000-Blackwell-96GB", 35, {0: (2, 46), 1: (1, 94)})):
            lib, device = self.restart(f"{line} mig=on")
            self.assertEqual(self.profiles(lib.create(device, profile)), expected, line)

    def test_engines_are_shared(self):
        lib, device = self.start_mig("gpu H100-80GB")
        info = lib.get(INFO, lib.create(device, 9), 0, 0, kind=nvml.CiProfile)
        self.assertEqual(info.dict(), {"id": 0, "slices": 1, "max": 3, "sms": 16, "ces": 3,
                                       "decoders": 3, "encoders": 0, "jpegs": 3, "ofas": 0})
        self.assertCode(nvml.INVALID_ARGUMENT, INFO, lib.instances(device, 9)[0], 0, 1,
                        byref(info))

    def test_versions(self):
        lib, device = self.start_mig("gpu RTX-PRO-6000-Blackwell-96GB")
        gi = lib.create(device, 35)
        v2 = lib.versioned(INFO + "V", gi, 0, 0, kind=nvml.CiProfileV2, number=2)
        v3 = lib.versioned(INFO + "V", gi, 1, 0, kind=nvml.CiProfileV3, number=3)
        self.assertEqual((v2.sms, v2.name), (46, b"MIG 1c.2g.48gb+gfx"))
        self.assertEqual((v3.sms, v3.name, v3.capabilities), (94, b"MIG 2g.48gb+gfx", 1))
        for number in (0, nvml.version(nvml.CiProfileV3, 2), nvml.version(nvml.CiProfileV2, 3)):
            self.assertCode(nvml.VERSION_MISMATCH, INFO + "V", gi, 0, 0,
                            byref(nvml.CiProfileV3(version=number)))

    def test_v2_ends_before_the_capabilities(self):
        lib, device = self.start_mig("gpu RTX-PRO-6000-Blackwell-96GB")
        info = nvml.CiProfileV3(version=nvml.version(nvml.CiProfileV2, 2), capabilities=77)
        lib.do(INFO + "V", lib.create(device, 35), 0, 0, byref(info))
        self.assertEqual(info.capabilities, 77)

    def test_places(self):
        lib, device = self.start_mig()
        gi = lib.create(device, 0)
        name = "nvmlGpuInstanceGetComputeInstancePossiblePlacements"
        for number, starts, size in ((0, list(range(7)), 1), (1, [0, 2, 4], 2), (4, [0], 7)):
            places = lib.array(name, gi, number, kind=nvml.Placement, known=True)
            self.assertEqual([(p.start, p.size) for p in places], [(s, size) for s in starts])
        self.assertCode(nvml.INSUFFICIENT_SIZE, name, gi, 1, (nvml.Placement * 1)(),
                        byref(c_uint(1)))

    def create_at(self, gi, profile, start, size):
        return self.lib.handle("nvmlGpuInstanceCreateComputeInstanceWithPlacement", gi,
                               profile, byref(nvml.Placement(start, size)))

    def test_create(self):
        lib, device = self.start_mig()
        gi = lib.create(device, 9)
        first = self.create_at(gi, 0, 1, 1)
        info = lib.ci(first)
        self.assertEqual((info.device, info.gi, info.id, info.profile),
                         (device.value, gi.value, 0, 0))
        self.assertEqual((info.placement.start, info.placement.size), (1, 1))
        for code, *at in ((nvml.INSUFFICIENT_RESOURCES, 0, 1, 1),
                          (nvml.INSUFFICIENT_RESOURCES, 2, 0, 3),
                          (nvml.INVALID_ARGUMENT, 0, 3, 1), (nvml.INVALID_ARGUMENT, 1, 0, 1),
                          (nvml.NOT_SUPPORTED, 3, 0, 4)):
            self.assertRaisesCode(code, self.create_at, gi, *at)
        self.assertEqual({lib.ci(lib.create_ci(gi, 0)).placement.start for _ in range(2)},
                         {0, 2})
        self.assertRaisesCode(nvml.INSUFFICIENT_RESOURCES, lib.create_ci, gi, 0)
        self.assertEqual([lib.ci(h).id for h in lib.compute_instances(gi, 0)], [0, 1, 2])
        self.assertEqual(lib.compute_instances(gi, 2), [])

    def test_capacity(self):
        lib, device = self.start_mig()
        gi = lib.create(device, 0)
        self.create_at(gi, 1, 4, 2)
        for number, left in ((0, 5), (1, 2), (2, 1), (3, 1), (4, 0)):
            self.assertEqual(lib.get("nvmlGpuInstanceGetComputeInstanceRemainingCapacity", gi,
                                     number), left)

    def test_by_id(self):
        lib, device = self.start_mig()
        gi = lib.create(device, 9)
        cis = [lib.create_ci(gi, 0) for _ in range(3)]
        lib.do("nvmlComputeInstanceDestroy", cis[1])
        name = "nvmlGpuInstanceGetComputeInstanceById"
        self.assertCode(nvml.NOT_FOUND, name, gi, 1, byref(c_void_p()))
        self.assertEqual(lib.ci(lib.handle(name, gi, 2)).id, 2)
        self.assertEqual(lib.ci(lib.create_ci(gi, 0)).id, 1)
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlComputeInstanceDestroy", gi)

    def test_info_of_the_first_release(self):
        lib, device = self.start_mig()
        ci = lib.create_ci(lib.create(device, 9), 2)
        info = lib.get("nvmlComputeInstanceGetInfo", ci, kind=nvml.CiInfoV1)
        self.assertEqual((info.id, info.profile), (0, 2))


class Profiles(Case):
    NAME = "nvmlDeviceGetGpuInstanceProfileInfoV"

    def test_layouts_differ(self):
        lib = self.start("gpu RTX-PRO-6000-Blackwell-96GB")
        device = lib.device()
        for index in (0, 10):
            v1 = lib.get(self.NAME[:-1], device, index, kind=nvml.GiProfile)
            v2 = lib.versioned(self.NAME, device, index, kind=nvml.GiProfileV2, number=2)
            v3 = lib.versioned(self.NAME, device, index, kind=nvml.GiProfileV3, number=3)
            same = {k: v for k, v in v1.dict().items() if k != "p2p"}
            for info in (v2, v3):
                self.assertEqual({k: v for k, v in info.dict().items() if k in same}, same)
            self.assertEqual(v2.name, v3.name)
        self.assertEqual((v3.name, v3.capabilities), (b"MIG 1g.24gb+gfx", 2))

    def test_mismatch(self):
        lib = self.start("gpu A100-40GB")
        for number in (0, nvml.version(nvml.GiProfile, 1), nvml.version(nvml.GiProfileV3, 4),
                       2 << 24):
            self.assertCode(nvml.VERSION_MISMATCH, self.NAME, lib.device(), 0,
                            byref(nvml.GiProfileV2(version=number)))
        self.assertCode(nvml.INVALID_ARGUMENT, self.NAME, lib.device(), 0, None)

    def test_absent(self):
        lib = self.start("gpu A100-40GB")
        info = byref(nvml.GiProfile())
        self.assertCode(nvml.NOT_SUPPORTED, self.NAME[:-1], lib.device(), 5, info)
        self.assertCode(nvml.INVALID_ARGUMENT, self.NAME[:-1], lib.device(), 0x11, info)

    def test_without_the_mode(self):
        lib = self.start("gpu A100-40GB", "gpu A100-40GB profiles=in-mig")
        self.assertEqual(len(lib.profiles(lib.device(0))), 7)
        self.assertEqual(len(lib.placements(lib.device(0), 19)), 7)
        self.assertEqual(lib.profiles(lib.device(1)), {})
        self.assertRaisesCode(nvml.NOT_SUPPORTED, lib.create, lib.device(0), 19)
        self.assertCode(nvml.NOT_SUPPORTED, "nvmlDeviceGetGpuInstanceRemainingCapacity",
                        lib.device(0), 19, byref(c_uint()))
        self.assertEqual(lib.mig_list(lib.device(0)), {})

    def test_placements(self):
        lib = self.start("gpu A100-40GB")
        name, device = "nvmlDeviceGetGpuInstancePossiblePlacements_v2", lib.device()
        self.assertEqual([(p.start, p.size) for p in lib.placements(device, 15)],
                         [(0, 2), (2, 2), (4, 2), (6, 2)])
        count = c_uint(3)
        self.assertCode(nvml.INSUFFICIENT_SIZE, name, device, 15, (nvml.Placement * 3)(),
                        byref(count))
        self.assertEqual(count.value, 4)
        self.assertCode(nvml.NOT_SUPPORTED, name, device, 99, None, byref(count))
        self.assertCode(nvml.INVALID_ARGUMENT, name, device, 15, None, None)
