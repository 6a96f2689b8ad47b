#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Virtual functions assigned to virtual machines of libvirt, in a virtual machine with real functions,
an IOMMU and VFIO.

usage: test_assign.py CLEAVE CLEAVED CLEAVE_VMS"""
import sys
import unittest

import debian
import machine
from guest import DOMAIN, LIBVIRT, Guest

SKIP = 77
PF = "0000:01:00.0"
FUNCTIONS = ("0000:01:00.1", "0000:01:00.2")
LAYOUT = f"""version: 1
devices:
  - select: {{pci: ["{PF}"]}}
    vf: {{count: 2, driver: vfio-pci}}
"""
HOOK = "#!/bin/sh\nexec cleave-vms hook -- \"$@\"\n"
NAMES = ("vm1", "vm2", "vm3")
AGENT = "cleaved --system --state-dir=/opt/state"
VIRSH = "virsh -c qemu:///system"
# The function of the first machine, in the definition of the third.
STOLEN = """<hostdev mode="subsystem" type="pci" managed="yes"><source>
<address domain="0x0000" bus="0x01" slot="0x00" function="0x1"/></source></hostdev>
"""


class Assign(unittest.TestCase):
    """The tests follow each other."""
    PROGRAMS = {}

    @classmethod
    def setUpClass(cls):
        cls.guest = Guest(cls.PROGRAMS, {
            "layout.yaml": LAYOUT, "hook": HOOK, "stolen.xml": STOLEN,
            **{f"{name}.xml": DOMAIN.format(name=name) for name in NAMES}})
        cls.addClassCleanup(cls.guest.close)
        cls.guest.boot()
        cls.guest.run(AGENT)
        cls.guest.run("mkdir -p /etc/libvirt/hooks/qemu.d; "
                      "cp /opt/hook /etc/libvirt/hooks/qemu.d/cleave")
        cls.guest.run(LIBVIRT)
        for name in NAMES:
            cls.guest.run(f"{VIRSH} define /opt/{name}.xml")
        cls.guest.until("cleave devices -o yaml | grep 'capable: true'")
        cls.guest.run("cleave apply --yes /opt/layout.yaml")

    def state(self, name):
        return self.guest.run(f"{VIRSH} domstate {name}").strip()

    def addresses(self, name):
        """Of the functions in its definition."""
        xml = self.guest.run(f"{VIRSH} dumpxml {name}")
        return [address for at, address in enumerate(FUNCTIONS, 1)
                if f"bus='0x01' slot='0x00' function='0x{at}'" in xml]

    def machines(self):
        return {each["name"]: each["partitions"] for each in self.guest.read("vms")["items"]}

    def test_1_two_in_one_command(self):
        guest = self.guest
        guest.run("cleave assign --profile vf:2 vm1 vm2")
        self.assertEqual(sorted(self.addresses("vm1") + self.addresses("vm2")), list(FUNCTIONS))
        for name in ("vm1", "vm2"):
            guest.run(f"{VIRSH} start {name}")
            self.assertEqual(self.state(name), "running")
        for address in FUNCTIONS:
            self.assertIn("vfio-pci",
                          guest.run(f"readlink /sys/bus/pci/devices/{address}/driver"))

    def test_2_a_third_is_refused(self):
        refused = self.guest.run("cleave assign --profile vf:2 vm3", 75)
        self.assertIn("1 partition is needed and 0 free", refused)
        self.assertEqual(self.addresses("vm3"), [])

    def test_3_nothing_takes_them(self):
        none = LAYOUT.replace("{count: 2, driver: vfio-pci}", "{count: 0}")
        refused = self.guest.run(f"cleave apply --yes - <<'END'\n{none}\nEND\n", 75)
        self.assertIn("vm1", refused)
        self.assertEqual([self.state(name) for name in ("vm1", "vm2")], ["running"] * 2)

    def test_4_the_hook_refuses_a_stolen_function(self):
        guest = self.guest
        guest.run(f"{VIRSH} destroy vm1")
        guest.run(f"{VIRSH} destroy vm2")
        guest.run(f"{VIRSH} attach-device vm3 /opt/stolen.xml --config")
        refused = guest.run(f"{VIRSH} start vm3", 1)
        self.assertIn("ook script execution failed", refused)
        self.assertEqual(self.state("vm3"), "shut off")
        guest.run(f"{VIRSH} detach-device vm3 /opt/stolen.xml --config")
        guest.run(f"{VIRSH} start vm3")
        guest.run(f"{VIRSH} destroy vm3")

    def test_5_after_a_boot(self):
        """Machines that libvirt starts by itself have their functions: the hook waits for the
        layout."""
        guest = self.guest
        before = {name: self.addresses(name) for name in NAMES}
        guest.run(f"{VIRSH} autostart vm1")
        guest.power_off()
        guest.boot()
        guest.run(AGENT)
        guest.run(LIBVIRT)
        guest.until(f"{VIRSH} domstate vm1 | grep running")
        self.assertEqual({name: self.addresses(name) for name in NAMES}, before)
        guest.run(f"{VIRSH} start vm2")
        self.assertEqual(len(guest.read("partition list")["items"]), 2)

    def test_6_taken_back(self):
        """From a machine that runs, whose firmware does not release it: it is turned off."""
        guest = self.guest
        guest.run("cleave unassign --yes --timeout 1s --force vm1")
        self.assertEqual(self.addresses("vm1"), [])
        self.assertEqual(self.state("vm1"), "running")
        guest.run(f"{VIRSH} destroy vm2")
        guest.run("cleave unassign --yes vm2")
        guest.run("cleave assign --profile vf:2 vm3")
        self.assertEqual(len(self.addresses("vm3")), 1)


if __name__ == "__main__":
    Assign.PROGRAMS = {name: sys.argv.pop(1) for name in ("cleave", "cleaved", "cleave-vms")}
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
