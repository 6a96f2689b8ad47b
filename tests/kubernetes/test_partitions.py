#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Partitions for containers, on simulated nodes.

usage: test_partitions.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import os

import bed
from bed import Bed, wait_until
from kubelet import Refused

MIG = """
version: 1
name: lab
devices:
  - model: A100-80GB
    count: 2
    numa: [0, 1]
    at-start:
      mig: on
      instances:
        - {profile: 1g.10gb, start: 0}
        - {profile: 1g.10gb, start: 1}
        - {profile: 1g.10gb+me, start: 2}
        - {profile: 3g.40gb, start: 4}
"""
XCP = """
version: 1
name: lab
devices:
  - {model: MI300X, at-start: {compute-mode: CPX, memory-mode: NPS4}}
"""
SMALL, ME, LARGE = "cleave.dev/mig-1g.10gb", "cleave.dev/mig-1g.10gb.me", "cleave.dev/mig-3g.40gb"


class PartitionsBed(Bed):
    def setUp(self):
        super().setUp()
        self.kubelet.start()
        self.start_bridge()

    def lease_of(self, pod, container="c"):
        (name,) = self.kubelet.starts[("default", pod)][container]
        return self.agent.get("/v1/leases/" + name.removeprefix(bed.CDI))

    def operate(self, method, url, body=None):
        status, operation = self.agent.request(method, url, body)
        self.assertEqual(status, 202, operation)
        done = wait_until(lambda: (o := self.agent.get(f"/v1/operations/{operation['id']}"))
                          ["state"] in ("done", "failed") and o)
        self.assertEqual(done["state"], "done", done)


class Mig(PartitionsBed):
    sim = MIG

    def test_resources(self):
        for name, n in ((SMALL, 4), (ME, 2), (LARGE, 2)):
            self.assertEqual(len(self.kubelet.resource(name).healthy()), n)
        nodes = sorted(d.topology.nodes[0].ID for d in
                       self.kubelet.resource(LARGE).devices.values())
        self.assertEqual(nodes, [0, 1])
        self.assertNotIn("cleave.dev/gpu-share", self.kubelet.registered)

    def test_lease(self):
        self.kubelet.admit("p", {"c": {LARGE: 1}})
        lease = self.lease_of("p")
        self.assertIn("3g.40gb", lease["device"])
        self.assertEqual(lease["share"], 1)
        self.check_ledger()
        self.kubelet.start_container("p", "c")
        self.kubelet.delete("p")
        self.check_ledger()

    def test_packed(self):
        """The second partition is on the same device as the first one."""
        self.kubelet.resource(SMALL)
        for i in range(4):
            self.kubelet.admit(f"p{i}", {"c": {SMALL: 1}})
        on = [self.lease_of(f"p{i}")["device"].split("/")[0] for i in range(4)]
        self.assertEqual(on[0], on[1])
        self.assertEqual(on[2], on[3])
        self.assertNotEqual(on[0], on[2])
        with self.assertRaises(Refused):
            self.kubelet.admit("q", {"c": {SMALL: 1}})
        self.check_ledger()

    def test_two_in_a_container(self):
        with self.assertRaises(Refused) as caught:
            self.kubelet.admit("p", {"c": {SMALL: 2}})
        self.assertIn("one MIG instance", str(caught.exception))
        self.check_ledger()

    def test_layout_changes(self):
        plugin = self.kubelet.resource(LARGE)
        (name,) = [d["name"] for d in self.devices().values() if "3g.40gb" in d["name"]
                   and d["name"].startswith("gpu1")]
        self.operate("DELETE", f"/v1/partitions?name={name}")
        plugin.wait(lambda p: len(p.devices) == 1)
        self.operate("POST", "/v1/partitions", {"device": "gpu1", "profile": "2g.20gb"})
        self.assertEqual(len(self.kubelet.resource("cleave.dev/mig-2g.20gb").healthy()), 1)
        self.operate("DELETE", "/v1/partitions?name=gpu0/3g.40gb@4")
        plugin.wait(lambda p: not p.devices)
        self.assertIs(self.kubelet.resource(LARGE), plugin)  # it still answers, with no devices

    def test_cordoned(self):
        plugin = self.kubelet.resource(SMALL)
        self.agent.request("POST", "/v1/devices/gpu1/cordon")
        plugin.wait(lambda p: len(p.healthy()) == 2)
        for i in range(2):
            self.kubelet.admit(f"p{i}", {"c": {SMALL: 1}})
            self.assertTrue(self.lease_of(f"p{i}")["device"].startswith("gpu0/"))

    def test_other_names(self):
        """Partitions created under names of other settings are left alone."""
        self.kubelet.admit("p", {"c": {LARGE: 1}})
        before = self.lease_of("p")["id"]
        self.stop_bridge()
        self.start_bridge(names="vendor")
        self.kubelet.resource("nvidia.com/mig-3g.40gb")
        looks = self.kubelet.n_lists
        wait_until(lambda: self.kubelet.n_lists > looks + 10)
        self.assertEqual(self.lease_of("p")["id"], before)
        self.kubelet.delete("p")
        self.check_ledger()


class VendorNames(PartitionsBed):
    sim = MIG
    settings = {"names": "vendor"}

    def test_labels(self):
        self.kubelet.resource("nvidia.com/mig-1g.10gb")
        self.stop_bridge()
        folder = os.path.join(self.folder, "features.d")
        os.mkdir(folder)
        self.start_bridge(labels=folder)
        path = os.path.join(folder, "cleave")
        self.assertTrue(wait_until(lambda: os.path.exists(path)), self.log())
        with open(path, encoding="utf-8") as file:
            labels = dict(line.rstrip("\n").split("=") for line in file)
        for name, value in (("nvidia.com/gpu.count", "2"), ("nvidia.com/mig.capable", "true"),
                            ("nvidia.com/mig.strategy", "mixed"),
                            ("nvidia.com/gpu.memory", "80384"),
                            ("nvidia.com/mig-1g.10gb.count", "4")):
            self.assertEqual(labels.get(name), value, labels)
        for name, value in labels.items():
            self.assertRegex(name, r"^[a-z.]+/[A-Za-z0-9][-A-Za-z0-9_.]{0,62}$")
            self.assertRegex(value, r"^([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$")
        self.assertEqual(os.listdir(folder), ["cleave"])

    def test_names(self):
        for name in ("nvidia.com/mig-1g.10gb", "nvidia.com/mig-1g.10gb.me",
                     "nvidia.com/mig-3g.40gb"):
            self.assertTrue(self.kubelet.resource(name).healthy())


class SingleName(PartitionsBed):
    sim = MIG
    settings = {"names": "vendor-single"}

    def test_name(self):
        self.assertEqual(len(self.kubelet.resource("nvidia.com/gpu").healthy()), 8)


class Whole(PartitionsBed):
    sim = "version: 1\nname: lab\ndevices:\n  - {model: H100-80GB, count: 4}\n"
    settings = {"names": "vendor", "undivided": "whole"}

    def test_gpus(self):
        self.assertEqual(len(self.kubelet.resource("nvidia.com/gpu").healthy()), 4)
        self.kubelet.admit("p", {"c": {"nvidia.com/gpu": 1}})
        self.assertEqual(self.lease_of("p")["share"], 1)
        self.check_ledger()


    def test_several(self):
        """Running pods ask for several GPUs; they are one lease, and whole."""
        names = self.kubelet.admit("p", {"c": {"nvidia.com/gpu": 3}})["c"]
        self.assertEqual(len(names), 1)
        lease = self.lease_of("p")
        self.assertEqual(len({d["name"] for d in lease["devices"]}), 3)
        self.check_ledger()
        self.kubelet.start_container("p", "c")
        self.assertEqual(self.lease_of("p")["id"], lease["id"])
        with self.assertRaises(Refused):
            self.kubelet.admit("q", {"c": {"nvidia.com/gpu": 2}})
        self.kubelet.admit("q", {"c": {"nvidia.com/gpu": 1}})
        self.check_ledger()
        self.stop_bridge()
        self.start_bridge()
        self.kubelet.resource("nvidia.com/gpu")
        self.check_ledger()
        self.kubelet.delete("p")
        self.check_ledger()
        self.kubelet.admit("r", {"c": {"nvidia.com/gpu": 2}})
        self.check_ledger()


class Xcp(PartitionsBed):
    sim = XCP

    def test_several(self):
        self.kubelet.admit("p", {"c": {"cleave.dev/cpx-nps4": 5}})
        self.assertEqual(len(self.lease_of("p")["devices"]), 5)
        self.kubelet.admit("q", {"c": {"cleave.dev/cpx-nps4": 3}})
        self.check_ledger()

    def test_names(self):
        self.assertEqual(len(self.kubelet.resource("cleave.dev/cpx-nps4").healthy()), 8)
        self.kubelet.admit("p", {"c": {"cleave.dev/cpx-nps4": 1}})
        self.check_ledger()
        self.stop_bridge()
        self.start_bridge(names="vendor")
        self.assertEqual(len(self.kubelet.resource("amd.com/cpx_nps4").healthy()), 8)


class Many(PartitionsBed):
    sim = "version: 1\nname: lab\ndevices:\n  - {model: T4, count: 12}\n"

    def test_one_device_for_a_container(self):
        for i in range(36):
            self.kubelet.admit(f"p{i}", {"c": {"cleave.dev/gpu-share": 33}})
        self.check_ledger()
        with self.assertRaises(Refused) as caught:
            self.kubelet.admit("q", {"c": {"cleave.dev/gpu-share": 2}})
        self.assertIn("no device has 2", str(caught.exception))

    def test_packed(self):
        for i in range(6):
            self.kubelet.admit(f"p{i}", {"c": {"cleave.dev/gpu-share": 50}})
        self.assertEqual(len({self.lease_of(f"p{i}")["device"] for i in range(6)}), 3)


if __name__ == "__main__":
    bed.main()
