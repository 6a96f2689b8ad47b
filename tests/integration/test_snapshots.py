#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Snapshots of clusters as files of `cleave fit`, `cleave simulate` and `cleave defrag`: what
`kubectl get nodes,pods --all-namespaces -o json` and `scontrol show nodes|jobs --json` print.

Argument: the cleave program.
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CLEAVE = "cleave"


def cleave(*words, text=None):
    return subprocess.run([CLEAVE, *map(str, words)], capture_output=True, text=True, input=text,
                          timeout=120, check=False)


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=4))
        return path

    def rows(self, *words, code=0):
        done = cleave(*words, "-o", "json")
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)["items"]

    def places(self, fleet, requests, code=0):
        """By request: (node, devices), or what is missing."""
        return [(row["node"], row["devices"]) if row["fits"] == "yes" else row["missing"]
                for row in self.rows("fit", fleet, requests, code=code)]

    def free(self, fleet):
        """{node: free devices}, by filling the fleet with requests for a device."""
        requests = self.file("fill.yaml", "version: 1\nrequests:\n  - {count: 64, devices: 1}\n")
        found = {}
        for place in self.places(fleet, requests, 75):
            if isinstance(place, tuple):
                found.setdefault(place[0], []).append(int(place[1]))
        return {node: sorted(devices) for node, devices in found.items()}

    def assert_fails(self, words, said):
        done = cleave(*words)
        self.assertEqual((done.returncode, done.stdout), (78, ""))
        self.assertRegex(done.stderr, r"\Acleave[^\n]*\n\Z")
        self.assertIn(said, done.stderr)


def node(name, allocatable, labels=None, ready="True", **spec):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})},
                         "creationTimestamp": "2025-10-01T00:00:00Z"},
            "spec": {"podCIDR": "10.244.0.0/24", **spec},
            "status": {"allocatable": {"ephemeral-storage": "95G", "pods": "110", **allocatable},
                       "capacity": allocatable,
                       "conditions": [{"type": "MemoryPressure", "status": "False"},
                                      {"type": "Ready", "status": ready}]}}


def pod(name, requests, on=None, phase=None, at="2025-11-03T08:15:00Z", **spec):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "ml", "creationTimestamp": at},
            "spec": {**({"nodeName": on} if on else {}), "restartPolicy": "Always",
                     "containers": [{"name": "main", "image": "i", "resources": requests}], **spec},
            "status": {"phase": phase or ("Running" if on else "Pending")}}


def wants(**more):
    """Requests and limits, as the API server fills them in for extended resources."""
    amounts = {key.replace("__", "/").replace("_", "."): value for key, value in more.items()}
    return {"requests": amounts, "limits": {k: v for k, v in amounts.items() if "/" in k}}


def gpus(n, cpu="1"):
    return {"requests": {"cpu": cpu, "memory": "1Gi", "nvidia.com/gpu": str(n)},
            "limits": {"nvidia.com/gpu": str(n)}}


A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920",
        "nvidia.com/gpu.count": "4"}
L4 = {"nvidia.com/gpu.product": "NVIDIA-L4", "nvidia.com/gpu.memory": "23034"}
SIZE = {"cpu": "15890m", "memory": "65536000Ki"}


class Kubernetes(Case):
    def cluster(self, *pods, more=()):
        return self.file("cluster.json", {
            "apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""},
            "items": [node("control", {"cpu": "4", "memory": "8Gi"}, ready="False"),
                      node("a", {**SIZE, "nvidia.com/gpu": "4"}, A100),
                      node("drained", {**SIZE, "nvidia.com/gpu": "8"}, A100, unschedulable=True),
                      node("b", {**SIZE, "nvidia.com/gpu": "2"}, L4), *more, *pods]})

    def test_nodes_and_what_runs_on_them(self):
        """The node that is not ready and the drained one are no nodes of the fleet; pods that have
        ended hold nothing."""
        fleet = self.cluster(pod("one", gpus(1), "a"), pod("two", gpus(2), "a"),
                             pod("ended", gpus(1), "a", "Succeeded"),
                             pod("failed", gpus(1), "b", "Failed"), pod("other", gpus(8), "drained"))
        self.assertEqual(self.free(fleet), {0: [3], 1: [0, 1]})

    def test_processors_and_memory_are_held_too(self):
        fleet = self.cluster(
            pod("sum", wants(cpu="10", memory="10Gi"), "a"),
            # The larger of the containers and the initial one beside its sidecar; the overhead.
            pod("initial", wants(cpu="1"), "b", overhead={"cpu": "500m"}, initContainers=[
                {"name": "s", "restartPolicy": "Always", "resources": wants(cpu="2")},
                {"name": "i", "resources": wants(cpu="10")}]))
        for node_number, cpus in ((0, 5), (1, 3)):
            model = ("NVIDIA-A100-SXM4-80GB", "NVIDIA-L4")[node_number]
            for n, fits in ((cpus, 0), (cpus + 1, 75)):
                requests = self.file("r.yaml", "version: 1\nrequests:\n"
                                     f"  - {{devices: 1, cpus: {n}, models: [{model}]}}\n")
                self.assertEqual(cleave("fit", fleet, requests).returncode, fits, (model, n))

    def test_pods_that_wait_are_requests(self):
        fleet = self.cluster(
            pod("held", gpus(3), "a"), pod("first", gpus(1)),
            pod("chosen", gpus(1), nodeSelector={"nvidia.com/gpu.product": "NVIDIA-L4"}),
            pod("nowhere", gpus(1), nodeSelector={"nvidia.com/gpu.product": "NVIDIA-H100"}),
            pod("large", gpus(3)))
        places = self.places(fleet, fleet, 75)
        self.assertEqual(places[1][0], 1)
        self.assertEqual((places[0][0], places[2], places[3]),
                         (0 if places[0][0] == 0 else 1, "no node has one of its models",
                          "free devices on one node"))

    def test_shares_of_cleave(self):
        """Hundredths of a device; several devices are whole ones."""
        more = [node("c", {**SIZE, "cleave.dev/gpu-share": "200"},
                     {"cleave.dev/gpu.product": "A100-80GB"})]
        fleet = self.cluster(*(pod(f"s{i}", {"limits": {"cleave.dev/gpu-share": str(share)}}, "c")
                               for i, share in enumerate((70, 20, 60))), more=more)
        requests = self.file("r.yaml", "version: 1\nrequests:\n  - {share: 0.4, models: [A100-80GB]}\n")
        self.assertEqual(self.places(fleet, requests), [(2, "1")])
        requests = self.file("r.yaml", "version: 1\nrequests:\n  - {share: 0.41, models: [A100-80GB]}\n")
        self.assertEqual(self.places(fleet, requests, 75), ["devices of its models: others are free"])

    def test_more_than_a_node_has(self):
        """A device that failed is no longer allocatable, and its pod still runs."""
        fleet = self.cluster(pod("one", gpus(2), "b"), pod("two", gpus(2, "32"), "b"))
        self.assertEqual(self.free(fleet), {0: [0, 1, 2, 3]})

    def test_simulate_plays_all_pods_on_empty_nodes(self):
        pods = [pod("late", gpus(4), "a", at="2025-11-03T09:00:00Z"),
                pod("early", gpus(2), at="2025-11-03T08:00:00Z"), pod("ended", gpus(1), "a", "Failed")]
        fleet = self.cluster(*pods)
        row, = self.rows("simulate", fleet, fleet, "--times", "-p", "best-fit")
        self.assertEqual((row["arrived"], row["placed"], row["allocated"]), (2, 2, 1))
        row, = self.rows("simulate", fleet, fleet, "-p", "worst-fit")
        # The first one is put where more is free.
        self.assertEqual((row["arrived"], row["placed"]), (2, 1))

    def test_defrag_leaves_what_runs(self):
        fleet = self.cluster(pod("one", gpus(3), "a"), pod("two", gpus(1), "b"))
        wanted = self.file("w.yaml", "version: 1\nrequests:\n  - {devices: 2}\nplaced: []\n")
        row, = self.rows("defrag", fleet, wanted, code=75)
        self.assertEqual(row["do"], "cannot fit")
        wanted = self.file("w.yaml", "version: 1\nrequests:\n  - {devices: 1}\nplaced:\n"
                           "  - {node: 1, on: [1]}\n")
        self.assertEqual([row["do"] for row in self.rows("defrag", fleet, wanted)], ["place"])

    def test_bad_files(self):
        good = self.file("r.yaml", "version: 1\nrequests:\n  - {devices: 1}\n")
        for items, said in (([], "no node that accepts work"),
                            ([pod("p", gpus(1))], "no node that accepts work"),
                            ([node("n", {"nvidia.com/gpu": "65"})], "'n' has more than 64 devices")):
            path = self.file("c.json", {"kind": "List", "items": items})
            self.assert_fails(("fit", path, good), said)
        path = self.file("c.json", '{\n"kind": "List",\n"items": [\n')
        self.assert_fails(("fit", path, good), "c.json:")
        fleet = self.cluster()
        self.assert_fails(("fit", fleet, fleet), "no pod or job waits")
        for wrong in ({"items": [1, None, {}, {"kind": "Node"}, {"kind": "Pod", "spec": 3}]},
                      {"items": [node("n", {"cpu": "a lot", "memory": "-5", "nvidia.com/gpu": "1e300"})]}):
            self.assertIn(cleave("fit", self.file("c.json", wrong), good).returncode, (75, 78))

    def test_odd_items_are_left_out(self):
        """A node of time slices (8 devices in 10 each), and a pod that wants more than a node can
        have: the others are read, and their places stay those of their names."""
        items = [node("sliced", {**SIZE, "nvidia.com/gpu": "80"}, A100),
                 node("a", {**SIZE, "nvidia.com/gpu": "4"}, A100),
                 pod("on-sliced", gpus(9), "sliced"), pod("on-a", gpus(3), "a"),
                 pod("huge", gpus(65)), pod("vast", gpus(70)), pod("fits", gpus(1))]
        path = self.file("c.json", {"kind": "List", "items": items})
        done = cleave("fit", path, path, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        row, = json.loads(done.stdout)["items"]
        self.assertEqual((row["node"], row["devices"]), (0, "3"))
        self.assertEqual(done.stderr.splitlines(), [
            f"cleave: {path}: 1 left out: node 'sliced' has more than 64 devices",
            f"cleave: {path}: 2 left out: 'huge' wants more than 64 devices of a node, or more than "
            "1024 nodes, and others"])
        done = cleave("simulate", path, path, "-p", "fgd,best-fit", "-o", "json")
        self.assertEqual([row["arrived"] for row in json.loads(done.stdout)["items"]], [3, 3])
        self.assertEqual(done.stderr.count("left out"), 2)
        wanted = self.file("w.yaml", "version: 1\nrequests:\n  - {devices: 1}\n")
        done = cleave("defrag", path, wanted, "-o", "json")
        self.assertEqual([row["to"] for row in json.loads(done.stdout)["items"]], ["node 0: 3"])

    def test_pipes(self):
        """Standard input and the files of <(...) can be read once, and are a fleet, and a trace that
        every policy plays."""
        fleet = self.cluster(pod("one", gpus(3), "a"), pod("wide", gpus(2)), pod("more", gpus(2)))
        wanted = self.file("w.yaml", "version: 1\nrequests:\n  - {devices: 1, count: 3}\n")
        columns = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
        for words, text in (
                (("fit", "-", wanted), fleet.read_text()), (("fit", fleet, "-"), wanted.read_text()),
                (("fit", fleet, "-"), columns + "a,1,1,1,1000\n"),
                (("simulate", fleet, "-"), fleet.read_text()),
                (("simulate", fleet, "-", "--accept", "90%"), columns + "a,1,1,1,1000\n"),
                (("defrag", "-", wanted), fleet.read_text())):
            with self.subTest(words=words):
                at = words.index("-")
                path = self.file("same", text)
                expected = cleave(*words[:at], path, *words[at + 1:], "-o", "json")
                self.assertEqual(expected.returncode, 0, expected.stderr)
                done = cleave(*words, "-o", "json", text=text)
                self.assertEqual((done.returncode, done.stdout), (0, expected.stdout), done.stderr)
        for words in (("bash", "-c", f"{CLEAVE} fit - {wanted} < {fleet}"), (CLEAVE, "fit", fleet, wanted)):
            self.assertEqual(subprocess.run(words, capture_output=True, timeout=120,
                                            check=False).returncode, 0)
        script = f"exec {CLEAVE} simulate <(cat {fleet}) <(cat {fleet}) -p fgd,packing -o json"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120,
                              check=True)
        self.assertEqual([row["arrived"] for row in json.loads(done.stdout)["items"]], [3, 3])

    def test_numbers_beyond_bounds(self):
        """They count as the most that is possible, not as what is left of their bits."""
        for text in ("1e300", "1e999", "-5", "18446744073709551616"):
            items = [node("n", {"cpu": text, "memory": text, "nvidia.com/gpu": "2"})]
            path = self.file("c.json", {"kind": "List", "items": items})
            wanted = self.file("w.yaml", "version: 1\nrequests:\n  - {devices: 1, cpus: 1, memory: 1Gi}\n")
            self.assertEqual(cleave("fit", path, wanted).returncode, 75 if text == "-5" else 0, text)

    def test_json_of_our_own_is_no_snapshot(self):
        fleet = self.file("f.json", {"version": 1, "nodes": [
            {"model": "A", "cpus": 8, "memory": "8Gi", "devices": 2}]})
        requests = self.file("r.json", {"version": 1, "requests": [{"devices": 2}]})
        self.assertEqual(self.places(fleet, requests), [(0, "0,1")])


def number(n):
    return {"set": True, "infinite": False, "number": n}


class Slurm(Case):
    def nodes(self, *nodes):
        return self.file("nodes.json", {
            "nodes": list(nodes), "last_update": number(1762157700), "warnings": [], "errors": [],
            "meta": {"plugin": {"data_parser": "data_parser/v0.0.40"}, "slurm": {"release": "23.11.1"}}})

    def jobs(self, *jobs):
        return self.file("jobs.json", {"jobs": list(jobs), "warnings": [], "errors": []})

    @staticmethod
    def node(name, gres, used="", state=("MIXED",), cpus=0, memory=0, **more):
        return {"name": name, "hostname": name, "state": list(state), "cpus": 64,
                "effective_cpus": 64, "real_memory": 512000, "alloc_cpus": cpus,
                "alloc_memory": memory, "gres": gres, "gres_used": used, **more}

    @staticmethod
    def job(name, tres, state=("PENDING",), **more):
        return {"job_id": 7, "name": name, "job_state": list(state), "tres_req_str": tres,
                "submit_time": number(1762157600), "time_limit": number(60),
                "priority": number(100), **more}

    def test_devices_in_use(self):
        """With and without types, of several types the first; nodes that are down do not count."""
        fleet = self.nodes(
            self.node("n1", "gpu:a100:4(S:0-1)", "gpu:a100:2(IDX:0,2)"),
            self.node("n2", "gpu:a100:8", "gpu:a100:0(IDX:N/A)", ("IDLE", "DRAIN")),
            self.node("n3", "gpu:2(S:0)", "gpu:1"),
            self.node("n4", "gpu:4", "gpu:(null):3(IDX:0-2)"),
            self.node("n5", "gpu:t4:2(S:0),gpu:l4:1(S:1),shard:8",
                      "gpu:t4:1(IDX:1),gpu:l4:1(IDX:2),shard:0(0/2,0/2)"),
            self.node("n6", "gpu:a100:8", "", ("DOWN", "NOT_RESPONDING")),
            self.node("n7", "", ""))
        self.assertEqual(self.free(fleet), {0: [1, 3], 1: [1], 2: [3], 3: [0]})

    def test_older_versions(self):
        """22.05: the state is a text with flags beside it."""
        fleet = self.nodes(
            {"name": "n1", "state": "idle", "state_flags": ["DRAIN"], "cpus": 8, "real_memory": 1000,
             "gres": "gpu:8", "gres_used": "gpu:0"},
            {"name": "n2", "state": "mixed", "state_flags": [], "cpus": 8, "real_memory": 1000,
             "alloc_cpus": 2, "alloc_memory": 0, "gres": "gpu:2", "gres_used": "gpu:1(IDX:1)"})
        jobs = self.jobs({"name": "j", "job_state": "PENDING", "tres_req_str": "cpu=6,node=1,gres/gpu=1",
                          "submit_time": 1762157600, "time_limit": 60},
                         {"name": "k", "job_state": "COMPLETED", "tres_req_str": "cpu=1,node=1"})
        self.assertEqual(self.places(fleet, jobs), [(0, "0")])

    def test_jobs_that_wait(self):
        fleet = self.nodes(self.node("n1", "gpu:a100:4", "gpu:a100:1(IDX:3)", cpus=60),
                           self.node("n2", "gpu:l4:4", "gpu:l4:0(IDX:N/A)", memory=500000))
        jobs = self.jobs(
            self.job("cpus", "cpu=5,mem=20G,node=1,billing=5,gres/gpu=1,gres/gpu:a100=1"),
            self.job("memory", "cpu=1,mem=13G,node=1,gres/gpu=1,gres/gpu:l4=1"),
            self.job("fits", "cpu=4,mem=500M,node=1,gres/gpu=2,gres/gpu:a100=2"),
            self.job("runs", "cpu=60,node=1,gres/gpu=1", ("RUNNING",)),
            self.job("ended", "cpu=60,node=1,gres/gpu=1", ("TIMEOUT",)),
            self.job("unknown", "cpu=1,node=1,gres/gpu=1,gres/gpu:h200=1"))
        self.assertEqual(self.places(fleet, jobs, 75), [
            "processors beside free devices", "the node's memory beside free devices", (0, "0,1"),
            "no node has one of its models"])

    def test_options_of_jobs(self):
        """As Debian's Slurm 22.05 prints them where the accounting does not track GPUs."""
        fleet = self.nodes(self.node("n1", "gpu:a100:4", "gpu:a100:0(IDX:N/A)", memory=511000),
                           self.node("n2", "gpu:l4:4", "gpu:l4:0(IDX:N/A)", memory=511000))
        tres = "cpu=2,mem=512000M,node=1,billing=2"
        none = {"memory_per_node": None, "memory_per_cpu": None}
        for more, place in (
                ({"tres_per_node": "gres:gpu:l4:2"}, (1, "0,1")),
                ({"tres_per_job": "gres/gpu:l4:3"}, (1, "0,1,2")),
                ({"tres_per_task": "gres:gpu:a100:1", "tasks": number(3)}, (0, "0,1,2")),
                ({"tres_per_node": "gres:cleave:30,gres:gpu:a100:1"}, (0, "0"))):
            self.assertEqual(self.places(fleet, self.jobs(self.job("j", tres, **more, **none))), [place])
        stated = {"memory_per_node": number(512000), "memory_per_cpu": number(0)}
        self.assertEqual(self.places(fleet, self.jobs(self.job("j", tres, **stated)), 75),
                         ["the node's memory beside free devices"])

    def test_a_job_on_several_nodes_is_a_gang(self):
        nodes = [self.node(f"n{i}", "gpu:a100:4", "gpu:a100:0(IDX:N/A)") for i in range(3)]
        job = self.job("wide", "cpu=96,mem=300G,node=3,gres/gpu=12")
        self.assertEqual(self.places(self.nodes(*nodes), self.jobs(job)),
                         [(i, "0,1,2,3") for i in range(3)])
        nodes[1]["gres_used"] = "gpu:a100:1(IDX:0)"
        self.assertEqual(self.places(self.nodes(*nodes), self.jobs(job), 75),
                         ["room for all of its gang at once"] * 3)

    def test_odd_jobs_are_left_out(self):
        """Of more nodes than a gang can have, and with numbers that were never set."""
        unset = 2**64 - 1
        fleet = self.nodes(self.node("n1", "gpu:2", alloc_idle_cpus=unset))
        jobs = self.jobs(self.job("vast", "cpu=2000,node=2000,gres/gpu=2000"),
                         self.job("fits", "cpu=1,node=1,gres/gpu=1", nice=unset, time_limit=unset),
                         self.job("many", "node=1,gres/gpu=18446744073709551615"))
        done = cleave("fit", fleet, jobs, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["items"]), 1)
        self.assertIn("jobs.json: 2 left out: 'vast' wants more than", done.stderr)

    def test_simulate_with_a_queue(self):
        """Times of submission and limits of time, in minutes; priorities."""
        fleet = self.nodes(self.node("n1", "gpu:2"))
        jobs = self.jobs(self.job("first", "cpu=1,node=1,gres/gpu=2", ("RUNNING",)),
                         self.job("second", "cpu=1,node=1,gres/gpu=1", submit_time=number(1762157660)))
        row, = self.rows("simulate", fleet, jobs, "--times", "--queue", "fifo", "-p", "fgd")
        self.assertEqual((row["arrived"], row["placed"]), (2, 2))
        self.assertEqual(row["wait_p99_s"], 3540)


if __name__ == "__main__":
    CLEAVE = sys.argv.pop(1)
    unittest.main()
