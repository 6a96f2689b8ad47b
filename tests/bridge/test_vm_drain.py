# SPDX-License-Identifier: Apache-2.0
"""cleave vm drain, between libvirtds of this machine, each with an agent on a simulated node.  Machines
with partitions run in libvirt's driver "test", which gives a machine any device; QEMU starts none.

usage: test_vm_drain.py CLEAVE CLEAVED [unittest arguments]
"""
import os
import shutil
import signal
import subprocess
import unittest
import uuid

import test_libvirt
from harness import wait_until
from libvirt_bed import Between, Cleave, Libvirt, Node, copy_programs, hostdev, left_by_ssh
from test_libvirt import NO_FIT, USAGE, Case

FAILED = 125
UNREACHABLE = 69
SMALL = """version: 1
name: {name}
devices:
  - {{model: Flex 170, at-start: {{vf-count: {count}}}}}
"""
# Two hosts, by their names.
SSH = """#!/usr/bin/env python3
import os, select, signal, socket, sys
host = next(each for each in ("host2", "host3") if each in sys.argv)
api, folder = {hosts}[host]
if "-L" in sys.argv:
    os.symlink(api, sys.argv[sys.argv.index("-L") + 1].split(":")[0])
    signal.pause()
there = socket.socket(socket.AF_UNIX)
there.connect(folder + "/libvirt-sock")
while True:
    for fd in select.select([0, there], [], [])[0]:
        data = os.read(0, 65536) if fd == 0 else there.recv(65536)
        if not data:
            sys.exit(0)
        there.sendall(data) if fd == 0 else os.write(1, data)
"""
TEST_DOMAIN = """<domain type='test'><name>{name}</name><uuid>{uuid}</uuid><memory unit='MiB'>32</memory>
<vcpu>1</vcpu><os><type arch='x86_64'>hvm</type></os><devices>{devices}</devices></domain>"""


class Driver(Libvirt):
    """The driver "test" of the same daemon, which forgets all when no connection is left."""

    def __init__(self, daemon):  # pylint: disable=super-init-not-called
        self.folder, self.process = daemon.folder, None
        self.uri = f"test+unix:///default?socket={self.folder}/libvirt-sock"
        self.keeper = subprocess.Popen(  # pylint: disable=consider-using-with
            ["virsh", "-c", self.uri, "event", "--loop", "--all"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        self.clear()

    def add(self, name, lease, address, runs):
        """A machine that has the partition of the lease."""
        self.virsh("define", self.write("test.xml", TEST_DOMAIN.format(
            name=name, uuid=lease["holder"][3:], devices=hostdev(address, lease["id"]))))
        if runs:
            self.virsh("start", name)

    def close(self):
        self.keeper.kill()
        self.keeper.wait()


def setUpModule():
    unittest.addModuleCleanup(shutil.rmtree, copy_programs())
    test_libvirt.setUpModule()
    for name, count in (("host2", 4), ("host3", 4)):
        node = Node(SMALL.format(name=name, count=count))
        unittest.addModuleCleanup(node.close)
        libvirt = Libvirt(name, node.api)
        unittest.addModuleCleanup(libvirt.close)
        libvirt.start()
        Base.nodes[name], Base.libvirts[name] = node, libvirt


class Base(Case):
    nodes, libvirts = {}, {}

    def setUp(self):
        self.node2, self.libvirt2 = self.nodes["host2"], self.libvirts["host2"]

    def tearDown(self):
        super().tearDown()
        for name, node in self.nodes.items():
            self.libvirts[name].clear()
            for lease in node.leases():
                node.agent.request("DELETE", f"/v1/leases/{lease['id']}?force=true")

    def define(self, *names):
        """Machines that are off, with a partition each."""
        for name in names:
            self.libvirt.define(name)
            self.assign(name)

    def words(self, *more, uri=None):
        return ["vm", "drain", f"--to={uri or self.libvirt2.uri}",
                f"--to-socket={self.node2.api}", *more, "host2"]

    def of(self, node):
        return sorted(each["command"] for each in node.leases())

    def fill(self, name, count):
        """Partitions of that host that another has."""
        for i in range(1, count + 1):
            status, _ = self.nodes[name].agent.request("POST", "/v1/leases", {
                "device": f"gpu0/vf:4@{i}", "keep": True, "share": .5})
            self.assertEqual(status, 201)


class Drain(Base):
    def test_nothing(self):
        self.libvirt.define("alone")
        done = self.ok(*self.words())
        self.assertEqual((done.stdout, done.stderr),
                         ("", "no virtual machine of this host has a partition\n"))

    def test_off(self):
        self.define("b", "Büro 1", "a")
        self.libvirt.define("alone")
        done = self.ok(*self.words())
        for name in ("a", "b", "Büro 1"):
            self.assertRegex(done.stderr, f"(?m)^{name} gets gpu0/vf:4@. of host2 in place of ")
            self.assertIn(f"{name} is off, and stays off\n", done.stderr)
            self.assertIn(f"{name} was moved to host2\n", done.stderr)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()[1:]],
                         ["Büro" if name == "Büro 1" else name for name in ("Büro 1", "a", "b")],
                         done.stdout)
        self.assertEqual((self.node.leases(), list(self.vms())), ([], ["alone"]))
        self.assertEqual(self.of(self.node2), ["Büro 1", "a", "b"])
        self.ok(*self.words())

    def test_none_fits(self):
        """Each that cannot be moved is named, and none is moved."""
        self.define("a", "b", "c", "d")
        self.fill("host2", 2)
        done = self.refused(
            NO_FIT, self.words("--yes"), "c on host2: 1 partition is needed", "d on host2: ",
            "nothing was moved, because 2 of 4 virtual machines cannot be moved")
        self.assertNotIn("was moved to", done.stderr)
        self.assertEqual(len(self.node.leases()), 4)
        self.assertEqual(len(self.node2.leases()), 2)

    def test_several_hosts(self):
        """Those for which the first has no room go to the next."""
        folder = os.path.join(self.node.folder, "bin")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "ssh")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SSH.format(hosts={name: (node.api, self.libvirts[name].folder)
                                         for name, node in self.nodes.items()}))
        os.chmod(path, 0o755)
        env = {"PATH": folder + ":" + os.environ["PATH"]}
        self.define("a", "b", "c")
        self.fill("host2", 2)
        self.refused(USAGE, self.words("host3"), "--to and --to-socket are of one host")
        done = self.ok("vm", "drain", "host2", "host3", "-o", "json", env=env)
        self.assertEqual(len([each for each in self.node2.leases() if each["holder"]]), 2)
        self.assertEqual(self.of(self.nodes["host3"]), ["c"])
        self.assertEqual(done.stderr.count("was moved to host2"), 2)
        self.assertIn("c was moved to host3", done.stderr)
        self.assertRegex(done.stdout, r'(?s)"a".*"b".*"c"')
        self.assertEqual(left_by_ssh(), [])

    def test_stops_at_the_first_that_fails(self):
        """The second runs, and does not start there."""
        self.define("a", "c")
        number = self.libvirt.define("b")
        self.libvirt.virsh("start", "b")
        self.node.agent.request("POST", "/v1/leases", {
            "device": "gpu1/vf:4@3", "keep": True, "holder": f"vm:{number}", "command": "b"})
        self.ok("vms", "--repair")
        self.refused(USAGE, self.words(), "1 running virtual machine would be shut down", "--yes")
        self.assertEqual(self.node2.leases(), [])
        done = self.refused(
            FAILED, self.words("--yes", "--timeout=1s", "--force"), "a was moved to host2",
            "1 of 3 virtual machines were moved; those left are b, c: the same command moves them")
        self.assertRegex(done.stdout, r"(?m)^a +off .* host2 ")
        self.assertEqual((self.of(self.node2), self.of(self.node)), (["a"], ["b", "c"]))
        self.assertEqual((sorted(self.vms()), self.differences()), (["b", "c"], []))
        # It is off now, so that it can be moved.
        self.ok(*self.words())
        self.assertEqual((self.of(self.node2), self.node.leases()), (["a", "b", "c"], []))

    def test_libvirt_ends(self):
        """Between two moves: it is not known what is left here."""
        self.define("a", "b")

        def stop_before_the_release(data):
            if data.startswith(b"DELETE "):
                self.libvirt.stop()
            return data

        between = Between(self.node, stop_before_the_release)
        self.addCleanup(between.close)
        try:
            done = self.cleave.run(*self.words("--yes"), env={"CLEAVE_SOCKET": between.path})
        finally:
            self.libvirt.go_on()
        self.assertEqual(done.returncode, UNREACHABLE, done.stderr)
        self.assertIn("a was moved to host2\n", done.stderr)
        self.assertIn("1 of 2 virtual machines were moved; those left are b: ", done.stderr)
        self.assertEqual((self.of(self.node2), self.of(self.node)), (["a"], ["b"]))
        self.ok(*self.words("--yes"))
        self.assertEqual((self.of(self.node2), self.of(self.node)), (["a", "b"], []))

    def test_a_libvirt_is_missing(self):
        """It may have machines of this host."""
        self.define("a")
        done = self.refused(
            UNREACHABLE, self.words("--yes", f"--connect={self.libvirt.uri},test+unix:///x?socket=/none"),
            "not all virtual machines of this host are known", "/none")
        self.assertNotIn("was moved to", done.stderr)
        self.assertEqual(self.of(self.node2), [])
        self.assertEqual(self.of(self.node), ["a"])

        uri = f"{self.libvirt2.uri},test+unix:///x?socket=/none"
        self.refused(UNREACHABLE, self.words("--yes", uri=uri),
                     "a on host2: not all virtual machines of host2 are known", "/none")
        self.assertEqual((self.of(self.node2), self.of(self.node)), ([], ["a"]))

    def test_a_machine_is_missing(self):
        """One that is undefined, or of another libvirt."""
        self.define("a", "b")
        self.libvirt.virsh("undefine", "b")
        lease, = (each for each in self.node.leases() if each["command"] == "b")
        self.refused(NO_FIT, self.words("--yes"), f"b has {lease['device']}",
                     "nothing was moved", "cleave unassign " + lease["holder"][3:])
        self.ok("unassign", lease["holder"][3:])
        self.ok(*self.words("--yes"))
        self.assertEqual((self.of(self.node2), self.of(self.node)), (["a"], []))

    def test_interrupted(self):
        self.define("a")
        number = self.libvirt.define("b")
        self.libvirt.virsh("start", "b")
        self.node.agent.request("POST", "/v1/leases", {
            "device": "gpu1/vf:4@3", "keep": True, "holder": f"vm:{number}", "command": "b"})
        self.ok("vms", "--repair")
        process = self.cleave.start(*self.words("--yes", "--timeout=10m"))
        self.addCleanup(process.kill)
        self.assertTrue(wait_until(lambda: len(self.node2.leases()) == 2))
        process.send_signal(signal.SIGINT)
        stderr = process.communicate(timeout=240)[1]
        self.assertEqual(process.returncode, 128 + signal.SIGINT, stderr)
        self.assertIn("those left are b: ", stderr)
        self.assertEqual((self.of(self.node2), self.of(self.node)), (["a"], ["b"]))
        self.assertEqual(self.libvirt.state("b"), "running")


class Running(Base):
    """Machines that run with their partitions."""

    def setUp(self):
        super().setUp()
        self.here, self.there = Driver(self.libvirt), Driver(self.libvirt2)
        self.addCleanup(self.there.close)
        self.addCleanup(self.here.close)
        self.cleave = Cleave(self.node.api, self.here.uri)
        addresses = self.node.partitions()
        for i, (name, runs) in enumerate((("desktop1", True), ("desktop2", False), ("desktop3", True))):
            lease = self.node.agent.request("POST", "/v1/leases", {
                "device": f"gpu0/vf:4@{i + 1}", "keep": True, "holder": f"vm:{uuid.uuid4()}",
                "command": name})[1]
            self.here.add(name, lease, addresses[lease["device"]], runs)

    def states(self, driver):
        return {name: driver.state(name)
                for name in driver.virsh("list", "--all", "--name")[1].split()}

    def test_off(self):
        """Those that run are started there, and the other one stays off."""
        before = self.states(self.here)
        done = self.ok(*self.words("--yes", uri=self.there.uri))
        self.assertEqual(self.states(self.there), before)
        self.assertEqual(before, {"desktop1": "running", "desktop2": "shut off",
                                  "desktop3": "running"})
        self.assertEqual((self.states(self.here), self.node.leases()), ({}, []))
        self.assertEqual(self.of(self.node2), sorted(before))
        self.assertRegex(done.stdout, r"(?m)^desktop1 running gpu0/vf:4@1 .* host2 ")
        self.assertIn("desktop1 runs: it is shut down, and started on host2", done.stderr)

    def test_others(self):
        """Those that have a device of this host by virsh cannot be migrated."""
        for name, devices in (("plain", ""), ("own", hostdev("0000:99:00.0"))):
            self.here.virsh("define", self.here.write("test.xml", TEST_DOMAIN.format(
                name=name, uuid=uuid.uuid4(), devices=devices)))
            self.here.virsh("start", name)
        done = self.ok(*self.words("--yes", uri=self.there.uri))
        self.assertIn("1 running virtual machine without a partition stays here: virsh migrate ",
                      done.stderr)
        self.assertIn("1 running virtual machine without a partition stays here: with a device of this "
                      "host by virsh or a pool none can be migrated, shut those down", done.stderr)
        self.assertEqual(sorted(self.states(self.here)), ["own", "plain"])

    def test_runs_again(self):
        """The libvirt there does not take the definition, after the machine was shut down."""
        before = self.states(self.here)
        leases = self.node.leases()
        done = self.refused(
            NO_FIT, self.words("--yes"), "desktop1 is off",
            "desktop1 was not moved: what was done is undone",
            "0 of 3 virtual machines were moved; those left are desktop1, desktop2, desktop3")
        self.assertEqual(self.states(self.here), before, done.stderr)
        self.assertEqual((self.node.leases(), self.node2.leases()), (leases, []))
        self.assertEqual(self.differences(), [])


if __name__ == "__main__":
    test_libvirt.main()
