#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rooms of src/: what is in each, and what each may use.

A room is a folder.  It may include, and call, the rooms of its row and those below it; a name
with a file ending is that one header, one that ends in /* a room with all rooms in it.
--write brings the table of docs/architecture.md up to date; without it the test fails where
they differ, where a file is in no room, and where a room without rooms in it has grown over
the bound."""
import argparse
import sys

import tree

MAX_LINES = 4000
DOCUMENT = "docs/architecture.md"
BEGIN, END = "<!-- rooms -->\n", "<!-- end of rooms -->\n"

PAGES = ("arbiter/page.h", "arbiter/attach.h")
# Of these lists the lowest is first: each may use those before it.
CORE = (
    ("share", "what a lease is promised: share, limits in space, ranges, admission, allowances, "
     "advice"),
    ("gpu", "the models of GPUs; the rules of MIG and of AMD's modes"),
    ("device", "a device and a node as they are read: partitions, readings, health, vGPU types"),
    ("layout", "what a node is wanted to look like: read, written, matched to devices"),
    ("plan", "the steps from a node as it is to its layout"),
    ("fleet", "the nodes of a fleet, what is free on them, who holds the rest"),
    ("place", "where in a fleet a request goes: policies, placer, repacking"),
)
BELOW_AGENT = ("base", "core/*", "arbiter/*", "backend/*", "import", "rm")
AGENT = (
    ("os", "processes, users, descriptors, texts of protocols"),
    ("record", "what the rooms exchange: records of the state, notices, `struct clv_agent`"),
    ("store", "the state file: SQLite, the journal of operations, the handle"),
    ("config", "settings, options, folders, the daemon"),
    ("event", "events and counters"),
    ("auth", "who asks: users, tokens"),
    ("http", "HTTP: connections, bodies, waiting, problem documents"),
    ("device", "devices, partitions, the worker that asks the drivers"),
    ("lease", "one lease: its gates' socket, its processes, its executor, its account"),
    ("ledger", "all leases: the table, promises, placing, the queue, their lifecycle"),
    ("watch", "what the drivers say against the ledger"),
    ("history", "what was used: counters, rows, the file"),
    ("apply", "operations: layouts carried out step by step"),
    ("api/object", "what the API's objects consist of"),
    ("api/request", "bodies of requests, read strictly"),
    ("api/show", "objects as JSON, metrics, whether the agent is ready"),
    ("api", "the routes and their handlers, idempotency, the audit"),
    ("main", "start, the loop, adoption, the second's tick"),
)
BELOW_CLI = ("base", "core/*", "import", "simulate", "client", "bridge/cdi", "bridge/systemd",
             "bridge/slurm")
CLI = (
    ("frame", "options, help, output, errors, signals"),
    ("launch", "a program in a lease: its environment, mounts, gates, supervision"),
    ("lease", "verbs about leases"),
    ("node", "verbs about devices, partitions and layouts"),
    ("fleet", "simulation, fitting, defragmentation"),
    ("admin", "doctor, audit, backup, events, tokens"),
    ("engine", "Slurm, containers, systemd"),
    ("main", "`main.c`, help and completion"),
)
GATE = (
    ("process", "the state of a process and of its threads, records of queues, what an API "
     "supplies"),
    ("attach", "the attachment to a lease: the handshake, the pages, the agent's heartbeat"),
    ("memory", "the memory quota: the ledger, charges, pieces that are mapped by hand"),
    ("window", "turns and the window of work in flight: costs, the line, the helper thread"),
    ("queue", "queues and their markers: what is submitted, what is complete, what stands still"),
)
OPENCL = (
    ("dispatch", "tables of calls: the vendor's, and the gate's wrappers in them"),
    ("device", "what the program sees of the lease's device; the threads of one that is the CPU"),
    ("queue", "command queues: submission, waits, commands that are held back"),
    ("memory", "memory objects and shared virtual memory"),
    ("entry", "the gate as a driver and as a layer, and by the names of functions"),
)
CUDA = (
    ("context", "contexts, streams as `gate/streams` knows them, the limit in multiprocessors"),
    ("memory", "device memory: allocations, pools, mapped pieces, what is spilled to the host"),
    ("stream", "launches, graphs, captures and waits; the ends of contexts"),
    ("entry", "how a program comes to the driver; the channels that it has"),
)
GATE_ROOMS = tuple(f"gate/{name}" for name, _ in GATE)
BELOW_KUBERNETES = ("base", "core/*", "import", "client", "bridge/cdi", "bridge/rpc")
KUBERNETES = (
    ("config", "settings; Kubernetes' quantities"),
    ("apiserver", "the API server's client: kubeconfig, requests, ResourceSlices, the node's "
     "annotation"),
    ("resource", "the node's inventory as extended resources, ids, labels and slices"),
    ("lease", "leases of containers and claims, compared with the agent's ledger; their CDI "
     "devices; what is undone after a crash"),
    ("kubelet", "the event loop: the device plugins, the DRA driver, pod-resources, the worker "
     "thread, `main.c`"),
)
ROOMS = {
    "base": ((), "errors, cleanup, log, units, paths, sockets, futexes, time"),
    "core": (("base",), "rules without I/O, clock or threads"),
    "rm": (("base",), "NVIDIA's resource manager: channel groups seen in a process's ioctls, "
           "stopped and let go on"),
    "simulate": (("base", "core/*", "arbiter/policy"), "traces and fleets read from files, "
                 "replays of them, what they show; how programs fare together on a device"),
    "arbiter": (("base", "core/*", "rm", "arbiter/policy"), "the lease pages, the attach messages, "
                "the thread that decides whose turn it is"),
    "arbiter/policy": (("base", "core/*"), "whose turn is next: EEVDF, caps, debts"),
    "backend": (("base", "core/*"), "what drivers are asked and told: the interface, what "
                "several of them need"),
    "backend/amd": (("base", "core/*", "backend"), "AMD's GPUs through sysfs and KFD"),
    "backend/nvidia": (("base", "core/*", "backend"), "NVIDIA's GPUs through NVML"),
    "backend/opencl": (("base", "core/*", "backend"), "what OpenCL shows; the CPU in sets of "
                       "processors"),
    "backend/sim": (("base", "core/*", "backend"), "nodes that a file describes: "
                    "[sim.md](sim.md)"),
    "backend/sriov": (("base", "core/*", "backend"), "virtual functions and vGPUs through sysfs"),
    "import": (("base", "core/*"), "other tools' files, read into a layout: [import.md](import.md)"),
    "agent": (BELOW_AGENT, "`cleaved`"),
    "gate": (("base", *PAGES), "binding to older C libraries"),
    "gate/preload": (("base",), "what preloaded gates share: hooked libraries and the look-ups "
                     "that lead to them"),
    "gate/opencl": (("base", *GATE_ROOMS, *PAGES), "the gate for OpenCL"),
    "gate/streams": (("base", *GATE_ROOMS, *PAGES), "what CUDA and HIP have in common: "
                     "streams, captures, waits"),
    "gate/cuda": (("base", *GATE_ROOMS, "gate/preload", "gate/streams", "rm", *PAGES),
                  "the gate for CUDA"),
    "gate/hsa": (("base", *GATE_ROOMS, "gate/preload", *PAGES), "the gate for HSA, below HIP"),
    "gate/hip": (("base", *GATE_ROOMS, "gate/preload", "gate/streams", "gate/hsa", *PAGES),
                 "the gate for HIP"),
    "gate/nvml": (("base", *GATE_ROOMS, "gate/preload", *PAGES),
                  "what NVML's callers are shown"),
    "client": (("base",), "libcleave"),
    "cli": (BELOW_CLI, "`cleave`, a file for each verb"),
    "bridge/cdi": (("base", "core/*", "client"), "leases as devices of containers: "
                   "[containers.md](containers.md)"),
    "bridge/systemd": (("base",), "services in leases"),
    "bridge/rpc": (("base",), "gRPC on an event loop: a server and a client on Unix sockets"),
    "bridge/kubernetes": (BELOW_KUBERNETES, "`cleave-kubelet`: device plugin and driver of "
                          "dynamic resource allocation: [kubernetes.md](kubernetes.md)"),
    "bridge/extender": (("base", "core/*", "bridge/kubernetes/config",
                         "bridge/kubernetes/apiserver"), "`cleave-extender`: where in a "
                        "cluster pods should go"),
    "bridge/slurm": (("base",), "the SPANK plugin; what it shares with `cleave slurm`; what "
                     "Slurm is asked and told"),
}
LAYERED = {"core": CORE, "agent": AGENT, "cli": CLI, "gate": GATE, "gate/cuda": CUDA,
           "gate/opencl": OPENCL, "bridge/kubernetes": KUBERNETES}
for _top, _rooms in LAYERED.items():
    for _at, (_name, _text) in enumerate(_rooms):
        ROOMS[f"{_top}/{_name}"] = (
            (*ROOMS[_top][0], *(f"{_top}/{lower}" for lower, _ in _rooms[:_at])), _text)


def room_of(name):
    """The innermost room that a file of src/, named from there, is in."""
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
        else:
            lines[room] += tree.read(name).count("\n")
    return lines, strays


def uses_text(room):
    uses = ROOMS[room][0]
    top, _, name = room.rpartition("/")
    if name in dict(LAYERED.get(top, ())):
        lower = [use.removeprefix(f"{top}/") for use in uses if use.startswith(f"{top}/")]
        return f"as `{top}`, and {lower[-1]} and below" if lower else f"as `{top}`"
    if set(GATE_ROOMS) <= set(uses):
        uses = [f"{GATE_ROOMS[0]}` to `{use}" if use == GATE_ROOMS[-1] else use
                for use in uses if use not in GATE_ROOMS[:-1]]
    return ", ".join(f"`{use}`" for use in uses) or "nothing"


def table(lines):
    """Rounded to hundreds, so that not every change of a file is one of the table."""
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


# Rooms that are still to be divided.
OVER = ()

if __name__ == "__main__":
    sys.exit(main())
