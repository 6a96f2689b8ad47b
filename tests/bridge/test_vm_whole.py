# SPDX-License-Identifier: Apache-2.0
"""Whole GPUs for virtual machines, with libvirtds of this machine and agents on simulated nodes.  A
machine has its GPU in its XML, and cannot be started with it, as no PCI device has its address.

usage: test_vm_whole.py CLEAVE CLEAVED [unittest arguments]
"""
import os
import subprocess
import sys
import unittest

import libvirt_bed
import test_libvirt
from libvirt_bed import PROGRAMS, Between, Cleave, Libvirt, Node, hostdev
from test_libvirt import NO_FIT, USAGE, Case, Hook

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../apply"))
import worlds  # noqa: E402 (it is over there)

NODE = """version: 1
name: host1
devices:
  - {model: L40S, count: 3}
  - {model: Flex 170}
  - {model: Flex 170, at-start: {vf-count: 4}}
  - {model: A100-40GB, at-start: {mig: true}}
"""
NODE2 = """version: 1
name: host2
devices:
  - {model: A100-40GB}
  - {model: L40S}
"""

OPEN = """set -eu
exec 3<&0
mount --rbind /dev/shm /mnt
mount -t tmpfs none /dev
mkdir /dev/shm
mount --rbind /mnt /dev/shm
touch /dev/null /dev/nvidia9
mount -t tmpfs none /proc/driver
mkdir -p /proc/driver/nvidia/gpus/{address}
printf 'Device Minor: \\t %s\\n' $1 >/proc/driver/nvidia/gpus/{address}/information
sleep 600 4</dev/nvidia9 3<&- &
trap "kill $!" EXIT
{hook} hook -- web prepare begin - <&3
"""


def exchange(text, other):
    """As if the agent's devices had changed since they were listed."""
    return lambda data: data.replace(text, other)


def setUpModule():
    test_libvirt.NODE = NODE
    test_libvirt.setUpModule()


class Whole(Case):
    def address_of_gpu(self, name):
        return next(each["pci_address"] for each in self.node.agent.get("/v1/node")["devices"]
                    if each["name"] == name)

    def gpus(self):
        return {each["name"]: each for each in self.cleave.json("vms", "--gpus")["items"]}

    def lease_all_of(self, name):
        status, lease = self.node.agent.request("POST", "/v1/leases", {
            "device": name, "keep": True, "share": .5})
        self.assertEqual(status, 201)
        return lease

    def test_named(self):
        number = self.libvirt.define("web")
        done = self.ok("assign", "gpu1", "web")
        self.assertRegex(done.stdout, r"(?m)^web +off +gpu1 +45.0G shutdown ")
        lease, = self.node.leases()
        self.assertEqual((lease["device"], lease["holder"], lease["kept"], lease["share"]),
                         ("gpu1", f"vm:{number}", True, 1))
        xml = self.libvirt.xml("web", "--inactive")
        self.assertRegex(xml, r"<hostdev mode='subsystem' type='pci' managed='yes'>")
        self.assertRegex(xml, r"bus='0x14' slot='0x00' function='0x0'/>")
        self.assertIn(f"ua-cleave-{lease['id']}", xml)
        self.assertEqual(self.differences(), [])
        self.assertEqual(self.vms()["web"]["partitions"][0]["profile"], "whole")

    def test_shown(self):
        number = self.libvirt.define("web")
        self.assertEqual((self.gpus()["gpu1"]["status"], self.gpus()["gpu1"]["vm"]), ("whole", None))
        self.ok("assign", "gpu1", "web")
        self.assertEqual((self.gpus()["gpu1"]["vm"], self.gpus()["gpu1"]["free_bytes"]), (number, 0))
        done = self.ok("vms", "--gpus")
        self.assertRegex(done.stdout, r"(?m)^gpu1 +assigned as a whole +45.0G +0 .* web ")
        self.assertNotIn("gpu1", done.stderr)

    def test_chosen(self):
        """Several, of one model; never without being asked for."""
        for name in ("a", "b", "c", "d"):
            self.libvirt.define(name)
        self.refused(USAGE, ["assign", "--profile=whole", "a"], "NVIDIA L40S as gpu0", "Flex 170 as gpu3")
        self.ok("assign", "--profile=vf:4", "a")
        self.ok("assign", "--profile=whole", "--size=46068M", "b", "c")
        self.assertEqual(sorted(each["device"] for each in self.node.leases()),
                         ["gpu0", "gpu1", "gpu4/vf:4@1"])
        self.ok("unassign", "a")
        self.ok("assign", "a")
        self.assertEqual(len([each for each in self.node.leases() if "/" in each["device"]]), 1)
        self.ok("assign", "--profile=whole", "--size=46068M", "--more", "--count=1", "a")
        self.refused(NO_FIT, ["assign", "--profile=whole", "--size=46068M", "d"],
                     "0 free; others: gpu0 is held by virtual machine b")

    def test_another_device_is_leased(self):
        """As when an instance of the GPU is made between the list and the lease."""
        self.libvirt.define("web")
        between = Between(self.node, exchange(b'"gpu1"', b'"gpu2"'))
        self.addCleanup(between.close)
        self.refused(NO_FIT, ["assign", "gpu1", "web"], "gpu2 was leased in place of gpu1", "try again",
                     env={"CLEAVE_SOCKET": between.path})
        self.assertEqual(self.node.leases(), [])
        self.assertNotIn("hostdev", self.libvirt.xml("web", "--inactive"))

    def test_given_back(self):
        self.libvirt.define("web")
        self.ok("assign", "gpu1", "web")
        self.ok("unassign", "web")
        self.assertNotIn("hostdev", self.libvirt.xml("web", "--inactive"))
        self.assertEqual(self.node.leases(), [])
        self.lease_all_of("gpu1")

    def test_in_use(self):
        """By a lease, by another machine, by a layout."""
        self.libvirt.define("web")
        self.libvirt.define("b")
        self.lease_all_of("gpu0")
        self.refused(NO_FIT, ["assign", "gpu0", "web"], "gpu0 is held by lease lease of root")
        self.ok("assign", "gpu1", "b")
        self.refused(NO_FIT, ["assign", "gpu1", "web"], "gpu1 is held by virtual machine b")
        self.refused(NO_FIT, ["assign", "gpu4", "web"], "gpu4 is partitioned: assign one of its ")
        self.refused(NO_FIT, ["assign", "gpu5", "web"],
                     "gpu5 cannot be assigned: it is divided for programs of this host")
        self.refused(USAGE, ["assign", "gpu1"], "name the virtual machines")
        self.refused(USAGE, ["assign", "gpu9", "web"], "'gpu9'")
        self.assertNotIn("hostdev", self.libvirt.xml("web", "--inactive"))

    def test_no_other_gets_it(self):
        self.libvirt.define("web")
        self.ok("assign", "gpu3", "web")
        status, answer = self.node.agent.request("POST", "/v1/leases", {
            "device": "gpu3", "share": .1, "keep": True, "overcommit": True})
        self.assertEqual((status, answer["code"]), (409, "does_not_fit"))
        self.assertIn("virtual machine web", answer["detail"])
        path = self.libvirt.write("layout.yaml", "version: 1\ndevices:\n"
                                  "  - {select: {name: gpu3}, vf: {count: 2}}\n")
        self.refused(NO_FIT, ["apply", "--yes", path], "virtual machine web")
        self.assertNotIn("gpu3/vf:2@1", self.node.partitions())
        self.refused(NO_FIT, ["partition", "create", "--yes", "gpu3", "vf:2"], "web")
        self.refused(NO_FIT, ["pool", "create", "flex", "gpu3"])

    def test_member_of_a_pool(self):
        self.libvirt.define("web")
        self.ok("pool", "create", "l40s", "gpu0", "gpu1")
        self.addCleanup(self.ok, "pool", "remove", "l40s")
        self.refused(NO_FIT, ["assign", "gpu0", "web"], "gpu0 ", "pool")
        self.ok("assign", "--profile=whole", "--size=46068M", "web")
        self.assertEqual([each["device"] for each in self.node.leases() if each["holder"]], ["gpu2"])

    def test_a_machine_of_that_name(self):
        """Is meant, as before."""
        self.libvirt.define("gpu1")
        self.libvirt.define("web")
        self.ok("assign", "--profile=vf:4", "gpu1", "web")
        self.assertEqual(len(self.node.leases()), 2)

    def test_moved(self):
        """To a whole GPU of the model."""
        node = Node(NODE2)
        self.addCleanup(node.close)
        libvirt = Libvirt("host2", node.api)
        self.addCleanup(libvirt.close)
        libvirt.start()
        self.libvirt.define("web")
        self.ok("assign", "gpu0", "web")
        words = ["vm", "move", f"--to={libvirt.uri}", f"--to-socket={node.api}", "web", "host2"]
        self.assertIn("web gets gpu1 of host2 in place of gpu0\n", self.ok(*words).stderr)
        self.assertEqual([each["device"] for each in node.leases()], ["gpu1"])
        self.assertEqual((self.node.leases(), self.vms()), ([], {}))
        self.assertEqual(Cleave(node.api, libvirt.uri).json("vms")["differences"], [])

    def test_hook(self):
        """Its machine starts, another's does not, and one with a GPU that none leases is virsh's."""
        self.libvirt.define("web")
        self.ok("assign", "gpu1", "web")
        self.assertEqual(Hook.hook(self, self.libvirt.xml("web")).returncode, 0)
        self.libvirt.define("thief", hostdev(self.address_of_gpu("gpu1")))
        self.assertEqual(self.differences(), ["of-another"])
        Hook.start_fails(self, "thief", "the virtual machine thief uses gpu1", "another's")
        self.libvirt.define("own", hostdev(self.address_of_gpu("gpu2")))
        self.assertEqual(Hook.hook(self, self.libvirt.xml("own")).returncode, 0)
        lease, = self.node.leases()
        self.node.agent.request("DELETE", f"/v1/leases/{lease['id']}?force=true")
        Hook.start_fails(self, "web", "a lease that has ended")

    def test_hook_leased(self):
        """virsh takes no GPU from programs with a lease."""
        self.lease_all_of("gpu2")
        self.libvirt.define("own", hostdev(self.address_of_gpu("gpu2")))
        self.assertEqual(self.differences(), ["in-use"])
        Hook.start_fails(self, "own", "the virtual machine own is to have gpu2, which is in use by lease ",
                         " of root: ")

    def test_hook_pool(self):
        """A member of a pool is for the machine that its lease names, or that Pacemaker defined."""
        self.ok("pool", "create", "l40s", "gpu0")
        self.addCleanup(self.ok, "pool", "remove", "l40s")
        self.ok("pool", "assign", "l40s", "vm1")
        for name, lease in (("vm1", None), ("other", None), ("cluster", "l")):
            xml = hostdev(self.address_of_gpu("gpu0"), lease)
            self.libvirt.define(name, xml.replace("ua-cleave-l", "ua-cleave"))
        for name in ("vm1", "cluster"):
            self.assertEqual(Hook.hook(self, self.libvirt.xml(name), name).returncode, 0)
        Hook.start_fails(self, "other", "in use by the virtual machine vm1 of a pool")

    def test_hook_in_use(self):
        """By a program that opened the GPU while the machine, which has the lease, was off."""
        text = "version: 1\nname: host1\ndevices:\n  - {model: L40S}\n"
        node = Node(text)
        self.addCleanup(node.close)
        number = self.libvirt.define("web")
        self.cleave = Cleave(node.api, self.libvirt.uri)
        self.ok("assign", "gpu0", "web")
        xml = self.libvirt.xml("web")
        self.assertEqual(Hook.hook(self, xml).returncode, 0)
        node.agent.stop()
        with open(os.path.join(node.folder, "node.yaml"), "w", encoding="utf-8") as file:
            file.write(text + "holders:\n  - {on: gpu0, process: python3, pid: 4711}\n")
        node.agent.start()
        self.assertEqual([each["holder"] for each in node.leases()], [f"vm:{number}"])
        done = Hook.hook(self, xml)
        self.assertEqual(done.returncode, NO_FIT, done.stderr)
        self.assertIn("web is not started: the virtual machine web is to have gpu0, which is in use by ",
                      done.stderr)
        self.assertIn("4711", done.stderr)

    def test_hook_asks_for_little(self):
        """The list of devices waits for the probe of OpenCL after the agent's start, and is read only
        where a machine's partition is missing."""
        seen = []
        between = Between(self.node, lambda data: seen.append(data.split(b" HTTP")[0]) or data)
        self.addCleanup(between.close)
        env = {"CLEAVE_SOCKET": between.path}
        self.libvirt.define("web")
        self.ok("assign", "gpu1", "web")
        self.assertEqual(Hook.hook(self, self.libvirt.xml("web"), **env).returncode, 0)
        self.assertIn(b"GET /v1/node", seen)
        self.assertNotIn(b"GET /v1/devices", seen)

    def test_open_in_a_process(self):
        """NVIDIA's driver never releases such a GPU, and libvirt would hang: a /proc/driver and a
        /dev of the test's stand in for that driver."""
        self.libvirt.define("web")
        self.ok("assign", "gpu1", "web")
        xml, address = self.libvirt.xml("web"), self.address_of_gpu("gpu1")
        script = OPEN.format(address=address, hook=libvirt_bed.cleave_vms())
        for minor, code in ((9, NO_FIT), (8, 0)):
            done = subprocess.run(
                ["unshare", "-m", "sh", "-c", script, "sh", str(minor)], input=xml, check=False,
                capture_output=True, text=True, env=self.cleave.env)
            self.assertEqual(done.returncode, code, done.stderr)
            if code:
                self.assertRegex(done.stderr, r"web is not started: process \d+ \(sleep\) has /dev/nvidia9 "
                                 rf"open, .*: end it, or give {address} to vfio-pci")


FIRST, SECOND = "0000:07:00.0", "0000:0f:00.0"


class Nvidia(Case):
    """NVIDIA's driver, of which there is a double, lets a GPU go only when no process has it open, and
    the agent has all of them open."""

    def setUp(self):
        worlds.set_build(os.path.join(os.path.dirname(PROGRAMS["cleaved"]), "../.."))
        self.world = worlds.Nvml("gpu T4\ngpu V100")
        self.addCleanup(self.world.close)
        self.world.show_bound(FIRST, SECOND)
        self.agent = self.world.agent()
        self.addCleanup(self.agent.close)
        self.agent.start()
        self.cleave = Cleave(self.agent.api, self.libvirt.uri)
        self.agent.get("/v1/node")
        for gpu, address in enumerate((FIRST, SECOND)):
            self.assertIn("is open in process", self.world.take(gpu, address))

    def test_leased(self):
        self.libvirt.define("web")
        self.ok("assign", "gpu0", "web")
        for _ in range(2):
            done = Hook.hook(self, self.libvirt.xml("web"))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.world.take(0, FIRST), "")
        self.assertEqual(self.differences(), [])
        self.assertEqual([each["name"] for each in self.agent.get("/v1/node")["devices"]], ["gpu1"])

    def test_by_virsh(self):
        self.libvirt.define("own", hostdev(SECOND))
        done = Hook.hook(self, self.libvirt.xml("own"), "own")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.world.take(1, SECOND), "")

    def test_one_that_runs(self):
        """It gets the GPU at once, which fails on a machine that has no such GPU, and is open again."""
        self.libvirt.define("web")
        self.libvirt.virsh("start", "web")
        done = []
        calls = self.world.calls(lambda: done.append(self.cleave.run("assign", "gpu0", "web")))
        self.assertNotEqual(done[0].returncode, 0)
        self.assertIn("libvirt does not attach it to web", done[0].stderr)
        self.assertIn(("nvmlShutdown", "0"), calls)
        self.assertEqual(self.agent.get("/v1/leases")["items"], [])
        self.assertEqual([each["name"] for each in self.agent.get("/v1/node")["devices"]], ["gpu0", "gpu1"])


if __name__ == "__main__":
    test_libvirt.main()
