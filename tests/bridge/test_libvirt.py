# SPDX-License-Identifier: Apache-2.0
"""cleave vms, assign and unassign, and libvirt's hook, with a libvirtd of this machine and emulated
virtual machines.  Partitions are those of a simulated node, whose addresses no PCI device has: a
machine has them in its XML, and cannot be started with them.

usage: test_libvirt.py CLEAVE CLEAVED [unittest arguments]
"""
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import unittest

import guide
import libvirt_bed
from libvirt_bed import PROGRAMS, Cleave, Libvirt, Node, hostdev
from measured import measured

NODE = """version: 1
name: host1
devices:
  - {model: Flex 170, count: 2, at-start: {vf-count: 4}}
  - {model: Flex 170, at-start: {vf-count: 2}}
"""
NAMES = ("web", "Büro 1", "a&b <c>")
USAGE, UNREACHABLE, NO_FIT, BAD_FILE, NOT_FOUND = 64, 69, 75, 78, 127


def setUpModule():
    Case.node = Node(NODE)
    unittest.addModuleCleanup(Case.node.close)
    # libvirt reports the name of its machine, which the agent's must be for it to be its own.
    Case.libvirt = Libvirt(socket.gethostname(), Case.node.api)
    unittest.addModuleCleanup(Case.libvirt.close)
    Case.libvirt.start()
    Case.cleave = Cleave(Case.node.api, Case.libvirt.uri)


class Case(unittest.TestCase):
    node = libvirt = cleave = None
    maxDiff = None

    def tearDown(self):
        self.libvirt.clear()
        for lease in self.node.leases():
            self.node.agent.request("DELETE", f"/v1/leases/{lease['id']}?force=true")

    def ok(self, *words, **more):
        done = self.cleave.run(*words, **more)
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done

    def refused(self, code, words, *texts, **more):
        """One line of error, and nothing changed."""
        done = self.cleave.run(*words, **more)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        self.assertNotIn("Traceback", done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assertTrue(done.stderr.splitlines()[-1].startswith("cleave: "), done.stderr)
        return done

    def assign(self, *words):
        self.ok("assign", "--profile=vf:4", *words)
        return self.node.leases()

    def vms(self):
        return {each["name"]: each for each in self.cleave.json("vms")["items"]}

    def differences(self):
        return [each["kind"] for each in self.cleave.json("vms")["differences"]]

    def address_of(self, lease):
        return self.node.partitions()[lease["device"]]

    def in_xml(self, name, lease):
        """Whether the domain's XML has the function of the lease."""
        return f"ua-cleave-{lease['id']}" in self.libvirt.xml(name, "--inactive")

    def edit(self, name, change):
        """Redefines a domain, as virsh edit does."""
        text = change(self.libvirt.xml(name, "--inactive"))
        self.libvirt.virsh("define", self.libvirt.write("edited.xml", text))


def without_hostdev(xml):
    return re.sub(r"<hostdev.*?</hostdev>", "", xml, flags=re.S)


class List(Case):
    def test_all(self):
        for name in NAMES:
            self.libvirt.define(name)
        self.libvirt.virsh("start", "web")
        vms = self.vms()
        self.assertEqual(sorted(vms), sorted(NAMES))
        self.assertEqual((vms["web"]["state"], vms["Büro 1"]["state"]), ("running", "off"))
        self.assertEqual((vms["web"]["partitions"], vms["web"]["persistent"]), ([], True))
        self.assertEqual(self.differences(), [])
        table = self.ok("vms").stdout
        for word in ("NAME", "STATE", "PARTITIONS", "HOST", "Büro 1", "running"):
            self.assertIn(word, table)
        self.assertEqual(self.ok("vms", "-o", "name").stdout.splitlines(), sorted(NAMES))

    def test_none(self):
        self.assertIn("no virtual machine", self.ok("vms").stderr)

    def test_several_libvirts(self):
        self.libvirt.define("web")
        items = self.cleave.json("vms", "-c", f"{self.libvirt.uri},test:///default")["items"]
        self.assertEqual([each["name"] for each in items], ["test", "web"])
        done = self.ok("vms", "-c", f"{self.libvirt.uri},qemu+unix:///system?socket=/none")
        self.assertIn("web", done.stdout)
        self.assertIn("/none does not answer", done.stderr)

    def test_gpus(self):
        number = self.libvirt.define("web")
        self.ok("assign", "gpu0/vf:4@2", "web")
        gpus = self.cleave.json("vms", "--gpus", "-c", "qemu+unix:///system?socket=/none")["items"]
        self.assertEqual([(each["name"], each["status"], each["count"]) for each in gpus],
                         [("gpu0", "partitioned", 4), ("gpu1", "partitioned", 4),
                          ("gpu2", "partitioned", 2)])
        self.assertEqual([each["vm"] for each in gpus[0]["partitions"]], [None, number, None, None])
        table = self.ok("vms", "--gpus").stdout
        self.assertRegex(table, r"gpu0 +partitioned +15.9G +11.8G +4 +1-16 ")
        self.assertRegex(table, r"  gpu0/vf:4@2 .* web +0000:11:00.2")

    def test_libvirt_away(self):
        self.refused(UNREACHABLE, ["vms", "-c", "qemu+unix:///system?socket=/none"],
                     "does not answer", "start libvirtd")
        self.refused(UNREACHABLE, ["vms"], "agent", env={"CLEAVE_SOCKET": "/none"})

    def test_a_domain_of_another_libvirt_is_not_gone(self):
        self.libvirt.define("web")
        self.assign("web")
        other = f"test:///default,qemu+unix:///system?socket={self.libvirt.folder}/none"
        done = self.ok("vms", "--repair", "-c", other)
        self.assertNotIn("not defined", done.stderr)
        self.assertEqual(len(self.node.leases()), 1)


class Assign(Case):
    def test_one(self):
        number = self.libvirt.define("web")
        done = self.ok("assign", "gpu0/vf:4@2", "web")
        lease, = self.node.leases()
        self.assertEqual((lease["device"], lease["holder"], lease["kept"], lease["share"]),
                         ("gpu0/vf:4@2", f"vm:{number}", True, 1))
        self.assertIn("gpu0/vf:4@2", done.stdout)
        xml = self.libvirt.xml("web", "--inactive")
        self.assertIn("managed='yes'", xml)
        self.assertIn(f"<alias name='ua-cleave-{lease['id']}'/>", xml)
        self.assertIn('xmlns:cleave="https://cleave.dev/vm/1"', xml)
        self.assertIn('offline-action="shutdown"', xml)
        domain, bus, rest = self.address_of(lease).split(":")
        slot, function = rest.split(".")
        self.assertIn(f"<address domain='0x{domain}' bus='0x{bus}' slot='0x{slot}' "
                      f"function='0x{function}'/>", xml)
        vm = self.vms()["web"]
        self.assertEqual(vm["offline_action"], "shutdown")
        self.assertEqual([each["name"] for each in vm["partitions"]], ["gpu0/vf:4@2"])
        self.assertEqual(self.differences(), [])
        for words in (("partition", "list"), ("devices",), ("ps",)):
            self.assertRegex(self.ok(*words).stdout, r"(?m)gpu0/vf:4@2 .*virtual machine web\b")
        gpu = self.cleave.json("devices")["items"][0]
        self.assertEqual((gpu["assignable"], gpu["why_not_assignable"]), ("partitioned", None))

    def test_several(self):
        for name in NAMES:
            self.libvirt.define(name)
        leases = self.assign(*NAMES)
        self.assertEqual(sorted(each["command"] for each in leases), sorted(NAMES))
        self.assertEqual(len({each["device"] for each in leases}), 3)
        self.assertEqual(self.differences(), [])

    def test_all_without_one(self):
        for name in NAMES:
            self.libvirt.define(name)
        self.assign("web")
        self.ok("assign", "--all", "--profile=vf:4", "--offline-action=none")
        vms = self.vms()
        self.assertEqual([len(vms[name]["partitions"]) for name in NAMES], [1, 1, 1])
        self.assertEqual([vms[name]["offline_action"] for name in NAMES],
                         ["shutdown", "none", "none"])
        self.refused(NO_FIT, ["assign", "--all", "--profile=vf:4"], "has a partition")

    def test_one_for_each_unless_more(self):
        self.libvirt.define("web")
        self.assign("web")
        self.refused(NO_FIT, ["assign", "--profile=vf:4", "web"], "--more", "unassign")
        self.assign("--more", "web")
        self.assertEqual(len(self.vms()["web"]["partitions"]), 2)

    def test_count(self):
        self.libvirt.define("web")
        leases = self.assign("--count=3", "web")
        self.assertEqual(len({each["device"].split("/")[0] for each in leases}), 1)
        self.assertEqual(self.libvirt.xml("web", "--inactive").count("<hostdev"), 3)

    def test_none_is_half_assigned(self):
        for name in NAMES:
            self.libvirt.define(name)
        self.refused(NO_FIT, ["assign", "--profile=vf:2", *NAMES], "3 partitions", "2 free")
        self.assertEqual(self.node.leases(), [])

    def test_sizes_match(self):
        self.libvirt.define("web")
        self.refused(USAGE, ["assign", "web"], "several sizes", "vf:4", "vf:2")
        self.refused(USAGE, ["assign", "--size=1G", "web"], "no partition has that size")
        self.refused(USAGE, ["assign", "--profile=vf:8", "web"], "vf:4", "vf:2")
        self.refused(USAGE, ["assign", "gpu0/vf:4@9", "web"], "gpu0/vf:4@9")
        size = self.cleave.json("partition", "list", "gpu2")["items"][0]["memory_bytes"]
        self.ok("assign", f"--size={size}", "web")
        self.assertEqual(self.node.leases()[0]["device"].split("/")[0], "gpu2")

    def test_wrong_words(self):
        self.libvirt.define("web")
        self.refused(USAGE, ["assign"], "--all")
        self.refused(USAGE, ["assign", "--all", "web"], "--all")
        self.refused(USAGE, ["assign", "--profile=vf:4", "nobody"], "'nobody'", "cleave vms")
        self.refused(USAGE, ["assign", "--profile=vf:4", "web", "web"], "twice")
        self.refused(USAGE, ["assign", "gpu0/vf:4@1", "web", "a"], "'a'")
        self.refused(USAGE, ["assign", "--offline-action=suspend", "web"], "shutdown")
        self.refused(USAGE, ["assign", "--profile=vf:4", "--mmio=much", "web"], "much")
        self.assertEqual(self.node.leases(), [])

    def test_taken_by_another(self):
        self.libvirt.define("web")
        self.libvirt.define("b")
        self.ok("assign", "gpu0/vf:4@1", "web")
        self.refused(NO_FIT, ["assign", "gpu0/vf:4@1", "b"], "virtual machine web")
        status, answer = self.node.agent.request("POST", "/v1/leases", {
            "device": "gpu0/vf:4@1", "share": .1, "keep": True, "overcommit": True})
        self.assertEqual((status, answer["code"]), (409, "does_not_fit"))
        self.assertIn("virtual machine web", answer["detail"])
        self.refused(NO_FIT, ["release", self.node.leases()[0]["id"]], "unassign")
        self.refused(NO_FIT, ["partition", "create", "--yes", "gpu0", "vf:2"], "web")

    def test_running_needs_a_restart(self):
        """This machine has no VFIO, so libvirt cannot add the function while the machine runs, and
        does not start one that has it: it is started again without."""
        self.libvirt.define("web")
        self.libvirt.virsh("start", "web")
        self.refused(NO_FIT, ["assign", "--profile=vf:4", "web"], "--restart")
        self.assertEqual((self.node.leases(), self.libvirt.state("web")), ([], "running"))
        self.assertNotIn("hostdev", self.libvirt.xml("web", "--inactive"))
        before = self.libvirt.virsh("domid", "web")[1]
        done = self.cleave.run("assign", "--profile=vf:4", "--restart", "--timeout=1s", "--force", "web")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("it is shut down, and started again", done.stderr)
        self.assertEqual((self.node.leases(), self.libvirt.state("web")), ([], "running"))
        self.assertNotEqual(self.libvirt.virsh("domid", "web")[1], before)
        self.assertNotIn("hostdev", self.libvirt.xml("web", "--inactive"))

    def test_a_machine_that_does_not_shut_down(self):
        self.libvirt.define("web")
        self.libvirt.virsh("start", "web")
        before = self.libvirt.virsh("domid", "web")[1]
        self.refused(NO_FIT, ["assign", "--profile=vf:4", "--restart", "--timeout=1s", "web"],
                     "does not shut down in 1 s", "--force")
        self.assertEqual(self.libvirt.virsh("domid", "web")[1], before)
        self.assertEqual(self.node.leases(), [])

    def test_its_end_is_noticed(self):
        """A wait for a shutdown ends with the machine, not with the time that it may take."""
        self.libvirt.define("web")
        self.libvirt.virsh("start", "web")
        waits = self.cleave.start("assign", "--profile=vf:4", "--restart", "--timeout=1h", "web")
        self.assertIn("it is shut down", waits.stderr.readline())
        self.libvirt.virsh("destroy", "web")
        _, said = waits.communicate(timeout=300)
        self.assertIn("does not start", said)
        self.assertEqual((self.node.leases(), self.libvirt.state("web")), ([], "running"))

    def test_a_transient_machine(self):
        path = self.libvirt.write("domain.xml", libvirt_bed.DOMAIN.format(
            name="short", uuid="11111111-2222-4333-8444-555555555555", devices="", machine="q35"))
        self.libvirt.virsh("create", path)
        self.refused(USAGE, ["assign", "--profile=vf:4", "short"], "transient", "virsh define")

    def test_the_window(self):
        """--mmio sets it whatever the partitions need; none here has BARs."""
        self.libvirt.define("web")
        self.assign("--mmio=64G", "web")
        self.assertIn("<pcihole64 unit='KiB'>67108864</pcihole64>",
                      self.libvirt.xml("web", "--inactive"))
        self.assertTrue(self.in_xml("web", self.node.leases()[0]))

    def test_without_libvirts_call(self):
        """The driver `test` has no call that attaches: the lease is released again."""
        self.refused(NO_FIT, ["assign", "--profile=vf:4", "-c", "test:///default", "test"],
                     "does not attach")
        self.assertEqual(self.node.leases(), [])

    def test_another_host(self):
        other = Libvirt("host2")
        self.addCleanup(other.close)
        other.start()
        other.define("far")
        self.refused(USAGE, ["assign", "--profile=vf:4", "-c", other.uri, "far"], "is on host2",
                     "cleave assign there")
        self.refused(NO_FIT, ["assign", "--profile=vf:4", "-c", other.uri, "--all"])

    def test_the_program_is_not_installed(self):
        alone = os.path.join(self.node.folder, "bin", "cleave")
        os.makedirs(os.path.dirname(alone), exist_ok=True)
        shutil.copy(PROGRAMS["cleave"], alone)
        library = os.path.join(os.path.dirname(PROGRAMS["cleave"]), "../client")
        done = subprocess.run([alone, "vms"], capture_output=True, text=True, check=False,
                              env={"PATH": "/usr/bin", "LD_LIBRARY_PATH": library})
        self.assertEqual((done.returncode, done.stderr), (
            NOT_FOUND, "cleave: cleave vms needs the program cleave-vms: install the package of "
            "that name\n"))


class Unassign(Case):
    def test_off(self):
        for name in NAMES:
            self.libvirt.define(name)
        self.assign(*NAMES)
        self.ok("unassign", "web", "Büro 1")
        self.assertEqual([each["command"] for each in self.node.leases()], ["a&b <c>"])
        for name in ("web", "Büro 1"):
            xml = self.libvirt.xml(name, "--inactive")
            self.assertNotIn("hostdev", xml)
            self.assertNotIn("cleave", xml)
        self.ok("unassign", "--all")
        self.assertEqual((self.node.leases(), self.differences()), ([], []))

    def test_running(self):
        """A machine that was started before it got its partition releases nothing."""
        self.libvirt.define("web")
        self.assign("web")
        lease, = self.node.leases()
        self.edit("web", without_hostdev)
        self.libvirt.virsh("start", "web")
        self.refused(USAGE, ["unassign", "web"], "--yes", "would be shut down")
        self.ok("unassign", "--yes", "web")
        self.assertEqual((self.node.leases(), self.libvirt.state("web")), ([], "running"))
        self.assertFalse(self.in_xml("web", lease))

    def test_undefined(self):
        number = self.libvirt.define("web")
        self.assign("web")
        self.libvirt.virsh("undefine", "web")
        self.assertEqual(self.differences(), ["lease-without-vm"])
        self.ok("unassign", number)
        self.assertEqual(self.node.leases(), [])

    def test_undefined_by_name(self):
        self.libvirt.define("web")
        self.assign("web")
        self.libvirt.virsh("undefine", "web")
        self.ok("unassign", "web")
        self.assertEqual(self.node.leases(), [])

    def test_wrong_words(self):
        self.libvirt.define("web")
        self.refused(USAGE, ["unassign"], "--all")
        self.refused(USAGE, ["unassign", "web"], "has no partition")
        self.refused(USAGE, ["unassign", "nobody"], "'nobody'")
        self.ok("unassign", "--all")

    def test_libvirt_away(self):
        self.libvirt.define("web")
        self.assign("web")
        self.refused(UNREACHABLE, ["unassign", "-c", "qemu+unix:///system?socket=/none", "web"])
        self.assertEqual(len(self.node.leases()), 1)


class Differences(Case):
    def setUp(self):
        self.libvirt.define("web")
        self.lease, = self.assign("web")

    def repaired(self, kind):
        self.assertEqual(self.differences(), [kind])
        self.ok("vms", "--repair")
        self.assertEqual(self.differences(), [])

    def test_edited(self):
        self.edit("web", without_hostdev)
        self.repaired("not-in-xml")
        self.assertTrue(self.in_xml("web", self.lease))

    def test_renamed(self):
        self.libvirt.virsh("domrename", "web", "new name")
        self.assertEqual(self.differences(), [])
        self.ok("unassign", "new name")
        self.assertEqual(self.node.leases(), [])

    def test_undefined(self):
        self.libvirt.virsh("undefine", "web")
        self.repaired("lease-without-vm")
        self.assertEqual(self.node.leases(), [])

    def test_the_lease_is_gone(self):
        self.node.agent.request("DELETE", f"/v1/leases/{self.lease['id']}?force=true")
        self.repaired("no-lease")
        self.assertFalse(self.in_xml("web", self.lease))

    def test_renumbered(self):
        other = self.node.partitions()["gpu1/vf:4@4"]
        bus, slot, function = re.match(r"0000:(..):(..)\.(.)", other).groups()
        self.edit("web", lambda xml: re.sub(
            r"(<source>\s*)<address [^>]*/>",
            rf"\1<address domain='0x0000' bus='0x{bus}' slot='0x{slot}' function='0x{function}'/>",
            xml))
        self.repaired("other-address")

    def test_stolen(self):
        self.libvirt.define("thief", hostdev(self.address_of(self.lease)))
        self.assertEqual(self.differences(), ["of-another"])
        self.assertIn("thief uses gpu", self.ok("vms").stderr)
        self.ok("vms", "--repair")
        self.assertEqual(self.differences(), ["of-another"], "a person decides")

    def test_used_without_a_lease(self):
        free = self.node.partitions()["gpu2/vf:2@2"]
        self.libvirt.define("thief", hostdev(free))
        self.assertEqual(self.differences(), ["unassigned"])

    def test_a_layout_does_not_take_it(self):
        path = self.libvirt.write("layout.yaml", "version: 1\ndevices:\n"
                                  "  - {select: {name: gpu0}, vf: {count: 0}}\n"
                                  "  - {select: {name: gpu1}, vf: {count: 0}}\n")
        self.assertIn("web", self.cleave.run("apply", "--yes", path).stderr)
        self.assertIn(self.lease["device"], self.node.partitions())
        device = self.lease["device"].split("/")[0]
        self.addCleanup(self.ok, "uncordon", device)
        self.node.agent.request("POST", f"/v1/devices/{device}/drain?force=true", {})
        self.assertEqual(len(self.node.leases()), 1)
        other, = self.assign("--more", "web")[1:]
        self.assertNotEqual(other["device"].split("/")[0], device, "it is cordoned")

    def test_restarts(self):
        """Of the agent, and of libvirt with a running machine."""
        self.libvirt.define("b")
        self.libvirt.virsh("start", "b")
        self.node.agent.stop(signal.SIGKILL)
        self.node.agent.start()
        self.libvirt.restart()
        self.assertEqual(self.vms()["b"]["state"], "running")
        self.assertEqual([each["id"] for each in self.node.leases()], [self.lease["id"]])
        self.assertEqual(self.differences(), [])


class Hook(Case):
    def hook(self, xml, name="web", operation="prepare", part="begin", **env):
        return subprocess.run([libvirt_bed.cleave_vms(), "hook", "--", name, operation, part, "-"],
                              input=xml, capture_output=True, text=True, check=False,
                              env=dict(self.cleave.env, **env))

    def start_fails(self, name, *texts):
        code, text = self.libvirt.virsh("start", name, check=False)
        self.assertNotEqual(code, 0)
        for each in texts:
            self.assertIn(each, text)
        self.assertIn(texts[0], self.libvirt.log())

    def test_others_start(self):
        self.libvirt.define("web")
        self.libvirt.virsh("start", "web")

    def test_its_own(self):
        """The hook lets it start; libvirt, which has no such function here, does not."""
        self.libvirt.define("web")
        self.assign("web")
        code, text = self.libvirt.virsh("start", "web", check=False)
        self.assertNotEqual(code, 0)
        self.assertNotIn("cleave", text)
        self.assertEqual(self.hook(self.libvirt.xml("web")).returncode, 0)

    def test_stolen(self):
        self.libvirt.define("web")
        lease, = self.assign("web")
        self.libvirt.define("thief", hostdev(self.address_of(lease)))
        self.start_fails("thief", f"the virtual machine thief uses {lease['device']}", "another's")

    def test_without_a_lease(self):
        self.libvirt.define("web", hostdev(self.node.partitions()["gpu2/vf:2@1"]))
        self.start_fails("web", "uses gpu2/vf:2@1", "cleave assign")

    def test_the_lease_is_gone(self):
        self.libvirt.define("web")
        lease, = self.assign("web")
        self.node.agent.request("DELETE", f"/v1/leases/{lease['id']}?force=true")
        self.start_fails("web", "a lease that has ended")

    def test_other_operations(self):
        for operation, part in (("start", "begin"), ("release", "end"), ("prepare", "end")):
            self.assertEqual(self.hook("", operation=operation, part=part).returncode, 0)

    def test_bad_xml(self):
        done = self.hook("<domain")
        self.assertEqual(done.returncode, BAD_FILE)
        self.assertIn("web is not started", done.stderr)

    def test_no_agent(self):
        """Where no agent answers, only a machine with partitions of cleave's is concerned."""
        self.libvirt.define("web", hostdev("0000:99:00.1"))
        self.assertEqual(self.hook(self.libvirt.xml("web"), CLEAVE_SOCKET="/none").returncode, 0)

    def test_it_waits_for_the_agent(self):
        self.libvirt.define("web")
        self.assign("web")
        xml = self.libvirt.xml("web")
        self.node.agent.stop()
        done = []
        waiting = threading.Thread(target=lambda: done.append(self.hook(xml)))
        waiting.start()
        self.node.agent.start()
        waiting.join(120)
        self.assertEqual(done[0].returncode, 0, done[0].stderr)


class Offline(Case):
    def offline(self, *words):
        return subprocess.run([libvirt_bed.cleave_vms(), "offline", *words], capture_output=True,
                              text=True, check=False, env=self.cleave.env, timeout=300)

    def test_only_those_with_partitions(self):
        """A running machine whose XML has a partition: it got it while it ran."""
        for name in ("web", "b", "plain"):
            self.libvirt.define(name)
            self.libvirt.virsh("start", name)
        path = self.libvirt.write("hostdev.xml", hostdev("0000:99:00.1", "l1"))
        for name, action in (("web", "shutdown"), ("b", "none")):
            self.libvirt.virsh("attach-device", name, path, "--config")
            self.libvirt.virsh("metadata", name, "https://cleave.dev/vm/1", "--key", "cleave",
                               "--config", "--set", f"<vm offline-action='{action}'/>")
        done = self.offline("--timeout=1s", "--force")
        self.assertEqual((done.returncode, done.stderr), (0, "web is shut down\n"))
        self.assertEqual([self.libvirt.state(name) for name in ("web", "b", "plain")],
                         ["shut off", "running", "running"])


@measured
class Numbers(Case):
    """500 virtual machines; medians, without the time that virsh takes for the same."""

    N, LIST_S, ASSIGN_S, REPEATS = 500, .3, .2, 7

    def setUp(self):
        for i in range(self.N):
            self.libvirt.define(f"vm{i}")

    def seconds(self, run, after=lambda: None):
        found = []
        for _ in range(self.REPEATS):
            begin = time.monotonic()
            run()
            found.append(time.monotonic() - begin)
            after()
        return statistics.median(found)

    def test_list(self):
        self.assertLessEqual(self.seconds(lambda: self.ok("vms")), self.LIST_S)

    def test_assign(self):
        path = self.libvirt.write("hostdev.xml", hostdev("0000:99:00.1"))
        own = self.seconds(
            lambda: self.libvirt.virsh("attach-device", "vm1", path, "--config"),
            lambda: self.libvirt.virsh("detach-device", "vm1", path, "--config"))
        assign = self.seconds(lambda: self.ok("assign", "--profile=vf:4", "vm0"),
                              lambda: self.ok("unassign", "vm0"))
        self.assertLessEqual(assign - own, self.ASSIGN_S)


class Calls(Case):
    """How many calls of libvirt's daemon the verbs make, by the log of its library."""

    CALL = re.compile(r"RPC_CLIENT_MSG_TX_QUEUE.* type=0 ")

    def calls(self, *words):
        path = os.path.join(self.libvirt.folder, "calls.log")
        self.ok(*words, env={"LIBVIRT_LOG_OUTPUTS": f"1:file:{path}",
                             "LIBVIRT_LOG_FILTERS": "1:rpc.netclient"})
        with open(path, encoding="utf-8") as file:
            found = len(self.CALL.findall(file.read()))
        os.unlink(path)
        return found

    def of_all(self):
        return [self.calls(*words) for words in (
            ("vms",), ("assign", "--profile=vf:4", "vm0"), ("unassign", "vm0"))]

    def test_one_for_each_machine(self):
        """Two more for one that runs; an assignment reads again only what it changed."""
        for i in range(3):
            self.libvirt.define(f"vm{i}")
        few = self.of_all()
        for i in range(3, 13):
            self.libvirt.define(f"vm{i}")
        many = self.of_all()
        self.assertEqual([b - a for a, b in zip(few, many)], [10, 10, 10])
        listing, assigning, _ = few
        self.assertLessEqual(listing - 3, 9)
        self.assertLessEqual(assigning - listing, 7)
        self.libvirt.virsh("start", "vm1")
        self.assertEqual(self.calls("vms") - many[0], 2)


class Hung(Case):
    """A daemon that accepts connections and does not answer."""

    def ended(self, process, *texts):
        """It says why on one line, and releases what it took."""
        _, said = process.communicate(timeout=300)
        self.assertEqual(process.returncode, UNREACHABLE, said)
        for text in texts:
            self.assertIn(text, said)
        return said.splitlines()

    def test_verbs_end(self):
        """Those that begin, and one that waits for a shutdown."""
        self.libvirt.define("web")
        self.libvirt.virsh("start", "web")
        waits = self.cleave.start("assign", "--profile=vf:4", "--restart", "--timeout=1h", "web")
        self.assertIn("it is shut down", waits.stderr.readline())
        self.libvirt.signal("STOP")
        try:
            begins = [self.cleave.start("vms"), self.cleave.start("unassign", "web"),
                      self.cleave.start("vms", "-c", f"{self.libvirt.uri},test:///default")]
            for process in begins[:2]:
                lines = self.ended(process, "said nothing for 30 s", "start libvirtd")
                self.assertEqual(len(lines), 1)
            seen, said = begins[2].communicate(timeout=300)
            self.assertEqual((begins[2].returncode, "test" in seen), (0, True), said)
            self.assertIn("said nothing for 30 s", said)
            lines = self.ended(waits, "went away while web was changed", "start libvirtd")
        finally:
            self.libvirt.signal("CONT")
        self.assertEqual(self.node.leases(), [])
        self.assertEqual(self.libvirt.state("web"), "running")
        self.assertNotIn("hostdev", self.libvirt.xml("web", "--inactive"))
        self.assertEqual(self.differences(), [])


class Guide(unittest.TestCase):
    """docs/vms.md on the node that it names."""

    def test_commands(self):
        with open(os.path.join(guide.DOCS, "../examples/flex170.yaml"), encoding="utf-8") as file:
            node = Node(file.read())
        self.addCleanup(node.close)
        cleave = Cleave(node.api, Case.libvirt.uri)
        self.addCleanup(Case.libvirt.clear)
        for i in range(1, 5):
            Case.libvirt.define(f"desktop{i}")
        with open(os.path.join(node.folder, "layout.yaml"), "w", encoding="utf-8") as file:
            file.write(guide.block("vms.md", "yaml"))
        seen = ""
        for line in guide.commands("vms.md"):
            words = line.split()
            self.assertEqual(words[0], "cleave")
            done = cleave.run(*words[1:], cwd=node.folder)
            self.assertEqual(done.returncode, 0, (line, done.stderr))
            seen += done.stdout
        for word in ("done: apply layout.yaml (20 steps)", "virtual machine desktop1",
                     "desktop3 off   gpu2/vf:4@1   3.9G shutdown"):
            self.assertIn(word, seen)
        self.assertEqual(node.leases(), [])


def main():
    PROGRAMS.update(zip(("cleave", "cleaved"), map(os.path.abspath, sys.argv[1:3])))
    why = libvirt_bed.missing()
    if why:
        print(f"skipped: {why}", file=sys.stderr)
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])


if __name__ == "__main__":
    main()
