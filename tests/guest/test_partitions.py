#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Virtual functions by layouts, in a virtual machine with real ones: made, leased, lost and made
again.

usage: test_partitions.py CLEAVE CLEAVED"""
import json
import sys
import unittest

import debian
import machine
from guest import Guest

SKIP = 77
START = "cleaved --system --state-dir=/opt/state >>/opt/state/log 2>&1"
PF = "0000:01:00.0"
LAYOUT = f"""version: 1
devices:
  - select: {{pci: ["{PF}"]}}
    vf: {{count: 2, driver: vfio-pci}}
"""


class Partitions(unittest.TestCase):
    """The tests follow each other, in one machine that boots three times."""
    PROGRAMS = {}

    @classmethod
    def setUpClass(cls):
        cls.guest = Guest(cls.PROGRAMS)
        cls.addClassCleanup(cls.guest.close)
        cls.boot()

    @classmethod
    def boot(cls, **options):
        cls.guest.boot(**options)
        cls.guest.run(START)
        cls.guest.until("cleave devices -o name | grep gpu0")

    def partitions(self):
        node = self.guest.read("partition list")
        return [(each["name"], each["address"]) for each in node["items"]]

    def doctor(self, check):
        """Its exit code is about shares, which this machine cannot run."""
        _, output = self.guest.call("cleave doctor -o json")
        found = {each["check"]: each for each in json.loads(output)["items"]}[check]
        return found["verdict"], found["found"]

    def driver(self, address):
        return self.guest.run(f"basename $(readlink /sys/bus/pci/devices/{address}/driver)").strip()

    def apply(self, text, code=0):
        self.guest.run(f"cat >/tmp/layout.yaml <<'END'\n{text}\nEND\n")
        return self.guest.run("cleave apply --yes /tmp/layout.yaml", code)

    def wait_for_driver(self):
        """The kernel probes disks in the background."""
        self.guest.until("cleave devices -o yaml | grep 'capable: true'")

    def assert_made(self):
        """Two functions, each bound to VFIO and alone in its group."""
        device = next(each for each in self.guest.read("devices")["items"] if not each["parent"])
        self.assertEqual((device["uuid"], device["scheme"]), (f"pci-{PF}", "vf"))
        found = [(each["number"], each["driver"], each["iommu_group"] >= 0, each["group_others"])
                 for each in device["vf"]["functions"]]
        self.assertEqual(found, [(1, "vfio-pci", True, 0), (2, "vfio-pci", True, 0)])
        names = [name for name, _ in self.partitions()]
        self.assertEqual(names, ["gpu0/vf:2@1", "gpu0/vf:2@2"])
        for _, address in self.partitions():
            self.assertEqual(self.driver(address), "vfio-pci")

    def test_1_a_count_is_set(self):
        self.wait_for_driver()
        self.assertEqual(self.doctor("iommu"), (
            "ok", "the IOMMU is on, and each function of gpu0 is alone in its group"))
        self.assertIn("it can have 0 to 4", self.guest.call("cleave partition create gpu0 vf:5 --yes")[1])
        self.apply(LAYOUT)
        self.assert_made()
        self.assertIn("nothing to do", self.guest.run("cleave plan /tmp/layout.yaml"))

    def test_2_made_again_at_boot(self):
        self.guest.power_off()
        self.boot()
        self.guest.until("cleave diff", 0.1)
        self.assert_made()

    def test_3_functions_that_go(self):
        """Not by cleave: the difference is reported, and the layout makes them again."""
        guest = self.guest
        guest.run(f"echo 0 >/sys/bus/pci/devices/{PF}/sriov_numvfs")
        self.assertEqual(self.partitions(), [])
        self.assertIn("gpu0", guest.run("cleave diff", 1))
        verdict, found = self.doctor("layout")
        self.assertEqual((verdict, "gpu0" in found), ("warning", True), found)
        guest.run("cleave export --wanted | cleave apply --yes -")
        self.assert_made()

    def test_4_without_an_iommu(self):
        self.guest.power_off()
        self.boot(iommu=False)
        self.wait_for_driver()
        self.assertEqual(self.doctor("iommu"), (
            "warning", "the IOMMU is off: no function of gpu0 can be given to a virtual machine"))
        # The agent tries again, and applies the layout meanwhile.
        self.guest.until("cleave doctor | grep 'is in no IOMMU group'")


if __name__ == "__main__":
    Partitions.PROGRAMS = {"cleave": sys.argv.pop(1), "cleaved": sys.argv.pop(1)}
    REASON = debian.why_not()
    if REASON:
        print(REASON)
        sys.exit(SKIP)
    try:
        debian.find()
    except machine.Missing as missing:
        print(missing)
        sys.exit(SKIP)
    unittest.main()
