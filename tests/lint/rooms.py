#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rooms of src/: what is in each, and what each may use.

A room is a folder.  It may include, and call, the rooms of its row, and a room in layers also
the layers before it.  A name with a file ending is that one header; a name that ends in /* is a
room with all rooms in it.  --write updates the table of docs/architecture/rooms.md.  Without it the
test fails where the table is out of date, where a file is in no room or above its layers, and where
a room has more lines than the bound; files in an inner room count for that room only."""
import argparse
import sys

import tree

MAX_LINES = 4000
DOCUMENT = "docs/architecture/rooms.md"
BEGIN, END = "<!-- rooms -->\n", "<!-- end of rooms -->\n"

PAGES = ("arbiter/page.h", "arbiter/attach.h")
# Layers, the lowest first: each room may use those before it.
CORE = (
    ("share", "what a lease is promised: share, limits in space, ranges, admission, allowances, "
     "advice"),
    ("gpu", "the models of GPUs; the rules of MIG and of AMD's modes"),
    ("device", "a device and a node as drivers report them: partitions, readings, health, vGPU types"),
    ("layout", "layouts: parsed, written, matched to devices"),
    ("plan", "the steps from the current state of a node to its layout"),
    ("fleet", "the nodes of a fleet, the free part of each, the holders of the rest"),
    ("place", "placement of requests in a fleet: policies and the placer"),
    ("repack", "moves of leases that make room for a request, and their order"),
    ("serve", "plans of services and of models on the fewest GPUs of one kind"),
)
BELOW_AGENT = ("base", "tls", "core/*", "arbiter/*", "backend/*", "import", "rm")
AGENT = (
    ("os", "processes, descriptors, texts of protocols"),
    ("user", "users, their subordinate uids, and what each of them may use"),
    ("record", "records that rooms exchange: the state's, notices, `struct clv_agent`"),
    ("store", "the state file: SQLite, the journal of operations, the handle"),
    ("config", "settings, options, folders, the daemon"),
    ("event", "events and counters"),
    ("auth", "identity of callers: users, tokens"),
    ("publish", "what supervisors of services publish of their projects"),
    ("http", "HTTP: connections, bodies, waiting, problem documents"),
    ("identity", "the names of devices, by UUID"),
    ("driver", "the child processes that call the drivers, and their answers as JSON"),
    ("device", "the devices and partitions of the node, and their state"),
    ("lease", "one lease: its processes, its executor, its account"),
    ("attach", "the socket of a lease: who attaches, what gates send"),
    ("ledger", "the table of all leases; sums over it: promises, allowances, the queue's order"),
    ("placing", "the devices for a request"),
    ("lifecycle", "leases from request to end: admission, the queue, resizing"),
    ("watch", "the watchdog: the drivers' reports compared with the ledger"),
    ("history", "use over time: counters, rows, the file"),
    ("apply", "operations: layouts applied step by step"),
    ("layout", "the kept layout, applied again; partitions for leases; what layouts can have"),
    ("api/object", "schemas of the API's objects"),
    ("api/request", "strict parsing of request bodies"),
    ("api/show", "objects as JSON, metrics, readiness"),
    ("api/handler", "the handlers of the routes, a file for each kind of object"),
    ("api/console", "the web console's files"),
    ("api", "the table of routes and the way of a request through it: idempotency, the audit"),
    ("main", "start, the loop, adoption, the one-second tick"),
)
BELOW_CLI = ("base", "core/*", "import", "simulate/*", "client", "service",
             "service/kubernetes", "bridge/cdi", "bridge/systemd", "bridge/slurm",
             "bridge/services/project", "bridge/libvirt/*")
CLI = (
    ("frame", "options, help, output, errors, signals"),
    ("shim", "the shared object that takes the place of a driver's library in a lease"),
    ("launch", "a program in a lease: its environment, mounts, gates, supervision"),
    ("lease", "the verbs for leases"),
    ("node", "the verbs for devices, partitions and layouts"),
    ("fleet", "simulation, fitting, defragmentation"),
    ("plans", "plans for services with rates and for models"),
    ("admin", "doctor, audit, backup, events, tokens"),
    ("engine", "Slurm, containers, systemd, pools of devices"),
    ("services", "the verbs for services of compose files"),
    ("ssh", "sockets of other hosts, and `ssh` while signals are held, for `cleave-vms`"),
    ("vm", "`cleave-vms`: partitions of virtual machines"),
    ("main", "`main.c`, help and completion"),
)
GATE = (
    ("process", "the state of a process and of its threads, records of queues, the functions "
     "that an API's gate supplies"),
    ("attach", "the attachment to a lease: the handshake, the pages, the agent's heartbeat"),
    ("memory", "the memory quota: the ledger, charges, physical pieces that a program maps itself"),
    ("window", "turns and the window of work in flight: costs, the line, the helper thread"),
    ("queue", "queues and their markers: submitted work, completed work, blocked streams"),
)
OPENCL = (
    ("dispatch", "tables of calls: the vendor's, and the gate's wrappers in them"),
    ("device", "the lease's device as the program sees it; the driver's threads where that is the CPU"),
    ("queue", "command queues: submission, waits, held commands"),
    ("memory", "memory objects and shared virtual memory"),
    ("entry", "the gate as a driver, as a layer, and for look-ups of functions by name"),
)
CUDA = (
    ("context", "contexts, CUDA's table for `gate/streams`, the limit in multiprocessors"),
    ("memory", "device memory: allocations, pools, mapped pieces, memory spilled to the host"),
    ("stream", "launches, graphs, captures and waits; the ends of contexts"),
    ("entry", "loading and look-ups of the driver; the channels of a process"),
)
GATE_ROOMS = tuple(f"gate/{name}" for name, _ in GATE)
BELOW_KUBERNETES = ("base", "core/*", "import", "client", "bridge/cdi", "bridge/rpc")
KUBERNETES = (
    ("config", "settings; Kubernetes' quantities"),
    ("apiserver", "the API server's client: kubeconfig, requests, ResourceSlices, the node's "
     "annotation"),
    ("resource", "the node's inventory as extended resources, ids, labels and slices"),
    ("lease", "leases of containers and claims, compared with the agent's ledger; their CDI "
     "devices; the undo log for a crash"),
    ("kubelet", "the event loop: the device plugins, the DRA driver, pod-resources, the worker "
     "thread, `main.c`"),
)
LIBVIRT = (
    ("domain", "the XML of virtual machines; leases, machines and partitions compared; the choice "
     "of partitions"),
    ("host", "connections to libvirt and what they change"),
)
SERVICES = (
    ("project", "the folder of a project, and the asking side of its supervisor's socket"),
    ("engine", "what the supervisor calls: podman, leases as its devices, HAProxy"),
    ("supervisor", "replicas, services, what is kept and found again"),
    ("main", "`cleave-services`: its start, what it publishes at the agent, and the actions that users ask "
     "for there"),
)
ROOMS = {
    "base": ((), "errors, cleanup, log, units, paths, sockets, futexes, time"),
    "tls": ((), "the certificate and key of a server"),
    "core": (("base",), "rules without I/O, clock or threads"),
    "rm": (("base",), "NVIDIA's resource manager: channel groups seen in a process's ioctls, "
           "stopped and resumed"),
    "simulate": (("base", "core/*", "simulate/files"), "replays of traces and their figures; queues"),
    "simulate/capacity": (("base", "core/*", "simulate", "simulate/files"), "the cheapest fleet "
                          "for a trace"),
    "simulate/files": (("base", "core/*"), "fleets and traces as files: CSV, JSON, YAML"),
    "simulate/predict": (("base", "core/*", "arbiter/policy"), "a prediction of programs together on "
                         "a device, and its interval"),
    "arbiter": (("base", "core/*", "rm", "arbiter/policy", "arbiter/threads"), "the lease pages, "
                "the attach messages, the thread that grants turns"),
    "arbiter/policy": (("base", "core/*"), "the choice of the next lease: EEVDF, caps, debts"),
    "arbiter/threads": (("base", "arbiter/attach.h"), "threads that compute on a processor: halted, "
                        "and whether they are"),
    "backend": (("base", "core/*"), "the interface to drivers, and code that "
                "several backends share"),
    "backend/amd": (("base", "core/*", "backend"), "AMD's GPUs through sysfs and KFD"),
    "backend/nvidia": (("base", "core/*", "backend"), "NVIDIA's GPUs through NVML"),
    "backend/opencl": (("base", "core/*", "backend"), "OpenCL's devices; the CPU in sets of "
                       "processors"),
    "backend/sim": (("base", "core/*", "backend"), "nodes that a file describes: "
                    "[sim.md](../sim.md)"),
    "backend/sriov": (("base", "core/*", "backend"), "virtual functions and vGPUs through sysfs"),
    "import": (("base", "core/*"), "other tools' files, read into a layout: [import.md](../import.md)"),
    "service": (("base", "core/*", "import"), "compose files, read into services"),
    "service/scale": (("base", "core/*", "service"), "when replicas of services start and stop"),
    "service/kubernetes": (("base", "core/*", "service"), "services as manifests of Kubernetes"),
    "agent": (BELOW_AGENT, "`cleaved`"),
    "gate": (("base", *PAGES), "binding to older C libraries"),
    "gate/preload": (("base",), "what preloaded gates have in common: hooked libraries, and the "
                     "look-ups that lead to them"),
    "gate/opencl": (("base", *GATE_ROOMS, *PAGES), "the gate for OpenCL"),
    "gate/streams": (("base", *GATE_ROOMS, *PAGES), "what CUDA and HIP have in common: "
                     "streams, captures, waits"),
    "gate/cuda": (("base", *GATE_ROOMS, "gate/preload", "gate/streams", "rm", *PAGES),
                  "the gate for CUDA"),
    "gate/hsa": (("base", *GATE_ROOMS, "gate/preload", *PAGES), "the gate for HSA, below HIP"),
    "gate/hip": (("base", *GATE_ROOMS, "gate/preload", "gate/streams", "gate/hsa", *PAGES),
                 "the gate for HIP"),
    "gate/nvml": (("base", *GATE_ROOMS, "gate/preload", *PAGES),
                  "the gate for NVML: what its callers see"),
    "client": (("base",), "libcleave"),
    "cli": (BELOW_CLI, "`cleave`, one file for each verb"),
    "bridge/cdi": (("base", "core/*", "client"), "leases as devices of containers, with what "
                   "drivers add: [containers.md](../containers.md)"),
    "bridge/systemd": (("base",), "services in leases"),
    "bridge/services": (("base", "core/*", "service", "service/scale", "client", "bridge/cdi"),
                        "`cleave-services`: replicas of services in containers, behind a proxy"),
    "bridge/rpc": (("base",), "gRPC on an event loop: a server and a client on Unix sockets"),
    "bridge/kubernetes": (BELOW_KUBERNETES, "`cleave-kubelet`: device plugin and driver of "
                          "dynamic resource allocation: [kubernetes.md](../kubernetes.md)"),
    "bridge/https": (("base", "tls"), "an HTTPS server of JSON, for Kubernetes' programs, and what "
                     "these have in common"),
    "bridge/extender": (("base", "core/*", "bridge/https", "bridge/kubernetes/config",
                         "bridge/kubernetes/apiserver"), "`cleave-extender`: the choice "
                        "of nodes for pods"),
    "bridge/webhook": (("base", "bridge/https", "bridge/kubernetes/config"),
                       "`cleave-webhook`: pods completed or refused when they are created"),
    "bridge/slurm": (("base",), "the SPANK plugin; code that it shares with `cleave slurm`; "
                     "the calls of Slurm's programs"),
    "bridge/libvirt": (("base",), "virtual machines with partitions"),
}
LAYERED = {"core": CORE, "agent": AGENT, "cli": CLI, "gate": GATE, "gate/cuda": CUDA,
           "gate/opencl": OPENCL, "bridge/kubernetes": KUBERNETES, "bridge/libvirt": LIBVIRT,
           "bridge/services": SERVICES}
# In the others each file is in one of the rooms.
WITH_FILES = ("gate",)
for _top, _rooms in LAYERED.items():
    for _at, (_name, _text) in enumerate(_rooms):
        ROOMS[f"{_top}/{_name}"] = (
            (*ROOMS[_top][0], *(f"{_top}/{lower}" for lower, _ in _rooms[:_at])), _text)


def room_of(name):
    """The innermost room of a file that is named from src/."""
    return max((room for room in ROOMS if name.startswith(room + "/")), key=len, default=None)


def may_use(room, name):
    own = room_of(name)
    return own == room or any(
        f"{own}/".startswith(use[:-1]) if use.endswith("/*") else use in (own, name)
        for use in ROOMS[room][0])


def lines_by_room():
    lines = dict.fromkeys(ROOMS, 0)
    strays = []
    for name in tree.files(".c", ".h", under=("src",)):
        room = room_of(name.removeprefix("src/"))
        if room is None:
            strays.append(f"{name}: no room of tests/lint/rooms.py has it")
        elif room in LAYERED and room not in WITH_FILES:
            strays.append(f"{name}: src/{room} has rooms and no files: move it to one of them")
        else:
            lines[room] += tree.read(name).count("\n")
    return lines, strays


def uses_text(room):
    uses = ROOMS[room][0]
    top = max((top for top in LAYERED if room.startswith(top + "/")), key=len, default=None)
    if top and room.removeprefix(f"{top}/") in dict(LAYERED[top]):
        lower = [use.removeprefix(f"{top}/") for use in uses if use.startswith(f"{top}/")]
        return f"as `{top}`, and {lower[-1]} and below" if lower else f"as `{top}`"
    if set(GATE_ROOMS) <= set(uses):
        uses = [f"{GATE_ROOMS[0]}` to `{use}" if use == GATE_ROOMS[-1] else use
                for use in uses if use not in GATE_ROOMS[:-1]]
    return ", ".join(f"`{use}`" for use in uses) or "nothing"


def table(lines):
    """Line counts are rounded to hundreds, so that few changes of a file change the table."""
    rows = ["| room | lines | what is in it | may use |", "|---|---|---|---|"]
    for room, (_, text) in ROOMS.items():
        size = max(100, round(lines[room], -2)) if lines[room] else "-"
        rows.append(f"| `src/{room}` | {size} | {text} | {uses_text(room)} |")
    return "\n".join(rows) + "\n"


def written(text, new):
    before, rest = text.split(BEGIN)
    return before + BEGIN + new + END + rest.split(END)[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    lines, wrong = lines_by_room()
    for room, n_lines in lines.items():
        if n_lines > MAX_LINES and room not in OVER:
            wrong.append(f"src/{room}: {n_lines} lines, and rooms end at {MAX_LINES}")
    text = tree.read(DOCUMENT)
    new = written(text, table(lines))
    if write:
        (tree.ROOT / DOCUMENT).write_text(new)
    elif new != text:
        wrong.append(f"{DOCUMENT}: the table of rooms is out of date: ./dev lint --fix")
    tree.finish(wrong, len(lines))


# Rooms over the bound that are still to be divided.
OVER = ()

if __name__ == "__main__":
    sys.exit(main())
