# SPDX-License-Identifier: Apache-2.0
"""The sriov backend on folders that look like those of several drivers: values read, and requests
refused before any write.

usage: sriov.py BACKEND_TOOL"""
import os
import sys

from trees import Checks, Tree, start

GIB = 1 << 30
PF = "0000:3a:00.0"
check = Checks()
TOOL = sys.argv[1]
INTEL = "8086:e211"
NVIDIA = "10de:26b9"
MDEV = "c1ea7e00-0000-4000-8000-000000000001"


def vf_address(number):
    return f"0000:3a:00.{number}"


def physical(tree, ids=INTEL, driver="xe", total=7, count=0, class_id="0x030000", **files):
    return tree.pci(PF, ids, class_id, driver=driver, sriov_totalvfs=total,
                    sriov_numvfs=count, sriov_drivers_autoprobe=1, **files)


def virtual(tree, number, ids=INTEL, driver=None, group=None, class_id="0x030000"):
    """The number-th function, alone in an IOMMU group of its own or in the given one."""
    group = group or 20 + number
    address = vf_address(number)
    folder = tree.pci(address, ids, class_id, driver=driver, driver_override="(null)")
    tree.link(f"{folder}/physfn", f"../{PF}")
    tree.link(f"sys/bus/pci/devices/{PF}/virtfn{number - 1}", f"../{address}")
    join_group(tree, address, group)
    return folder


def join_group(tree, address, group):
    members = f"sys/kernel/iommu_groups/{group}/devices"
    tree.link(f"{members}/{address}", f"../../../../bus/pci/devices/{address}")
    tree.link(f"sys/bus/pci/devices/{address}/iommu_group",
              f"../../../../kernel/iommu_groups/{group}")


def session(tree, **environment):
    return start(TOOL, "sriov", tree.root / "sys", tree.root / "proc", **environment)


def one(tree, **environment):
    with session(tree, **environment) as sriov:
        return sriov.devices()[0]


def plain():
    with Tree() as tree:
        physical(tree, driver="gim", ids="1002:74a1", class_id="0x120000", total=8, count=2)
        virtual(tree, 1, driver="vfio-pci")
        virtual(tree, 2, group=30)
        join_group(tree, PF, 30)
        (tree.root / f"sys/bus/pci/devices/{vf_address(1)}/vfio-dev/vfio4").mkdir(parents=True)
        tree.process(4711, "qemu", "/dev/vfio/vfio", "/dev/vfio/21")
        tree.process(4712, "qemu", "/dev/vfio/devices/vfio4")
        tree.process(4713, "bash", "/dev/vfio/2", "/dev/null")
        device = one(tree)
    check.equal([device[k] for k in ("name", "uuid", "vendor", "type", "backend", "executor",
                                     "pci_address", "numa_node", "cannot_divide", "scheme")],
                ["", f"pci-{PF}", "amd", "gpu", "sriov", "none", PF, 1, "", "vf"], "device")
    vf = device["vf"]
    check.equal([vf[k] for k in ("is_capable", "total", "counts", "framework", "types")],
                [True, 8, 0, "pci", []], "abilities")
    check.equal([(i["number"], i["address"], i["driver"], i["iommu_group"],
                  i["n_group_others"]) for i in vf["items"]],
                [(1, "0000:3a:00.1", "vfio-pci", 21, 0), (2, "0000:3a:00.2", "", 30, 1)],
                "functions")
    check.equal([[h["text"] for h in i["holders"]] for i in vf["items"]],
                [["process 4711 (qemu)", "process 4712 (qemu)"], []], "holders")
    check.equal([(p["profile"], p["start"], p["size"], p["address"], len(p["holders"]))
                 for p in device["partitions"]],
                [("vf:2", 1, 1, "0000:3a:00.1", 2), ("vf:2", 2, 1, "0000:3a:00.2", 0)],
                "partitions")


def passed():
    """The machine that has the whole GPU is its user; one that VFIO has for later has none."""
    for files, holders in ((["/dev/vfio/30"], ["process 4711 (qemu)"]),
                           (["/dev/vfio/vfio", "/dev/vfio/3"], [])):
        with Tree() as tree:
            physical(tree, driver="vfio-pci")
            join_group(tree, PF, 30)
            tree.process(4711, "qemu", *files)
            device = one(tree)
        check.equal([each["text"] for each in device["holders"]], holders, "whole GPU")
        check.equal(device["vf"]["is_capable"], False, "whole GPU, divided")


QUOTA = {"memory_bytes": 6 * GIB, "exec_quantum_ms": 16, "preempt_timeout_us": 4000,
         "contexts": 1024, "doorbells": 32, "priority": "normal", "type": "",
         "driver": "vfio-pci"}


def quota_in(place, **missing):
    """The quota as read where a driver keeps it there."""
    with Tree() as tree:
        physical(tree, driver=place.driver, count=1)
        virtual(tree, 1, driver="vfio-pci")
        place(tree)
        device = one(tree)
    check.equal(device["vf"]["framework"], place.framework, place.__name__)
    check.equal(device["vf"]["items"][0]["quota"], {**QUOTA, **missing}, place.__name__)
    check.equal(device["partitions"][0]["memory_bytes"],
                missing.get("memory_bytes", 6 * GIB), place.__name__, "partition")


def place(driver, framework):
    def decorate(function):
        function.driver, function.framework = driver, framework
        return function
    return decorate


def fill(tree, folder, **files):
    for name, text in files.items():
        tree.write(f"{folder}/{name}", text)


@place("xe", "xe")
def sriov_admin(tree):
    fill(tree, f"sys/bus/pci/devices/{PF}/sriov_admin/vf1/profile", vram_quota=6 * GIB,
         exec_quantum_ms=16, preempt_timeout_us=4000, sched_priority="low [normal]")


@place("xe", "xe")
def debugfs(tree):
    """By tile and GT, found by address; the media GT has no memory."""
    root = f"sys/kernel/debug/dri/{PF}/sriov/vf1"
    for tile in ("tile0", "tile1"):
        fill(tree, f"{root}/{tile}", vram_quota=3 * GIB)
        for gt in ("gt0", "gt1"):
            fill(tree, f"{root}/{tile}/{gt}", exec_quantum_ms=16, preempt_timeout_us=4000,
                 contexts_quota=1024, doorbells_quota=32, sched_priority=1)


@place("xe", "xe")
def old_debugfs(tree):
    """Found by the file name; functions below GTs."""
    fill(tree, "sys/kernel/debug/dri/0", name=f"xe dev=0000:00:02.0 unique={PF[:-1]}9")
    fill(tree, "sys/kernel/debug/dri/1", name=f"xe dev={PF} unique={PF}")
    fill(tree, "sys/kernel/debug/dri/1/gt0/vf1", lmem_quota=6 * GIB)
    for gt in ("gt0", "gt1"):
        fill(tree, f"sys/kernel/debug/dri/1/{gt}/vf1", exec_quantum_ms=16,
             preempt_timeout_us=4000, contexts_quota=1024, doorbells_quota=32)


@place("i915", "i915")
def iov(tree):
    fill(tree, f"sys/bus/pci/devices/{PF}/drm/card1/iov/vf1/gt", lmem_quota=6 * GIB,
         exec_quantum_ms=16, preempt_timeout_us=4000, contexts_quota=1024, doorbells_quota=32)


@place("i915", "i915")
def prelim_iov(tree):
    for gt in ("gt0", "gt1"):
        fill(tree, f"sys/bus/pci/devices/{PF}/drm/card1/prelim_iov/vf1/{gt}",
             lmem_quota=3 * GIB, exec_quantum_ms=16, preempt_timeout_us=4000,
             contexts_quota=1024, doorbells_quota=32)


@place("xe", "xe")
def half_debugfs(tree):
    """Linux 6.19: time slices in sysfs, memory still in debugfs."""
    fill(tree, f"sys/bus/pci/devices/{PF}/sriov_admin/vf1/profile", exec_quantum_ms=16,
         preempt_timeout_us=4000, sched_priority="low [normal]")
    fill(tree, f"sys/kernel/debug/dri/{PF}/sriov/vf1/tile0", vram_quota=6 * GIB)


@place("i915", "pci")
def nowhere(tree):
    fill(tree, f"sys/bus/pci/devices/{PF}/drm/card1", dev="226:1")


def quotas():
    quota_in(sriov_admin, contexts=0, doorbells=0)
    quota_in(debugfs)
    quota_in(old_debugfs, priority="")
    quota_in(iov, priority="")
    quota_in(prelim_iov, priority="")
    quota_in(half_debugfs, contexts=0, doorbells=0)
    quota_in(nowhere, memory_bytes=0, exec_quantum_ms=0, preempt_timeout_us=0, contexts=0,
             doorbells=0, priority="")


def vgpu_vfio():
    with Tree() as tree:
        manage = tree.write("bin/sriov-manage", "#!/bin/sh")
        os.chmod(manage, 0o755)
        physical(tree, ids=NVIDIA, driver="nvidia", total=32, count=2, class_id="0x030200")
        for i, (current, names) in enumerate(((1158, ()), (0, ("L40S-4Q", "L40S-24C"))), 1):
            folder = virtual(tree, i, NVIDIA, "nvidia", class_id="0x030200")
            lines = ["ID    : vGPU Name"] + [f"{1150 + n} : NVIDIA {name}"
                                             for n, name in enumerate(names)]
            tree.write(f"{folder}/nvidia/creatable_vgpu_types", "\n".join(lines))
            tree.write(f"{folder}/nvidia/current_vgpu_type", current)
        device = one(tree, PATH=str(manage.parent))
    vf = device["vf"]
    check.equal([vf[k] for k in ("is_capable", "framework", "counts")],
                [True, "vgpu-vfio", 1 << 31], "vendor VFIO")
    check.equal(vf["types"], [
        {"id": "1150", "name": "NVIDIA L40S-4Q", "memory_bytes": 4 * GIB, "max_instances": 0},
        {"id": "1151", "name": "NVIDIA L40S-24C", "memory_bytes": 24 * GIB, "max_instances": 0}],
        "types")
    check.equal([(i["quota"]["type"], [h["text"] for h in i["holders"]])
                 for i in vf["items"]], [("1158", []), ("", [])], "functions")


def vgpu_mdev():
    with Tree() as tree:
        manage = tree.write("bin/sriov-manage", "#!/bin/sh")
        os.chmod(manage, 0o755)
        physical(tree, ids=NVIDIA, driver="nvidia", total=16, count=1, class_id="0x030200")
        folder = virtual(tree, 1, NVIDIA, "nvidia", class_id="0x030200")
        for type_id, name, mib, most in ((474, "A100-4C", 4096, 10), (475, "A100-8C", 8192, 5)):
            fill(tree, f"{folder}/mdev_supported_types/nvidia-{type_id}", name=f"GRID {name}",
                 available_instances=1, device_api="vfio-pci", description=(
                     f"num_heads=1, frl_config=60, framebuffer={mib}M, "
                     f"max_resolution=4096x2160, max_instance={most}"))
        tree.link(f"{folder}/{MDEV}/mdev_type", "../mdev_supported_types/nvidia-475")
        tree.link(f"{folder}/{MDEV}/iommu_group", "../../../../kernel/iommu_groups/99")
        tree.process(5000, "qemu", "/dev/vfio/99")
        device = one(tree, PATH=str(manage.parent))
    vf = device["vf"]
    check.equal([vf["framework"], vf["counts"]], ["vgpu-mdev", 1 << 15], "mdev")
    check.equal([(t["id"], t["name"], t["memory_bytes"], t["max_instances"])
                 for t in vf["types"]],
                [("nvidia-474", "GRID A100-4C", 4 * GIB, 10),
                 ("nvidia-475", "GRID A100-8C", 8 * GIB, 5)],
                "types of mdev")
    check.equal(vf["items"][0]["quota"]["type"], "GRID A100-8C", "type of the mdev")
    check.equal([h["text"] for h in vf["items"][0]["holders"]],
                ["process 5000 (qemu)"], "holders of the mdev")
    check.equal(device["partitions"][0]["memory_bytes"], 8 * GIB, "memory of the mdev")
    check.equal(device["partitions"][0]["uuid"], MDEV, "what a machine is told")


def models():
    """Name and memory: the driver's values take precedence over the table's."""
    for device, model, gib in (("56c0", "Flex 170", 16), ("56c1", "Flex 140", 6),
                               ("0bd5", "Max 1550", 128), ("0bda", "Max 1100", 48),
                               ("e211", "Arc Pro B60", 24), ("e212", "Arc Pro B50", 16)):
        with Tree() as tree:
            physical(tree, ids=f"8086:{device}")
            one_of = one(tree)
            check.holds(model in one_of["model"], one_of["model"])
            check.equal(one_of["memory_bytes"], gib * GIB, model)
    for driver, files in (
            ("xe", {"tile0/physical_vram_size_bytes": GIB, "tile1/physical_vram_size_bytes": GIB}),
            ("xe", {"tile0/memory/physical_vram_size_bytes": 2 * GIB}),
            ("i915", {"drm/card3/lmem_total_bytes": 2 * GIB, "drm/renderD130/dev": "226:130"})):
        with Tree() as tree:
            folder = physical(tree, ids="8086:0bd5", driver=driver)
            for name, text in files.items():
                tree.write(f"{folder}/{name}", text)
            check.equal(one(tree)["memory_bytes"], 2 * GIB, driver, *files)
    with Tree() as tree:
        physical(tree, ids="8086:ffff")
        check.equal(one(tree)["memory_bytes"], 0, "nobody says")


def incapable():
    for ids, driver, total, word in (
            (INTEL, "vfio-pci", 7, "whole"), (INTEL, None, 7, "no driver"),
            (INTEL, "xe", 0, "offers no"), (NVIDIA, "nvidia", 16, "sriov-manage")):
        with Tree() as tree:
            physical(tree, ids=ids, driver=driver, total=total)
            with session(tree, PATH="/nonexistent") as sriov:
                device = sriov.devices()[0]
                check.equal(device["vf"]["is_capable"], False, word)
                check.holds(word in device["vf"]["why_not"], word, device["vf"]["why_not"])
                check.equal(device["cannot_divide"], device["vf"]["why_not"], word)
                check.refused(sriov.ask("count", PF, 2), "ENOTSUP", word)
    with Tree() as tree:
        os.chmod(tree.root / physical(tree) / "sriov_numvfs", 0o444)
        check.holds("does not create" in one(tree)["cannot_divide"], "read-only count")


def which_devices():
    """Only GPUs, unless other classes are requested; never virtual functions."""
    with Tree() as tree:
        physical(tree, count=1)
        virtual(tree, 1)
        tree.write(f"sys/bus/pci/devices/{vf_address(1)}/sriov_totalvfs", 0)
        tree.pci("0000:01:00.0", "1b36:0010", "0x010802", driver="nvme", sriov_totalvfs=4,
                 sriov_numvfs=0)
        tree.pci("0000:02:00.0", "8086:56c0", "0x038000", driver="i915")
        with session(tree) as sriov:
            check.equal([d["pci_address"] for d in sriov.devices()], [PF], "GPUs")
        for classes in ("0108", "0200,0108", "108"):
            with session(tree, CLEAVE_SRIOV_CLASSES=classes) as sriov:
                devices = sriov.devices()
                check.equal([d["pci_address"] for d in devices], ["0000:01:00.0", PF], classes)
                check.equal([devices[0][k] for k in ("vendor", "type")],
                            ["1b36", "accelerator"], "of no known vendor")
    with Tree() as tree:
        tree.pci("0000:02:00.0", "8086:56c0", "0x038000", driver="i915")
        with session(tree) as sriov:
            check.refused(sriov.ask("survey"), "ENODEV", "SR-IOV", "firmware")


def refused_counts():
    with Tree() as tree:
        folder = physical(tree, count=2)
        virtual(tree, 1, driver="vfio-pci")
        virtual(tree, 2, driver="vfio-pci")
        tree.process(4711, "qemu", "/dev/vfio/22")
        with session(tree) as sriov:
            sriov.devices()
            check.refused(sriov.ask("count", PF, 3), "EBUSY", "has 2", "setting 0")
            check.refused(sriov.ask("count", PF, 8), "ENOSPC", "at most 7")
            check.refused(sriov.ask("count", PF, 0), "EBUSY", "0000:3a:00.2",
                          "process 4711 (qemu)")
            check.equal(sriov.ask("count", PF, 2), {"ok": True}, "as it is")
        check.equal(tree.read(f"{folder}/sriov_numvfs"), "2", "nothing was written")
    with Tree() as tree:
        physical(tree, ids=NVIDIA, driver="nvidia", total=16)
        manage = tree.write("bin/sriov-manage", "#!/bin/sh\necho ran >&2; exit 3")
        os.chmod(manage, 0o755)
        with session(tree, PATH=f"{manage.parent}:/usr/bin:/bin") as sriov:
            sriov.devices()
            check.refused(sriov.ask("count", PF, 4), "ENOTSUP", "all 16 or none")
            check.refused(sriov.ask("count", PF, 16), "EIO", "sriov-manage -e failed: ran")


def refused_quotas():
    with Tree() as tree:
        physical(tree, count=1)
        folder = virtual(tree, 1, driver="xe", group=40)
        tree.pci("0000:3b:00.0", "8086:1533", "0x020000", driver="igb")
        tree.pci("0000:3c:00.0", "8086:1534", "0x060400", driver="pcieport")
        tree.pci("0000:3d:00.0", "8086:1535", "0x020000")
        for address in ("0000:3b:00.0", "0000:3c:00.0", "0000:3d:00.0"):
            join_group(tree, address, 40)
        (tree.root / "sys/bus/pci/drivers/vfio-pci").mkdir()
        with session(tree) as sriov:
            check.equal(sriov.devices()[0]["vf"]["items"][0]["n_group_others"], 3, "others")
            answer = sriov.ask("quota", PF, 1, "driver=vfio-pci")
            check.refused(answer, "EBUSY", "group 40", "0000:3b:00.0 (igb)")
            check.holds("0000:3c" not in answer["message"] and
                        "0000:3d" not in answer["message"], "bridges and the unbound", answer)
            check.refused(sriov.ask("quota", PF, 1, "driver=no-such"), "ENODEV", "no-such")
            check.refused(sriov.ask("quota", PF, 1, "driver=../x"), "EINVAL", "../x")
            check.refused(sriov.ask("quota", PF, 2, "driver=vfio-pci"), "ENODEV",
                          "1 of 7 functions")
            check.refused(sriov.ask("quota", PF, 8, "memory=1"), "ENODEV")
            check.refused(sriov.ask("quota", PF, 1, "memory=4096"), "ENOTSUP", "memory",
                          "debugfs")
            check.refused(sriov.ask("quota", PF, 1, "type=L40S-4Q"), "ENOTSUP", "NVIDIA")
        check.equal(tree.read(f"{folder}/driver_override"), "(null)", "nothing was written")
    with Tree() as tree:
        physical(tree, driver="i915", count=1, ids="8086:56c0")
        virtual(tree, 1)
        with session(tree) as sriov:
            sriov.devices()
            check.refused(sriov.ask("quota", PF, 1, "contexts=4"), "ENOTSUP", "contexts")


def refused_vgpu_binding():
    with Tree() as tree:
        physical(tree, ids=NVIDIA, driver="nvidia", count=1, total=16)
        folder = virtual(tree, 1, NVIDIA, "nvidia")
        tree.write(f"{folder}/nvidia/creatable_vgpu_types", "5 : NVIDIA L4-1Q")
        tree.write(f"{folder}/nvidia/current_vgpu_type", "0")
        (tree.root / "sys/bus/pci/drivers/vfio-pci").mkdir()
        with session(tree) as sriov:
            sriov.devices()
            check.refused(sriov.ask("quota", PF, 1, "driver=vfio-pci"), "ENOTSUP", "stays")
            check.refused(sriov.ask("quota", PF, 1, "type=L4-99Q"), "EINVAL", "L4-99Q",
                          "there is NVIDIA L4-1Q")
            check.equal(sriov.ask("quota", PF, 1, "type=nvidia l4-1q;driver=nvidia"),
                        {"ok": True}, "its own driver")
        check.equal(tree.read(f"{folder}/nvidia/current_vgpu_type"), "5", "type by name")


def odd_files():
    for text in ("", "-1", "A" * 300, "99999999999999999999", "\x00\x01"):
        with Tree() as tree:
            physical(tree, total=text, count=text)
            sriov_admin(tree)
            for name in ("vram_quota", "exec_quantum_ms", "sched_priority"):
                tree.write(f"sys/bus/pci/devices/{PF}/sriov_admin/vf1/profile/{name}", text)
            device = one(tree)
            check.equal([device["vf"]["total"], device["vf"]["items"]], [0, []], repr(text[:4]))


plain()
passed()
quotas()
vgpu_vfio()
vgpu_mdev()
models()
incapable()
which_devices()
refused_counts()
refused_quotas()
refused_vgpu_binding()
odd_files()
check.finish()
