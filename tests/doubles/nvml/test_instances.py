# SPDX-License-Identifier: Apache-2.0
"""GPU instances: possible placements, the driver's choice, and names."""
import collections
import random
from ctypes import byref, c_uint, c_void_p

import nvml
from harness import Case

# Published by owners of A100 and H100: profiles in order, and the placements.
SEEN = (
    ((19, 19, 19, 19, 19, 19, 19), (6, 4, 5, 0, 1, 2, 3)),
    ((9, 19, 14, 19), (4, 0, 2, 1)),
    ((14, 19, 19, 19, 19, 19), (4, 6, 0, 1, 2, 3)),
    ((19, 14, 5), (6, 4, 0)),
    ((14, 14, 19), (4, 0, 6)),
    ((9, 14, 19), (4, 0, 2)),
)


class Layouts(Case):
    def test_seen_places(self):
        for kind in ("A100-40GB", "A100-80GB", "H100-80GB"):
            for profiles, places in SEEN:
                lib, device = self.restart(f"gpu {kind} mig=on")
                self.assertEqual(tuple(lib.place(device, p) for p in profiles), places, kind)

    def test_order_matters(self):
        lib, device = self.start_mig()
        for profile in (19, 19, 14):
            lib.create(device, profile)
        self.assertRaisesCode(nvml.INSUFFICIENT_RESOURCES, lib.create, device, 9)
        # And the same set fits.
        for profile in (19, 14):
            for gi in lib.instances(device, profile):
                lib.do("nvmlGpuInstanceDestroy", gi)
        for profile in (9, 19, 14, 19):
            lib.create(device, profile)

    def test_bad_places(self):
        lib, device = self.start_mig()
        for profile, start, size in ((9, 2, 4), (9, 0, 3), (19, 7, 1), (14, 6, 2), (99, 0, 1)):
            self.assertRaisesCode(nvml.INVALID_ARGUMENT, lib.create, device, profile, start,
                                  size)
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceCreateGpuInstanceWithPlacement",
                        device, 19, None, byref(c_void_p()))
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceCreateGpuInstance", device, 19, None)

    def test_stranded_slice(self):
        lib, device = self.start_mig()
        lib.create(device, 9, 0, 4)
        lib.create(device, 9, 4, 4)
        for profile in (19, 20, 15, 14, 9, 5, 0):
            self.assertEqual(self.capacity(profile), 0)
            self.assertRaisesCode(nvml.INSUFFICIENT_RESOURCES, lib.create, device, profile)

    def capacity(self, profile):
        return self.lib.get("nvmlDeviceGetGpuInstanceRemainingCapacity", self.lib.device(),
                            profile)

    def test_capacity(self):
        lib, device = self.start_mig()
        full = {19: 7, 20: 1, 15: 4, 14: 3, 9: 2, 5: 1, 0: 1}
        self.assertEqual({p: self.capacity(p) for p in full}, full)
        lib.create(device, 9, 4, 4)
        left = {19: 4, 20: 1, 15: 2, 14: 2, 9: 1, 5: 1, 0: 0}
        self.assertEqual({p: self.capacity(p) for p in full}, left)
        self.assertCode(nvml.NOT_SUPPORTED, "nvmlDeviceGetGpuInstanceRemainingCapacity",
                        device, 99, byref(c_uint()))

    def test_one_with_media(self):
        for kind, media, plain in (("A100-40GB", (20, 20), 19), ("A30-24GB", (21, 6), 14)):
            lib, device = self.restart(f"gpu {kind} mig=on")
            lib.create(device, media[0])
            for profile in media:
                self.assertRaisesCode(nvml.INSUFFICIENT_RESOURCES, lib.create, device, profile)
            lib.create(device, plain)

    def test_all_media(self):
        lib, device = self.start_mig("gpu RTX-PRO-6000-Blackwell-96GB")
        lib.create(device, 65)
        for profile in (14, 21, 47, 65, 5, 35, 64):
            self.assertRaisesCode(nvml.INSUFFICIENT_RESOURCES, lib.create, device, profile)
        lib.create(device, 67)
        lib.create(device, 66)

    def test_random_walk(self):
        """Compared with independent rules, derived from the driver's answers about its profiles."""
        for kind in ("A100-40GB", "A30-24GB", "RTX-PRO-6000-Blackwell-96GB"):
            walk = Walk(*self.restart(f"gpu {kind} mig=on"))
            for _ in range(300):
                walk.step(self)


class Walk:
    def __init__(self, lib, device):
        self.lib, self.device = lib, device
        self.rng = random.Random(1)
        self.profiles = {p.id: p for p in lib.profiles(self.device).values()}
        self.places = [(id, at.start, at.size) for id in self.profiles
                       for at in lib.placements(self.device, id)]
        whole = max(self.profiles.values(), key=lambda p: p.slices)
        self.total = {name: getattr(whole, name) for name in
                      ("slices", "decoders", "encoders", "jpegs", "ofas")}
        self.live = {}

    def is_legal(self, place):
        after = list(self.live) + [place]
        units = [u for _, start, size in after for u in range(start, start + size)]
        counts = collections.Counter(id for id, *_ in after)
        return (len(units) == len(set(units))
                and all(n <= self.profiles[id].max for id, n in counts.items())
                and all(sum(getattr(self.profiles[id], name) for id, *_ in after) <= total
                        for name, total in self.total.items()))

    def step(self, case):
        if self.live and self.rng.random() < .4:
            place = self.rng.choice(sorted(self.live))
            self.lib.do("nvmlGpuInstanceDestroy", self.live.pop(place))
            return
        place = self.rng.choice(self.places)
        at = nvml.Placement(*place[1:])
        gi = c_void_p()
        code = self.lib.code("nvmlDeviceCreateGpuInstanceWithPlacement", self.device, place[0],
                             byref(at), byref(gi))
        legal = self.is_legal(place)
        case.assertEqual(code, nvml.SUCCESS if legal else nvml.INSUFFICIENT_RESOURCES,
                         (place, sorted(self.live)))
        if legal:
            self.live[place] = gi


class Instances(Case):
    def test_listing_is_by_profile(self):
        lib, device = self.start_mig()
        made = {profile: {lib.gi(lib.create(device, profile)).id for _ in range(n)}
                for profile, n in ((9, 1), (19, 2))}
        for profile in (19, 20, 15, 14, 9, 5, 0):
            ids = {lib.gi(h).id for h in lib.instances(device, profile)}
            self.assertEqual(ids, made.get(profile, set()))
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceGetGpuInstances", device, 1,
                        (c_void_p * 8)(), byref(c_uint()))

    def test_listing_needs_room(self):
        lib, device = self.start_mig()
        lib.create(device, 19)
        ret = (c_void_p * 8)()
        lib.do("nvmlDeviceGetGpuInstances", device, 19, ret, byref(c_uint()))
        self.assertTrue(all(ret[:7]))
        self.assertIsNone(ret[7])
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlGpuInstanceGetInfo", c_void_p(ret[1]),
                        byref(nvml.GiInfo()))

    def test_info(self):
        lib, device = self.start_mig()
        info = lib.gi(lib.create(device, 14, 2, 2))
        self.assertEqual((info.device, info.profile), (device.value, 14))
        self.assertEqual((info.placement.start, info.placement.size), (2, 2))
        again = lib.handle("nvmlDeviceGetGpuInstanceById", device, info.id)
        self.assertEqual(lib.gi(again).placement.start, 2)
        self.assertCode(nvml.NOT_FOUND, "nvmlDeviceGetGpuInstanceById", device, info.id + 1,
                        byref(c_void_p()))

    def test_ids(self):
        places = ((19, 6, 1), (19, 4, 1), (14, 0, 2))
        for how, ids in (("free", [1, 2, 3]), ("tree", [13, 11, 3]), ("swapped", [9, 7, 5])):
            lib, device = self.restart(f"gpu A100-40GB mig=on ids={how}")
            self.assertEqual([lib.gi(lib.create(device, *p)).id for p in places], ids)

    def test_id_is_used_again(self):
        lib, device = self.start_mig()
        first = lib.create(device, 19, 0, 1)
        lib.create(device, 19, 1, 1)
        lib.do("nvmlGpuInstanceDestroy", first)
        self.assertEqual(lib.gi(lib.create(device, 14)).id, 1)

    def test_dead_handle(self):
        lib, device = self.start_mig()
        gi = lib.create(device, 19)
        lib.do("nvmlGpuInstanceDestroy", gi)
        for name, *arguments in (("GetInfo", byref(nvml.GiInfo())), ("Destroy",)):
            self.assertCode(nvml.INVALID_ARGUMENT, f"nvmlGpuInstance{name}", gi, *arguments)

    def test_in_use(self):
        lib, device = self.start_mig()
        gi = lib.create(device, 9)
        ci = lib.create_ci(gi, 2)
        self.assertCode(nvml.IN_USE, "nvmlGpuInstanceDestroy", gi)
        id = lib.gi(gi).id
        # X: a process that no list has, like a monitor that keeps a file open.
        for kind in "CGX":
            self.write("processes", f"77 0 {id} 0 5 {kind}\n")
            self.assertCode(nvml.IN_USE, "nvmlComputeInstanceDestroy", ci)
        self.write("processes", f"77 0 {id} 1 5\n77 0 {id + 1} 0 5\n")
        lib.do("nvmlComputeInstanceDestroy", ci)
        self.assertCode(nvml.IN_USE, "nvmlGpuInstanceDestroy", gi)
        self.write("processes", "")
        lib.do("nvmlGpuInstanceDestroy", gi)

    def test_permission(self):
        lib = self.start("gpu A100-40GB mig=on")
        device, gi = lib.device(), lib.create(lib.device(), 9)
        ci = lib.create_ci(gi, 0)
        lib.do("nvmlShutdown")
        lib = self.start("gpu A100-40GB mig=on", "unprivileged")
        device = lib.device()
        mig = lib.mig_list(device)[0]
        ret, at = byref(c_void_p()), byref(nvml.Placement(0, 1))
        for name, *arguments in (
                ("DeviceCreateGpuInstance", device, 19, ret), ("DeviceSetMigMode", device, 0, ret),
                ("DeviceCreateGpuInstanceWithPlacement", device, 19, at, ret),
                ("DeviceGetGpuInstances", device, 9, (c_void_p * 8)(), ret),
                ("DeviceGetGpuInstanceById", device, 1, ret),
                ("DeviceGetGpuInstancePossiblePlacements_v2", device, 9, None, ret),
                ("DeviceGetGpuInstanceRemainingCapacity", device, 9, ret),
                ("DeviceGetMemoryInfo", device, byref(nvml.Memory()))):
            self.assertCode(nvml.NO_PERMISSION, f"nvml{name}", *arguments)
        self.assertTrue(lib.uuid(mig))
        self.assertTrue(lib.profiles(device))
        self.assertTrue(lib.get("nvmlDeviceGetMemoryInfo", mig, kind=nvml.Memory).total)
        for name, handle in (("GpuInstanceDestroy", gi), ("ComputeInstanceDestroy", ci)):
            self.assertCode(nvml.INVALID_ARGUMENT, f"nvml{name}", handle)


class MigDevices(Case):
    def start_three(self, line="gpu A100-40GB", *more):
        lib, device = self.start_mig(line, *more)
        gis = [lib.create(device, 14) for _ in range(3)]
        return lib, device, gis, [lib.create_ci(gi, 1) for gi in gis]

    def test_holes(self):
        lib, device, _, cis = self.start_three()
        self.assertEqual(lib.get("nvmlDeviceGetMaxMigDeviceCount", device), 7)
        lib.do("nvmlComputeInstanceDestroy", cis[1])
        self.assertEqual(sorted(lib.mig_list(device)), [0, 2])
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceGetMigDeviceHandleByIndex", device, 7,
                        byref(c_void_p()))

    def test_packed(self):
        lib, device, _, cis = self.start_three("gpu A100-40GB list=packed")
        last = lib.mig_list(device)[2]
        uuid = lib.uuid(last)
        lib.do("nvmlComputeInstanceDestroy", cis[0])
        self.assertEqual(lib.get("nvmlDeviceGetIndex", last), 1)
        self.assertEqual(lib.uuid(lib.mig_list(device)[1]), uuid)
        self.assertEqual(sorted(lib.mig_list(device)), [0, 1])

    def test_questions(self):
        lib, device, gis, _ = self.start_three()
        migs = lib.mig_list(device)
        for index, mig in migs.items():
            gi = lib.gi(gis[index])
            self.assertEqual(lib.get("nvmlDeviceGetIndex", mig), index)
            self.assertEqual(lib.get("nvmlDeviceIsMigDeviceHandle", mig), 1)
            self.assertEqual(lib.get("nvmlDeviceGetGpuInstanceId", mig), gi.id)
            self.assertEqual(lib.get("nvmlDeviceGetComputeInstanceId", mig), 0)
            parent = lib.handle("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", mig)
            self.assertEqual(parent.value, device.value)
            found = lib.handle("nvmlDeviceGetHandleByUUID", lib.uuid(mig).encode())
            self.assertEqual(found.value, mig.value)
        self.assertEqual(len({lib.uuid(m) for m in migs.values()}), 3)
        self.assertEqual(lib.text("nvmlDeviceGetName", migs[0]),
                         "NVIDIA A100-SXM4-40GB MIG 2g.10gb")
        for name in ("GetGpuInstanceId", "GetDeviceHandleFromMigDeviceHandle"):
            self.assertCode(nvml.INVALID_ARGUMENT, f"nvmlDevice{name}", device,
                            byref(c_void_p()))
        for name, kind in (("GetPciInfo_v3", nvml.PciInfo), ("GetMinorNumber", c_uint),
                           ("GetMigMode", c_uint)):
            self.assertCode(nvml.INVALID_ARGUMENT, f"nvmlDevice{name}", migs[0], byref(kind()),
                            byref(c_uint()))

    def test_attributes(self):
        lib, device = self.start_mig()
        lib.create_ci(lib.create(device, 9), 0)
        mig = lib.mig_list(device)[0]
        info = lib.get("nvmlDeviceGetAttributes_v2", mig, kind=nvml.Attributes)
        self.assertEqual(info.dict(), {
            "sms": 14, "ces": 3, "decoders": 2, "encoders": 0, "jpegs": 0, "ofas": 0,
            "gi_slices": 3, "ci_slices": 1, "memory_mib": 19968})
        self.assertEqual(lib.text("nvmlDeviceGetName", mig),
                         "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb")
        self.assertCode(nvml.NOT_SUPPORTED, "nvmlDeviceGetAttributes_v2", device, byref(info))

    def test_uuid_of_a_place_is_one(self):
        lib, device, gis, cis = self.start_three()
        uuid = lib.uuid(lib.mig_list(device)[0])
        lib.do("nvmlComputeInstanceDestroy", cis[0])
        lib.do("nvmlGpuInstanceDestroy", gis[0])
        self.assertCode(nvml.NOT_FOUND, "nvmlDeviceGetHandleByUUID", uuid.encode(),
                        byref(c_void_p()))
        lib.create_ci(lib.create(device, 14), 1)
        self.assertEqual(lib.uuid(lib.mig_list(device)[0]), uuid)

    def test_legacy_uuids(self):
        lib, device = self.start_mig("gpu A100-40GB uuid=GPU-abc", "legacy-uuids")
        lib.create_ci(lib.create(device, 9), 2)
        mig = lib.mig_list(device)[0]
        self.assertEqual(lib.uuid(mig), "MIG-GPU-abc/1/0")
        found = lib.handle("nvmlDeviceGetHandleByUUID", b"MIG-GPU-abc/1/0")
        self.assertEqual(found.value, mig.value)

    def test_old_form_is_understood(self):
        lib, device = self.start_mig("gpu A100-40GB uuid=GPU-abc")
        lib.create_ci(lib.create(device, 9), 2)
        lib.handle("nvmlDeviceGetHandleByUUID", b"MIG-GPU-abc/1/0")
        self.assertTrue(lib.uuid(lib.mig_list(device)[0]).startswith("MIG-"))
        self.assertNotIn("GPU", lib.uuid(lib.mig_list(device)[0]))

    def test_handle_is_used_again(self):
        """As the vendor documents: the properties of a stored handle can change."""
        lib, device, _, cis = self.start_three()
        kept = lib.mig_list(device)[0]
        lib.do("nvmlComputeInstanceDestroy", cis[0])
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceGetIndex", kept, byref(c_uint()))
        gi = lib.instances(device, 14)[0]
        lib.create_ci(gi, 0)
        self.assertCode(nvml.INVALID_ARGUMENT, "nvmlDeviceGetIndex", kept, byref(c_uint()))
        self.assertEqual(lib.mig_list(device)[0].value, kept.value)
        self.assertIn("1c.2g.10gb", lib.text("nvmlDeviceGetName", kept))

    def test_stale(self):
        lib, device, gis, cis = self.start_three("gpu A100-40GB", "stale")
        self.assertEqual(lib.mig_list(device), {})
        lib.do("nvmlShutdown")
        lib.do("nvmlInit_v2")
        device = lib.device()
        gi = lib.instances(device, 14)[0]
        lib.do("nvmlComputeInstanceDestroy", lib.compute_instances(gi, 1)[0])
        self.assertEqual(len(lib.mig_list(device)), 3)
        self.assertEqual(lib.compute_instances(gi, 1), [])
        lib.do("nvmlShutdown")
        lib.do("nvmlInit_v2")
        self.assertEqual(len(lib.mig_list(lib.device())), 2)
