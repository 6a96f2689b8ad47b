#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Shares for containers, of the CPU as OpenCL sees it.

usage: test_shares.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import json
import os
import random
import shutil
import signal
import subprocess
import unittest

import bed
import grpc
from bed import Bed, wait_until
from kubelet import Refused, plugin_pb

SHARE, MEMORY = "cleave.dev/gpu-share", "cleave.dev/gpu-memory-64mi"
PODS = int(os.environ.get("CLEAVE_PODS", "200"))


class SharesBed(Bed):
    resources = (SHARE,)

    def setUp(self):
        super().setUp()
        self.kubelet.start()
        self.start_bridge()
        self.plugin = self.kubelet.resource(self.resources[0])
        for name in self.resources:
            self.kubelet.resource(name)

    def lease_of(self, pod, container="c"):
        (name,) = self.kubelet.starts[("default", pod)][container]
        return self.agent.get("/v1/leases/" + name.removeprefix(bed.CDI))

    def start_init(self, share, **more):
        """Starts the init container i, whose lease then stays for longer than the grace period."""
        self.kubelet.start_container("p", "i")
        lease = self.lease_of("p", "i")
        self.assertEqual(lease["share"], share)
        for key, value in more.items():
            self.assertEqual(lease[key], value)
        since, before = bed.time.monotonic(), self.kubelet.n_lists
        wait_until(lambda: self.kubelet.n_lists > before + 8 and bed.time.monotonic() > since + 1)
        self.assertEqual(self.leases()[lease["name"]]["id"], lease["id"], self.log())
        self.assertEqual(set(self.leases()), {lease["name"]})

    def ended_init(self):
        """Only the containers have leases."""
        del self.kubelet.starts[("default", "p")]["i"]
        self.check_ledger()

    def restart_bridge(self, with_signal=signal.SIGTERM, **settings):
        self.stop_bridge(with_signal)
        with self.kubelet.lock:
            self.kubelet.registered = {}
        self.start_bridge(**settings)
        for name in self.resources:
            self.kubelet.resource(name)


class Shares(SharesBed):
    def test_list(self):
        self.assertEqual(len(self.plugin.healthy()), 100)
        self.assertEqual(self.plugin.request.version, "v1beta1")
        self.assertTrue(self.plugin.request.options.pre_start_required)

    def test_one(self):
        names = self.kubelet.admit("p", {"c": {SHARE: 30}})["c"]
        self.check_ledger()
        lease = self.lease_of("p")
        self.assertEqual(lease["share"], 0.3)
        self.assertTrue(lease["kept"])
        self.assertEqual(lease["admit"], "socket")
        self.assertAlmostEqual(lease["memory_bytes"],
                               0.3 * self.devices()["gpu0"]["memory_bytes"], delta=1 << 20)
        self.assertEqual(self.kubelet.start_container("p", "c"), names)
        self.kubelet.delete("p")
        self.check_ledger()

    def test_spec(self):
        """The spec mounts the folder of the lease's socket, which exists."""
        self.kubelet.admit("p", {"c": {SHARE: 30}})
        lease = self.lease_of("p")
        with open(os.path.join(self.folder, "cdi", f"cleave-{lease['name']}.json"),
                  encoding="utf-8") as file:
            spec = json.load(file)
        (device,) = spec["devices"]
        self.assertEqual(f"{spec['kind']}={device['name']}", bed.CDI + lease["name"])
        mounts = {m["containerPath"]: m["hostPath"] for m in device["containerEdits"]["mounts"]}
        self.assertEqual(os.path.join(mounts["/run/cleave"], "lease.sock"), lease["socket"])
        self.assertTrue(os.path.exists(lease["socket"]))

    def test_full(self):
        self.kubelet.admit("a", {"c": {SHARE: 60}})
        with self.assertRaises(Refused):
            self.kubelet.admit("b", {"c": {SHARE: 60}})
        self.kubelet.admit("b", {"c": {SHARE: 40}})
        self.check_ledger()

    def test_leases_outside_kubernetes_are_reported(self):
        """A lease outside Kubernetes takes a part that kubelet does not know of."""
        status, _ = self.agent.request("POST", "/v1/leases", {
            "name": "other", "share": 0.5, "keep": True})
        self.assertEqual(status, 201)
        with self.assertRaises(Refused) as caught:
            self.kubelet.admit("a", {"c": {SHARE: 60}})
        self.assertIn("does not fit", str(caught.exception))
        self.check_ledger()

    def test_churn(self):
        """Pods arrive and leave in random order; at each moment their shares fit, and at the end
        the ledger equals kubelet's state."""
        chance = random.Random(5)
        alive, refused = [], 0
        for i in range(PODS):
            while alive and (len(alive) > 8 or chance.random() < 0.4):
                self.kubelet.delete(alive.pop(chance.randrange(len(alive))))
            containers = {f"c{j}": {SHARE: chance.randrange(1, 20)}
                          for j in range(chance.choice((1, 1, 2)))}
            try:
                self.kubelet.admit(f"p{i}", containers)
                alive.append(f"p{i}")
                if chance.random() < 0.5:
                    self.kubelet.start_container(f"p{i}", "c0")
            except Refused as why:
                self.assertIn("available", str(why))
                refused += 1
            if i % 50 == 0:
                self.check_ledger()
        self.check_ledger()
        self.assertLess(refused, PODS / 2)
        for name in alive:
            self.kubelet.delete(name)
        self.check_ledger()
        self.assertEqual(self.leases(), {})

    def test_kubelet_restarts(self):
        for i in range(3):
            self.kubelet.admit(f"p{i}", {"c": {SHARE: 10}})
            self.kubelet.restart()
            self.assertEqual(len(self.kubelet.resource(SHARE).healthy()), 100)
            self.check_ledger()

    def test_kubelet_that_knows_no_pods_yet(self):
        """After a restart it learns of its pods late: nothing is released until then."""
        self.restart_bridge(grace="1s")
        self.kubelet.admit("p", {"c": {SHARE: 10}})
        self.kubelet.hidden = {("default", "p")}
        self.kubelet.restart()
        before = self.kubelet.n_lists
        wait_until(lambda: self.kubelet.n_lists > before + 8)
        self.assertEqual(set(self.leases()), self.wanted())
        self.kubelet.hidden = set()
        self.check_ledger()

    def test_kubelet_that_seems_to_be_old(self):
        """After a step of the wall clock, the age of kubelet's socket says nothing."""
        self.kubelet.admit("p", {"c": {SHARE: 10}})
        self.kubelet.hidden = {("default", "p")}
        os.utime(os.path.join(self.kubelet.plugins, "kubelet.sock"), (1, 1))
        self.restart_bridge(grace="5s")
        since = bed.time.monotonic()
        wait_until(lambda: bed.time.monotonic() > since + 6)
        self.assertEqual(set(self.leases()), self.wanted(), self.log())
        self.kubelet.hidden = set()
        self.check_ledger()

    def test_bridge_restarts(self):
        self.kubelet.admit("p", {"c": {SHARE: 10}})
        before = self.lease_of("p")["id"]
        for with_signal in (signal.SIGTERM, signal.SIGKILL):
            self.restart_bridge(with_signal)
            self.check_ledger()
            self.assertEqual(self.lease_of("p")["id"], before)
            self.kubelet.start_container("p", "c")

    def test_agent_restarts(self):
        self.kubelet.admit("p", {"c": {SHARE: 10}})
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.check_ledger()
        self.kubelet.admit("q", {"c": {SHARE: 10}})
        self.check_ledger()

    def test_leases_that_were_lost_come_back(self):
        """As after a reboot of the machine: kubelet has its pods, the agent nothing, and Allocate
        is not called again."""
        self.kubelet.admit("p", {"c": {SHARE: 10}})
        self.kubelet.admit("q", {"c": {SHARE: 20}, "d": {SHARE: 30}})
        self.stop_bridge()
        self.agent.stop()
        shutil.rmtree(self.agent.state)
        shutil.rmtree(os.path.join(self.folder, "cdi"))
        self.agent.start()
        self.assertEqual(self.leases(), {})
        self.restart_bridge_after_loss()
        self.check_ledger()
        self.assertEqual(self.lease_of("q", "d")["share"], 0.3)

    def restart_bridge_after_loss(self):
        with self.kubelet.lock:
            self.kubelet.registered = {}
        self.start_bridge()
        self.kubelet.resource(SHARE)

    def test_start_creates_missing_leases(self):
        """A container may start before the loss of its lease is detected."""
        self.restart_bridge(reconcile="1h")
        self.kubelet.admit("p", {"c": {SHARE: 10}})
        name = self.lease_of("p")["name"]
        self.assertEqual(self.agent.request("DELETE", f"/v1/leases/{name}")[0], 204)
        self.kubelet.start_container("p", "c")
        self.assertEqual(self.lease_of("p")["share"], 0.1)

    def test_killed_at_any_moment(self):
        chance = random.Random(11)
        n = 0
        for _ in range(15):
            killer = subprocess.Popen(
                ["sh", "-c", f"sleep {chance.random() * 0.05:.4f}; kill -9 {self.process.pid}"])
            for _ in range(20):
                n += 1
                try:
                    self.kubelet.admit(f"p{n}", {"c": {SHARE: chance.randrange(1, 9)}})
                except (Refused, grpc.RpcError, AssertionError):
                    break
                if chance.random() < 0.5:
                    self.kubelet.delete(f"p{n}")
            killer.wait()
            self.restart_bridge(signal.SIGKILL)
            for key in list(self.kubelet.pods):
                if chance.random() < 0.6:
                    self.kubelet.delete(key[1])
            self.check_ledger()
            total = sum(lease["share"] for lease in self.leases().values())
            self.assertLessEqual(total, 1.0001)

    def test_pod_killed_before_it_starts(self):
        self.kubelet.admit("p", {"c": {SHARE: 10}})
        self.kubelet.delete("p")
        self.check_ledger()
        self.assertEqual(self.leases(), {})

    def test_ids_are_given_away_at_once(self):
        """Kubelet knows that a pod is gone before the plugin does."""
        self.restart_bridge(reconcile="1h")
        for i in range(10):
            self.kubelet.admit(f"p{i}", {"c": {SHARE: 60 + i}})
            self.kubelet.delete(f"p{i}")
        self.assertLessEqual(len(self.leases()), 1)

    def test_list_of_before(self):
        """A list that comes late does not take a new container's lease away."""
        self.kubelet.admit("old", {"c": {SHARE: 80}})
        self.check_ledger()
        ids = self.kubelet.pods[("default", "old")]["c"][SHARE]
        n_lists = self.kubelet.n_lists
        self.kubelet.may_answer.clear()
        self.assertTrue(wait_until(lambda: self.kubelet.n_lists > n_lists))
        self.kubelet.delete("old")
        self.kubelet.admit("new", {"c": {SHARE: 70}}, reusable={SHARE: ids})
        lease = self.lease_of("new")["id"]
        n_lists = self.kubelet.n_lists
        self.kubelet.may_answer.set()
        self.assertTrue(wait_until(lambda: self.kubelet.n_lists > n_lists + 2))
        self.assertEqual(self.lease_of("new")["id"], lease)

    def test_init_container(self):
        """Kubelet does not list it, and gives its ids to the containers after it."""
        self.kubelet.admit("p", {"a": {SHARE: 30}, "b": {SHARE: 20}}, init={"i": {SHARE: 80}})
        self.start_init(0.8)
        self.kubelet.start_container("p", "a")
        self.assertEqual(self.lease_of("p", "a")["share"], 0.3)
        self.ended_init()

    def test_init_container_of_a_pod_that_ends(self):
        self.kubelet.admit("p", {"a": {SHARE: 30}}, init={"i": {SHARE: 80}})
        self.start_init(0.8)
        self.kubelet.delete("p")
        self.check_ledger()
        self.assertEqual(self.leases(), {})

    def test_smaller_init_container(self):
        self.kubelet.admit("p", {"a": {SHARE: 60}}, init={"i": {SHARE: 10}, "j": {SHARE: 20}})
        self.start_init(0.1)
        self.kubelet.start_container("p", "j")
        self.assertEqual(self.lease_of("p", "j")["share"], 0.2)
        self.kubelet.start_container("p", "a")
        del self.kubelet.starts[("default", "p")]["j"]
        self.ended_init()

    def test_processes_keep_their_lease(self):
        """A live process keeps its lease when kubelet has forgotten its pod."""
        self.kubelet.admit("p", {"c": {SHARE: 80}})
        holder = bed.harness.Holder(self.agent)
        self.addCleanup(holder.end)
        reply = holder.do("attach", socket=self.lease_of("p")["socket"])
        self.assertEqual(reply["status"], 0, reply)
        self.kubelet.delete("p")
        with self.assertRaises(Refused):
            self.kubelet.admit("q", {"c": {SHARE: 80}})
        self.assertEqual(len(self.leases()), 1)
        holder.kill()
        self.check_ledger()
        self.kubelet.admit("q", {"c": {SHARE: 80}})

    def test_unhealthy(self):
        for verb, n in (("cordon", 0), ("uncordon", 100)):
            self.agent.request("POST", f"/v1/devices/gpu0/{verb}")
            self.plugin.wait(lambda p: len(p.healthy()) == n, 2)
        self.assertEqual(len(self.plugin.devices), 100)

    def test_two_plugins_for_a_resource(self):
        """The last one that registers has it; the other one returns, but not at once."""
        other = subprocess.run(
            [bed.PROGRAMS["kubelet"], "--config", self.write_settings()],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(other.returncode, 75, other.stderr)
        self.assertIn(str(self.process.pid), other.stderr)
        self.kubelet.resource(SHARE).close()  # as kubelet does when another one registers
        with self.kubelet.lock:
            self.kubelet.registered = {}
        self.assertEqual(len(self.kubelet.resource(SHARE, 20).healthy()), 100)

    def test_refused_registration_is_tried_again(self):
        self.kubelet.refuse = True
        self.kubelet.restart()
        wait_until(lambda: "does not accept" in self.log())
        self.kubelet.refuse = False
        self.assertEqual(len(self.kubelet.resource(SHARE, 20).healthy()), 100)

    def test_wrong_ids(self):
        for ids in (["x"], [":"], ["::1"], ["no::1"], ["x::1", "y::2"], [""]):
            with self.assertRaises(Refused):
                self.kubelet.allocate(self.plugin, ids)
        some = sorted(self.plugin.devices)[0]
        for ids in ([some, some], [some + "9999"], []):
            with self.assertRaises(Refused):
                self.kubelet.allocate(self.plugin, ids)
        self.check_ledger()

    def test_more_containers_in_a_call(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.plugin.stub.Allocate(plugin_pb.AllocateRequest(
                container_requests=[{"devices_ids": ["a"]}] * 2))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)

    def test_agent_away(self):
        self.kubelet.admit("p", {"c": {SHARE: 10}})
        self.agent.stop()
        with self.assertRaises(Refused):
            self.kubelet.admit("q", {"c": {SHARE: 10}})
        self.agent.start()
        self.check_ledger()


class Memory(SharesBed):
    settings = {"undivided": "memory", "memory-unit": "64M"}
    resources = (MEMORY,)

    def test_memory_alone(self):
        self.kubelet.admit("p", {"c": {MEMORY: 8}})
        lease, whole = self.lease_of("p"), self.devices()["gpu0"]["memory_bytes"]
        self.assertEqual(lease["memory_bytes"], 512 << 20)
        self.assertAlmostEqual(lease["share"], (512 << 20) / whole, places=5)
        self.check_ledger()

    def test_mebibytes(self):
        self.restart_with("1M", "cleave.dev/gpu-memory")
        plugin = self.kubelet.resource("cleave.dev/gpu-memory")
        whole = self.devices()["gpu0"]["memory_bytes"]
        self.assertEqual(len(plugin.healthy()), whole >> 20)
        self.kubelet.admit("p", {"c": {"cleave.dev/gpu-memory": 1234}})
        self.assertEqual(self.lease_of("p")["memory_bytes"], 1234 << 20)
        self.check_ledger()

    def restart_with(self, unit, name):
        self.stop_bridge()
        self.resources = (name,)
        self.start_bridge(**{"memory-unit": unit})


class MuchMemory(Bed):
    """What kubelet reads in a list bounds the number of units."""
    sim = """version: 1
name: lab
devices:
  - {model: MI355X, count: 16}
"""
    settings = {"undivided": "memory"}

    def test_unit_by_size(self):
        self.kubelet.start()
        self.start_bridge()
        name = "cleave.dev/gpu-memory-1gi"
        plugin = self.kubelet.resource(name)
        self.assertEqual(len(plugin.healthy()), 16 * 288)
        self.assertIn(f"a unit of {name} is 1024 MiB", self.log())
        self.kubelet.admit("p", {"c": {name: 100}})
        (lease,) = self.leases().values()
        self.assertEqual(lease["memory_bytes"], 100 << 30)

    def test_smallest_unit_that_fits(self):
        """The list fits when all devices have become unhealthy, which makes it longer."""
        self.kubelet.start()
        self.start_bridge(**{"memory-unit": "34M"})
        plugin = self.kubelet.resource("cleave.dev/gpu-memory-34mi")
        n_units = 16 * (288 * 1024 // 34)
        self.assertEqual(len(plugin.healthy()), n_units)
        for i in range(16):
            self.agent.request("POST", f"/v1/devices/gpu{i}/cordon")
        plugin.wait(lambda p: not p.healthy())
        self.assertEqual(len(plugin.devices), n_units)

    def test_unit_that_is_too_small(self):
        """The list would fit while the devices are healthy."""
        self.kubelet.start()
        self.start_bridge(**{"memory-unit": "32M"})
        self.assertTrue(wait_until(lambda: "set a larger memory-unit" in self.log()), self.log())
        self.assertTrue(wait_until(lambda: len(self.kubelet.registrations) > 1), self.log())


class Both(SharesBed):
    settings = {"undivided": "both", "memory-unit": "64M"}
    resources = (SHARE, MEMORY)

    def test_one_lease(self):
        """In any order of kubelet's requests."""
        for i, order in enumerate(((SHARE, MEMORY), (MEMORY, SHARE)) * 3):
            wanted = {SHARE: 10 + i, MEMORY: 3 + i}
            self.kubelet.admit(f"p{i}", {"c": {name: wanted[name] for name in order}}, order=1)
            lease = self.lease_of(f"p{i}")
            self.assertEqual(lease["share"], (10 + i) / 100)
            self.assertEqual(lease["memory_bytes"], (3 + i) * (64 << 20))
            self.kubelet.start_container(f"p{i}", "c")
        self.check_ledger()
        self.restart_bridge()
        self.check_ledger()
        for i in range(6):
            self.kubelet.start_container(f"p{i}", "c")

    def test_one_without_the_other(self):
        for resource in self.resources:
            self.kubelet.admit("p", {"c": {resource: 5}})
            with self.assertRaises(Refused) as caught:
                self.kubelet.start_container("p", "c")
            self.assertIn("requires both", str(caught.exception))
            self.kubelet.delete("p")
        wait_until(lambda: not self.leases())
        self.assertEqual(self.leases(), {})

    def test_two_halves_are_no_pair(self):
        """A container with a share and the next one with memory have nothing in common."""
        self.kubelet.admit("p", {"c": {SHARE: 5}})
        self.kubelet.admit("q", {"c": {MEMORY: 5}})
        for pod in "pq":
            with self.assertRaises(Refused):
                self.kubelet.start_container(pod, "c")
            self.kubelet.delete(pod)
        wait_until(lambda: not self.leases())
        self.assertEqual(self.leases(), {})

    def test_init_container(self):
        for share, units in ((50, 9), (5, 2), (50, 2), (10, 5)):
            with self.subTest(share=share, units=units):
                self.kubelet.admit("p", {"a": {SHARE: 10, MEMORY: 5}},
                                   init={"i": {SHARE: share, MEMORY: units}})
                self.start_init(share / 100, memory_bytes=units * (64 << 20))
                self.kubelet.start_container("p", "a")
                lease = self.lease_of("p", "a")
                self.assertEqual((lease["share"], lease["memory_bytes"]), (.1, 5 * (64 << 20)))
                self.ended_init()
                self.kubelet.delete("p")
                self.check_ledger()

    def test_init_container_with_one_alone(self):
        self.kubelet.admit("p", {"a": {SHARE: 10, MEMORY: 5}}, order=1,
                           init={"i": {SHARE: 20}})
        with self.assertRaises(Refused) as caught:
            self.kubelet.start_container("p", "i")
        self.assertIn("both", str(caught.exception))

    def test_churn(self):
        chance = random.Random(3)
        alive = []
        for i in range(100):
            while len(alive) > 6 or (alive and chance.random() < 0.4):
                self.kubelet.delete(alive.pop(chance.randrange(len(alive))))
            self.kubelet.admit(f"p{i}", {"c": {SHARE: chance.randrange(1, 12),
                                               MEMORY: chance.randrange(1, 12)}})
            self.kubelet.start_container(f"p{i}", "c")
            alive.append(f"p{i}")
        self.check_ledger()


class Replicas(SharesBed):
    settings = {"undivided": "replicas",
                "replicas": {"name": "nvidia.com/gpu.shared", "count": 4}}
    resources = ("nvidia.com/gpu.shared",)

    def test_replicas(self):
        self.assertEqual(len(self.plugin.healthy()), 4)
        for i in range(4):
            self.kubelet.admit(f"p{i}", {"c": {self.resources[0]: 1}})
            self.assertEqual(self.lease_of(f"p{i}")["share"], 0.25)
        with self.assertRaises(Refused):
            self.kubelet.admit("q", {"c": {self.resources[0]: 1}})
        self.check_ledger()


class Settings(unittest.TestCase):
    def test_wrong(self):
        for text, words in (("version: 2", "kubelet.yaml:1:10"),
                            ("version: 1\nundivide: share", "undivided"),
                            ("version: 1\nundivided: shares", "share"),
                            ("version: 1\nmemory-unit: 1K", "mebibytes"),
                            ("version: 1\nreplicas: {name: gpu, count: 2}", "cleave.dev/"),
                            ("version: 1\nreplicas: {count: 1}", "2")):
            path = os.path.join(self.folder, "kubelet.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([bed.PROGRAMS["kubelet"], "--config", path],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 78, text)
            self.assertIn(words, done.stderr)

    def setUp(self):
        self.folder = bed.tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)


if __name__ == "__main__":
    bed.main()
