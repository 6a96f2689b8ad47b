# SPDX-License-Identifier: Apache-2.0
"""Tests the NVIDIA backend on a double of libnvidia-ml.

usage: nvidia.py BACKEND_DRIVE FOLDER_OF_DOUBLES CONTROL_OF_DOUBLE MIG_SOLVE [CASE...]
"""
import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from nvidia_node import DOUBLES, Node, brief, expect, names, node, other_process, run

MIB = 1 << 20
DRIVERS = ("r450", "r470", "r580")
MIG_TYPES = ("A30-24GB", "A100-40GB", "A100-80GB", "H100-80GB", "H200-141GB",
             "RTX-PRO-6000-Blackwell-96GB")
# Of the driver, and of the GPU: NVIDIA's release notes of CUDA, and its list of CUDA's GPUs.
CUDA = {"r450": "11.0", "r470": "11.4", "r580": "13.0"}
GENERATIONS = {"A30-24GB": ("ampere", "8.0"), "A100-40GB": ("ampere", "8.0"),
               "A100-80GB": ("ampere", "8.0"), "H100-80GB": ("hopper", "9.0"),
               "H200-141GB": ("hopper", "9.0"),
               "RTX-PRO-6000-Blackwell-96GB": ("blackwell", "12.0")}
AMPERE = ("A30-24GB", "A100-40GB", "A100-80GB")
MIG_SOLVE = sys.argv[4]


def tables():
    done = subprocess.run([MIG_SOLVE, "tables"], capture_output=True, text=True, check=True)
    return {t["name"]: t for t in json.loads(done.stdout)}


# --- Survey ---

def survey_types():
    """Every type with every driver: identity, MIG state, model."""
    known = tables()
    for driver in DRIVERS:
        for kind in MIG_TYPES:
            for mig in (False, True):
                with node(f"gpu {kind}{' mig=on' if mig else ''} pci=0000:3b:00.0",
                          driver=driver) as it:
                    check_type(it.survey(), kind, mig, driver, known[kind])


def check_type(devices, kind, mig, driver, table):
    expect(len(devices) == 1, devices)
    device = devices[0]
    info, state = device["info"], device["mig"]
    expect(info["vendor"] == "nvidia" and info["backend"] == "nvidia" and
           info["type"] == "gpu" and info["executor"] == "gate", info)
    expect(info["uuid"].startswith("GPU-") and info["driver"].startswith(driver[1:]), info)
    architecture, capability = GENERATIONS[kind]
    if driver == "r450" and kind not in AMPERE:
        architecture = ""  # nvmlDeviceGetArchitecture is newer, and the name is not enough
    expect((info["cuda"], info["architecture"], info["capability"]) ==
           (CUDA[driver], architecture, capability), info)
    expect(info["compute_units"] > 0 and info["memory_bytes"] > 0, info)
    expect(device["pci_address"] == "0000:3b:00.0", device["pci_address"])
    expect(state["is_on"] == mig and not state["is_pending"], state)
    expect(state["needs_reset"] == (kind in AMPERE), kind, state["needs_reset"])
    expect(state["is_lost_at_reboot"] == (kind not in AMPERE), kind, state)
    expect(device["scheme"] == ("mig" if mig else "none"), device["scheme"])
    expect(device["partitions"] == [] and device["holders"] == [], device)
    expect(("R460" in device["cannot_divide"]) == (driver == "r450") !=
           state["is_capable"], device["cannot_divide"], state)
    check_model(state["model"], table, driver)


def check_model(model, table, driver):
    """The driver's own facts, which may lack newer ones, and include more numbers."""
    expect((model["name"], model["grid"], model["slices"]) ==
           (table["name"], table["grid"], table["slices"]), model)
    wanted = {p["name"]: p for p in table["profiles"]}
    have = {p["name"]: p for p in model["profiles"]}
    expect(set(have) <= set(wanted), set(have) - set(wanted))
    expect(driver != "r580" or set(have) == set(wanted), set(wanted) - set(have))
    for name, profile in have.items():
        for key, value in wanted[name].items():
            unknown = key in ("memory_mib", "multiprocessors") and value == 0
            if key == "engines":
                value = [seen if n == 255 else n for seen, n in zip(profile[key], value)]
            expect(unknown or profile[key] == value, name, key, profile[key], value)


def silent_while_off():
    """A driver that lists no profile while MIG is off: the tables do, and the driver does later."""
    with node("gpu RTX-PRO-6000-Blackwell-96GB profiles=in-mig") as it:
        before = it.survey()[0]["mig"]["model"]
        check_model(before, tables()["RTX-PRO-6000-Blackwell-96GB"], "r580")
        it.do("mig", "gpu0", 1)
        check_model(it.read()["mig"]["model"], before, "r580")


def survey_without_mig():
    with node("gpu T4\ngpu V100") as it:
        for device in it.survey():
            expect(not device["mig"]["is_capable"] and device["scheme"] == "none", device)
            expect("has no MIG" in device["cannot_divide"], device["cannot_divide"])


def pcie_root():
    """By the place of the function's folder, as Kubernetes' deviceattribute finds it."""
    with tempfile.TemporaryDirectory() as sysfs:
        bus = Path(sysfs, "bus/pci/devices")
        bus.mkdir(parents=True)
        for address, place in (("0000:3b:00.0", "pci0000:3a/0000:3a:01.0/0000:3b:00.0"),
                               ("0001:3c:00.0", "LNXSYSTM:00/pci0001:00/0001:3c:00.0")):
            Path(sysfs, "devices", place).mkdir(parents=True)
            (bus / address).symlink_to(f"../../../devices/{place}")
        with node("gpu A30-24GB pci=0000:3b:00.0\ngpu A30-24GB pci=0001:3c:00.0\n"
                  "gpu A30-24GB pci=0002:3c:00.0", CLEAVE_SYSFS=sysfs) as it:
            expect([d["pcie_root"] for d in it.survey()] == ["pci0000:3a", "", ""],
                   it.survey())


def numa_node():
    with tempfile.TemporaryDirectory() as sysfs:
        folder = Path(sysfs, "bus/pci/devices/0000:3b:00.0")
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text("1\n")
        with node("gpu A30-24GB pci=0000:3b:00.0\ngpu A30-24GB pci=0001:3c:00.0",
                  CLEAVE_SYSFS=sysfs) as it:
            first, second = it.survey()
            expect(first["numa_node"] == 1 and second["numa_node"] == -1, first, second)
            expect(second["pci_address"] == "0001:3c:00.0", second)


def vgpu_host():
    with node("gpu H100-80GB vgpu=host sriov\ngpu T4\n"
              "vgpu-type 0 1132 10240 8 NVIDIA H100-10C\n"
              "vgpu-type 0 1133 20480 4 NVIDIA H100-20C") as it:
        first, second = it.survey()
        expect(first["vgpu_types"] == [
            {"id": "1132", "name": "NVIDIA H100-10C", "memory_bytes": 10240 * MIB,
             "max_instances": 8},
            {"id": "1133", "name": "NVIDIA H100-20C", "memory_bytes": 20480 * MIB,
             "max_instances": 4}], first["vgpu_types"])
        expect(second["vgpu_types"] == [], second["vgpu_types"])


# --- Instances ---

def every_place():
    """Each profile at each of its starts: created, read back exactly, destroyed."""
    for kind in MIG_TYPES:
        with node(f"gpu {kind} mig=on") as it:
            device = it.survey()[0]
            for profile in device["mig"]["model"]["profiles"]:
                for start in profile["starts"]:
                    make_and_destroy(it, profile, start)


def make_and_destroy(it, profile, start):
    name = f"gpu0/{profile['name']}@{start}"
    it.do("create", "gpu0", profile["name"], start, 0)
    partitions = it.read()["partitions"]
    expect(len(partitions) == 1, name, partitions)
    made = partitions[0]
    expect(brief(made) == (name, start, profile["size"]), name, made)
    expect(made["profile"] == profile["name"] and made["parts"] == [] and
           not made["is_incomplete"], made)
    expect(made["uuid"].startswith("MIG-"), made["uuid"])
    expect(made["compute_units"] == profile["multiprocessors"], made)
    expect(made["memory_bytes"] == profile["memory_mib"] * MIB, made)
    it.do("destroy", "gpu0", name)
    expect(it.read()["partitions"] == [], name, "stays")


def full_layouts():
    """In an order in which a driver that chooses by itself has no place left."""
    layouts = {
        "A100-40GB": [("1g.5gb", 3), ("3g.20gb", 4), ("2g.10gb", 0), ("1g.5gb", 2)],
        "H100-80GB": [("1g.10gb", s) for s in (6, 0, 5, 1, 4, 2, 3)],
        "RTX-PRO-6000-Blackwell-96GB": [("1g.24gb+me", 9), ("2g.48gb", 0), ("1g.24gb-me", 6)],
    }
    for kind, layout in layouts.items():
        with node(f"gpu {kind} mig=on") as it:
            it.survey()
            for profile, start in layout:
                it.do("create", "gpu0", profile, start, 0)
            device = it.read()
            wanted = sorted(layout, key=lambda p: p[1])
            expect(names(device) == [f"gpu0/{p}@{s}" for p, s in wanted], names(device))
            expect(len({p["uuid"] for p in device["partitions"]}) == len(layout), device)
            expect(len({p["driver_id"] for p in device["partitions"]}) == len(layout), device)


def refused_places():
    with node("gpu A100-40GB mig=on\ngpu A100-40GB") as it:
        it.survey()
        it.do("create", "gpu0", "4g.20gb", 0, 0)
        it.do("read", "gpu0")
        it.refuse(errno.ENOSPC, "no room", "create", "gpu0", "2g.10gb", 2, 0)
        it.refuse(errno.ENOSPC, "no placement at 6", "create", "gpu0", "2g.10gb", 6, 0)
        it.refuse(errno.EINVAL, "no profile '5g.25gb'", "create", "gpu0", "5g.25gb", 0, 0)
        it.refuse(errno.ENOTSUP, "MIG is off", "create", "gpu1", "2g.10gb", 0, 0)
        expect(names(it.read()) == ["gpu0/4g.20gb@0"], "refused, and yet made")


def parts():
    """A GPU instance with several compute instances, created and destroyed."""
    with node("gpu A100-40GB mig=on") as it:
        it.survey()
        it.do("create", "gpu0", "4g.20gb", 0, 1)
        owner = it.read()["partitions"][0]
        expect(owner["is_incomplete"] and owner["uuid"] == "" and owner["parts"] == [], owner)
        it.do("create-part", "gpu0", "gpu0/4g.20gb@0", 2, 2)
        it.do("create-part", "gpu0", "gpu0/4g.20gb@0", 1, 0)
        owner = it.read()["partitions"][0]
        expect(not owner["is_incomplete"] and owner["uuid"] == "", owner)
        expect([brief(p) + (p["profile"],) for p in owner["parts"]] == [
            ("gpu0/4g.20gb@0/1c@0", 0, 1, "1c.4g.20gb"),
            ("gpu0/4g.20gb@0/2c@2", 2, 2, "2c.4g.20gb")], owner["parts"])
        for part in owner["parts"]:
            expect(part["uuid"].startswith("MIG-") and part["compute_units"] == 14 * part["size"]
                   and part["memory_bytes"] == owner["memory_bytes"], part)
        it.refuse(errno.ENOSPC, "no room", "create-part", "gpu0", "gpu0/4g.20gb@0", 1, 3)
        it.do("destroy-part", "gpu0", "gpu0/4g.20gb@0", "gpu0/4g.20gb@0/2c@2")
        owner = it.read()["partitions"][0]
        expect(names({"partitions": owner["parts"]}) == ["gpu0/4g.20gb@0/1c@0"], owner)
        it.do("destroy", "gpu0", "gpu0/4g.20gb@0")
        expect(it.read()["partitions"] == [], "parts and owner stay")


def parts_that_fill():
    """One compute instance that fills its GPU instance is not a part, a smaller one is."""
    with node("gpu A100-40GB mig=on") as it:
        it.survey()
        it.do("create", "gpu0", "3g.20gb", 4, 1)
        it.read()
        it.do("create-part", "gpu0", "gpu0/3g.20gb@4", 3, 0)
        owner = it.read()["partitions"][0]
        expect(owner["parts"] == [] and owner["uuid"].startswith("MIG-"), owner)


def parts_that_fill_are_destroyed():
    """One has the name and the place of its GPU instance, and neither its id nor its start."""
    with node("gpu A100-40GB mig=on") as it:
        it.survey()
        for profile, start in (("1g.5gb", 5), ("3g.20gb", 4), ("4g.20gb", 0), ("7g.40gb", 0)):
            name = f"gpu0/{profile}@{start}"
            it.do("create", "gpu0", profile, start, 0)
            owner = it.read()["partitions"][0]
            expect(owner["uuid"] != "", owner)
            it.do("destroy-part", "gpu0", name, name)
            owner = it.read()["partitions"][0]
            expect(owner["is_incomplete"] and owner["name"] == name, owner)
            it.refuse(errno.ENODEV, "no compute instance", "destroy-part", "gpu0", name, name)
            it.do("destroy", "gpu0", name)
            it.read()


def holes_and_others():
    """Instances created and destroyed without the backend, for lists with and without holes."""
    for options in ("", " list=packed", " ids=tree", " ids=swapped"):
        for more in ("", "\nstale", "\nlegacy-uuids"):
            with node(f"gpu A100-40GB mig=on{options}{more}") as it, \
                    other_process(it) as other:
                it.survey()
                for start in (0, 1, 2):
                    other.do("create", "gpu0", "1g.5gb", start, 0)
                check_all_identified(it.read(), 3)
                other.read()
                other.do("destroy", "gpu0", "gpu0/1g.5gb@1")
                check_all_identified(it.read(), 2)
                other.do("create", "gpu0", "3g.20gb", 4, 0)
                device = it.read()
                check_all_identified(device, 3)
                expect("legacy" not in more or device["partitions"][0]["uuid"].startswith(
                    f"MIG-{device['info']['uuid']}/"), device["partitions"])


def check_all_identified(device, n):
    uuids = {p["uuid"] for p in device["partitions"]}
    expect(len(device["partitions"]) == n == len(uuids) and "" not in uuids, device)


def another_has_its_number():
    """The node has changed since it was read: nothing is destroyed."""
    with node("gpu A100-40GB mig=on") as it, other_process(it) as other:
        it.survey()
        it.do("create", "gpu0", "1g.5gb", 0, 0)
        it.read()
        other.read()
        other.do("destroy", "gpu0", "gpu0/1g.5gb@0")
        it.refuse(errno.ENODEV, "does not exist any more", "destroy", "gpu0", "gpu0/1g.5gb@0")
        other.do("create", "gpu0", "1g.5gb", 5, 0)
        it.refuse(errno.ENODEV, "another instance", "destroy", "gpu0", "gpu0/1g.5gb@0")
        expect(names(it.read()) == ["gpu0/1g.5gb@5"], "destroyed another's")


# --- Users ---

def holders():
    with node("gpu A100-40GB mig=on\ngpu T4") as it:
        it.survey()
        for start in (0, 1):
            it.do("create", "gpu0", "1g.5gb", start, 0)
        it.do("create", "gpu0", "3g.20gb", 4, 1)
        it.read()
        for start in (0, 2):
            it.do("create-part", "gpu0", "gpu0/3g.20gb@4", 1, start)
        first, second, third = it.read()["partitions"]
        me, gi = os.getpid(), third["driver_id"]
        it.write("processes", "\n".join((
            f"{me} 0 {first['driver_id']} 0 {5 * MIB}",
            f"4000001 0 {first['driver_id']} 0 - G",
            f"4000002 0 {gi} {third['parts'][1]['driver_id']} 0",
            f"4000003 1 - - 0", f"4000003 1 - - 0 G")))
        first, second, third = it.read()["partitions"]
        comm = Path("/proc/self/comm").read_text().strip()
        expect(first["holders"] == [{"text": f"process {me} ({comm})", "pid": me},
                                    {"text": "process 4000001", "pid": 4000001}],
               first["holders"])
        expect(second["holders"] == [] and third["holders"] == [], second, third)
        expect([len(p["holders"]) for p in third["parts"]] == [0, 1], third)
        other = it.read("gpu1")
        expect([h["pid"] for h in other["holders"]] == [4000003], other["holders"])
        error = it.refuse(errno.EBUSY, f"process {me} ({comm})", "destroy", "gpu0",
                          first["name"])
        expect("4000002" not in error, error)
        it.refuse(errno.EBUSY, "process 4000002", "destroy-part", "gpu0", third["name"],
                  third["parts"][1]["name"])
        it.refuse(errno.EBUSY, "1 of its compute instances", "destroy", "gpu0",
                  third["name"])
        third = it.read()["partitions"][2]
        expect(len(third["parts"]) == 1, "what has gone, and what was said:", third)
        it.write("processes", f"4000004 0 {gi} {third['parts'][0]['driver_id']} 0 X")
        it.refuse(errno.EBUSY, "names no process", "destroy", "gpu0", third["name"])


def names_of_processes():
    """They are of the folder that stands in for /proc, as with the other backends."""
    with tempfile.TemporaryDirectory() as folder, \
            node("gpu A100-40GB mig=on", CLEAVE_PROCFS=folder) as it:
        for pid, text in ((4000001, "trainer\n"), (4000002, "")):
            (Path(folder) / str(pid)).mkdir()
            (Path(folder) / str(pid) / "comm").write_text(text)
        it.write("processes", "".join(f"{pid} 0 - - 0\n" for pid in range(4000001, 4000004)))
        it.survey()
        expect([h["text"] for h in it.read()["holders"]] == [
            "process 4000001 (trainer)", "process 4000002", "process 4000003"], it.read())


def unprivileged():
    with node("gpu A100-40GB mig=on\ngpu A100-40GB\nunprivileged") as it:
        first, second = it.survey()
        expect("as root" in first["cannot_divide"] and not first["mig"]["is_capable"] and
               first["partitions"] == [], first)
        state = second["mig"]
        expect(state["is_capable"] and len(state["model"]["profiles"]) == 7, state)
        it.refuse(errno.ENOTSUP, "as root", "create", "gpu0", "1g.5gb", 0, 0)
        it.refuse(errno.EPERM, "as root", "mig", "gpu1", 1)


# --- The mode ---

def modes():
    for kind in MIG_TYPES:
        with node(f"gpu {kind} minor=moves\ngpu {kind}") as it:
            it.survey()
            it.do("mig", "gpu0", 1)
            device = it.read()
            expect(device["mig"]["is_on"] and device["scheme"] == "mig", device)
            largest = device["mig"]["model"]["profiles"][-1]["name"]
            it.do("create", "gpu0", largest, 0, 0)
            it.read()
            it.refuse(errno.EBUSY, "in use", "mig", "gpu0", 0)
            expect(not it.read()["mig"]["is_pending"], "a wish that failed is still there")
            it.do("destroy", "gpu0", f"gpu0/{largest}@0")
            it.do("mig", "gpu0", 0)
            expect(it.read()["scheme"] == "none", "MIG stays on")
            expect(not it.survey()[1]["mig"]["is_on"], "another's mode changed")


def mode_needs_reset():
    for reset, can in (("required", True), ("impossible", False)):
        with node(f"gpu A100-40GB reset={reset}") as it:
            it.survey()
            it.refuse(errno.ENOTSUP, "after a reset", "mig", "gpu0", 1)
            state = it.read()["mig"]
            expect(state["is_pending"] and not state["is_on"], state)
            it.control(*(("reset", "0") if can else ("reboot",)))
            state = it.read()["mig"]
            expect(state["is_on"] and not state["is_pending"], state)


def mode_in_use():
    with node("gpu H100-80GB\ngpu T4") as it:
        it.survey()
        it.write("processes", "4000005 0 - - 0")
        it.refuse(errno.EBUSY, "process 4000005", "mig", "gpu0", 1)
        it.write("processes", "4000006 0 - - 0 X")
        it.refuse(errno.EBUSY, "nvidia-persistenced", "mig", "gpu0", 1)
        expect(not it.read()["mig"]["is_pending"], "a wish that failed is still there")
        it.refuse(errno.ENOTSUP, "cannot turn MIG on on gpu1", "mig", "gpu1", 1)


def modes_over_reboot():
    with node("gpu A100-40GB\ngpu H100-80GB") as it:
        it.survey()
        for name in ("gpu0", "gpu1"):
            it.do("mig", name, 1)
        it.stop()
        it.control("reboot")
        it.start()
        for device in it.survey():
            expect(device["mig"]["is_on"] != device["mig"]["is_lost_at_reboot"], device)


# --- Faults ---

def no_driver():
    with tempfile.TemporaryDirectory() as folder:
        it = Node(folder, "gpu T4", driver="none")
        expect(it.probe["result"] == -errno.ENODEV and "no NVIDIA driver" in
               it.probe["error"], it.probe)
        it.stop()
        (it.folder / "node").unlink()
        it.driver = "r580"
        probe = it.start()
        expect(probe["result"] == -errno.ENODEV and "not loaded" in probe["error"], probe)
        it.stop()
        it.write("node", "gpu T4")
        it.write("faults", "nvmlInit_v2 * 18")
        probe = it.start()
        expect(probe["result"] == -errno.ENODEV and "different versions" in probe["error"],
               probe)
        it.stop()


def driver_root():
    """The library is in one of the usual folders below another root than the agent's."""
    for folder in ("usr/lib/x86_64-linux-gnu", "usr/lib64", "lib64"):
        with tempfile.TemporaryDirectory(prefix="cleave-root-") as root:
            (Path(root) / folder).mkdir(parents=True)
            name = "libnvidia-ml.so.1"
            (Path(root) / folder / name).symlink_to((DOUBLES / "r580" / name).resolve())
            with node("gpu H100-80GB", driver="none", CLEAVE_DRIVER_ROOT=root) as it:
                expect(len(it.survey()) == 1, folder)


def lost_gpu():
    """A lost GPU hides no other, and its error names a remedy."""
    with node("gpu A100-40GB mig=on\ngpu H100-80GB mig=on") as it:
        it.survey()
        it.control("lose", "0")
        for words in (("read", "gpu0"), ("create", "gpu0", "1g.5gb", 0, 0),
                      ("mig", "gpu0", 0)):
            it.refuse(errno.ENODEV, "fell off the bus: reboot", *words)
        it.read("gpu1")
        answer = it.do("survey")
        expect(len(answer["devices"]) == 1 and "GPU 0" in answer["problems"][0], answer)
        it.control("find", "0")
        expect(len(it.survey()) == 2, "it is back and not shown")


def missing_symbols():
    """Symbols missing in an old driver remove only their features."""
    with node("gpu A100-40GB", driver="r450") as it:
        it.survey()
        it.do("mig", "gpu0", 1)
        device = it.read()
        expect(device["mig"]["is_on"] and "WithPlacement" in device["cannot_divide"], device)
        it.refuse(errno.ENOTSUP, "R460", "create", "gpu0", "1g.5gb", 0, 0)
        expect(it.read()["partitions"] == [], "made where the driver put it")
    with node("gpu A100-40GB mig=on", driver="r470") as it:
        it.survey()
        it.do("create", "gpu0", "3g.20gb", 4, 0)
        it.do("create", "gpu0", "2g.10gb", 0, 1)
        device = it.read()
        expect(names(device) == ["gpu0/2g.10gb@0", "gpu0/3g.20gb@4"], device)
        it.refuse(errno.ENOTSUP, "R525", "create-part", "gpu0", "gpu0/2g.10gb@0", 1, 0)
        it.do("destroy", "gpu0", "gpu0/2g.10gb@0")


def old_driver_sees_what_is_there():
    """R450 shows instances created by a newer driver, and reports that it cannot place parts."""
    with node("gpu A100-40GB mig=on") as it:
        it.survey()
        it.do("create", "gpu0", "3g.20gb", 4, 0)
        it.stop()
        it.driver = "r450"
        it.start()
        device = it.survey()[0]
        expect(names(device) == ["gpu0/3g.20gb@4"], device)
        it.stop()
        it.driver = "r580"
        it.start()
        it.survey()
        it.do("create", "gpu0", "2g.10gb", 0, 1)
        it.read()
        it.do("create-part", "gpu0", "gpu0/2g.10gb@0", 1, 1)
        it.stop()
        it.driver = "r450"
        it.start()
        device = it.survey()[0]
        expect("compute instances are: install R460" in device["cannot_divide"], device)


CASES = (survey_types, silent_while_off, survey_without_mig, numa_node, pcie_root, vgpu_host, every_place,
         full_layouts, refused_places, parts, parts_that_fill, parts_that_fill_are_destroyed,
         holes_and_others, another_has_its_number, holders, names_of_processes, unprivileged,
         modes, mode_needs_reset, mode_in_use, modes_over_reboot, no_driver,
         driver_root, lost_gpu,
         missing_symbols, old_driver_sees_what_is_there)

if __name__ == "__main__":
    run(CASES, sys.argv[5:])
