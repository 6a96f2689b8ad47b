# SPDX-License-Identifier: Apache-2.0
"""The sriov backend on a real kernel with real virtual functions, an IOMMU and VFIO, in a
virtual machine.

usage: sriov.py INIT BACKEND_TOOL FOLDER"""
import sys
import time
from pathlib import Path

import machine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "sysfs"))
from trees import Checks, Session  # noqa: E402

SKIP = 77
check = Checks()


def wait_for_driver(guest):
    """The kernel probes disks in the background."""
    for _ in range(100):
        device = guest.devices()[0]
        if device["vf"]["is_capable"]:
            break
        time.sleep(0.05)
    return device


def items(device):
    return [(i["number"], i["driver"], i["iommu_group"] >= 0, [h["text"] for h in i["holders"]])
            for i in device["vf"]["items"]]


def unmade(guest):
    device = wait_for_driver(guest)
    check.equal([device[k] for k in ("vendor", "backend", "scheme", "cannot_divide")],
                ["1b36", "sriov", "none", ""], "device")
    check.equal([device["vf"][k] for k in ("is_capable", "total", "counts", "framework",
                                           "items")], [True, 4, 0, "pci", []], "abilities")
    return device["pci_address"]


def make(guest, pf):
    check.refused(guest.ask("count", pf, 5), "ENOSPC", "at most 4")
    # Wished for before the functions exist: none of them meets the host's driver first.
    check.equal(guest.ask("quota", pf, 1, "driver=vfio-pci"), {"ok": True}, "wish")
    check.equal(guest.ask("count", pf, 2), {"ok": True}, "0 to 2")
    device = guest.devices()[0]
    check.equal(items(device), [(1, "vfio-pci", True, []), (2, "", True, [])], "functions")
    check.equal(device["scheme"], "vf", "scheme")
    check.equal([(p["profile"], p["start"], p["address"] == i["address"]) for p, i in
                 zip(device["partitions"], device["vf"]["items"])],
                [("vf:2", 1, True), ("vf:2", 2, True)], "partitions")
    check.equal(guest.ask("file", f"bus/pci/devices/{pf}/sriov_drivers_autoprobe"),
                {"text": "1"}, "autoprobe was put back")
    check.refused(guest.ask("count", pf, 3), "EBUSY", "has 2", "by setting 0")
    return device


def bind(guest, pf):
    check.equal(guest.ask("quota", pf, 2, "driver=vfio-pci"), {"ok": True}, "bind")
    check.equal(guest.ask("quota", pf, 2, "driver=vfio-pci"), {"ok": True}, "again")
    check.equal(items(guest.devices()[0])[1], (2, "vfio-pci", True, []), "bound")
    check.refused(guest.ask("quota", pf, 3, "driver=vfio-pci"), "ENODEV", "2 of 4")
    check.refused(guest.ask("quota", pf, 2, "memory=4096"), "ENOTSUP", "memory")
    check.refused(guest.ask("quota", pf, 2, "driver=vfio-nothing"), "ENODEV", "vfio-nothing")


def hold(guest, pf, device):
    group = device["vf"]["items"][0]["iommu_group"]
    holder = guest.ask("hold", f"/dev/vfio/{group}")
    check.holds(holder.get("pid", 0) > 0, "the group can be opened", holder)
    who = f"process {holder.get('pid')} (program)"
    device = guest.devices()[0]
    check.equal(items(device)[0], (1, "vfio-pci", True, [who]), "held")
    check.equal([len(p["holders"]) for p in device["partitions"]], [1, 0], "of partitions")
    check.refused(guest.ask("count", pf, 0), "EBUSY", device["vf"]["items"][0]["address"], who)
    check.refused(guest.ask("quota", pf, 1, "driver=nvme"), "EBUSY", who)
    check.equal(len(guest.devices()[0]["vf"]["items"]), 2, "nothing was undone")
    check.equal(guest.ask("release"), {"ok": True}, "release")


def unmake(guest, pf):
    # A driver that does not take the function leaves it as it was.
    check.equal(guest.ask("quota", pf, 2, "driver=pcieport").get("error"), "EIO", "refused")
    check.equal(items(guest.devices()[0])[0][1], "vfio-pci", "the other one")
    check.equal(guest.ask("count", pf, 0), {"ok": True}, "2 to 0")
    device = guest.devices()[0]
    check.equal([device["vf"]["items"], device["partitions"], device["scheme"]],
                [[], [], "none"], "unmade")
    check.equal(guest.ask("count", pf, 4), {"ok": True}, "0 to 4")
    check.equal(len(guest.devices()[0]["vf"]["items"]), 4, "four")
    check.equal(guest.ask("count", pf, 0), {"ok": True}, "4 to 0")


def main():
    init, tool, folder = sys.argv[1:]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        argv = machine.command(init, tool, "sriov", folder)
    except machine.Missing as missing:
        print(missing)
        raise SystemExit(SKIP)
    began = time.monotonic()
    with Session(argv) as guest:
        try:
            guest.hear()
        except ValueError:
            raise SystemExit("the guest ended before its program started:\n"
                             + (folder / "console").read_text(errors="replace")[-4000:])
        print(f"up after {time.monotonic() - began:.1f} s")
        pf = unmade(guest)
        device = make(guest, pf)
        bind(guest, pf)
        hold(guest, pf, device)
        unmake(guest, pf)
        guest.tell("quit")
    print(f"{time.monotonic() - began:.1f} s")
    check.finish()


main()
