# SPDX-License-Identifier: Apache-2.0
"""docs/gpu-verification.md: a section for each type of GPU and version of driver, which the
next run on such a machine replaces."""
import os
import re
import time
from pathlib import Path

from compare_nvidia import label
from findings import DIFFERS, SAME, UNREAD
from nvml_read import NOT_SUPPORTED, Unread

HEAD = """# Verified on GPUs

This page has the results of `./dev gpu` on real GPUs. The command writes a section for each type
of GPU and version of its driver, and replaces it when it runs on such a GPU again. It compares what
the driver reports with cleave's tables and with what cleave's agent reports of the same GPU, and
changes nothing on the machine.
"""
ARCHITECTURES = {5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada", 9: "Hopper", 10: "Blackwell"}
VIRTUALIZATION = {0: "none", 1: "passed through", 2: "vGPU guest", 3: "vGPU host",
                  4: "vSGA host"}
ON = {0: "off", 1: "on"}


def cell(value):
    return "not told" if isinstance(value, Unread) else str(value)


def named(value, names):
    return cell(value) if isinstance(value, Unread) else names.get(value, f"number {value}")


def short(uuid):
    """Long enough to tell the GPUs of one machine from each other, and too short to identify
    one."""
    return cell(uuid) if isinstance(uuid, Unread) else uuid[:8] + "..."


def mode(mig):
    if isinstance(mig, Unread):
        return "none" if mig.code == NOT_SUPPORTED else cell(mig)
    return ON[mig[0]] + ("" if mig[0] == mig[1] else f", {ON[mig[1]]} after a reset")


def facts(device):
    """(what, text) of one device."""
    pci, capability = device["pci"], device["capability"]
    known = not isinstance(pci, Unread)
    return [
        ("UUID", short(device["uuid"])),
        ("PCI", f"{pci['id']}, device {pci['device_id'] & 0xffff:04x}:"
         f"{pci['device_id'] >> 16:04x}" if known else cell(pci)),
        ("architecture", named(device["architecture"], ARCHITECTURES)
         + ("" if isinstance(capability, Unread) else f", {capability[0]}.{capability[1]}")),
        ("memory", cell(device["memory"]) + " bytes"),
        ("cores", cell(device["cores"])),
        ("MIG", mode(device["mig"])),
        ("virtualization", named(device["virtualization"], VIRTUALIZATION)),
        ("persistence mode", named(device["persistence"], ON)),
        ("processes", cell(device["processes"] if isinstance(device["processes"], Unread)
                           else len(device["processes"]))),
    ]


def places(profile):
    found = profile["places"]
    if isinstance(found, Unread) or not found:
        return cell(found if found else "none"), "-"
    return ",".join(str(start) for start, _ in found), found[0][1]


def can(profile):
    words = [word for word in ("p2p", "gfx") if profile[word] is True]
    return " ".join(words) or "-"


PROFILE_HEAD = ("profile", "id", "index", "slices", "size", "starts", "most", "MiB", "SM", "CE",
                "DEC", "ENC", "JPG", "OFA", "can")


def profile_row(profile):
    starts, size = places(profile)
    return (cell(profile["name"]), profile["id"], profile["index"], profile["slices"], size,
            starts, profile["instances"], profile["memory_mib"], profile["multiprocessors"],
            profile["copy"], profile["decoder"], profile["encoder"], profile["jpeg"],
            profile["optical_flow"], can(profile))


def table(head, rows):
    return ["| " + " | ".join(str(c) for c in row) + " |"
            for row in (head, ["---"] * len(head), *rows)]


def instance_lines(device):
    lines = []
    for instance in [] if isinstance(device["instances"], Unread) else device["instances"]:
        name = cell(instance["profile"]["name"])
        computes = ", ".join(f"{c.slices}c (id {c.id}, at most {c.instances}, "
                             f"{c.multiprocessors} SM)"
                             for c in instance["compute_profiles"].values())
        parts = ", ".join(f"{p['slices']}c at {p['start']}" for p in instance["parts"])
        lines.append(f"- instance {instance['id']}, {name} at {instance['start']}: {parts}; "
                     f"profiles of compute instances: {computes}")
    return lines


def vgpu_lines(device):
    types = device["vgpu_types"]
    if isinstance(types, Unread) or not types:
        return []
    return ["", *table(("vGPU type", "id", "bytes", "most"),
                       [(name, number, cell(memory), cell(most))
                        for number, (name, memory, most) in types.items()])]


def describe(device):
    lines = [f"- {what}: {text}" for what, text in facts(device)] + instance_lines(device)
    profiles = device["profiles"]
    if isinstance(profiles, Unread):
        lines.append(f"- profiles: {profiles}")
    elif profiles:
        lines += ["", *table(PROFILE_HEAD, [profile_row(p) for p in profiles])]
    return lines + vgpu_lines(device)


def concerns(line, own, others):
    """Whether a finding concerns these GPUs or the machine."""
    subject = line[1].split(", ")[0]
    return subject in own or subject not in others


def section(title, body, findings, own, others):
    """own, others: the subjects of findings about these GPUs, and about others."""
    lines = [line for line in findings.lines if concerns(line, own, others)]
    n = {verdict: sum(line[0] == verdict for line in lines)
         for verdict in (SAME, DIFFERS, UNREAD)}
    system = os.uname()
    who = "root" if os.geteuid() == 0 else "an ordinary user"
    return "\n".join([
        f"<!-- gpu {title} -->", f"## {title}", "",
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, as {who}, on {system.sysname} "
        f"{system.release} {system.version}", "", *body, "",
        f"Compared: {n[SAME]} lines the same, {n[DIFFERS]} differ, {n[UNREAD]} cannot be read.",
        "",
        *[f"- {verdict}: {subject}: {text}" for verdict, subject, text in lines
          if verdict != SAME],
        f"<!-- end of {title} -->", ""])


def nvidia_sections(machine, findings):
    """(title, text) for each type of GPU."""
    types = {}
    for device in machine["devices"]:
        if not isinstance(device, Unread):
            types.setdefault(cell(device["name"]), []).append(device)
    labels = {label(device) for devices in types.values() for device in devices}
    for name, devices in types.items():
        title = f"{name}, driver {cell(machine['driver'])}"
        body = [f"{len(devices)} of them; NVML {cell(machine['nvml'])}."]
        for device in devices:
            body += ["", f"{label(device)}:", "", *describe(device)]
        own = {label(device) for device in devices}
        yield title, section(title, body, findings, own, labels - own)


def amd_sections(machine, findings, driver):
    types = {}
    for address, files in machine.items():
        types.setdefault(cell(files["product_name"]), []).append(address)
    for name, own in types.items():
        title = f"{name}, amdgpu {driver}"
        body = [f"- {address}: " + ", ".join(f"{file} {cell(text)}" for file, text
                                             in machine[address].items() if file != "product_name")
                for address in own]
        yield title, section(title, body, findings, own, set(machine) - set(own))


def write(path, sections):
    """Each replaces its old section; others are left alone."""
    path = Path(path)
    text = path.read_text() if path.exists() else HEAD
    for title, new in sections:
        pattern = re.compile(rf"<!-- gpu {re.escape(title)} -->.*?"
                             rf"<!-- end of {re.escape(title)} -->\n", re.S)
        if pattern.search(text):
            text = pattern.sub(lambda _, new=new: new, text)
        else:
            text = text.rstrip("\n") + "\n\n" + new
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
