#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the state of this machine's GPUs, never changes them, and compares the drivers' facts with
cleave's: a line for each, "same", "differs" or "cannot be read".

Ends with 1 if anything differs, with 0 if not.  What cannot be read is no difference.
CLEAVE_GPU_NVML is the path of another libnvidia-ml.so.1, CLEAVE_SYSFS of another /sys: then
nothing is written into the documents, which are of real GPUs alone.
"""
import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

import compare_amd
import compare_nvidia
import document
import exports
import nvml_read
from agent import Cleave
from findings import DIFFERS, Findings
from nvml_read import Unread

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARY = "libnvidia-ml.so.1"
LIMIT_S = 600  # for everything: a driver may hang, and then Python does too
# With any of these set, the device may not be a GPU.
DOUBLES = ("CLEAVE_GPU_NVML", "CLEAVE_SYSFS", "CLEAVE_SIM", "CLV_NVML_DOUBLE", "LD_PRELOAD")


def why_not_real():
    """The reason why these results must not be written to the documents; None if they may."""
    for name in DOUBLES:
        if os.environ.get(name):
            return f"{name} is set"
    if not any(os.path.exists(f"/dev/{name}") for name in ("nvidiactl", "kfd")):
        return "there is no /dev/nvidiactl and no /dev/kfd"
    return None


def is_looked_for(device_file, variable):
    return bool(os.environ.get(variable)) or os.path.exists(device_file)


def ask_agent(findings, cleave):
    try:
        return cleave.ask_agent()
    except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as error:
        findings.unread("cleave", f"the agent: {error}")
        return None, None


def compare_types(findings, devices, cleave):
    """Cleave's facts without the driver."""
    seen = []
    for device in devices:
        unread = next((device[k] for k in ("name", "memory") if isinstance(device[k], Unread)),
                      None)
        if unread:
            findings.unread(compare_nvidia.label(device), f"its type: {unread}")
        else:
            seen.append(device)
    kinds = cleave.kinds([(0 if isinstance(d["architecture"], Unread) else d["architecture"],
                           d["memory"], d["name"]) for d in seen])
    tables = cleave.tables()
    for device, kind in zip(seen, kinds):
        compare_nvidia.compare_type(findings, device, kind, tables)


def read_nvml(findings, path):
    """NVML's facts, or None."""
    machine = nvml_read.attempt(nvml_read.read, path)
    why = machine if isinstance(machine, Unread) else machine["devices"]
    if not isinstance(why, Unread):
        return machine
    findings.unread("devices", f"of the driver: {why}")
    return None


def verify_nvidia(findings, cleave):
    """NVML's facts, or None."""
    path = os.environ.get("CLEAVE_GPU_NVML") or LIBRARY
    source = (ROOT / "src/backend/nvidia/library.c").read_text()
    exports.compare(findings, path, source)
    before = read_nvml(findings, path)
    if not before:
        return None
    for index, device in enumerate(before["devices"]):
        if isinstance(device, Unread):
            findings.unread(f"GPU {index}", str(device))
    compare_types(findings, [d for d in before["devices"] if not isinstance(d, Unread)], cleave)
    node, rows = ask_agent(findings, cleave)
    after = read_nvml(findings, path) if node else None
    if after:
        compare_nvidia.compare_devices(findings, (before, after), node, rows)
    return before


def verify_amd(findings, cleave):
    machine = compare_amd.read(os.environ.get("CLEAVE_SYSFS") or "/sys")
    node, _ = ask_agent(findings, cleave)
    if node:
        compare_amd.compare(findings, machine, node)
    return machine


def amd_driver():
    version = compare_amd.read_file(Path("/sys/module/amdgpu/version"))
    return "of the kernel" if isinstance(version, Unread) else version


def write_docs(path, nvidia, amd, findings):
    """False, with a line, if the device may not be a GPU."""
    why = why_not_real()
    if why:
        print(f"{path} is not written: {why}", file=sys.stderr)
        return False
    sections = list(document.nvidia_sections(nvidia, findings) if nvidia else ())
    sections += document.amd_sections(amd or {}, findings, amd_driver())
    if sections:
        document.write(path, sections)
    return True


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=ROOT / "build", metavar="DIR")
    parser.add_argument("--write-docs", metavar="FILE",
                        help="replace the section of this machine's GPUs in FILE")
    parser.add_argument("--limit", type=int, default=LIMIT_S, metavar="SECONDS",
                        help="as long as all of it may take")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    signal.alarm(arguments.limit)
    findings, nvidia, amd = Findings(), None, None
    library = os.environ.get("CLEAVE_GPU_NVML")
    if is_looked_for("/dev/nvidiactl", "CLEAVE_GPU_NVML"):
        nvidia = verify_nvidia(findings, Cleave(arguments.build, library))
        for title, text in document.nvidia_sections(nvidia, Findings()) if nvidia else ():
            print("\n".join(line for line in text.splitlines()[1:-1]
                            if not line.startswith("Compared")))
    if is_looked_for("/dev/kfd", "CLEAVE_SYSFS"):
        amd = verify_amd(findings, Cleave(arguments.build, library))
    print("\n".join(findings.text()))
    print(findings.summary())
    written = True
    if arguments.write_docs:
        written = write_docs(arguments.write_docs, nvidia, amd, findings)
    if findings.count(DIFFERS):
        return 1
    return 0 if written else 2


if __name__ == "__main__":
    sys.exit(main())
