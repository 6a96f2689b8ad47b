#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Unhealthy devices of claims, and what users see of a claim that the node refuses.

usage: test_health.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import unittest

import bed
from api_server import GATED, check_condition, check_slice, check_taint
from bed import wait_until
from test_dra import MIG, CountedBed, DraBed

KEY = "cleave.dev/health"


class Taints(DraBed):
    sim = MIG

    def taints(self):
        """The taints of each GPU's devices: all devices of a GPU have the same."""
        found = {}
        for name, device in self.api.devices().items():
            taints = [{k: v for k, v in t.items() if k != "timeAdded"}
                      for t in device.get("taints", [])]
            self.assertEqual(found.setdefault(name.split("-")[0], taints), taints)
        return found

    def test_cordoned(self):
        """No new claim gets it; the pods on it go on."""
        taint = {"key": KEY, "value": "cordoned", "effect": "NoSchedule"}
        self.assertEqual(self.taints(), {"gpu0": [], "gpu1": []})
        self.agent.request("POST", "/v1/devices/gpu0/cordon")
        self.assertTrue(wait_until(lambda: self.taints() == {"gpu0": [taint], "gpu1": []}),
                        self.log())
        self.assertIsNone(self.api.fault_of_pool())
        # It was allocated to a claim that tolerates the taint, or before.
        claim = self.api.claim("c", ("gpu0-1g-10gb-0", None))
        self.assertIn("cordoned", self.prepare(claim)[claim["uid"]][1])
        self.agent.request("POST", "/v1/devices/gpu0/uncordon")
        self.assertTrue(wait_until(lambda: self.taints() == {"gpu0": [], "gpu1": []}))

    def test_agent_away(self):
        """Pods are not evicted because of that."""
        self.agent.stop()
        self.assertTrue(wait_until(lambda: "does not answer" in self.log()))
        self.agent.start()
        self.assertTrue(wait_until(lambda: "answers again" in self.log()), self.log())
        self.assertTrue(wait_until(lambda: self.taints() == {"gpu0": [], "gpu1": []}))


class TaintsOf33(Taints):
    """Kubernetes 1.33, with its gates and its limit of four taints."""
    minor = "33"
    test_agent_away = None


class Effects(DraBed):
    sim = """
version: 1
name: lab
devices:
  - {model: H100-80GB, count: 3, readings: [{ecc-errors: 3}, {}, {lost: 1}]}
"""

    def test_taints(self):
        def taints():
            return {name: [(t["value"], t["effect"]) for t in device.get("taints", [])]
                    for name, device in self.api.devices().items()}

        wanted = {"gpu0": [("degraded", "NoSchedule")], "gpu1": [],
                  "gpu2": [("lost", "NoExecute")]}
        self.assertTrue(wait_until(lambda: taints() == wanted), self.log())
        # Each publication surveys the node, where the device is still listed.
        version = self.api.version
        for _ in range(5):
            self.agent.get("/v1/node")
        bed.pause(0.5)
        self.assertEqual((taints(), self.api.version), (wanted, version))


class NoTaints(DraBed):
    """Where the API server drops taints, unhealthy devices are left out."""
    sim = MIG
    gates = set(GATED) - {"DRADeviceTaints"}

    def test_left_out(self):
        self.agent.request("POST", "/v1/devices/gpu0/cordon")
        self.assertTrue(wait_until(
            lambda: self.api.devices() and "gpu0-1g-10gb-0" not in self.api.devices()))
        self.assertIn("gpu1-1g-10gb-0", self.api.devices())
        self.assertIn("consumesCounters", self.api.devices()["gpu1-1g-10gb-0"])
        self.assertEqual(self.log().count("drops the taints"), 1)
        self.agent.request("POST", "/v1/devices/gpu0/uncordon")
        self.assertTrue(wait_until(lambda: "gpu0-1g-10gb-0" in self.api.devices()))


class NoGates(NoTaints):
    """Neither counters nor taints."""
    gates = ()

    def test_left_out(self):
        self.agent.request("POST", "/v1/devices/gpu0/cordon")
        self.assertTrue(wait_until(lambda: set(self.api.devices()) == {"gpu1-1g-10gb-6"}),
                        self.log())


class Status(CountedBed):
    """The condition Ready of status.devices of a claim."""

    def ready(self, claim):
        """Of each device: status and message."""
        devices = self.api.claims[("default", claim["name"])]["status"].get("devices", [])
        return [(c["status"], c["message"]) for device in devices for c in device["conditions"]
                if c["type"] == "Ready"]

    def writes(self):
        return sum(method == "PUT" and path.endswith("/status")
                   for method, path in self.api.requests)

    def test_refused_and_then_prepared(self):
        whole = self.api.claim("w", ("gpu0", {"share": "90", "memory": "0"}))
        claim = self.api.claim("c", ("gpu0", {"share": "30", "memory": "0"}))
        self.prepared(whole)
        self.assertEqual((self.ready(whole), self.writes()), ([], 0))
        error = self.prepare(claim)[claim["uid"]][1]
        self.assertIn("does not fit", error)  # kubelet's event of the pod
        self.assertEqual(self.ready(claim), [("False", error)])
        self.assertEqual(self.prepare(claim)[claim["uid"]][1], error)
        self.assertEqual(self.writes(), 1)  # kubelet tries again and again
        self.unprepare(whole)
        self.prepared(claim)
        ((status, _),) = self.ready(claim)
        self.assertEqual((status, self.writes()), ("True", 2))
        self.prepared(claim)
        self.assertEqual(self.writes(), 2)

    def test_entries_of_others_stay(self):
        claim = self.api.claim("c", ("gpu0", {"share": "0", "memory": "0"}))
        object_ = self.api.claims[("default", "c")]
        other = {"request": "nic", "driver": "net.example.com", "pool": "node1", "device": "eth0"}
        object_["status"]["allocation"]["devices"]["results"].append(other)
        entry = {"driver": "net.example.com", "pool": "node1", "device": "eth0",
                 "conditions": [], "networkData": {"interfaceName": "eth0"}}
        object_["status"]["devices"] = [entry]
        self.assertNotEqual(self.prepare(claim)[claim["uid"]][1], "")
        first, second = object_["status"]["devices"]
        self.assertEqual(first, entry)
        self.assertEqual((second["driver"], second["device"]), ("gpu.cleave.dev", "gpu0"))

    def test_changed_meanwhile(self):
        """Another client has written the claim: the next attempt shows the refusal."""
        claim = self.api.claim("c", ("gpu0", {"share": "0", "memory": "0"}))
        self.api.full = 409
        error = self.prepare(claim)[claim["uid"]][1]
        self.assertEqual(self.ready(claim), [])
        self.api.full = None
        self.assertEqual(self.prepare(claim)[claim["uid"]][1], error)
        self.assertEqual(self.ready(claim), [("False", error)])

    def refusals(self):
        claim = self.api.claim("c", ("gpu0", {"share": "0", "memory": "0"}))
        errors = {self.prepare(claim)[claim["uid"]][1] for _ in range(3)}
        self.assertEqual(len(errors), 1)
        self.assertIn("from 1 to 100", errors.pop())
        self.assertEqual(self.ready(claim), [])
        self.assertEqual(self.log().count("in events of pods only"), 1)

    def test_role_that_does_not_permit_it(self):
        self.api.denied = {"resourceclaims/status"}
        self.refusals()
        self.assertIn("403", self.log())

    def test_server_that_drops_it(self):
        self.api.gates.discard("DRAResourceClaimDeviceStatus")
        self.refusals()
        self.assertIn("DRAResourceClaimDeviceStatus", self.log())


class FullServer(CountedBed):
    """etcd has no space: the API server reads, and refuses each write."""

    def test_claims(self):
        """Are prepared and released as before."""
        for status in (500, 507):
            self.api.full = status
            claim = self.api.claim("c", ("gpu0", {"share": "30", "memory": "0"}))
            wrong = self.api.claim("d", ("gpu0", {"share": "0", "memory": "0"}))
            self.prepared(claim)
            self.assertIn("from 1 to 100", self.prepare(wrong)[wrong["uid"]][1])
            self.assertEqual(len(self.claimed()), 1)
            self.unprepare(claim, wrong)
            self.assertEqual(self.claimed(), {})

    def test_slices(self):
        """What could not be written is written later."""
        self.api.full = 500
        self.agent.request("POST", "/v1/devices/gpu0/cordon")
        self.assertTrue(wait_until(lambda: "database space exceeded" in self.log()), self.log())
        self.assertNotIn("taints", self.api.devices()["gpu0"])
        self.api.full = None
        self.assertTrue(wait_until(lambda: "taints" in self.api.devices()["gpu0"]), self.log())

    def test_server_that_is_away(self):
        """A minute of it: the claims stay, and then it gets what has changed."""
        claim = self.api.claim("c", ("gpu0", {"share": "30", "memory": "0"}))
        self.prepared(claim)
        self.api.down = True
        self.agent.request("POST", "/v1/devices/gpu0/cordon")
        self.assertTrue(wait_until(lambda: self.log().count("503") >= 3), self.log())
        self.assertEqual(len(self.claimed()), 1)
        self.api.down = False
        self.assertTrue(wait_until(lambda: "taints" in self.api.devices()["gpu0"]), self.log())
        self.assertEqual(len(self.claimed()), 1)


class Beta1(DraBed):
    """Kubernetes 1.32 and its v1beta1, without gates."""
    sim = MIG
    minor = "32"
    gates = ()
    version = "v1beta1"

    def make_server(self):
        api = super().make_server()
        api.versions = (self.version,)
        return api

    def start_driver(self, **more):
        super().start_driver(version=self.version, **more)

    def test_partition(self):
        self.assertEqual(set(self.api.devices()), {"gpu0-1g-10gb-6", "gpu1-1g-10gb-6"})
        claim = self.api.claim("c", ("gpu0-1g-10gb-6", None))
        self.prepared(claim)
        self.assertEqual(len(self.claimed()), 1)
        self.unprepare(claim)


class Beta1WithGates(Beta1):
    minor = "33"
    gates = GATED

    def test_partition(self):
        self.assertEqual(set(self.api.counters()), {"gpu0", "gpu1"})
        self.agent.request("POST", "/v1/devices/gpu0/cordon")
        self.assertTrue(wait_until(lambda: "taints" in self.api.devices()["gpu0-1g-10gb-0"]),
                        self.log())


class Beta2(Beta1WithGates):
    version = "v1beta2"


class Rules(unittest.TestCase):
    """The double refuses what the API server refuses."""

    def test_devices(self):
        shared = {"allowMultipleAllocations": True}
        for wrong in (
                {"name": "-a-"}, {"taint": []}, {"capacity": {"c": {"value": "9", "policy": {}}}},
                {"attributes": {"a-b": {"int": 1}}},
                {"attributes": {"a": {"version": "1.02.3"}}},
                {"attributes": {"a": {"string": "x" * 65}}},
                {"consumesCounters": [{"counterSet": f"s{i}", "counters": {"c": {"value": "1"}}}
                                      for i in range(3)]},
                {"capacity": {"c": {"value": "9", "requestPolicy": {"default": "9"}}}},
                {**shared, "capacity": {"c": {"value": "9", "requestPolicy": {
                    "default": "9", "validValues": ["1"]}}}},
                {**shared, "capacity": {"c": {"value": "9", "requestPolicy": {
                    "default": "9", "validRange": {"min": "1", "max": "9", "step": "3"}}}}}):
            with self.subTest(wrong):
                slice_ = {"spec": {"devices": [{"name": "gpu0", **wrong}]}}
                self.assertIsNotNone(check_slice(slice_, 35))
        self.assertIsNone(check_slice({"spec": {"devices": [{"name": "gpu0"}]}}, 35))

    def test_devices_of_a_slice(self):
        devices = [{"name": f"gpu{i}"} for i in range(128)]
        self.assertIsNone(check_slice({"spec": {"devices": devices}}, 35))
        devices[0]["taints"] = []
        self.assertIsNotNone(check_slice({"spec": {"devices": devices}}, 35))

    def test_taints(self):
        good = {"key": KEY, "value": "lost", "effect": "NoExecute"}
        self.assertIsNone(check_taint(good, 34))
        self.assertIsNone(check_taint({**good, "effect": "None"}, 35))
        for wrong in ({"effect": "None"}, {"effect": "PreferNoSchedule"}, {"key": "a/b/c"},
                      {"value": "not a label"}, {"reason": "x"}):
            self.assertIsNotNone(check_taint({**good, **wrong}, 34), wrong)

    def test_conditions(self):
        good = {"type": "Ready", "status": "False", "reason": "Refused", "message": "",
                "lastTransitionTime": "2026-01-02T03:04:05Z"}
        self.assertIsNone(check_condition(good))
        for wrong in ({"status": "false"}, {"reason": "does not fit"}, {"reason": ""},
                      {"lastTransitionTime": ""}, {"type": ""}, {"more": 1}):
            self.assertIsNotNone(check_condition({**good, **wrong}), wrong)


if __name__ == "__main__":
    bed.main()
