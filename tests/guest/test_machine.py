#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A whole device of a pool in a virtual machine of libvirt, by the resource agent of Pacemaker, in a
virtual machine with an IOMMU and VFIO.

usage: test_machine.py CLEAVE CLEAVED"""
import sys
import unittest
from pathlib import Path

import debian
import machine
from guest import DOMAIN, LIBVIRT, Guest

SKIP = 77
AGENTS = Path(__file__).resolve().parent.parent.parent / "packaging/pacemaker"
DEVICE = "0000:01:00.0"
CONFIG = "/run/cleave/pacemaker/vm1.xml"
START = """set -e
mkdir -p /usr/lib/ocf/resource.d/cleave /usr/lib/ocf/lib/cleave /run/resource-agents
cp /opt/ocf/functions /usr/lib/ocf/lib/cleave/
cp /opt/ocf/gpu /usr/lib/ocf/resource.d/cleave/
cleaved --system --state-dir=/opt/state
"""
AGENT = ("OCF_ROOT=/usr/lib/ocf OCF_RESOURCE_INSTANCE=vm1-gpu OCF_RESKEY_pool=whole "
         f"OCF_RESKEY_lease=vm1 OCF_RESKEY_template=/opt/vm1.xml OCF_RESKEY_config={CONFIG} "
         "/usr/lib/ocf/resource.d/cleave/gpu")


class Machine(unittest.TestCase):
    PROGRAMS = {}

    def setUp(self):
        agents = {f"ocf/{name}": (AGENTS / name).read_text() for name in ("gpu", "functions")}
        self.guest = Guest(self.PROGRAMS, {"vm1.xml": DOMAIN.format(name="vm1"), **agents})
        self.addCleanup(self.guest.close)
        self.guest.boot()
        self.guest.run(LIBVIRT)
        self.guest.run(START)
        self.guest.until("cleave devices -o yaml | grep 'capable: true'")

    def driver(self):
        _, path = self.guest.call(f"readlink /sys/bus/pci/devices/{DEVICE}/driver")
        return path.strip().rpartition("/")[2]

    def member(self):
        each, = self.guest.read("pool list whole")["items"]
        return each["state"], each["to"], each["note"]

    def test_given_and_taken_back(self):
        guest = self.guest
        guest.run("cleave pool create whole gpu0")
        self.assertEqual(self.driver(), "nvme")
        guest.run(f"{AGENT} monitor", 7)
        guest.run(f"{AGENT} start")
        self.assertEqual(self.member(), ("assigned", "vm1", ""))
        guest.run(f"virsh -c qemu:///system create {CONFIG}")
        # libvirt's machine has it, and it is still the lease's.
        self.assertIn("<address domain='0x0000' bus='0x01' slot='0x00' function='0x0'/>",
                      guest.run("virsh -c qemu:///system dumpxml vm1"))
        self.assertEqual(self.driver(), "vfio-pci")
        guest.run(f"{AGENT} monitor")
        self.assertEqual(self.member(), ("assigned", "vm1", ""))
        self.assertIn("it is passed to a virtual machine as a whole",
                      guest.run("cleave partition create gpu0 vf:2 --yes", 64))
        self.assertIn("is taken by another lease", guest.run("cleave pool assign whole vm2", 75))
        guest.run("virsh -c qemu:///system destroy vm1")
        guest.run(f"{AGENT} stop")
        guest.run(f"{AGENT} monitor", 7)
        guest.run(f"test -e {CONFIG}", 1)
        self.assertEqual(self.driver(), "nvme")
        self.assertEqual(self.member(), ("available", "", ""))


if __name__ == "__main__":
    Machine.PROGRAMS = {"cleave": sys.argv.pop(1), "cleaved": sys.argv.pop(1)}
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
