#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Claims of several devices by one request: which of them are in one lease.

usage: test_count.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import bed
from test_dra import DraBed


class Count(DraBed):
    """Several devices of one request."""
    settings = {"undivided": "whole"}
    sim = """
version: 1
name: lab
devices:
  - {model: H100-80GB, count: 2}
  - {model: A100-80GB}
  - {model: MI300X, count: 2, at-start: {compute-mode: CPX, memory-mode: NPS4}}
  - {model: A100-80GB, at-start: {mig: on, instances: [
      {profile: 1g.10gb, start: 0}, {profile: 1g.10gb, start: 1}]}}
"""

    def claim(self, *devices, requests=None, **more):
        claim = self.api.claim("c", *((name, None) for name in devices), **more)
        made = self.api.claims[("default", "c")]["status"]["allocation"]["devices"]["results"]
        for result, request in zip(made, requests or ["r"] * len(devices)):
            result["request"] = request
        return claim

    def names_of_leases(self):
        return sorted([device["name"] for device in lease["devices"]]
                      for lease in self.claimed().values())

    def test_one_lease(self):
        """Of whole devices, and of AMD's partitions: a program uses them together."""
        partitions = sorted(n for n in self.api.devices() if n.startswith(("gpu3", "gpu4")))
        for devices, leased in (
                (("gpu0", "gpu1"), ["gpu0", "gpu1"]),
                ((partitions[1], partitions[-1]), ["gpu3/CPX/NPS4@1", "gpu4/CPX/NPS4@7"])):
            with self.subTest(devices):
                claim = self.claim(*devices)
                for _ in range(2):
                    prepared = self.prepared(claim)
                    self.assertEqual([d.device_name for d in prepared], list(devices))
                    self.assertEqual({tuple(d.request_names) for d in prepared}, {("r",)})
                    self.assertEqual(self.names_of_leases(), [leased])
                (lease,) = self.claimed()
                self.assertEqual([list(d.cdi_device_ids) for d in prepared],
                                 [[bed.CDI + lease], []])
                self.assertEqual(self.specs(), {lease})
                self.unprepare(claim)
                self.assertEqual((self.claimed(), self.specs()), ({}, set()))

    def test_leases_of_their_own(self):
        """A lease for each device that no program can use together with another, and for each
        request, which a container may have without the other."""
        for devices, requests in (
                (("gpu0", "gpu1"), ("a", "b")), (("gpu0", "gpu2"), None),
                (("gpu5-1g-10gb-0", "gpu5-1g-10gb-1"), None),
                (("gpu5-2g-20gb-4", "gpu5-1g-10gb-6"), None)):
            with self.subTest(devices):
                claim = self.claim(*devices, requests=requests)
                prepared = self.prepared(claim)
                self.assertEqual(sorted(bed.CDI + name for name in self.claimed()),
                                 [d.cdi_device_ids[0] for d in prepared])
                self.unprepare(claim)
                self.assertEqual(self.claimed(), {})

    def test_three_of_two_kinds(self):
        claim = self.claim("gpu0", "gpu2", "gpu1")
        self.assertEqual([d.device_name for d in self.prepared(claim)], ["gpu0", "gpu1", "gpu2"])
        self.assertEqual(self.names_of_leases(), [["gpu0", "gpu1"], ["gpu2"]])
        self.unprepare(claim)
        self.assertEqual(self.claimed(), {})

    def test_limits(self):
        """A lease of several devices has none: what is limited has a lease for each device."""
        config = {"requests": [], "opaque": {"driver": "gpu.cleave.dev", "parameters": {
            "apiVersion": "gpu.cleave.dev/v1", "kind": "LeaseConfig", "class": "latency"}}}
        for limits, n_leases in (({}, 1), ({"cap": 1}, 2)):
            config["opaque"]["parameters"].update(limits)
            claim = self.claim("gpu0", "gpu1", config=[config])
            self.prepared(claim)
            self.assertEqual([lease["class"] for lease in self.claimed().values()],
                             ["latency"] * n_leases)
            self.unprepare(claim)


class CountOfAll(DraBed):
    """Devices that claims share are whole where a claim consumes all of them."""
    sim = "version: 1\nname: lab\ndevices:\n  - {model: H100-80GB, count: 2}\n"

    def shapes(self, *consumed):
        claim = self.api.claim("c", *((f"gpu{i}", each) for i, each in enumerate(consumed)))
        for result in self.api.claims[("default", "c")]["status"]["allocation"]["devices"][
                "results"]:
            result["request"] = "r"
        self.prepared(claim)
        shapes = sorted((len(lease["devices"]), lease["share"]) for lease in self.claimed().values())
        self.unprepare(claim)
        self.assertEqual(self.claimed(), {})
        return shapes

    def test_amounts(self):
        memory = str(self.devices()["gpu0"]["memory_bytes"])
        for amounts, shapes in (
                ([{"share": "100", "memory": "0"}] * 2, [(2, 1)]),
                ([{"share": "0", "memory": memory}] * 2, [(2, 1)]),
                ([{"share": "100", "memory": memory}] * 2, [(2, 1)]),
                ([{"share": "100", "memory": "0"}, {"share": "50", "memory": "0"}],
                 [(1, .5), (1, 1)]),
                ([{"share": "50", "memory": memory}] * 2, [(1, .5)] * 2)):
            with self.subTest(amounts):
                self.assertEqual(self.shapes(*amounts), shapes)


if __name__ == "__main__":
    bed.main()
