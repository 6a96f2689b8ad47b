#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Dynamic resource allocation, with a double of the API server and simulated nodes.

usage: test_dra.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

import bed
import grpc
from api_server import GATED, ApiServer, amount, share_id
from bed import Bed, wait_until
from kubelet import MODULES

health_pb = MODULES["health_pb2"]
dra_pb, dra_grpc = MODULES["dra_pb2"], MODULES["dra_pb2_grpc"]
reg_pb, reg_grpc = MODULES["registration_pb2"], MODULES["registration_pb2_grpc"]

MIG = """
version: 1
name: lab
devices:
  - {model: A100-80GB, count: 2, numa: [0, 1], at-start: {mig: on, instances: [
      {profile: 1g.10gb, start: 6}]}}
"""


class DraBed(Bed):
    minor = "34"
    with_tls = False
    gates = GATED

    def setUp(self):
        super().setUp()
        self.kubelet.start()
        self.api = self.make_server()
        self.addCleanup(self.api.close)
        self.config = os.path.join(self.folder, "kubeconfig")
        self.api.kubeconfig(self.config, self.with_tls)
        self.start_driver()
        self.assertTrue(wait_until(self.api.is_whole), self.log())
        self.assertIsNone(self.api.fault_of_pool())

    def make_server(self):
        return ApiServer(self.folder if self.with_tls else None, self.minor, self.gates)

    def start_driver(self, **more):
        """more: keys of the section dra."""
        self.start_bridge(dra={"node": "node1", "kubeconfig": self.config, **more})
        self.registry = os.path.join(self.kubelet.folder, "plugins_registry",
                                     "gpu.cleave.dev-reg.sock")
        self.assertTrue(wait_until(lambda: self.dial()), self.log())

    def dial(self):
        """Connects as kubelet does when it finds the socket."""
        try:
            with grpc.insecure_channel(f"unix://{self.registry}") as channel:
                stub = reg_grpc.RegistrationStub(channel)
                info = stub.GetInfo(reg_pb.InfoRequest(), timeout=2)
                stub.NotifyRegistrationStatus(reg_pb.RegistrationStatus(plugin_registered=True))
        except grpc.RpcError:
            return None
        self.info = info
        self.channel = grpc.insecure_channel(
            f"unix://{info.endpoint}", options=[("grpc.use_local_subchannel_pool", 1)])
        self.stub = dra_grpc.DRAPluginStub(self.channel)
        return info

    def prepare(self, *claims):
        answer = self.stub.NodePrepareResources(
            dra_pb.NodePrepareResourcesRequest(claims=claims), timeout=30)
        return {uid: (list(one.devices), one.error) for uid, one in answer.claims.items()}

    def unprepare(self, *claims):
        answer = self.stub.NodeUnprepareResources(
            dra_pb.NodeUnprepareResourcesRequest(claims=claims), timeout=30)
        return {uid: one.error for uid, one in answer.claims.items()}

    def prepared(self, claim):
        devices, error = self.prepare(claim)[claim["uid"]]
        self.assertEqual(error, "", self.log())
        return devices

    def kill_during(self, act, claim, chance):
        """Kills the driver at any moment of it; it has been restarted on return."""
        killer = subprocess.Popen(
            ["sh", "-c", f"sleep {chance.random() * 0.06:.4f}; kill -9 {self.process.pid}"])
        try:
            act(claim)
        except grpc.RpcError:
            pass
        killer.wait()
        self.stop_bridge(signal.SIGKILL)
        self.start_driver()

    def claimed(self):
        items = self.agent.get("/v1/leases")["items"]
        return {i["name"]: i for i in items if i["name"].startswith("dra-")}

    def partitions(self):
        return {p["name"] for d in self.agent.get("/v1/node")["devices"]
                for p in d["partitions"]}


class Mig(DraBed):
    sim = MIG

    def test_registration(self):
        self.assertEqual(self.info.type, "DRAPlugin")
        self.assertEqual(self.info.name, "gpu.cleave.dev")
        self.assertEqual(list(self.info.supported_versions), [
            "v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
            "v1alpha1.DRAResourceHealth"])
        self.assertTrue(os.path.exists(self.info.endpoint))

    def test_ends_while_it_publishes(self):
        """What the last job would be followed by is not begun."""
        with self.api.lock:
            self.dial()
            self.dial()
            self.process.send_signal(signal.SIGTERM)
            time.sleep(.5)
        self.assertEqual(self.process.wait(60), 0, self.log())

    def test_kubelets_of_before(self):
        """The same messages, of a service with another name."""
        claim = self.api.claim("c", ("gpu0-2g-20gb-2", None))
        for package in ("v1beta1", "k8s.io.kubelet.pkg.apis.dra.v1beta1"):
            for method, kind in (("Prepare", "Prepare"), ("Unprepare", "Unprepare")):
                call = self.channel.unary_unary(
                    f"/{package}.DRAPlugin/Node{method}Resources",
                    getattr(dra_pb, f"Node{kind}ResourcesRequest").SerializeToString,
                    getattr(dra_pb, f"Node{kind}ResourcesResponse").FromString)
                request = getattr(dra_pb, f"Node{kind}ResourcesRequest")(claims=[claim])
                self.assertEqual(call(request, timeout=30).claims[claim["uid"]].error, "")
                self.assertEqual(len(self.claimed()), method == "Prepare")

    def test_slices_that_kubelet_deleted(self):
        """Kubelet deletes them when it starts: the driver is registered, and then there are no
        slices."""
        with self.api.lock:
            self.api.slices.clear()
        self.dial()
        self.assertTrue(wait_until(self.api.is_whole, 4), self.log())
        with self.api.lock:
            self.api.slices.clear()
        self.assertTrue(wait_until(self.api.is_whole, 15), self.log())

    def test_slices_go_with_their_node(self):
        owners = [s["metadata"].get("ownerReferences") for s in self.api.slices.values()]
        self.assertEqual(set(map(str, owners)), {"None"})  # the node cannot be read
        for uid in ("one", "another"):
            with self.api.lock:
                self.api.nodes["node1"] = {"metadata": {"name": "node1", "uid": uid}}
                self.api.slices.clear()
            self.dial()
            self.assertTrue(wait_until(self.api.is_whole), self.log())
            self.assertEqual({(o["kind"], o["name"], o["uid"]) for s in self.api.slices.values()
                              for o in s["metadata"]["ownerReferences"]}, {("Node", "node1", uid)})

    def watch_health(self, version):
        watch = self.channel.unary_stream(
            f"/{version}.DRAResourceHealth/NodeWatchResources",
            health_pb.NodeWatchResourcesRequest.SerializeToString,
            health_pb.NodeWatchResourcesResponse.FromString)
        stream = watch(health_pb.NodeWatchResourcesRequest(), timeout=60)
        self.addCleanup(stream.cancel)
        return stream

    def until(self, stream, health, name="gpu0-1g-10gb-0"):
        """The next message with this health of the device; each message has all devices."""
        for message in stream:
            rows = {row.device.device_name: row for row in message.devices}
            self.assertEqual({row.device.pool_name for row in message.devices}, {"node1"})
            self.assertTrue({"gpu0-7g-80gb-0", "gpu1-7g-80gb-0"} <= set(rows))
            if rows[name].health == health:
                return rows
        self.fail("the stream has ended")

    def test_health(self):
        for version in ("v1", "v1alpha1"):
            stream = self.watch_health(version)
            rows = self.until(stream, health_pb.HEALTHY)
            self.assertTrue(wait_until(lambda: set(rows) == set(self.api.devices())))
            self.assertLess(abs(rows["gpu0-1g-10gb-0"].last_updated_time - time.time()), 60)
            self.agent.request("POST", "/v1/devices/gpu0/cordon")
            rows = self.until(stream, health_pb.UNHEALTHY)
            self.assertIn("cordoned", rows["gpu0-1g-10gb-0"].message)
            self.assertEqual(rows["gpu1-1g-10gb-0"].health, health_pb.HEALTHY)
            self.agent.request("POST", "/v1/devices/gpu0/uncordon")
            self.until(stream, health_pb.HEALTHY)
        first = self.until(stream, health_pb.HEALTHY)["gpu0-1g-10gb-0"].last_updated_time
        next_ = self.until(stream, health_pb.HEALTHY)["gpu0-1g-10gb-0"]
        self.assertLess(next_.last_updated_time - first, next_.health_check_timeout_seconds)

    def test_slices(self):
        devices, counters = self.api.devices(), self.api.counters()
        self.assertEqual(set(counters), {"gpu0", "gpu1"})
        self.assertEqual(len([c for c in counters["gpu0"] if c.startswith("memory-slice")]), 8)
        self.assertEqual(counters["gpu0"]["compute-slices"]["value"], "7")
        one = devices["gpu0-3g-40gb-4"]
        self.assertEqual(one["attributes"]["profile"]["string"], "3g.40gb")
        used = one["consumesCounters"][0]
        self.assertEqual(used["counterSet"], "gpu0")
        self.assertEqual({c for c in used["counters"] if c.startswith("memory")},
                         {f"memory-slice-{i}" for i in range(4, 8)})
        self.assertEqual(used["counters"]["compute-slices"]["value"], "3")
        self.assertEqual(devices["gpu1-1g-10gb-0"]["attributes"]["numaNode"]["int"], 1)
        for name in ("gpu0-1g-10gb-6", "gpu0-7g-80gb-0", "gpu0-1g-10gb-me-0"):
            self.assertIn(name, devices)
        generations = {s["spec"]["pool"]["generation"] for s in self.api.slices.values()}
        counts = {s["spec"]["pool"]["resourceSliceCount"] for s in self.api.slices.values()}
        self.assertEqual((len(generations), counts), (1, {len(self.api.slices)}))

    def test_partition_is_made_and_given_back(self):
        before = self.partitions()
        claim = self.api.claim("c", ("gpu0-2g-20gb-2", None))
        (device,) = self.prepared(claim)
        self.assertEqual((device.pool_name, device.device_name), ("node1", "gpu0-2g-20gb-2"))
        self.assertEqual(list(device.request_names), ["r0"])
        self.assertEqual(self.partitions() - before, {"gpu0/2g.20gb@2"})
        (lease,) = self.claimed().values()
        self.assertEqual(list(device.cdi_device_ids), [bed.CDI + lease["name"]])
        self.assertEqual(lease["device"], "gpu0/2g.20gb@2")
        self.assertIn(lease["name"], self.specs())
        self.assertEqual(self.prepared(claim)[0], device)  # again
        self.assertEqual(self.claimed()[lease["name"]]["id"], lease["id"])
        for _ in range(2):
            self.assertEqual(self.unprepare(claim), {claim["uid"]: ""})
            self.assertEqual(self.partitions(), before)
            self.assertEqual((self.claimed(), self.specs()), ({}, set()))

    def test_partition_that_was_there_stays(self):
        claim = self.api.claim("c", ("gpu0-1g-10gb-6", None))
        self.prepared(claim)
        self.unprepare(claim)
        self.assertIn("gpu0/1g.10gb@6", self.partitions())

    def test_partition_in_use(self):
        status, _ = self.agent.request("POST", "/v1/leases", {
            "device": "gpu0/1g.10gb@6", "share": 1, "keep": True})
        self.assertEqual(status, 201)
        claim = self.api.claim("c", ("gpu0-1g-10gb-6", None))
        self.assertIn("does not fit", self.prepare(claim)[claim["uid"]][1])
        other = self.api.claim("d", ("gpu0-7g-80gb-0", None))
        self.assertNotEqual(self.prepare(other)[other["uid"]][1], "")
        self.assertEqual(self.claimed(), {})
        self.assertEqual(self.unprepare(claim, other), {claim["uid"]: "", other["uid"]: ""})

    def test_several_in_a_claim(self):
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None), ("gpu1-1g-10gb-0", None))
        self.assertEqual(len(self.prepared(claim)), 2)
        self.assertEqual(len(self.claimed()), 2)
        self.unprepare(claim)
        self.assertEqual(self.claimed(), {})

    def test_claims_of_others(self):
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None), driver="gpu.example.com")
        self.assertEqual(self.prepared(claim), [])

    def test_wrong_claims(self):
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None))
        for wrong, words in (({"name": "nobody"}, "404"), ({"uid": "other"}, "another one"),
                             ({"namespace": "../x"}, "not the name"), ({"name": ""}, "not the name")):
            one = {**claim, **wrong}
            self.assertIn(words, self.prepare(one)[one["uid"]][1])
        unknown = self.api.claim("u", ("gpu9-1g-10gb-0", None))
        self.assertIn("no device gpu9", self.prepare(unknown)[unknown["uid"]][1])
        del self.api.claims[("default", "c")]["status"]
        self.assertIn("not allocated", self.prepare(claim)[claim["uid"]][1])
        self.assertEqual(self.claimed(), {})

    def test_killed_at_any_moment(self):
        chance, before = random.Random(2), self.partitions()
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None), ("gpu1-2g-20gb-2", None))
        for i in range(12):
            self.kill_during((self.prepare, self.unprepare)[i % 2], claim, chance)
            if i % 2 == 0:
                self.assertEqual(len(self.prepared(claim)), 2)
                self.assertEqual(len(self.claimed()), 2)
            else:
                self.assertEqual(self.unprepare(claim), {claim["uid"]: ""})
                self.assertEqual(self.claimed(), {})
                self.assertTrue(wait_until(lambda: self.partitions() == before),
                                self.partitions())

    def test_restart_changes_nothing(self):
        versions = {n: s["metadata"]["resourceVersion"] for n, s in self.api.slices.items()}
        self.stop_bridge()
        n = len(self.api.requests)
        self.start_driver()
        wait_until(lambda: ("GET", "/apis/resource.k8s.io/v1/resourceslices") in
                   self.api.requests[n:])
        bed.pause(0.2)
        self.assertEqual(versions, {n: s["metadata"]["resourceVersion"]
                                    for n, s in self.api.slices.items()})

    def test_sockets_come_back(self):
        os.unlink(self.registry)
        self.assertTrue(wait_until(lambda: os.path.exists(self.registry)))
        self.assertTrue(self.dial())

    def test_server_that_is_away(self):
        self.api.down = True
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None))
        self.assertIn("503", self.prepare(claim)[claim["uid"]][1])
        self.api.down = False
        self.prepared(claim)

    def test_agent_lost_its_leases(self):
        """As after a reboot of the machine: kubelet prepares its claims again."""
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None))
        self.prepared(claim)
        self.agent.stop()
        shutil.rmtree(self.agent.state)
        self.agent.start()
        wait_until(lambda: self.dial())
        self.prepared(claim)
        self.assertEqual(len(self.claimed()), 1)


class Forgotten(DraBed):
    """Claims that kubelet does not unprepare: here the API server is asked for each every 0.3 s."""
    sim = MIG
    settings = {"grace": "10ms"}

    def look_again(self):
        """The node has changed: the devices are published again, and claims are checked."""
        bed.pause(0.4)
        n = len(self.api.requests)
        self.is_cordoned = not getattr(self, "is_cordoned", False)
        self.agent.request("POST", "/v1/devices/gpu1/" +
                           ("cordon" if self.is_cordoned else "uncordon"))
        self.assertTrue(wait_until(lambda: any("resourceslices" in path
                                               for _, path in self.api.requests[n:])))

    def test_claim_that_kubelet_forgot(self):
        before = self.partitions()
        claim = self.api.claim("c", ("gpu0-2g-20gb-2", None), ("gpu0-1g-10gb-0", None))
        stays = self.api.claim("s", ("gpu0-1g-10gb-6", None))
        self.prepared(claim)
        (kept,) = [device.cdi_device_ids[0].removeprefix(bed.CDI)
                   for device in self.prepared(stays)]
        gone = self.api.claims.pop(("default", "c"))
        self.look_again()
        self.stop_bridge(signal.SIGKILL)
        self.start_driver()
        self.look_again()
        self.assertTrue(wait_until(lambda: set(self.claimed()) == {kept}), self.log())
        self.assertTrue(wait_until(lambda: self.partitions() == before))
        self.assertEqual(self.specs(), {kept})
        self.assertIn("default/c is gone", self.log())
        self.api.claims[("default", "c")] = gone
        self.assertEqual(len(self.prepared(claim)), 2)

    def test_claim_that_was_half_prepared(self):
        """The claim is not allocated any more, and kubelet does not know it."""
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None), ("gpu9-1g-10gb-0", None))
        self.assertIn("no device gpu9", self.prepare(claim)[claim["uid"]][1])
        self.assertEqual(len(self.claimed()), 1)
        del self.api.claims[("default", "c")]["status"]
        self.look_again()
        self.look_again()
        self.assertTrue(wait_until(lambda: not self.claimed()), self.log())

    def test_claim_that_may_be_there(self):
        """An error of the API server, or of a path that it does not serve, ends no claim."""
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None))
        self.prepared(claim)
        for key, value in (("down", True), ("token", "another"), ("is_without_claims", True)):
            with self.subTest(key):
                before = getattr(self.api, key)
                setattr(self.api, key, value)
                for _ in range(4):
                    self.look_again()
                setattr(self.api, key, before)
                self.assertEqual(len(self.claimed()), 1, self.log())
        self.look_again()
        self.assertEqual(len(self.claimed()), 1, self.log())

    def test_claim_that_is_another_node_s_now(self):
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None))
        self.prepared(claim)
        self.api.claim("c", ("gpu0-1g-10gb-0", None), pool="node2")
        for _ in range(2):
            self.look_again()
        self.assertTrue(wait_until(lambda: not self.claimed()), self.log())
        self.assertEqual(self.prepared(claim), [])

    def test_claim_whose_lease_was_ended(self):
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None), ("gpu1-1g-10gb-0", None))
        self.prepared(claim)
        self.agent.request("DELETE", "/v1/leases/" + min(self.claimed()))
        self.assertEqual(len(self.claimed()), 1)
        self.unprepare(claim)
        self.assertEqual(self.claimed(), {})

    def is_away_for_one_look(self):
        """Returns False if the bridge asked a second time meanwhile: then the claim was gone."""
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None))
        self.prepared(claim)
        n = len(self.api.requests)
        gone = self.api.claims.pop(("default", "c"))
        self.look_again()
        self.api.claims[("default", "c")] = gone
        looks = sum(path.endswith("/resourceclaims/c") for _, path in self.api.requests[n:])
        if looks > 1:
            self.unprepare(claim)
        return looks == 1

    def test_claim_that_was_away_for_a_moment(self):
        self.assertTrue(any(self.is_away_for_one_look() for _ in range(10)))
        for _ in range(4):
            self.look_again()
        self.assertEqual(len(self.claimed()), 1, self.log())


    def set_age(self, seconds):
        """Of the records of claims, by the node's clock."""
        folder = os.path.join(self.kubelet.folder, "plugins/gpu.cleave.dev/claims")
        for name in os.listdir(folder):
            then = time.time() - seconds
            os.utime(os.path.join(folder, name), (then, then))

    def test_clock_that_was_set_back(self):
        """By an hour: the claims of before are checked all the same."""
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None))
        self.prepared(claim)
        del self.api.claims[("default", "c")]
        for _ in range(3):
            self.set_age(-3600)
            self.look_again()
        self.assertTrue(wait_until(lambda: not self.claimed()), self.log())

    def test_clock_that_was_set_forward(self):
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None))
        self.prepared(claim)
        for _ in range(3):
            self.set_age(3600)
            self.look_again()
        self.assertEqual(len(self.claimed()), 1, self.log())

    def test_node_that_comes_back_after_an_hour(self):
        """Its pods are elsewhere by then, one of their claims under the same name; one is still its
        own."""
        moved, again, stays = (self.api.claim(name, (f"gpu0-1g-10gb-{i}", None))
                               for i, name in enumerate(("moved", "again", "stays")))
        for claim in (moved, again, stays):
            self.prepared(claim)
        self.stop_bridge(signal.SIGKILL)
        self.set_age(3600)
        self.api.claim("moved", ("gpu0-1g-10gb-0", None), pool="node2")
        new = self.api.claim("again", ("gpu0-1g-10gb-1", None))
        new["uid"] = self.api.claims[("default", "again")]["metadata"]["uid"] = \
            "12345678-1234-4567-89ab-0123456789ab"
        self.start_driver()
        self.assertEqual(self.prepared(stays)[0].device_name, "gpu0-1g-10gb-2")
        # The claim of before still has the place, until kubelet or the next looks release it.
        self.assertEqual(self.unprepare(again), {again["uid"]: ""})
        self.assertEqual(self.prepared(new)[0].device_name, "gpu0-1g-10gb-1")
        for _ in range(3):
            self.look_again()
        wanted = {f"dra-{claim['uid']}-0" for claim in (stays, new)}
        self.assertTrue(wait_until(lambda: set(self.claimed()) == wanted), self.log())


class Apart(DraBed):
    """Kubernetes 1.35 has counters in separate slices."""
    sim = MIG
    minor = "35+"

    def test_slices(self):
        self.assertEqual(len(self.api.slices), 3)
        self.assertEqual(set(self.api.counters()), {"gpu0", "gpu1"})


class Gates(DraBed):
    """Without DRAPartitionableDevices the server drops counters: what they exclude is not offered."""
    sim = MIG
    gates = ()

    def test_existing_partitions_only(self):
        self.assertEqual(set(self.api.devices()), {"gpu0-1g-10gb-6", "gpu1-1g-10gb-6"})
        # What the API server would drop has never been stored.
        self.assertEqual(self.api.version, len(self.api.slices))
        claim = self.api.claim("c", ("gpu0-1g-10gb-6", None))
        self.prepared(claim)
        self.unprepare(claim)
        self.assertEqual(len(self.partitions()), 2)

    def test_gate_that_is_on_now(self):
        self.stop_bridge()
        self.api.gates = set(GATED)
        self.start_driver()
        self.assertTrue(wait_until(lambda: set(self.api.counters()) == {"gpu0", "gpu1"}),
                        self.log())
        self.assertLessEqual({"gpu0-7g-80gb-0", "gpu1-7g-80gb-0"}, set(self.api.devices()))
        self.assertIsNone(self.api.fault_of_pool())


class GatesApart(Gates):
    minor = "35"


class Xcp(DraBed):
    sim = """
version: 1
name: lab
devices:
  - {model: MI300X, at-start: {compute-mode: CPX, memory-mode: NPS4}}
"""

    def test_partitions(self):
        devices = self.api.devices()
        self.assertEqual(len(devices), 8)
        claim = self.api.claim("c", (sorted(devices)[3], None))
        self.prepared(claim)
        self.assertEqual(len(self.claimed()), 1)
        self.unprepare(claim)


class Modes(DraBed):
    """Claims set the modes of AMD's GPUs."""
    sim = """
version: 1
name: lab
devices:
  - {model: MI300X, count: 2}
  - {model: MI300A}
"""

    def start_driver(self, **more):
        super().start_driver(modes=True, **more)

    def mode(self, name="gpu0"):
        return {d["name"]: d["xcp"]["compute"] for d in self.agent.get("/v1/node")["devices"]}[name]

    def fits(self, *names):
        """Computed as in the scheduler."""
        left = {name: {c: int(v["value"]) for c, v in counters.items()}
                for name, counters in self.api.counters().items()}
        for name in names:
            for used in self.api.devices()[name]["consumesCounters"]:
                for counter, number in used["counters"].items():
                    left[used["counterSet"]][counter] -= int(number["value"])
        return all(number >= 0 for counters in left.values() for number in counters.values())

    def test_counters_say_what_modes_allow(self):
        """Partitions fit together if and only if they are of one mode."""
        for gpu, modes in (("gpu1", {"spx": 1, "dpx": 2, "qpx": 4, "cpx": 8}),
                           ("gpu2", {"spx": 1, "tpx": 3, "cpx": 6})):
            names = {f"{gpu}-{mode}-nps1-{i}": mode for mode, n in modes.items() for i in range(n)}
            self.assertEqual({n for n in self.api.devices() if n.startswith(gpu)}, set(names))
            for one, mode in names.items():
                self.assertTrue(self.fits(one))
                for other, its_mode in names.items():
                    if one != other:
                        self.assertEqual(self.fits(one, other), mode == its_mode, (one, other))
            for mode in modes:
                self.assertTrue(self.fits(*(n for n in names if names[n] == mode)))
        memory = self.api.devices()["gpu1-qpx-nps1-0"]["capacity"]["memory"]["value"]
        self.assertEqual(int(memory), (192 << 30) // 4)

    def test_mode_is_made_and_given_back(self):
        one = self.api.claim("c", ("gpu0-cpx-nps1-3", None))
        two = self.api.claim("d", ("gpu0-cpx-nps1-5", None), ("gpu1-qpx-nps1-0", None))
        self.prepared(one)
        self.assertEqual(self.mode(), "CPX")
        self.assertEqual(len(self.prepared(two)), 2)
        self.assertEqual({lease["device"] for lease in self.claimed().values()},
                         {"gpu0/CPX/NPS1@3", "gpu0/CPX/NPS1@5", "gpu1/QPX/NPS1@0"})
        other = self.api.claim("e", ("gpu0-dpx-nps1-0", None))
        self.assertIn("in use", self.prepare(other)[other["uid"]][1])
        whole = self.api.claim("w", ("gpu0-spx-nps1-0", None))
        self.assertIn("in use", self.prepare(whole)[whole["uid"]][1])
        self.unprepare(one, other, whole)
        self.assertEqual((self.mode(), self.mode("gpu1")), ("CPX", "QPX"))
        self.unprepare(two)
        self.assertEqual((self.mode(), self.mode("gpu1")), ("SPX", "SPX"))
        self.assertEqual(self.prepared(other)[0].device_name, "gpu0-dpx-nps1-0")
        self.unprepare(other)
        (device,) = self.prepared(whole)
        (lease,) = self.claimed().values()
        self.assertEqual((lease["device"], lease["share"]), ("gpu0", 1))

    def test_mode_that_an_admin_gave_stays(self):
        claim = self.api.claim("c", ("gpu2-tpx-nps1-1", None))
        self.prepared(claim)
        (lease,) = self.claimed()
        self.agent.request("DELETE", "/v1/leases/" + lease)
        status, _ = self.agent.request("POST", "/v1/partitions",
                                       {"device": "gpu2", "profile": "CPX/NPS1"})
        self.assertEqual(status, 202)
        self.assertTrue(wait_until(lambda: self.mode("gpu2") == "CPX"))
        self.unprepare(claim)
        self.stop_bridge()
        self.start_driver()
        bed.pause(0.5)
        self.assertEqual(self.mode("gpu2"), "CPX")

    def test_several_partitions(self):
        claim = self.api.claim("c", ("gpu0-cpx-nps1-3", None), ("gpu1-cpx-nps1-5", None))
        for result in self.api.claims[("default", "c")]["status"]["allocation"]["devices"][
                "results"]:
            result["request"] = "r"
        self.prepared(claim)
        (lease,) = self.claimed().values()
        self.assertEqual([d["name"] for d in lease["devices"]],
                         ["gpu0/CPX/NPS1@3", "gpu1/CPX/NPS1@5"])
        self.unprepare(claim)
        self.assertEqual((self.mode(), self.mode("gpu1"), self.claimed()), ("SPX", "SPX", {}))

    def test_killed_at_any_moment(self):
        chance = random.Random(3)
        claim = self.api.claim("c", ("gpu0-cpx-nps1-7", None), ("gpu1-dpx-nps1-1", None))
        for i in range(8):
            self.kill_during((self.prepare, self.unprepare)[i % 2], claim, chance)
            if i % 2 == 0:
                self.assertEqual(len(self.prepared(claim)), 2)
                self.assertEqual((self.mode(), self.mode("gpu1")), ("CPX", "DPX"))
            else:
                self.assertEqual(self.unprepare(claim), {claim["uid"]: ""})
                self.assertEqual(self.claimed(), {})
                self.assertTrue(wait_until(
                    lambda: (self.mode(), self.mode("gpu1")) == ("SPX", "SPX")), self.log())


class Shares(DraBed):
    """Consumable capacity, of the CPU as OpenCL sees it, over TLS."""
    with_tls = True

    def test_shares(self):
        (device,) = self.api.devices().values()
        self.assertTrue(device["allowMultipleAllocations"])
        self.assertEqual(device["capacity"]["share"]["value"], "100")
        one = self.api.claim("a", ("gpu0", {"share": "30", "memory": "0"}))
        two = self.api.claim("b", ("gpu0", {"share": "50", "memory": "512Mi"}))
        answers = self.prepare(one, two)
        self.assertEqual({error for _, error in answers.values()}, {""})
        self.assertEqual(answers[two["uid"]][0][0].share_id, share_id("b", 0))
        leases = {lease["share"]: lease["memory_bytes"] for lease in self.claimed().values()}
        self.assertEqual(set(leases), {0.3, 0.5})
        self.assertEqual(leases[0.5], 512 << 20)
        three = self.api.claim("d", ("gpu0", {"share": "30", "memory": "0"}))
        self.assertIn("does not fit", self.prepare(three)[three["uid"]][1])
        for consumed in ({"share": "0"}, {"share": "101"}, {"share": "-1"}, {"share": "x"},
                         {"share": "5", "memory": "lots"}):
            wrong = self.api.claim("w", ("gpu0", consumed))
            self.assertNotEqual(self.prepare(wrong)[wrong["uid"]][1], "")
        self.unprepare(one, two, three)
        self.assertEqual(self.claimed(), {})


class CountedBed(DraBed):
    """What the scheduler admits by the slices, the node grants."""
    sim = """
version: 1
name: lab
devices: [{model: H100-80GB}]
"""

    def admitted(self, *requests):
        """The leases' shares and gibibytes of the claims that the scheduler admits."""
        for i, wanted in enumerate(requests):
            claim = self.api.allocate(f"c{i}", "gpu0", **wanted)
            if claim:
                self.prepared(claim)
        return sorted((lease["share"], round(lease["memory_bytes"] / 2**30, 1))
                      for lease in self.claimed().values())


class CountedShare(CountedBed):
    settings = {"undivided": "share"}

    def test_admitted(self):
        whole = self.devices()["gpu0"]["memory_bytes"]
        some = round(.3 * whole / 2**30, 1)
        self.assertEqual(self.admitted({"share": "30"}, {"share": "30", "memory": "1Gi"},
                                       {"share": "30"}, {"share": "60"}, {"share": "30"}),
                         [(.3, some)] * 3)
        self.assertEqual(amount(self.api.devices()["gpu0"]["capacity"]["memory"]["value"]), whole)


class CountedMemory(CountedBed):
    settings = {"undivided": "memory"}

    def test_admitted(self):
        shares, sizes = zip(*self.admitted({"memory": "20Gi"}, {"share": "1"}, {},
                                           {"memory": "40Gi"}, {"memory": "20Gi"}))
        self.assertEqual(sizes, (20, 40))
        self.assertAlmostEqual(shares[1], 2 * shares[0], places=4)


class CountedBoth(CountedBed):
    settings = {"undivided": "both"}

    def test_admitted(self):
        self.assertEqual(self.admitted({"share": "30", "memory": "10Gi"}, {"share": "30"}, {},
                                       {"memory": "10Gi"}, {"share": "50", "memory": "60Gi"}),
                         [(.3, 10), (.5, 60)])


class Configured(DraBed):
    """Claims with opaque configuration, and with adminAccess."""
    sim = CountedBed.sim

    def entry(self, requests=(), driver="gpu.cleave.dev", source="FromClaim", **keys):
        """resource.k8s.io/v1, DeviceAllocationConfiguration."""
        parameters = {"apiVersion": "gpu.cleave.dev/v1", "kind": "LeaseConfig", **keys}
        return {"source": source, "requests": list(requests),
                "opaque": {"driver": driver, "parameters": parameters}}

    def claim(self, name, *config, request=None, **more):
        claim = self.api.claim(name, ("gpu0", {"share": "30", "memory": "0"}), config=config,
                               **more)
        if request:
            made = self.api.claims[("default", name)]
            made["status"]["allocation"]["devices"]["results"][0]["request"] = request
        return claim

    def lease(self, claim):
        self.prepared(claim)
        (lease,) = self.claimed().values()
        return lease

    def test_keys(self):
        lease = self.lease(self.claim("c", self.entry(
            **{"class": "latency"}, cap=.8, shareMost="60%")))
        self.assertEqual((lease["class"], lease["cap"]), ("latency", .8))
        self.assertEqual(lease["share_range"], {"least": .3, "most": .6})

    def test_which_entries(self):
        """Those of this driver and request; the claim's come after the class's."""
        lease = self.lease(self.claim(
            "c", self.entry(source="FromClass", cap=.5, **{"class": "batch"}),
            self.entry(["main"], cap=.9), self.entry(["other"], cap=.4, spill="1Gi"),
            self.entry(driver="gpu.example.com", unknown=1), request="main/first"))
        self.assertEqual((lease["class"], lease["cap"], lease["spill_bytes"]), ("batch", .9, 0))

    def test_alternative(self):
        """A container refers to the request, of which the scheduler chose an alternative."""
        (device,) = self.prepared(self.claim("c", request="main/first"))
        self.assertEqual(list(device.request_names), ["main"])
        self.assertEqual(len(device.cdi_device_ids), 1)

    def test_strictly_read(self):
        for keys, word in (({"class": "fast"}, "latency"), ({"clas": "batch"}, "unknown key 'clas'"),
                           ({"cap": 0}, "cap"), ({"cap": 1.5}, "cap"), ({"cap": [1]}, "cap"),
                           ({"spill": 5}, "quantity"), ({"spill": "much"}, "quantity"),
                           ({"apiVersion": "gpu.cleave.dev/v2"}, "gpu.cleave.dev/v1"),
                           ({"kind": "GpuConfig"}, "LeaseConfig"), ({"cap": .2}, "cap"),
                           # The agent's words: nothing limits a simulated device so.
                           ({"sm": "50%"}, "enforces sm"), ({"spill": "1Gi"}, "cannot spill")):
            with self.subTest(keys=keys):
                claim = self.claim("c", self.entry(**keys))
                self.assertIn(word, self.prepare(claim)[claim["uid"]][1])
        self.assertEqual(self.claimed(), {})

    def test_admin_access(self):
        """Beside a lease of the whole device, without one."""
        whole = self.api.claim("w", ("gpu0", {"share": "100", "memory": "0"}))
        self.prepared(whole)
        admin = self.claim("a", admin=True)
        for _ in range(2):
            (device,) = self.prepared(admin)
            self.assertEqual(device.device_name, "gpu0")
            # A simulated device has no nodes.
            self.assertEqual(list(device.cdi_device_ids), [])
        self.assertEqual(len(self.claimed()), 1)
        self.assertEqual(self.unprepare(admin), {admin["uid"]: ""})
        self.assertEqual(len(self.claimed()), 1)


class NoCluster(unittest.TestCase):
    def test_outside(self):
        folder = bed.tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "kubelet.yaml")
        for dra, words in (({}, "kubeconfig"), ({"kubeconfig": path}, "current-context")):
            with open(path, "w", encoding="utf-8") as file:
                bed.json.dump({"version": 1, "kubelet": folder, "dra": dra}, file)
            done = subprocess.run([bed.PROGRAMS["kubelet"], "--config", path],
                                  capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    bed.main()
