# SPDX-License-Identifier: Apache-2.0
"""Compares NVML's facts of NVIDIA's GPUs with cleave's."""
import re

from nvml_read import NOT_SUPPORTED, Unread

MIB = 1 << 20
AMPERE = 7
GFX = 2  # of core's attributes
# By compute capability, from NVIDIA's CUDA programming guide.
CORES = {(7, 0): 64, (7, 5): 64, (8, 0): 64, (8, 6): 128, (8, 7): 128, (8, 9): 128,
         (9, 0): 128, (10, 0): 128, (10, 3): 128, (12, 0): 128}
NOT_TOLD = Unread("not known")


def known(value):
    """A 0 in cleave's tables and devices means unknown."""
    return value or NOT_TOLD


def either(value, function):
    """function(value), or the Unread in its place."""
    return value if isinstance(value, Unread) else function(value)


def address(pci):
    domain, rest = pci["id"].lower().split(":", 1)
    return f"{int(domain, 16):04x}:{rest}"


def label(device):
    return f"GPU {device['index']}"


# --- Profiles ---

def profile_rows(theirs, ours):
    places = theirs["places"]
    return [
        ("name", theirs["name"], ours["name"]),
        ("id", theirs["id"], ours["driver_id"]),
        ("index", theirs["index"], ours["nvml_index"]),
        ("slices", theirs["slices"], ours["slices"]),
        ("size", either(places, lambda p: p[0][1] if p else 0), ours["size"]),
        ("starts", either(places, lambda p: [start for start, _ in p]),
         sorted(ours["starts"])),
        ("most", theirs["instances"], ours["max_instances"]),
        ("MiB", theirs["memory_mib"], known(ours["memory_mib"])),
        ("multiprocessors", theirs["multiprocessors"], known(ours["multiprocessors"])),
        ("graphics", theirs["gfx"], bool(ours["attributes"] & GFX)),
    ]


def why_missing(device, profile):
    """For a profile that cleave has and the driver does not list: the Unread that explains it, or
    None. A driver that does not know an index is too old for it; one that lists nothing at all does
    so while MIG is off."""
    unread = device["unknown_indexes"].get(profile["nvml_index"])
    if not device["profiles"]:
        return Unread(f"the driver lists no profile: {unread}")
    if unread and unread.code != NOT_SUPPORTED:
        return unread
    return None


def compare_profiles(findings, device, ours, ours_is):
    """Compares cleave's list of profiles with the driver's, by number."""
    subject, theirs = label(device), device["profiles"]
    if isinstance(theirs, Unread):
        findings.unread(subject, f"profiles ({ours_is}): {theirs}")
        return
    by_id = {profile["driver_id"]: profile for profile in ours}
    for profile in theirs:
        name = either(profile["name"], str)
        if profile["id"] in by_id:
            at = f"{subject}, {by_id[profile['id']]['name']}"
            findings.compare_all(at, profile_rows(profile, by_id.pop(profile["id"])), ours_is)
        else:
            findings.differs(subject, f"profile {profile['id']} ({name}) of the driver is not "
                             f"in {ours_is}")
    for profile in by_id.values():
        why = why_missing(device, profile)
        if why:
            findings.unread(subject, f"profile {profile['name']}, of the driver: {why}; "
                            f"{ours_is} has it")
        else:
            findings.differs(subject, f"profile {profile['name']} of {ours_is} is not in the "
                             "driver")


# --- Cleave's own tables ---

def tells_mig(mig, has_table):
    """Whether a GPU has MIG. "Not supported" is the answer of a GPU without it, and of a sandbox
    for one that has it."""
    if not isinstance(mig, Unread):
        return True
    return mig if has_table or mig.code != NOT_SUPPORTED else False


def compare_type(findings, device, kind, tables):
    """kind: what gpu-types prints for the name."""
    subject, has_mig = label(device), tells_mig(device["mig"], bool(kind["table"]))
    findings.compare_all(subject, [
        ("MIG", has_mig, bool(kind["table"])),
        ("Ampere", either(device["architecture"], lambda a: a == AMPERE), kind["is_ampere"]),
        ("cores of a multiprocessor",
         either(device["capability"],
                lambda c: CORES.get(c, Unread(f"no count is known for {c[0]}.{c[1]}"))),
         known(kind["cores"])),
    ], f"the table {kind['table']}" if kind["table"] else "cleave's names of GPUs")
    if has_mig is True:
        # Drivers before R470 do not report the architecture.
        findings.compare_all(subject, [
            ("Ampere", either(device["architecture"], lambda a: a == AMPERE),
             kind["is_ampere_by_name"])], "cleave by the name alone")
    if kind["table"]:
        compare_profiles(findings, device, tables[kind["table"]]["profiles"],
                         f"the table {kind['table']}")


# --- The agent's report ---

def units(device):
    """Multiprocessors. In MIG mode no driver counts cores."""
    per = either(device["capability"],
                 lambda c: CORES.get(c, Unread(f"no count is known for {c[0]}.{c[1]}")))
    return either(device["cores"], lambda n: either(per, lambda p: n // p))


def compare_identity(findings, device, ours, driver):
    findings.compare_all(label(device), [
        ("name", device["name"], ours["model"]),
        ("bytes", device["memory"], known(ours["memory_bytes"])),
        ("PCI address", either(device["pci"], address), ours["pci_address"]),
        ("driver", driver, ours["driver"]),
        ("multiprocessors", units(device), known(ours["compute_units"])),
    ])


def compare_mode(findings, device, ours):
    subject, mig = label(device), device["mig"]
    if ours["mig"] is None:
        if isinstance(mig, Unread):
            say = findings.same if mig.code == NOT_SUPPORTED else findings.unread
            say(subject, f"MIG: the driver says {mig}, cleave {ours['cannot_divide']}")
        else:
            findings.unread(subject, f"MIG, of cleave: {ours['cannot_divide']}; the driver "
                            f"says {mig}")
        return
    findings.compare_all(subject, [
        ("MIG on", either(mig, lambda m: m[0] == 1), ours["mig"]["on"]),
        ("MIG pending", either(mig, lambda m: m[0] != m[1]), ours["mig"]["pending"]),
        ("lost at reboot", either(device["architecture"], lambda a: a != AMPERE),
         ours["mig"]["lost_at_reboot"]),
        ("needs a reset", either(device["architecture"], lambda a: a == AMPERE),
         ours["mig"]["needs_reset"]),
    ])
    if ours["mig"]["model"]:
        compare_profiles(findings, device, ours["mig"]["model"]["profiles"], "the agent")


def their_parts(instance):
    """A compute instance that fills its GPU instance is not a part of it to cleave."""
    parts = instance["parts"]
    if len(parts) == 1 and parts[0]["slices"] == instance["profile"]["slices"]:
        return []
    return sorted(f"{part['slices']}c@{part['start']}" for part in parts)


def our_parts(partition):
    return sorted(f"{re.match(r'[0-9]+c', part['profile'])[0]}@{part['start']}"
                  for part in partition["parts"])


def our_uuids(ours):
    """{(GPU instance, compute instance): UUID}; a compute instance of None: the only one."""
    found = {}
    for partition in ours["partitions"]:
        if partition["uuid"]:
            found[partition["driver_id"], None] = partition["uuid"]
        for part in partition["parts"]:
            found[partition["driver_id"], part["driver_id"]] = part["uuid"]
    return found


def compare_uuids(findings, device, ours):
    """Prints only whether they agree, because a UUID is private."""
    theirs = device["mig_uuids"]
    if isinstance(theirs, Unread) or not theirs:
        return
    mine = our_uuids(ours)
    wrong = [key for key, uuid in theirs.items()
             if uuid not in (mine.get(key), mine.get((key[0], None)))]
    say = findings.differs if wrong or len(mine) != len(theirs) else findings.same
    say(label(device), f"UUIDs of {len(theirs)} MIG devices"
        + (f": not those of {wrong}" if wrong else ""))


def compare_instances(findings, device, ours):
    subject, theirs = label(device), device["instances"]
    if isinstance(theirs, Unread):
        if theirs.code != NOT_SUPPORTED or ours["partitions"]:
            findings.unread(subject, f"instances: {theirs}")
        return
    mine = {partition["driver_id"]: partition for partition in ours["partitions"]}
    findings.compare_all(subject, [("instances", sorted(i["id"] for i in theirs),
                                    sorted(mine))])
    for instance in theirs:
        partition = mine.get(instance["id"])
        if not partition:
            continue
        findings.compare_all(f"{subject}, instance {instance['id']}", [
            ("profile", instance["profile"]["name"], partition["profile"]),
            ("start", instance["start"], partition["start"]),
            ("size", instance["size"], partition["size"]),
            ("compute instances", their_parts(instance), our_parts(partition)),
        ])
    compare_uuids(findings, device, ours)


def our_processes(ours):
    """{pid: GPU instances}; without one, of the GPU as a whole."""
    found = {}

    def add(holders, instance):
        for holder in holders:
            if holder["pid"]:
                found.setdefault(holder["pid"], set()).update(instance)

    add(ours["holders"], ())
    for partition in ours["partitions"]:
        for part in (partition, *partition["parts"]):
            add(part["holders"], (partition["driver_id"],))
    return found


def compare_processes(findings, before, after, ours):
    """Processes start and end meanwhile: cleave must list those that exist before and after, and no
    others than exist before or after."""
    subject = label(before)
    lists = [device["processes"] for device in (before, after)]
    for unread in lists:
        if isinstance(unread, Unread):
            findings.unread(subject, f"processes: {unread}")
            return
    mine = our_processes(ours)
    stayed = {pid: lists[0][pid] for pid in lists[0] if lists[1].get(pid) == lists[0][pid]}
    seen = {**lists[0], **lists[1]}
    wrong = sorted({pid for pid in stayed if mine.get(pid) != stayed[pid]}
                   | {pid for pid in mine if pid not in seen})
    say = findings.differs if wrong else findings.same
    say(subject, f"processes: {len(stayed)} stayed, {len(mine)} in cleave"
        + "".join(f"; {pid} is of instances {seen.get(pid)}, in cleave {mine.get(pid)}"
                  for pid in wrong))


def compare_vgpus(findings, device, ours):
    theirs = device["vgpu_types"]
    mine = {int(t["id"]): (t["name"], t["memory_bytes"], t["max_instances"])
            for t in ours["vf"]["types"]} if ours["vf"] else {}
    if isinstance(theirs, Unread):
        if mine or theirs.code != NOT_SUPPORTED:
            findings.unread(label(device), f"vGPU types: {theirs}")
        return
    findings.compare_all(label(device), [("vGPU types", len(theirs), len(mine))])
    for number, answers in theirs.items():
        told = tuple(0 if isinstance(answer, Unread) else answer for answer in answers)
        if mine.get(number) != told:
            findings.differs(label(device), f"vGPU type {number}: the driver says {told}, "
                             f"cleave {mine.get(number)}")


def compare_capacity(findings, device, ours, listed):
    """How many more fit, as `cleave profiles` prints it."""
    if isinstance(device["profiles"], Unread) or not ours["mig"]:
        return
    mine = {row["profile"]: row for row in listed if row["device"] == ours["name"]}
    names = {profile["driver_id"]: profile["name"]
             for profile in (ours["mig"]["model"] or {"profiles": []})["profiles"]}
    for profile in device["profiles"]:
        row = mine.get(names.get(profile["id"]))
        if row and ours["mig"]["on"]:
            findings.compare_all(f"{label(device)}, {row['profile']}",
                                 [("still fits", profile["remaining"], row["fits"])],
                                 "cleave profiles")


def compare_devices(findings, machines, node, listed):
    """machines: NVML's facts before and after the agent was asked."""
    before, after = ([d for d in machine["devices"] if not isinstance(d, Unread)]
                     for machine in machines)
    mine = {d["uuid"]: d for d in node["devices"] if d["backend"] == "nvidia"}
    problems = [problem for problem in node["problems"] if "NVIDIA" in problem]
    for problem in problems:
        findings.unread("devices", f"of cleave: {problem}")
    if not problems:
        findings.compare_all("devices", [("NVIDIA GPUs", len(before), len(mine))])
    for device, again in zip(before, after):
        ours = mine.get(device["uuid"])
        if isinstance(device["uuid"], Unread) or (problems and not ours):
            findings.unread(label(device), f"in cleave; the driver calls it "
                            f"{device['name']}, {device['uuid']}")
            continue
        if not ours:
            findings.differs(label(device), f"{device['name']} is not in cleave")
            continue
        compare_identity(findings, device, ours, machines[0]["driver"])
        compare_mode(findings, device, ours)
        compare_instances(findings, device, ours)
        compare_processes(findings, device, again, ours)
        compare_vgpus(findings, device, ours)
        compare_capacity(findings, device, ours, listed)
