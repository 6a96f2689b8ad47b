# SPDX-License-Identifier: Apache-2.0
"""cleave-kubelet with a thousand of kubelet's devices, the hundredths of ten simulated GPUs: how
long kubelet waits for Allocate and for NodePrepareResources, how soon a watcher gets a change, and
the processor time and memory that it takes.

Times are measured by a gRPC client in Python and include the client's own part; kubelet and API
server are the doubles of tests/kubernetes.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agent import DISK_EVERY, Agent, Disk, idle_percent, percentile
from agent_process import processor_seconds, pss_mb

ROOT = Path(__file__).resolve().parent.parent
GPUS, CALLS, QUICK_CALLS = 10, 900, 100
LOAD, QUICK_LOAD, ALIVE = 20_000, 1_000, 500
UPDATES, QUICK_UPDATES = 50, 10
IDLE_SECONDS, QUICK_IDLE_SECONDS = 20, 3
MEMORY = Path("/dev/shm")
SHARE = "cleave.dev/gpu-share"


class Bridge:
    """An agent, a double of kubelet, and cleave-kubelet with these settings."""

    def __init__(self, context, **settings):
        sys.path.insert(0, str(ROOT / "tests/kubernetes"))
        from kubelet import Kubelet
        self.folder = tempfile.TemporaryDirectory(
            prefix="cleave-kube-", dir=MEMORY if MEMORY.is_dir() else None)
        root = Path(self.folder.name)
        self.agent = Agent(context.build, GPUS)
        self.agent.start()
        self.kubelet = Kubelet(str(root / "kubelet"))
        self.kubelet.start()
        config = root / "settings.yaml"
        config.write_text(json.dumps({
            "version": 1, "kubelet": self.kubelet.folder, "agent": str(self.agent.socket),
            "cdi": str(root / "cdi"), "undivided": "share", **settings}))
        self.process = subprocess.Popen(
            [str(Path(context.build) / "src/bridge/kubernetes/cleave-kubelet"), "--config",
             str(config)], stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.kubelet.stop()
        self.agent.__exit__()
        self.folder.cleanup()

    def processor_seconds(self):
        return processor_seconds(self.process.pid)

    def memory_mb(self, kind):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) / 1000 for line in status.splitlines()
                    if line.startswith(kind))


def timed(call):
    began = time.monotonic()
    call()
    return 1000 * (time.monotonic() - began)


def measure_plugin(context):
    n = QUICK_CALLS if context.quick else CALLS
    with Bridge(context) as bridge:
        plugin = bridge.kubelet.resource(SHARE, 60)
        ids = sorted(plugin.healthy())
        took = []
        for i in ids[:n]:
            took.append(timed(lambda i=i: bridge.kubelet.allocate(plugin, [i])))
            bridge.kubelet.pods[("default", i)] = {"c": {SHARE: [i]}}
        context.add("engines", "kubelet", "allocate_p50", percentile(took, 0.5), "ms")
        context.add("engines", "kubelet", "allocate_p99", percentile(took, 0.99), "ms")
        measure_updates(context, bridge, plugin)
        measure_idle(context, bridge)


def measure_updates(context, bridge, plugin):
    connection, took = bridge.agent.connect(), []
    for i in range(QUICK_UPDATES if context.quick else UPDATES):
        verb = "uncordon" if i % 2 else "cordon"
        before = plugin.updates
        connection.ask("POST", f"/v1/devices/gpu0/{verb}")
        began = time.monotonic()
        plugin.wait(lambda p, before=before: p.updates > before)
        took.append(1000 * (plugin.changed_at - began))
    connection.close()
    context.add("engines", "kubelet", "update_p50", percentile(took, 0.5), "ms")
    context.add("engines", "kubelet", "update_most", max(took), "ms")


def measure_idle(context, bridge):
    context.add("engines", "kubelet", "idle_cpu", idle_percent(
        bridge, QUICK_IDLE_SECONDS if context.quick else IDLE_SECONDS), "percent")
    context.add("engines", "kubelet", "anonymous", bridge.memory_mb("RssAnon"), "MB")
    context.add("engines", "kubelet", "resident", bridge.memory_mb("VmRSS"), "MB")


class Load:
    """Containers that come and go, each with a hundredth of a device."""

    def __init__(self, bridge, chance):
        self.bridge, self.chance = bridge, chance
        self.plugin = bridge.kubelet.resource(SHARE, 60)
        self.free, self.alive = sorted(self.plugin.healthy()), []
        self.took, self.n_refused = [], 0

    def take(self, items):
        """An item at random, in constant time."""
        at = self.chance.randrange(len(items))
        items[at], items[-1] = items[-1], items[at]
        return items.pop()

    def step(self):
        from kubelet import Refused
        kubelet = self.bridge.kubelet
        if len(self.alive) == ALIVE:
            name = self.take(self.alive)
            kubelet.delete(name)
            self.free.append(name)
        name = self.take(self.free)
        try:
            self.took.append(timed(lambda: kubelet.allocate(self.plugin, [name])))
        except Refused:
            self.n_refused += 1
            self.free.append(name)
            return
        with kubelet.lock:
            kubelet.pods[("default", name)] = {"c": {SHARE: [name]}}
        self.alive.append(name)


def load(context, bench, is_over):
    """is_over(n, seconds): the part of the load that is done."""
    seed = int(os.environ.get("CLEAVE_SEED") or random.SystemRandom().randrange(1 << 32))
    context.tell(f"bench {bench}: CLEAVE_SEED={seed}")
    memory, own, n, began = {}, {}, 0, time.monotonic()
    with Bridge(context) as bridge:
        work, disk = Load(bridge, random.Random(seed)), Disk(bridge.agent.root)
        for part, name in ((.25, "memory_quarter"), (.5, "memory_half"), (1, "memory")):
            while is_over(n, time.monotonic() - began) < part:
                work.step()
                n += 1
                if n % DISK_EVERY == 0:
                    disk.write()
            memory[name] = pss_mb(bridge.process.pid)
            own[name] = pss_mb(bridge.process.pid, "Pss_Anon")
    context.add(bench, "kubelet-load", "allocate_p50", percentile(work.took, .5), "ms")
    most = percentile(work.took, .99)
    context.add(bench, "kubelet-load", "allocate_p99", most, "ms")
    context.add(bench, "kubelet-load", "disk_p99", percentile(disk.took, .99), "ms")
    context.add(bench, "kubelet-load", "over_disk", most - 1.5 * percentile(disk.took, .99), "ms")
    for name, value in memory.items():
        context.add(bench, "kubelet-load", name, value, "MB")
    context.add(bench, "kubelet-load", "growth", own["memory"] - own["memory_half"], "MB")
    context.add(bench, "kubelet-load", "refused", work.n_refused, "containers")


def measure_load(context):
    most = QUICK_LOAD if context.quick else LOAD
    load(context, "engines", lambda n, _: n / most)


def run_soak(context):
    if context.with_cleave and context.wants("kubelet-load"):
        load(context, "engines-all", lambda _, seconds: seconds / (60 * context.minutes))


def measure_claims(context):
    n = QUICK_CALLS if context.quick else CALLS
    sys.path.insert(0, str(ROOT / "tests/kubernetes"))
    import grpc
    from api_server import ApiServer
    from kubelet import MODULES
    dra_pb, api = MODULES["dra_pb2"], ApiServer()
    with tempfile.TemporaryDirectory() as folder:
        config = f"{folder}/kubeconfig"
        api.kubeconfig(config)
        with Bridge(context, dra={"node": "node1", "kubeconfig": config}) as bridge:
            until = time.monotonic() + 60
            while len(api.devices()) < GPUS and time.monotonic() < until:
                time.sleep(0.1)
            path = Path(bridge.kubelet.folder) / "plugins/gpu.cleave.dev/dra.sock"
            channel = grpc.insecure_channel(f"unix://{path}")
            stub = MODULES["dra_pb2_grpc"].DRAPluginStub(channel)
            claims = [api.claim(f"c{i}", (f"gpu{i % GPUS}", {"share": "1", "memory": "0"}))
                      for i in range(n)]
            for name, call, request in (
                    ("prepare", stub.NodePrepareResources, dra_pb.NodePrepareResourcesRequest),
                    ("unprepare", stub.NodeUnprepareResources,
                     dra_pb.NodeUnprepareResourcesRequest)):
                took = [timed(lambda c=c, call=call, request=request: call(request(claims=[c])))
                        for c in claims]
                context.add("engines", "dra", f"{name}_p50", percentile(took, 0.5), "ms")
                context.add("engines", "dra", f"{name}_p99", percentile(took, 0.99), "ms")
            context.add("engines", "dra", "resident", bridge.memory_mb("VmRSS"), "MB")
            channel.close()
    api.close()


CASES = {"kubelet": measure_plugin, "kubelet-load": measure_load, "dra": measure_claims}


def run(context):
    if not context.with_cleave:
        return
    for name, act in CASES.items():
        if context.wants(name):
            act(context)
