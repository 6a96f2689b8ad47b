# SPDX-License-Identifier: Apache-2.0
"""Compares the division of GPUs in amdgpu's files in sysfs with cleave's. Files are read and never
opened for writing."""
from pathlib import Path

from nvml_read import Unread

COMPUTE = ("SPX", "DPX", "TPX", "QPX", "CPX")
MEMORY = ("NPS1", "NPS2", "NPS4", "NPS8")
FILES = ("current_compute_partition", "available_compute_partition",
         "current_memory_partition", "available_memory_partition", "product_name")


def read_file(path):
    try:
        return path.read_text().strip()
    except OSError as error:
        return Unread(f"{path.name}: {error.strerror}")


def read(sysfs):
    """{PCI address: {file: text or Unread}}"""
    driver = Path(sysfs) / "bus/pci/drivers/amdgpu"
    return {folder.name: {name: read_file(folder / name) for name in FILES}
            for folder in sorted(driver.glob("*:*:*.*"))}


def listed(text):
    return text if isinstance(text, Unread) else sorted(text.replace(",", " ").split())


def of_bits(bits, names):
    return sorted(name for i, name in enumerate(names) if bits >> i & 1)


def compare_device(findings, address, files, ours):
    if not ours["xcp"]:
        why = [files[name] for name in FILES[:4] if isinstance(files[name], Unread)]
        say = findings.same if why else findings.differs
        say(address, f"partitions: the driver says {why[0] if why else files}, cleave "
            f"{ours['cannot_divide']}")
        return
    xcp = ours["xcp"]
    findings.compare_all(address, [
        ("compute mode", files["current_compute_partition"], xcp["compute"]),
        ("compute modes", listed(files["available_compute_partition"]),
         of_bits(xcp["compute_available"], COMPUTE)),
        ("memory mode", listed(files["current_memory_partition"]),
         of_bits(xcp["memory"], MEMORY)),
        ("memory modes", listed(files["available_memory_partition"]),
         of_bits(xcp["memory_available"], MEMORY)),
    ])


def compare(findings, machine, node):
    mine = {d["pci_address"]: d for d in node["devices"] if d["backend"] == "amd"}
    findings.compare_all("devices", [("AMD GPUs", sorted(machine), sorted(mine))])
    for address, files in machine.items():
        if address in mine:
            compare_device(findings, address, files, mine[address])
