# SPDX-License-Identifier: Apache-2.0
"""The amd backend on folders that look like those of several drivers: values read, missing ones,
and invalid ones.

usage: amd.py BACKEND_TOOL"""
import os
import sys

from trees import Checks, Tree, start

GIB = 1 << 30
check = Checks()
TOOL = sys.argv[1]

MODES = {
    "current_compute_partition": "SPX",
    "available_compute_partition": "SPX, DPX, QPX, CPX",
    "current_memory_partition": "NPS1",
    "available_memory_partition": "NPS1, NPS2, NPS4",
}


def gpu(tree, address="0000:05:00.0", ids="1002:74a1", **files):
    files = {"unique_id": "466450b96fbde849", "product_name": "AMD Instinct MI300X OAM",
             "mem_info_vram_total": 192 * GIB, **MODES, **files}
    folder = tree.pci(address, ids, driver="amdgpu",
                      **{k: v for k, v in files.items() if v is not None})
    (tree.root / folder / "drm/renderD128").mkdir(parents=True)
    (tree.root / folder / "drm/card1").mkdir()
    return folder


def node(tree, number, gpu_id, location, render, unique_id, simds=1216, dies=8,
         memory=192 * GIB, target=90402):
    folder = f"sys/class/kfd/kfd/topology/nodes/{number}"
    tree.write(f"{folder}/gpu_id", gpu_id)
    tree.write(f"{folder}/properties", "\n".join((
        "cpu_cores_count 0", f"simd_count {simds}", "simd_per_cu 4",
        f"location_id {location}", "domain 0", f"drm_render_minor {render}",
        f"unique_id {unique_id}", f"num_xcc {dies}", f"gfx_target_version {target}")))
    tree.write(f"{folder}/mem_banks/0/properties", f"heap_type 1\nsize_in_bytes {memory}")


def user(tree, pid, memory, queues=()):
    """A process of KFD: memory by gpu_id."""
    folder = f"sys/class/kfd/kfd/proc/{pid}"
    tree.write(f"{folder}/pasid", pid)
    for gpu_id, n_bytes in memory.items():
        tree.write(f"{folder}/vram_{gpu_id}", n_bytes)
    for number, gpu_id in enumerate(queues):
        tree.write(f"{folder}/queues/{number}/gpuid", gpu_id)


def survey(tree, **environment):
    with start(TOOL, "amd", tree.root / "sys", tree.root / "proc", **environment) as amd:
        return amd.ask("survey")


def one(tree):
    return survey(tree)["devices"][0]


def whole_gpu():
    with Tree() as tree:
        gpu(tree)
        node(tree, 1, 1001, 0x500, 128, 0x466450b96fbde849)
        tree.write("sys/module/amdgpu/version", "6.12.12")
        device = one(tree)
    check.equal(device["uuid"], "GPU-466450b96fbde849", "uuid")
    check.equal(device["model"], "AMD Instinct MI300X OAM", "model")
    check.equal([device[k] for k in ("name", "vendor", "driver", "type", "backend",
                                     "executor", "pci_address", "hive", "numa_node")],
                ["", "amd", "6.12.12", "gpu", "amd", "gate", "0000:05:00.0", "", 1],
                "what it is")
    check.equal(device["architecture"], "gfx942", "architecture")
    check.equal(device["memory_bytes"], 192 * GIB, "memory")
    check.equal(device["compute_units"], 304, "compute units")
    check.equal(device["scheme"], "none", "scheme")
    check.equal(device["partitions"], [], "partitions of SPX")
    check.equal(device["xcp"], {
        "is_capable": True, "model": "MI300X", "dies": 8, "compute": "SPX",
        "memory": ["NPS1"], "requested_memory": [],
        "compute_available": ["SPX", "DPX", "QPX", "CPX"],
        "memory_available": ["NPS1", "NPS2", "NPS4"]}, "modes")


def architectures():
    """After the names of LLVM's AMDGPU processors."""
    for target, name in ((90010, "gfx90a"), (90500, "gfx950"), (110000, "gfx1100"),
                         (120001, "gfx1201"), (0, "")):
        with Tree() as tree:
            gpu(tree)
            node(tree, 1, 1001, 0x500, 128, 0x466450b96fbde849, target=target)
            check.equal(one(tree)["architecture"], name, f"architecture of {target}")


def partitioned(unique, location):
    """CPX of eight; drivers have numbered the nodes in two ways."""
    with Tree() as tree:
        folder = gpu(tree, current_compute_partition="CPX", current_memory_partition="NPS4")
        tree.link(f"{folder}/xgmi_hive_info", "hive")
        tree.write(f"{folder}/hive/xgmi_hive_id", "4398046511104")
        tree.write("sys/class/kfd/kfd/topology/nodes/0/gpu_id", 0)
        for i in range(8):
            node(tree, i + 1, 1001 + i, location(i), 128 + i, 77 + (i if unique else 0),
                 152, 1, 24 * GIB)
        # 4711 uses partition 3, 4712 has only opened the driver.
        user(tree, 4711, {1001 + i: GIB if i == 3 else 0 for i in range(8)})
        user(tree, 4712, {1001 + i: 0 for i in range(8)})
        user(tree, 4713, {1001: 0}, [1001])
        tree.process(4711, "train", "/dev/kfd", "/dev/dri/renderD131")
        tree.process(4714, "vkcube", "/dev/dri/renderD133")
        device = one(tree)
    parts = device["partitions"]
    check.equal(device["hive"], "4398046511104", "hive")
    check.equal(device["scheme"], "xcp", "scheme")
    check.equal([p["start"] for p in parts], list(range(8)), "numbers")
    check.equal({(p["profile"], p["size"], p["compute_units"], p["memory_bytes"])
                 for p in parts}, {("CPX/NPS4", 1, 38, 24 * GIB)}, "shape")
    check.equal([p["address"] for p in parts], [f"renderD{128 + i}" for i in range(8)],
                "render nodes")
    check.equal([p["uuid"] for p in parts],
                [f"GPU-{77 + i:016x}" if unique else "" for i in range(8)], "uuids")
    check.equal({i: [h["text"] for h in p["holders"]] for i, p in enumerate(parts)
                 if p["holders"]},
                {0: ["process 4713"], 3: ["process 4711 (train)"],
                 5: ["process 4714 (vkcube)"]}, "holders of partitions")
    check.equal(sorted(h["pid"] for h in device["holders"]), [4711, 4712, 4713, 4714],
                "holders of the GPU")


def without_kfd():
    """The mode alone gives the number; a process that holds /dev/kfd holds every GPU."""
    with Tree() as tree:
        gpu(tree, current_compute_partition="DPX")
        tree.process(99, "watcher", "/dev/kfd")
        device = one(tree)
    check.equal([(p["profile"], p["address"], p["memory_bytes"], p["compute_units"])
                 for p in device["partitions"]],
                [("DPX/NPS1", "renderD128", 96 * GIB, 152),
                 ("DPX/NPS1", "", 96 * GIB, 152)], "partitions without KFD")
    check.equal([h["text"] for h in device["holders"]], ["process 99 (watcher)"],
                "holders without KFD")


def models():
    for ids, virtual, model in (
            ("1002:74a0", False, "MI300A"), ("1002:74a2", False, "MI308X"),
            ("1002:74a5", False, "MI325X"), ("1002:75a0", False, "MI350X"),
            ("1002:75a3", False, "MI355X"), ("1002:74b5", True, "MI300X"),
            ("1002:75b3", True, "MI355X")):
        with Tree() as tree:
            gpu(tree, ids=ids, product_name=None, unique_id=None)
            device = one(tree)
        check.equal(device["model"], f"AMD Instinct {model}", ids)
        check.equal(device["uuid"], "pci-0000:05:00.0", ids)
        check.equal(device["xcp"]["is_capable"], not virtual, ids, "capable")
        check.equal("host" in device["cannot_divide"], virtual, ids,
                    device["cannot_divide"])


def incapable():
    """Each with the reason, and with its current mode if it shows one."""
    nothing = dict.fromkeys(MODES)
    for files, ids, word in (
            (nothing, "1002:744c", "no partitions"),
            (nothing, "1002:74a1", "amdgpu-dkms"),
            (nothing, "1002:74b5", "host"),
            ({"current_compute_partition": "UNKNOWN"}, "1002:74a1", "try again"),
            ({"current_memory_partition": "UNKNOWN"}, "1002:74a1", "try again"),
            ({"available_compute_partition": None}, "1002:74a1", "not allow"),
            ({"available_compute_partition": "FPX"}, "1002:74a1", "not allow")):
        with Tree() as tree:
            gpu(tree, ids=ids, product_name=None, **files)
            device = one(tree)
        check.equal(device["xcp"]["is_capable"], False, files)
        check.holds(word in device["cannot_divide"], word, device["cannot_divide"])
        check.holds("shares" in device["cannot_divide"] or "again" in
                    device["cannot_divide"], "what to do", device["cannot_divide"])
    with Tree() as tree:
        folder = gpu(tree)
        os.chmod(tree.root / folder / "current_compute_partition", 0o444)
        check.holds("not allow" in one(tree)["cannot_divide"], "a mode that is read-only")


def one_memory_mode():
    with Tree() as tree:
        gpu(tree, current_memory_partition=None, available_memory_partition=None)
        check.equal(one(tree)["xcp"]["memory_available"], ["NPS1"], "no file at all")
    with Tree() as tree:
        gpu(tree, available_memory_partition=None, current_memory_partition="NPS4")
        check.equal(one(tree)["xcp"]["memory_available"], ["NPS4"], "no choice")


def odd_files():
    """Files that are too long, empty or binary do no harm."""
    for text in ("", "A" * 300, "SPX, " * 2000, "\x00\x01"):
        with Tree() as tree:
            gpu(tree, **{name: text for name in (
                "unique_id", "product_name", "mem_info_vram_total", *MODES)})
            node(tree, 1, 1001, text, text, text)
            tree.write("sys/class/kfd/kfd/topology/nodes/2/gpu_id", text)
            user(tree, 4711, {1001: text, text[:20].strip("\x00\x01/"): text})
            device = one(tree)
        check.equal(device["xcp"]["is_capable"], False, repr(text[:8]))


def others():
    """Devices with another driver or without one, and devices that are not GPUs, are not listed."""
    with Tree() as tree:
        tree.pci("0000:01:00.0", "1002:74a1", driver="vfio-pci")
        tree.pci("0000:02:00.0", "1002:74a1")
        tree.pci("0000:03:00.0", "10de:2330", "0x030200", driver="nvidia")
        tree.pci("0000:04:00.0", "1002:1480", "0x060000")
        for address in ("0000:15:00.0", "0000:05:00.0", "0001:05:00.0"):
            gpu(tree, address, unique_id=None)
        answer = survey(tree)
    check.equal([(d["index"], d["pci_address"]) for d in answer["devices"]],
                [(0, "0000:05:00.0"), (1, "0000:15:00.0"), (2, "0001:05:00.0")],
                "those of amdgpu, in order")
    check.equal(len(answer["problems"]), 1, answer["problems"])
    check.holds("0000:02:00.0" in answer["problems"][0], answer["problems"])


def no_driver():
    with Tree() as tree:
        check.refused(survey(tree), "ENODEV", "modprobe amdgpu")


def changes():
    """Plain files accept any value, which is enough to test the steps around a write."""
    with Tree() as tree:
        folder = gpu(tree)
        with start(TOOL, "amd", tree.root / "sys", tree.root / "proc",
                   PATH="/nonexistent") as amd:
            amd.devices()
            check.equal(amd.ask("compute", "0000:05:00.0", "CPX"), {"ok": True}, "compute")
            check.equal(tree.read(f"{folder}/current_compute_partition"), "CPX", "written")
            device = amd.ask("read", "0000:05:00.0")
            check.equal(device["xcp"]["compute"], "CPX", "read again")
            check.equal(len(device["partitions"]), 8, "partitions read again")
            check.refused(amd.ask("reload", "0000:05:00.0"), "ENOTSUP", "modprobe", "kmod")
            tree.write(f"{folder}/unique_id", "1")
            check.refused(amd.ask("read", "0000:05:00.0"), "ENODEV", "gone")
    with Tree() as tree:
        gpu(tree, **dict.fromkeys(MODES))
        with start(TOOL, "amd", tree.root / "sys", tree.root / "proc") as amd:
            amd.devices()
            for verb, mode in (("compute", "CPX"), ("memory", "NPS4")):
                check.refused(amd.ask(verb, "0000:05:00.0", mode), "ENOTSUP",
                              "0000:05:00.0", mode, "amdgpu-dkms")


whole_gpu()
partitioned(True, lambda i: 0x500 | i)
partitioned(False, lambda i: 0x500 | i << 28)
architectures()
without_kfd()
models()
incapable()
one_memory_mode()
odd_files()
others()
no_driver()
changes()
check.finish()
