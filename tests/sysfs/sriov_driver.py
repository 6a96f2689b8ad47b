# SPDX-License-Identifier: Apache-2.0
"""The sriov backend on doubles of xe, i915, gim and NVIDIA's driver: counts, quotas, types and
bindings, holders, and each write failing in its turn.

usage: sriov_driver.py BACKEND_TOOL SYSFS_DOUBLE [--all]

With --all, the writes of each driver fail in turn, are ignored, and fail after they have
happened; without, those of three drivers fail."""
import sys

from drivers import ERRORS, PROMISED, World, main
from trees import Checks

check = Checks()
TOOL, DOUBLE = sys.argv[1:3]
ALL = "--all" in sys.argv
ACTIONS = ("fail EIO", "ignore", "fail-after EBUSY") if ALL else ("fail EIO",)
PF = "0000:3a:00.0"
GIB, MIB = 1 << 30, 1 << 20
OK = {"ok": True}

INTEL = {
    "sriov_admin": {"bdf": PF, "model": "Flex170", "interface": "sriov_admin", "totalvfs": 7},
    "debugfs": {"bdf": PF, "model": "B60", "interface": "debugfs", "totalvfs": 7},
    "iov": {"bdf": PF, "model": "Flex140", "interface": "iov", "totalvfs": 7},
    "prelim_iov": {"bdf": PF, "model": "Flex170", "interface": "prelim_iov", "gts": 1,
                   "totalvfs": 7},
}
NVIDIA = {
    "vendor-vfio": {"bdf": PF, "model": "L40S", "framework": "vendor-vfio"},
    "mdev": {"bdf": PF, "model": "A100", "framework": "mdev", "mdev_parent": "vf"},
}
for _description in NVIDIA.values():
    _description.update(totalvfs=4, types=[
        {"id": 600 + n, "name": f"NVIDIA X1-{gib}Q", "memory_mb": gib << 10, "most": 16 // gib}
        for n, gib in enumerate((4, 8))])


def world(description):
    return World(DOUBLE, TOOL, "sriov", description)


def functions(w):
    return w.device()["vf"]["items"]


def surveys():
    """The capabilities of each before any change."""
    wanted = {
        "sriov_admin": ("xe", True, 0), "debugfs": ("xe", True, 0), "iov": ("i915", True, 0),
        "prelim_iov": ("i915", True, 0), "vendor-vfio": ("vgpu-vfio", True, None),
        # Without functions the frameworks cannot be distinguished.
        "mdev": ("vgpu-vfio", True, None)}
    for name, description in {**INTEL, **NVIDIA}.items():
        with world(description) as w:
            device = w.device()
            vf = device["vf"]
            framework, capable, counts = wanted[name]
            check.equal([vf["framework"], vf["is_capable"], vf["items"], vf["why_not"]],
                        [framework, capable, [], ""], name)
            check.equal(vf["counts"], 1 << (vf["total"] - 1) if counts is None else counts, name)
            check.equal(device["uuid"], f"pci-{PF}", name)


def gim():
    with world({"bdf": PF, "model": "MI300X", "driver": "gim", "totalvfs": 8}) as w:
        check.equal(w.device()["vf"]["framework"], "pci", "gim")
        check.equal(w.ask("count", PF, 8), OK, "gim 8")
        check.equal(len(functions(w)), 8, "gim 8")
        check.equal(w.ask("count", PF, 0), OK, "gim 0")


def counts():
    for name, description in INTEL.items():
        with world(description) as w:
            total = w.device()["vf"]["total"]
            check.equal(w.ask("count", PF, 4), OK, name)
            device = w.ask("read", PF)
            check.equal([len(device["vf"]["items"]), device["scheme"]], [4, "vf"], name)
            check.equal({p["profile"] for p in device["partitions"]}, {"vf:4"}, name)
            check.holds(all(p["memory_bytes"] > GIB // 2 for p in device["partitions"]), name,
                        device["partitions"])
            check.refused(w.ask("count", PF, 2), "EBUSY", "setting 0")
            check.refused(w.ask("count", PF, total + 1), "ENOSPC", f"at most {total}")
            check.equal(w.ask("count", PF, 0), OK, name)
            check.equal(functions(w), [], name)
            check.equal(w.ask("count", PF, 0), OK, name, "0 again")


def quotas():
    """Where the driver keeps a quota, how it rounds it, and that it is read back."""
    for name, description in INTEL.items():
        with world(description) as w:
            w.device()
            w.ask("count", PF, 2)
            check.equal(w.ask("quota", PF, 1, f"memory={GIB + 1};quantum=20;preempt=5000"), OK,
                        name)
            quota = functions(w)[0]["quota"]
            check.equal([quota["memory_bytes"], quota["exec_quantum_ms"],
                         quota["preempt_timeout_us"]], [GIB + 2 * MIB, 20, 5000], name)
            check.equal(w.ask("quota", PF, 1, f"memory={GIB + 1}"), OK, name, "rounded again")
            w.device()
            before = functions(w)[1]["quota"]["memory_bytes"]
            answer = w.ask("quota", PF, 2, f"memory={1 << 50}")
            check.refused(answer, "ENOSPC", "memory", "function 2")
            check.equal(functions(w)[1]["quota"]["memory_bytes"], before, name, "put back")
            w.double.put("faults", ["write */exec_quantum_ms * ignore"])
            check.refused(w.ask("quota", PF, 1, "quantum=40"), "EIO", "accepted 40", "shows 20")
            w.double.put("faults", [])
            answer = w.ask("quota", PF, 2, "contexts=512;doorbells=16")
            if name == "sriov_admin":
                # debugfs exists as well, and has the values that sysfs lacks.
                check.equal(answer, OK, name)
            quota = functions(w)[1]["quota"]
            check.equal([quota["contexts"], quota["doorbells"]], [512, 16], name)


def priority():
    with world(INTEL["sriov_admin"]) as w:
        w.device()
        w.ask("count", PF, 1)
        check.equal(functions(w)[0]["quota"]["priority"], "low", "priority")
        check.equal(w.ask("quota", PF, 1, "priority=low"), OK, "as it is")
        check.refused(w.ask("quota", PF, 1, "priority=normal"), "EPERM", "priority")
    with world(INTEL["iov"]) as w:
        w.device()
        w.ask("count", PF, 1)
        check.refused(w.ask("quota", PF, 1, "priority=normal"), "ENOTSUP", "priority")


def ahead():
    """Before there are functions: memory, if that leaves the rest to the driver."""
    for name, description in INTEL.items():
        with world(description) as w:
            home = w.device()["vf"]["framework"]
            for number, gib in ((1, 4), (2, 1)):
                check.equal(w.ask("quota", PF, number,
                                  f"memory={gib * GIB};quantum=10;driver=vfio-pci"), OK, name)
            check.equal(any("quota" in path for path, _ in w.writes()), name == "sriov_admin",
                        name, "written ahead")
            check.equal(w.ask("count", PF, 2), OK, name)
            check.equal([(i["quota"]["memory_bytes"], i["quota"]["exec_quantum_ms"],
                          i["driver"]) for i in functions(w)],
                        [(4 * GIB, 10, "vfio-pci"), (GIB, 10, "vfio-pci")], name)
            check.equal(w.double.read(w.path(PF, "sriov_drivers_autoprobe")), "1", name)
            check.equal([value for path, value in w.writes() if path.endswith("/unbind")], [],
                        name, f"never bound to {home}")
            check.equal(w.ask("count", PF, 0), OK, name)
            w.device()
            check.equal(w.ask("count", PF, 2), OK, name, "without wishes")
            check.equal([i["driver"] for i in functions(w)], [home] * 2, name, "as the host")
            sizes = {i["quota"]["memory_bytes"] for i in functions(w)}
            check.holds(len(sizes) == 1 and 0 not in sizes, name, "shared out again", sizes)


def too_much_ahead():
    for name, description in INTEL.items():
        with world(description) as w:
            w.device()
            answers = [w.ask("quota", PF, number, f"memory={20 * GIB}") for number in (1, 2)]
            answers.append(w.ask("count", PF, 2))
            errors = [a for a in answers if a != OK]
            check.holds(errors, name, "no call reported it")
            check.equal({e["error"] for e in errors} - {"ENOSPC", "EINVAL"}, set(), name, errors)
            if answers[-1] != OK:
                check.equal(functions(w), [], name, "unmade")
                check.equal(w.ask("count", PF, 2), OK, name, "with nothing left over")
            check.equal([i["quota"]["memory_bytes"] > 0 for i in functions(w)], [True] * 2, name)


def partly_ahead():
    with world({**INTEL["sriov_admin"], "refuses_partial": "yes"}) as w:
        w.device()
        check.equal(w.ask("quota", PF, 1, f"memory={GIB}"), OK, "one of two")
        check.refused(w.ask("count", PF, 2), "EINVAL", "1 of them", "all or for none")
        # Set by another process, so that the driver refuses the write.
        w.double.write(w.path(PF, "sriov_admin/vf2/profile/vram_quota"), GIB)
        check.refused(w.ask("count", PF, 2), "EINVAL", "all or for none")


def bindings():
    with world({**INTEL["debugfs"], "vf_groups": "own"}) as w:
        w.device()
        w.ask("count", PF, 2)
        check.equal([i["driver"] for i in functions(w)], ["xe", "xe"], "as the host")
        check.equal(w.ask("quota", PF, 1, "driver=vfio-pci"), OK, "bind")
        check.equal([i["driver"] for i in functions(w)], ["vfio-pci", "xe"], "bound")
        pid = w.hold("vfio", functions(w)[0]["address"],
                     f"/dev/vfio/{functions(w)[0]['iommu_group']}", command="qemu")
        who = f"process {pid} (qemu)"
        check.equal([h["text"] for h in functions(w)[0]["holders"]], [who], "holder")
        n = len(w.writes())
        check.refused(w.ask("count", PF, 0), "EBUSY", who, functions(w)[0]["address"])
        check.refused(w.ask("quota", PF, 1, "driver=xe"), "EBUSY", who)
        check.refused(w.ask("quota", PF, 1, f"memory={GIB}"), "EBUSY", who)
        check.equal(len(w.writes()), n, "nothing was written")
        check.equal(w.ask("quota", PF, 1, "quantum=30"), OK, "a time slice may change")
        check.equal(w.ask("quota", PF, 1, "driver=vfio-pci"), OK, "what it is already")
        w.release()
        check.equal(w.ask("quota", PF, 1, "driver=xe"), OK, "back to the host")
        check.equal(functions(w)[0]["driver"], "xe", "back")
        w.double.put("conditions", [f"probe-fails {functions(w)[0]['address']}"])
        check.refused(w.ask("quota", PF, 1, "driver=vfio-pci"), "EIO", "does not bind it")
        check.equal(w.double.read(w.path(functions(w)[0]["address"], "driver_override")),
                    "(null)", "the override was taken back")
        w.double.put("conditions", [])
        check.equal(w.ask("count", PF, 0), OK, "all go")


def shared_groups():
    with world({**INTEL["debugfs"], "vf_groups": "physfn"}) as w:
        w.device()
        w.ask("count", PF, 2)
        check.equal(functions(w)[0]["n_group_others"], 2, "others")
        answer = w.ask("quota", PF, 1, "driver=vfio-pci")
        check.refused(answer, "EBUSY", f"{PF} (xe)", functions(w)[1]["address"])
        check.equal([i["driver"] for i in functions(w)], ["xe", "xe"], "as they were")


def first_two_types(w):
    types = w.device()["vf"]["types"]
    check.holds(len(types) > 1 and all(t["memory_bytes"] > 0 for t in types), types)
    return types[0]["name"], types[1]["name"]


def vgpus():
    for name, description in NVIDIA.items():
        with world(description) as w:
            total = w.device()["vf"]["total"]
            check.refused(w.ask("count", PF, 2), "ENOTSUP", f"all {total} or none")
            check.equal(w.ask("count", PF, total), OK, name)
            small, _ = first_two_types(w)
            check.equal(len(functions(w)), total, name)
            check.equal(w.ask("quota", PF, 2, f"type={small}"), OK, name)
            item = functions(w)[1]
            check.equal([item["quota"]["type"], item["holders"]], [small, []], name, "type")
            part = w.device()["partitions"][1]
            check.holds(part["memory_bytes"] > 0, name, part)
            check.equal(part["uuid"] != "", name == "mdev", name, "uuid")
            check.equal(w.ask("quota", PF, 2, f"type={small.split()[1]}"), OK, name, "again")
            check.refused(w.ask("quota", PF, 3, "type=L40S-77Z"), "EINVAL", "there is",
                          small)
            check.refused(w.ask("count", PF, 0), "EBUSY", f"vGPU {small}")
            check.equal(w.ask("quota", PF, 2, "type=none"), OK, name, "taken away")
            check.equal(functions(w)[1]["quota"]["type"], "", name)
            check.equal(w.ask("count", PF, 0), OK, name)
            check.equal(functions(w), [], name)


def one_size():
    """vGPUs of a GPU have one size, and the driver lists the types that fit beside them."""
    with world(NVIDIA["vendor-vfio"]) as w:
        w.ask("count", PF, w.device()["vf"]["total"])
        small, big = first_two_types(w)
        check.equal(w.ask("quota", PF, 1, f"type={small}"), OK, "small")
        check.refused(w.ask("quota", PF, 2, f"type={big}"), "ENOSPC", big, small)
        check.equal(functions(w)[0]["quota"]["type"], small, "named, though not offered")


def same_mdev():
    """Each time, the UUID is the function's own."""
    with world(NVIDIA["mdev"]) as w:
        w.ask("count", PF, w.device()["vf"]["total"])
        small, other = first_two_types(w)
        check.equal(w.device()["vf"]["framework"], "vgpu-mdev", "framework")
        uuids = []
        for name in (small, other, small):
            check.equal(w.ask("quota", PF, 1, f"type={name}"), OK, name)
            uuids.append(w.device()["partitions"][0]["uuid"])
            check.equal(functions(w)[0]["quota"]["type"], name, name)
        check.equal(len(set(uuids)), 1, uuids)
        folder = w.path(functions(w)[0]["address"], uuids[0])
        group = w.double.target(f"{folder}/iommu_group")
        pid = w.hold("mdev", uuids[0], "/dev/vfio/vfio", f"/dev/vfio/{group}", command="qemu")
        check.equal([h["pid"] for h in functions(w)[0]["holders"]], [pid], "who runs with it")
        check.refused(w.ask("quota", PF, 1, f"type={other}"), "EBUSY", f"process {pid} (qemu)")
        check.equal(w.device()["partitions"][0]["uuid"], uuids[0], "still there")


def the_former_type_stays():
    """Of what cannot become another type, the vGPU is created again as it was."""
    for name, description in NVIDIA.items():
        with world(description) as w:
            w.ask("count", PF, w.device()["vf"]["total"])
            small, big = first_two_types(w)
            # All that the GPU has room for, so that a big one fits nowhere.
            for number in (1, 2, 3, 4):
                check.equal(w.ask("quota", PF, number, f"type={small}"), OK, name, number)
            before = w.device()["partitions"]
            check.refused(w.ask("quota", PF, 2, f"type={big}"), "ENOSPC", big)
            check.equal(w.device()["partitions"], before, name, "no room")
            check.refused(w.ask("quota", PF, 2, "type=L40S-77Z"), "EINVAL", "there is", small)
            check.equal(w.device()["partitions"], before, name, "no such type")


def the_driver_refuses_the_type():
    for name, path, number in (("vendor-vfio", "*/current_vgpu_type", 2), ("mdev", "*/create", 1)):
        with world(NVIDIA[name]) as w:
            w.ask("count", PF, w.device()["vf"]["total"])
            small, big = first_two_types(w)
            check.equal(w.ask("quota", PF, 1, f"type={small}"), OK, name)
            before = w.device()["partitions"]
            w.double.put("faults", [f"write {path} {number} fail EIO"])
            check.refused(w.ask("quota", PF, 1, f"type={big}"), "EIO", big)
            check.equal(w.device()["partitions"], before, name, "created again")
            w.double.put("faults", [f"write {path} {number} fail EIO",
                                    f"write {path} {number + 1} fail EIO"])
            check.refused(w.ask("quota", PF, 1, f"type={big}"), "EIO", big, small, "again")
            check.equal(functions(w)[0]["quota"]["type"], "", name, "lost, and told")


def sriov_manage():
    for fault, error, word in (("command sriov-manage/* * fail EIO", "EIO", "sriov-manage"),
                               ("command sriov-manage/* * ignore", "EIO", "created 0")):
        with world(NVIDIA["vendor-vfio"]) as w:
            total = w.device()["vf"]["total"]
            w.double.put("faults", [fault])
            check.refused(w.ask("count", PF, total), error, word)
            check.equal(functions(w), [], fault)


def scenario(w):
    """All kinds of writes in one scenario; returns the answers that are errors."""
    vf = w.device()["vf"]
    nvidia, total = vf["framework"].startswith("vgpu"), vf["total"]
    answers = []

    def ask(*words):
        answers.append(w.ask(*words))

    if not nvidia:
        for number in (1, 2):
            ask("quota", PF, number, f"memory={GIB};quantum=20;driver=vfio-pci")
    ask("count", PF, total if nvidia else 2)
    types = w.device()["vf"]["types"]
    if nvidia:
        ask("quota", PF, 1, f"type={types[0]['name'] if types else 'none'}")
        ask("quota", PF, 1, "type=none")
    else:
        ask("quota", PF, 1, f"memory={2 * GIB};preempt=5000")
        ask("quota", PF, 2, f"driver={vf['framework']}")
    ask("count", PF, 0)
    return [a for a in answers if a != OK]


def must_be_told(path, value, action):
    """All writes except for cleanup, and a switch that changes only the order of steps."""
    if path.endswith("sriov_drivers_autoprobe"):
        return action.startswith("fail")
    return path.endswith(("sriov_numvfs", "current_vgpu_type")) or (
        value != "0" and not path.endswith("auto_provisioning"))


def each_write():
    """The k-th write fails, is ignored, or fails after it has happened: a call reports it, with an
    allowed error, and the return to 0 functions works when the fault is gone."""
    for name, description in {**INTEL, **NVIDIA}.items():
        if not ALL and name in ("debugfs", "iov", "prelim_iov"):
            continue
        description = {**description, "totalvfs": 3}
        with world(description) as w:
            check.equal(scenario(w), [], name, "without a fault")
            writes = w.writes()
        check.holds(len(writes) > 1, name, writes)
        for number, (path, value) in enumerate(writes, 1):
            for action in ACTIONS:
                with world(description) as w:
                    w.device()
                    w.double.put("faults", [f"write * {number} {action}"])
                    errors = scenario(w)
                    what = name, number, path, value, action
                    if must_be_told(path, value, action):
                        check.holds(errors, "no call reported it", *what)
                    check.equal({e["error"] for e in errors} - PROMISED, set(), *what, errors)
                    check.holds(all(e["message"].isprintable() for e in errors), errors)
                    w.double.put("faults", [])
                    if w.device()["vf"]["types"]:
                        w.ask("quota", PF, 1, "type=none")
                    check.equal(w.ask("count", PF, 0), OK, "back to none", *what)
                    check.equal(functions(w), [], *what)


def every_error():
    with world(INTEL["sriov_admin"]) as w:
        w.device()
        for error in ERRORS:
            w.double.put("faults", [f"write */sriov_numvfs * fail {error}"])
            answer = w.ask("count", PF, 2)
            check.holds(answer.get("error") in PROMISED, error, answer)
            check.holds(PF in answer["message"], answer)
            check.equal(functions(w), [], error)
        for error in ERRORS:
            w.double.put("faults", [f"write */exec_quantum_ms * fail {error}"])
            answer = w.ask("quota", PF, 1, "quantum=7")
            check.holds(answer.get("error") in PROMISED, error, answer)
            check.holds("exec_quantum_ms" in answer["message"], answer)


def unreadable():
    files = ("sriov_numvfs", "vram_quota", "exec_quantum_ms", "sched_priority", "vendor", "class",
             "numa_node", "current_vgpu_type", "creatable_vgpu_types", "name", "description")
    for name in ("sriov_admin", "vendor-vfio", "mdev"):
        with world({**INTEL, **NVIDIA}[name]) as w:
            w.ask("count", PF, 2 if name in INTEL else w.device()["vf"]["total"])
            for file in files:
                for error in ("EIO", "EUCLEAN", "ENODEV"):
                    w.double.put("faults", [f"read */{file} * fail {error}"])
                    devices = w.backend.devices()
                    check.equal(len(devices), 0 if file in ("vendor", "class") else 1, name, file)
            w.double.put("faults", [])
            if name == "sriov_admin":
                w.double.put("faults", ["read */vram_quota * fail EUCLEAN"])
                check.equal(functions(w), functions(w), "tiles disagree")


main((surveys, gim, counts, quotas, priority, ahead, too_much_ahead, partly_ahead, bindings,
      shared_groups, vgpus, one_size, same_mdev, the_former_type_stays,
      the_driver_refuses_the_type, sriov_manage, each_write, every_error, unreadable), check)
