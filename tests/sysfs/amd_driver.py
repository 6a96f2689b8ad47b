# SPDX-License-Identifier: Apache-2.0
"""The amd backend on a double of amdgpu: every mode of every model, holders, each write failing
with each error, and old drivers.

usage: amd_driver.py BACKEND_TOOL SYSFS_DOUBLE"""
import sys

from drivers import ERRORS, PROMISED, World, main
from trees import Checks

check = Checks()
TOOL, DOUBLE = sys.argv[1:]
BDF = "0000:05:00.0"
OTHER = "0000:15:00.0"

# The modes that the driver accepts in NPS1, and the number of devices of each.
MODELS = {
    "MI300X": (304, 8, {"SPX": 1, "DPX": 2, "QPX": 4, "CPX": 8}, ["NPS1", "NPS2", "NPS4"]),
    "MI325X": (304, 8, {"SPX": 1, "DPX": 2, "QPX": 4, "CPX": 8}, ["NPS1", "NPS4"]),
    "MI308X": (80, 4, {"SPX": 1, "DPX": 2, "CPX": 4}, ["NPS1"]),
    "MI300A": (228, 6, {"SPX": 1, "TPX": 3, "CPX": 6}, ["NPS1"]),
    "MI350X": (256, 8, {"SPX": 1, "DPX": 2, "QPX": 4, "CPX": 8}, ["NPS1", "NPS2"]),
    "MI355X": (256, 8, {"SPX": 1, "DPX": 2, "QPX": 4, "CPX": 8}, ["NPS1", "NPS2"]),
}


def world(*devices):
    return World(DOUBLE, TOOL, "amd", *(devices or [{"bdf": BDF, "model": "MI300X"}]))


def partitions(device, mode, count, units):
    parts = device["partitions"]
    check.equal(len(parts), count if count > 1 else 0, mode)
    check.equal(device["scheme"], "xcp" if count > 1 else "none", mode)
    check.equal({(p["profile"], p["compute_units"], p["size"]) for p in parts},
                {(mode, units // count, 1)} if count > 1 else set(), mode)
    check.equal([p["start"] for p in parts], list(range(len(parts))), mode)
    check.equal(len({p["address"] for p in parts}), len(parts), mode, "render nodes")
    check.equal(sum(p["memory_bytes"] for p in parts) <= device["memory_bytes"], True, mode)


def every_mode():
    for model, (units, dies, modes, memories) in MODELS.items():
        with world({"bdf": BDF, "model": model, "numa_node": 1}) as w:
            device = w.device()
            check.equal([device["model"], device["compute_units"], device["xcp"]["dies"],
                         device["numa_node"]], [f"AMD Instinct {model}", units, dies, 1], model)
            check.equal(device["xcp"]["compute_available"], list(modes), model)
            check.equal(device["xcp"]["memory_available"], memories, model)
            for mode, count in list(modes.items()) + [("SPX", 1)]:
                check.equal(w.ask("compute", BDF, mode), {"ok": True}, model, mode)
                device = w.ask("read", BDF)
                check.equal(device["xcp"]["compute"], mode, model)
                partitions(device, f"{mode}/NPS1", count, units)
            for part in device["partitions"]:
                check.holds(w.double.exists(f"class/drm/{part['address']}"), part["address"])


def not_divisible():
    with world({"bdf": BDF, "model": "MI210"}, {"bdf": OTHER, "model": "MI300X",
                                                "guest": "yes"}) as w:
        check.holds("no partitions" in w.device()["cannot_divide"], w.device())
        check.equal(w.device(1)["xcp"]["is_capable"], False, "guest")
        for address in (BDF, OTHER):
            check.refused(w.ask("compute", address, "CPX"), "ENOTSUP")
        check.equal(w.writes(), [], "nothing was written")


def illegal():
    with world() as w:
        w.device()
        check.refused(w.ask("compute", BDF, "TPX"), "EINVAL", "no mode TPX", "CPX")
        w.ask("memory", BDF, "NPS4")
        w.ask("reload", BDF)
        check.equal(w.device()["xcp"]["memory"], ["NPS4"], "NPS4")
        check.refused(w.ask("compute", BDF, "SPX"), "EINVAL", "NPS4 cannot be used with SPX")
        check.refused(w.ask("memory", BDF, "NPS8"), "EINVAL", "no such mode")


def memory():
    """A hive changes together, with a reload; the driver shows no request."""
    hive = [{"bdf": BDF, "model": "MI300X", "hive": 7},
            {"bdf": OTHER, "model": "MI300X", "hive": 7},
            {"bdf": "0000:25:00.0", "model": "MI300X"}]
    with world(*hive) as w:
        check.equal([w.device(i)["hive"] for i in range(3)], ["7", "7", ""], "hives")
        check.equal(w.ask("compute", BDF, "CPX"), {"ok": True}, "CPX before")
        check.equal(w.ask("memory", BDF, "NPS4"), {"ok": True}, "request")
        devices = [w.device(i) for i in range(3)]
        check.equal([d["xcp"]["requested_memory"] for d in devices], [["NPS4"], ["NPS4"], []],
                    "requested of the hive")
        check.equal([d["xcp"]["memory"] for d in devices], [["NPS1"]] * 3, "not yet")
        w.restart()
        check.equal([w.device(i)["xcp"]["requested_memory"] for i in range(3)],
                    [["NPS4"], ["NPS4"], []], "known to the next process")
        check.refused(w.ask("memory", OTHER, "NPS1"), "ENOTSUP", "pending request for NPS4",
                      "reload")
        check.equal(w.ask("reload", OTHER), {"ok": True}, "reload")
        devices = [w.device(i) for i in range(3)]
        check.equal([(d["xcp"]["memory"], d["xcp"]["requested_memory"], d["xcp"]["compute"])
                     for d in devices], [(["NPS4"], [], "CPX")] * 2 + [(["NPS1"], [], "SPX")],
                    "after the reload")
        w.restart()
        check.equal([w.device(i)["xcp"]["requested_memory"] for i in range(3)], [[]] * 3,
                    "forgotten with the reload")
        partitions(devices[0], "CPX/NPS4", 8, 304)
        check.equal([p["memory_part"] for p in devices[0]["partitions"]],
                    [0, 0, 1, 1, 2, 2, 3, 3], "near its quarter of the memory")
        check.equal([p["io_die"] for p in devices[0]["partitions"]],
                    [0, 0, 1, 1, 2, 2, 3, 3], "two on each I/O die")
        check.equal(w.ask("memory", BDF, "NPS1"), {"ok": True}, "and back")
        check.equal(w.ask("reload", BDF), {"ok": True}, "reload")
        check.equal(w.device()["xcp"]["memory"], ["NPS1"], "NPS1")


def busy():
    with world() as w:
        w.device()
        pid = w.hold("kfd", BDF, "/dev/kfd", "/dev/dri/renderD128")
        who = f"process {pid} (python3)"
        check.equal([h["text"] for h in w.device()["holders"]], [who], "holder")
        check.refused(w.ask("compute", BDF, "CPX"), "EBUSY", who, "0000:05:00.0")
        check.refused(w.ask("reload", BDF), "EBUSY", who, "cannot be unloaded")
        check.equal(w.double.target(w.path(BDF, "driver")), "amdgpu", "loaded again")
        w.release()
        check.equal(w.ask("compute", BDF, "CPX"), {"ok": True}, "when it is gone")
        w.double.put("faults", ["write */current_compute_partition * fail EBUSY"])
        check.refused(w.ask("compute", BDF, "SPX"), "EBUSY", "shows no process", "try again")


def held_partition():
    with world() as w:
        w.device()
        w.ask("compute", BDF, "CPX")
        pid = w.hold("kfd", BDF)
        w.double.put("holders", [f"kfd {BDF} {pid} 1048576"])
        device = w.device()
        check.equal([h["pid"] for h in device["holders"]], [pid], "of the GPU")
        check.equal([[h["pid"] for h in p["holders"]] for p in device["partitions"]],
                    [[pid]] + [[]] * 7, "of the partition that it has memory on")


def module_in_use():
    with world({"bdf": BDF, "model": "MI300X"}, {"bdf": "0000:3a:00.0", "model": "B60"}) as w:
        w.device()
        cards = {w.double.target(f"class/drm/{name}/device"): name
                 for name in w.double.names("class/drm") if name.startswith("card")}
        w.proc.process(70, "Xorg", f"/dev/dri/{cards['0000:3a:00.0']}")
        w.proc.process(71, "top", f"/dev/dri/{cards[BDF]}")
        w.double.put("holders", ["module amdgpu"])
        answer = w.ask("reload", BDF)
        check.refused(answer, "EBUSY", "cannot be unloaded", "process 71 (top)")
        check.holds("Xorg" not in answer["message"], "of another driver", answer)
        w.double.put("holders", [])
        w.double.put("faults", ["command modprobe/amdgpu * fail EIO"])
        check.refused(w.ask("reload", BDF), "EIO", "cannot be loaded again")


def broken():
    with world() as w:
        w.device()
        w.double.put("conditions", [f"kfd-init-fails {BDF}"])
        check.refused(w.ask("compute", BDF, "CPX"), "EIO", "did not start again", "reloaded")
        w.double.put("conditions", [f"in-reset {BDF}"])
        check.refused(w.ask("compute", BDF, "DPX"), "EBUSY", "reset", "try again")
        check.holds("try again" in w.device()["cannot_divide"], "while it is reset")
        w.double.put("conditions", [])
        device = w.device()
        check.equal([device["xcp"]["is_capable"], device["xcp"]["compute"],
                     len(device["partitions"])], [True, "CPX", 8], "without KFD")
        check.equal(w.ask("reload", BDF), {"ok": True}, "reload")
        check.equal(w.ask("compute", BDF, "CPX"), {"ok": True}, "mended")


def every_error():
    """One of the allowed errors, with the device in the message; nothing has changed."""
    with world() as w:
        before = w.device()
        for error in ERRORS:
            for verb, mode, name in (("compute", "CPX", "compute"), ("memory", "NPS4", "memory")):
                w.double.put("faults", [f"write */current_{name}_partition * fail {error}"])
                answer = w.ask(verb, BDF, mode)
                check.holds(answer.get("error") in PROMISED, error, answer)
                check.holds(BDF in answer["message"] and mode in answer["message"], answer)
        w.double.put("faults", [])
        check.equal(w.device(), before, "unchanged")
        w.double.put("faults", ["write */current_compute_partition * ignore"])
        check.refused(w.ask("compute", BDF, "CPX"), "EIO", "accepted the mode but shows SPX")
        w.double.put("faults", ["write */current_compute_partition * fail-after EIO"])
        check.refused(w.ask("compute", BDF, "CPX"), "EIO")
        w.double.put("faults", [])
        check.equal(w.device()["xcp"]["compute"], "CPX", "it had happened")
        # Before the reload nothing shows that a request for memory was ignored.
        w.double.put("faults", ["write */current_memory_partition * ignore"])
        check.equal(w.ask("memory", BDF, "NPS4"), {"ok": True}, "not heard")
        check.equal(w.device()["xcp"]["requested_memory"], ["NPS4"], "as was asked")
        check.equal(w.ask("reload", BDF), {"ok": True}, "reload")
        xcp = w.device()["xcp"]
        check.equal([xcp["memory"], xcp["requested_memory"]], [["NPS1"], []], "not come true")


def unreadable():
    """No unreadable file hides a device."""
    files = ("unique_id", "product_name", "mem_info_vram_total", "current_compute_partition",
             "available_compute_partition", "current_memory_partition",
             "available_memory_partition", "numa_node", "xgmi_hive_id", "gpu_id", "properties",
             "vram_*")
    with world({"bdf": BDF, "model": "MI300X", "hive": 3}) as w:
        w.device()
        w.hold("kfd", BDF)
        for file in files:
            for error in ("EIO", "EPERM", "ENODEV"):
                w.double.put("faults", [f"read */{file} * fail {error}"])
                device = w.device()
                check.equal(device["pci_address"], BDF, file, error)
                check.equal(device["xcp"]["is_capable"], file not in (
                    "current_compute_partition", "available_compute_partition") and
                    (file, error) != ("current_memory_partition", "EPERM"), file, error)


def old_drivers():
    absent = {
        "current_compute_partition available_compute_partition current_memory_partition "
        "available_memory_partition": False,
        "available_memory_partition current_memory_partition": True,
        "available_memory_partition": True,
        "unique_id": True,
        "product_name": True,
        "compute_partition_config": True,
    }
    for names, is_capable in absent.items():
        with world({"bdf": BDF, "model": "MI300X", "absent": names.split()}) as w:
            device = w.device()
            check.equal(device["xcp"]["is_capable"], is_capable, names)
            check.equal(device["xcp"]["model"], "MI300X", names)
            answer = w.ask("compute", BDF, "CPX")
            check.equal(answer == {"ok": True}, is_capable, names, answer)
    with world({"bdf": BDF, "model": "MI300X", "old": "yes"}) as w:
        device = w.device()
        check.equal(device["xcp"]["memory_available"], ["NPS1"], "no choice of memory")
        answer = w.ask("memory", BDF, "NPS4")
        check.refused(answer, "ENOTSUP", "one memory mode")
        check.equal(w.ask("compute", BDF, "CPX"), {"ok": True}, "old CPX")


main((every_mode, not_divisible, illegal, memory, busy, held_partition, module_in_use, broken,
      every_error, unreadable, old_drivers), check)
