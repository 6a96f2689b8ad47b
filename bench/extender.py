# SPDX-License-Identifier: Apache-2.0
"""How long cleave-extender takes for a pod: 1,000 pods on 500 simulated nodes of 1 to 8 GPUs, drawn
again in each run (CLEAVE_SEED repeats one).

A client sends what a real kube-scheduler sends (tests/kubernetes/recorded): filter with the nodes on
which Kubernetes' own count admits the pod, prioritize with those that are left, bind to the best.
The API server is a double in a process of its own. Its time for the binding is part of the decision.
With --all a real kube-scheduler and API server, which tests/kubernetes/build-cluster.sh builds, place
as many pods.
"""
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agent_process import processor_seconds, pss_mb
from measure import percentile
from tenants import BenchError

ROOT = Path(__file__).resolve().parent.parent
NODES, PODS, QUICK_PODS = 500, 1000, 100
MOST_DELAY_SECONDS = 2  # from the binding of a pod to the node's announcement
SHARES = (5, 10, 10, 20, 20, 25, 30, 50, 50, 70, 100)
READY_SECONDS = 60


class Bed:
    """The double of the API server, and the extender."""

    def __init__(self, context, seed):
        self.folder = tempfile.TemporaryDirectory(prefix="cleave-extender-")
        config = f"{self.folder.name}/kubeconfig"
        self.api = subprocess.Popen(
            [sys.executable, str(ROOT / "bench/extender_api.py"), config, str(seed), str(NODES),
             str(MOST_DELAY_SECONDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.counts = json.loads(self.api.stdout.readline())
        self.process = subprocess.Popen(
            [str(Path(context.build) / "src/bridge/extender/cleave-extender"),
             "--listen=127.0.0.1:0", f"--kubeconfig={config}"],
            stderr=subprocess.PIPE, text=True)
        port = int(self.process.stderr.readline().split()[-1])
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.connect()

    def __enter__(self):
        until = time.monotonic() + READY_SECONDS
        while self.ask("GET", "/readyz")[0] != 200:
            if time.monotonic() > until:
                raise BenchError("cleave-extender has no list of nodes after a minute")
            time.sleep(.05)
        return self

    def __exit__(self, *_):
        self.connection.close()
        for process in (self.process, self.api):
            process.terminate()
            process.wait(20)
        self.process.stderr.close()
        self.api.stdin.close()
        self.api.stdout.close()
        self.folder.cleanup()

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def timed(self, path, body):
        """The milliseconds of a call, and its answer."""
        text = json.dumps(body, separators=(",", ":"))
        began = time.perf_counter()
        status, data = self.ask("POST", path, text)
        took = 1000 * (time.perf_counter() - began)
        if status != 200:
            raise BenchError(f"{path}: {status} {data[:200]!r}")
        return took, json.loads(data)

    def given(self):
        """What the API server has been told to give, of each device, at the end."""
        self.api.stdin.close()
        return json.loads(self.api.stdout.readline())


class Scheduler:
    """Places pods as kube-scheduler does, one after another."""

    def __init__(self, bed, seed):
        import scheduler
        self.words, self.bed = scheduler, bed
        self.chance = random.Random(seed)
        self.left = {name: 100 * n for name, n in bed.counts.items()}  # as Kubernetes counts
        self.took = {"filter": [], "prioritize": [], "bind": [], "decision": []}
        self.n_placed = 0

    def pod(self, i):
        limits = {"cleave.dev/gpu-share": str(self.chance.choice(SHARES))}
        made = self.words.pod(f"pod-{i}", [self.words.container("c", limits)])
        return made, int(limits["cleave.dev/gpu-share"])

    def place(self, i):
        wanted, share = self.pod(i)
        names = [name for name, left in self.left.items() if left >= share]
        self.chance.shuffle(names)
        filter_ms, answer = self.bed.timed("/filter", self.words.names_args(wanted, names))
        if answer["Error"]:
            raise BenchError(answer["Error"])
        fit = answer["NodeNames"]
        if not fit:
            return
        prioritize_ms, scores = self.bed.timed(
            "/prioritize", self.words.names_args(wanted, fit))
        best = max(score["Score"] for score in scores)
        to = self.chance.choice([score["Host"] for score in scores if score["Score"] == best])
        bind_ms, answer = self.bed.timed("/bind", self.words.binding(f"pod-{i}", to))
        if answer["Error"]:
            raise BenchError(answer["Error"])
        self.left[to] -= share
        self.n_placed += 1
        for name, ms in (("filter", filter_ms), ("prioritize", prioritize_ms), ("bind", bind_ms),
                         ("decision", filter_ms + prioritize_ms + bind_ms)):
            self.took[name].append(ms)


def measure_names(context, seed):
    with Bed(context, seed) as bed:
        scheduler, before = Scheduler(bed, seed + 1), processor_seconds(bed.process.pid)
        for i in range(QUICK_PODS if context.quick else PODS):
            scheduler.place(i)
        memory = pss_mb(bed.process.pid)
        used = processor_seconds(bed.process.pid) - before
        over = count_over(bed.given())
    for name in ("decision", "filter", "prioritize", "bind"):
        context.add("extender", "names", f"{name}_p50", percentile(scheduler.took[name], .5), "ms")
        context.add("extender", "names", f"{name}_p99", percentile(scheduler.took[name], .99), "ms")
    context.add("extender", "names", "processor", 1000 * used / len(scheduler.took["decision"]), "ms")
    context.add("extender", "names", "placed", scheduler.n_placed, "pods")
    context.add("extender", "names", "given_twice", over, "devices")
    context.add("extender", "names", "memory", memory, "MB")


def count_over(given):
    return sum(milli > 1000 for devices in given.values() for milli in devices.values())


class Real:
    """etcd, kube-apiserver and kube-scheduler, with nodes that announce what they had at first."""

    def __init__(self, context, seed, n_pods):
        import cluster
        self.words, self.chance, self.n_pods = cluster, random.Random(seed), n_pods
        self.folder = tempfile.TemporaryDirectory(prefix="cleave-cluster-")
        self.cluster = cluster.Cluster(self.folder.name)
        self.names = [f"node-{i:04}" for i in range(NODES)]
        for name in self.names:
            n = self.chance.choice((1, 2, 4, 8))
            self.cluster.add_node(name, **{"cleave.dev/gpu-share": str(100 * n)})
            self.cluster.announce(name, *[1000] * n)
        self.process = subprocess.Popen(
            [str(Path(context.build) / "src/bridge/extender/cleave-extender"),
             "--listen=127.0.0.1:0", f"--kubeconfig={self.cluster.kubeconfig()}"],
            stderr=subprocess.PIPE, text=True)
        port = int(self.process.stderr.readline().split()[-1])
        self.recorder = cluster.Recorder(f"http://127.0.0.1:{port}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cluster.close()
        self.recorder.close()
        self.process.terminate()
        self.process.wait(20)
        self.process.stderr.close()
        self.folder.cleanup()

    def place(self):
        """Returns the pods once each is bound, or none has been for a minute."""
        self.cluster.schedule(self.recorder.url)
        for i in range(self.n_pods):
            self.cluster.add_pod(f"pod-{i}", **{
                "cleave.dev/gpu-share": str(self.chance.choice(SHARES))})
        n, until = 0, time.monotonic() + READY_SECONDS
        while n < self.n_pods and time.monotonic() < until:
            time.sleep(.5)
            before, n = n, len(self.recorder.requests("/bind"))
            if n > before:
                until = time.monotonic() + READY_SECONDS
        return self.cluster.ask("GET", "/api/v1/namespaces/default/pods")["items"]

    def decisions(self):
        """The milliseconds of each bound pod, of all calls for it."""
        took = {}
        for path, asked, seconds in self.recorder.took:
            uid = asked["PodUID"] if path == "/bind" else asked["Pod"]["metadata"]["uid"]
            took.setdefault(uid, {})[path] = 1000 * seconds
        return [sum(took[asked["PodUID"]].values()) for path, asked, answer in self.recorder.seen
                if path == "/bind" and not answer["Error"]]


def measure_real(context, seed):
    n_pods = QUICK_PODS if context.quick else PODS
    with Real(context, seed, n_pods) as real:
        pods = real.place()
        decisions, given = real.decisions(), {}
        for pod in pods:
            for row in json.loads(pod["metadata"].get("annotations", {}).get(
                    "cleave.dev/placed", "[]")):
                devices = given.setdefault(pod["spec"]["nodeName"], {})
                devices[row["device"]] = devices.get(row["device"], 0) + row["milli"]
    context.add("extender-all", "kube-scheduler", "decision_p50", percentile(decisions, .5), "ms")
    context.add("extender-all", "kube-scheduler", "decision_p99", percentile(decisions, .99), "ms")
    context.add("extender-all", "kube-scheduler", "placed", len(decisions) / n_pods, "fraction")
    context.add("extender-all", "kube-scheduler", "given_twice", count_over(given), "devices")


def seed_of(context, bench):
    seed = int(os.environ.get("CLEAVE_SEED") or random.SystemRandom().randrange(1 << 32))
    context.tell(f"bench {bench}: CLEAVE_SEED={seed}")
    sys.path.insert(0, str(ROOT / "tests/kubernetes"))
    return seed


def run(context):
    if context.with_cleave and context.wants("names"):
        measure_names(context, seed_of(context, "extender"))


def run_all(context):
    if not context.with_cleave or not context.wants("kube-scheduler"):
        return
    seed = seed_of(context, "extender-all")
    import cluster
    why = cluster.why_not()
    if why:
        raise BenchError(why)
    measure_real(context, seed)
