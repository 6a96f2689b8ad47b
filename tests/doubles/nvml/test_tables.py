# SPDX-License-Identifier: Apache-2.0
"""The double's tables compared with the collected facts, through the API."""
import json
from ctypes import byref, c_int

import nvml
from harness import Case, Setup

INDEXES = ("1_SLICE 2_SLICE 3_SLICE 4_SLICE 7_SLICE 8_SLICE 6_SLICE 1_SLICE_REV1 2_SLICE_REV1 "
           "1_SLICE_REV2 1_SLICE_GFX 2_SLICE_GFX 4_SLICE_GFX 1_SLICE_NO_ME 2_SLICE_NO_ME "
           "1_SLICE_ALL_ME 2_SLICE_ALL_ME 3_SLICE_GFX").split()
KINDS = ("A30-24GB", "A100-40GB", "A100-80GB", "H100-80GB", "H200-141GB",
         "RTX-PRO-6000-Blackwell-96GB")
# Keys of the facts' profile: fields of the call's answer.
SAME = {"smi_profile_id": "id", "compute_slices": "slices", "sm": "sms",
        "max_instances": "max", "mem_mib": "memory_mib", "copy_engines": "ces",
        "nvdec": "decoders", "nvenc": "encoders", "nvjpg": "jpegs", "ofa": "ofas"}


class Tables(Case):
    def check(self, lib, device, fact):
        info = lib.versioned("nvmlDeviceGetGpuInstanceProfileInfoV", device,
                             INDEXES.index(fact["nvml_enum"]), kind=nvml.GiProfileV3, number=3)
        self.assertEqual(info.name.decode(), f"MIG {fact['name']}")
        for theirs, ours in SAME.items():
            if fact[theirs] is not None:
                self.assertEqual(getattr(info, ours), fact[theirs], (fact["name"], ours))
        self.assertEqual([[p.start, p.size] for p in lib.placements(device, info.id)],
                         fact["placements"], fact["name"])

    def test_against_the_facts(self):
        with open(Setup.facts, encoding="utf-8") as file:
            gpus = json.load(file)["gpus"]
        lib = self.start(*(f"gpu {kind}" for kind in KINDS))
        for index, kind in enumerate(KINDS):
            device = lib.device(index)
            self.assertEqual(len(lib.profiles(device)), len(gpus[kind]["profiles"]), kind)
            for fact in gpus[kind]["profiles"]:
                self.check(lib, device, fact)

    def test_architectures(self):
        lib = self.start(*(f"gpu {kind}" for kind in (*KINDS, "T4", "V100")))
        for index, wanted in enumerate(((7, 8, 0), (7, 8, 0), (7, 8, 0), (9, 9, 0), (9, 9, 0),
                                        (10, 12, 0), (6, 7, 5), (5, 7, 0))):
            device, major, minor = lib.device(index), c_int(), c_int()
            lib.do("nvmlDeviceGetCudaComputeCapability", device, byref(major), byref(minor))
            self.assertEqual((lib.get("nvmlDeviceGetArchitecture", device), major.value,
                              minor.value), wanted)

    def test_altered(self):
        lib = self.start("gpu A100-40GB", "gpu A100-40GB", "alter 1 1g.5gb memory 5000",
                         "alter 1 2g.10gb starts 0,2")
        first, second = lib.device(0), lib.device(1)
        self.assertEqual([lib.profiles(d)[0].memory_mib for d in (first, second)],
                         [4864, 5000])
        self.assertEqual([p.start for p in lib.placements(first, 14)], [0, 2, 4])
        self.assertEqual([p.start for p in lib.placements(second, 14)], [0, 2])
        self.assertEqual([p.start for p in lib.placements(second, 19)], list(range(7)))

    def test_whole_is_not_more_than_the_gpu(self):
        lib = self.start(*(f"gpu {kind}" for kind in KINDS))
        for index in range(len(KINDS)):
            device = lib.device(index)
            memory = lib.get("nvmlDeviceGetMemoryInfo", device, kind=nvml.Memory)
            most = max(p.memory_mib for p in lib.profiles(device).values())
            self.assertLessEqual(most << 20, memory.total)
