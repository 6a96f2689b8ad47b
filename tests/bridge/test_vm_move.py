# SPDX-License-Identifier: Apache-2.0
"""cleave vm move, between two libvirtds of this machine, each with an agent on a simulated node.  No
machine can be started with a partition here, so that one that runs comes back.

usage: test_vm_move.py CLEAVE CLEAVED [unittest arguments]
"""
import os
import re
import subprocess
import unittest

import test_libvirt
from libvirt_bed import PROGRAMS, Cleave, Libvirt, Node
from test_libvirt import NO_FIT, UNREACHABLE, USAGE, Case

NODE = """version: 1
name: host2
devices:
  - {model: Arc Pro B60, at-start: {vf-count: 4}}
  - {model: Flex 170, at-start: {vf-count: 8}}
  - {model: Flex 170, at-start: {vf-count: 4}}
"""
SSH = """#!/usr/bin/env python3
import os, signal, sys
if sys.argv[-1] == "unknown":
    sys.exit(255)
local, remote = sys.argv[sys.argv.index("-L") + 1].split(":")
assert (remote, sys.argv[-2:]) == ("/run/cleave/api.sock", ["--", "host2"]), sys.argv
os.symlink("{api}", local)
signal.pause()
"""


def setUpModule():
    test_libvirt.setUpModule()
    Move.node2 = Node(NODE)
    unittest.addModuleCleanup(Move.node2.close)
    Move.libvirt2 = Libvirt("host2", Move.node2.api)
    unittest.addModuleCleanup(Move.libvirt2.close)
    Move.libvirt2.start()
    Move.cleave2 = Cleave(Move.node2.api, Move.libvirt2.uri)


class Move(Case):
    node2 = libvirt2 = cleave2 = None

    def setUp(self):
        self.uuid = self.libvirt.define("Büro 1")

    def tearDown(self):
        super().tearDown()
        self.libvirt2.clear()
        for lease in self.node2.leases():
            self.node2.agent.request("DELETE", f"/v1/leases/{lease['id']}?force=true")

    def words(self, *more, uri=None, api=None):
        return ["vm", "move", f"--to={uri or self.libvirt2.uri}",
                f"--to-socket={api or self.node2.api}", *more, "Büro 1", "host2"]

    def started(self):
        """A machine that runs, and gets its partition with its next start."""
        self.libvirt.virsh("start", "Büro 1")
        status, lease = self.node.agent.request("POST", "/v1/leases", {
            "device": "gpu0/vf:4@1", "keep": True, "holder": f"vm:{self.uuid}"})
        self.assertEqual(status, 201)
        self.ok("vms", "--repair")
        return lease

    def nothing_there(self):
        self.assertEqual(self.node2.leases(), [])
        self.assertEqual(self.libvirt2.virsh("list", "--all", "--name")[1].strip(), "")

    def guest_address(self, libvirt):
        return re.search(r"</source>.*?(<address type='pci'.*?/>)",
                         libvirt.xml("Büro 1", "--inactive"), re.S)[1]

    def test_off(self):
        here, = self.assign("--offline-action=none", "Büro 1")
        address = self.guest_address(self.libvirt)
        self.libvirt.virsh("autostart", "Büro 1")
        done = self.ok(*self.words())
        self.assertEqual(done.stderr, f"Büro 1 gets gpu2/vf:4@1 of host2 in place of {here['device']}\n"
                         "Büro 1 is off, and stays off\n")
        self.assertRegex(done.stdout, r"(?m)^Büro 1 off +gpu2/vf:4@1 .* host2 ")
        self.assertEqual((self.vms(), self.node.leases()), ({}, []))
        there, = self.node2.leases()
        self.assertEqual((there["device"], there["holder"], there["kept"]),
                         ("gpu2/vf:4@1", f"vm:{self.uuid}", True))
        found = self.cleave2.json("vms")
        self.assertEqual(found["differences"], [])
        vm, = found["items"]
        self.assertEqual((vm["uuid"], vm["state"], vm["offline_action"]), (self.uuid, "off", "none"))
        xml = self.libvirt2.xml("Büro 1", "--inactive")
        self.assertIn(f"ua-cleave-{there['id']}", xml)
        self.assertNotIn(here["id"], xml)
        self.assertEqual(self.guest_address(self.libvirt2), address)
        self.assertIn("enable", self.libvirt2.virsh("dominfo", "Büro 1")[1])

    def test_and_back(self):
        """Several partitions, each to one of its size, by the command on the other host."""
        self.assign("--count=2", "Büro 1")
        self.ok(*self.words())
        self.assertEqual(len(self.node2.leases()), 2)
        done = subprocess.run(
            ["unshare", "-u", "sh", "-c", 'hostname host2; exec "$@"', "sh", PROGRAMS["cleave"],
             "vm", "move", f"--to={self.libvirt.uri}", f"--to-socket={self.node.api}", "Büro 1",
             "host1"], capture_output=True, text=True, check=False, env=self.cleave2.env,
            stdin=subprocess.DEVNULL, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.nothing_there()
        self.assertEqual((len(self.node.leases()), self.differences()), (2, []))

    def test_undone(self):
        """It is shut down, and does not start there."""
        lease = self.started()
        self.libvirt.virsh("autostart", "Büro 1")
        before = self.libvirt.xml("Büro 1", "--inactive")
        done = self.cleave.run(*self.words("--yes", "--timeout=1s", "--force"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("runs: it is shut down, and started on host2", done.stderr)
        self.assertRegex(done.stderr, r"(?m)^cleave: Büro 1 does not start")
        self.assertTrue(done.stderr.endswith("Büro 1 was not moved: what was done is undone\n"))
        self.nothing_there()
        self.assertEqual([each["id"] for each in self.node.leases()], [lease["id"]])
        self.assertEqual(self.libvirt.xml("Büro 1", "--inactive"), before)
        self.assertRegex(self.libvirt.virsh("dominfo", "Büro 1")[1], r"Autostart: +enable")
        self.assertEqual(self.differences(), [])

    def test_it_does_not_shut_down(self):
        self.started()
        self.refused(USAGE, self.words(), "would be shut down", "--yes")
        done = self.cleave.run(*self.words("--yes", "--timeout=1s"))
        self.assertEqual(done.returncode, NO_FIT, done.stderr)
        self.assertIn("--force", done.stderr)
        self.nothing_there()
        self.assertEqual(self.libvirt.state("Büro 1"), "running")

    def test_not_moved(self):
        self.refused(USAGE, self.words(), "has no partition", "virsh migrate")
        self.assign("Büro 1")
        self.refused(USAGE, self.words(uri=self.libvirt.uri), "already")
        self.refused(UNREACHABLE, self.words(uri="qemu+unix:///system?socket=/none"),
                     "does not answer")
        self.refused(UNREACHABLE, self.words(api="/none"), "agent")
        self.refused(USAGE, ["vm", "copy", "a", "b"], "cleave vm move")
        self.refused(USAGE, ["vm", "move", "a"])
        other = self.libvirt2.define("Büro 1")
        self.refused(NO_FIT, self.words(), f"has a virtual machine Büro 1 ({other})")
        self.libvirt2.clear()
        self.nothing_there()
        self.assertEqual((len(self.node.leases()), self.differences()), (1, []))

    def test_no_room(self):
        """Partitions of another size or model are no place for it."""
        self.ok("assign", "--profile=vf:2", "Büro 1")
        done = self.refused(USAGE, self.words(), "on host2", "vf:4")
        self.assertNotIn("Traceback", done.stderr)
        self.ok("unassign", "Büro 1")
        self.assign("Büro 1")
        for i in range(1, 5):
            self.node2.agent.request("POST", "/v1/leases", {
                "device": f"gpu2/vf:4@{i}", "keep": True, "share": .5})
        self.refused(NO_FIT, self.words(), "on host2", "1 partition is needed and 0 free")
        self.assertEqual(len(self.node.leases()), 1)

    def test_what_would_stay_behind(self):
        self.started()
        self.libvirt.virsh("managedsave", "Büro 1")
        self.refused(NO_FIT, self.words(), "memory saved", "managedsave-remove")
        self.nothing_there()

    def test_differences_come_first(self):
        self.assign("Büro 1")
        self.edit("Büro 1", test_libvirt.without_hostdev)
        self.refused(NO_FIT, self.words(), "Büro 1", "--repair")

    def test_by_ssh(self):
        """A program stands for ssh, which forwards the socket of the agent."""
        folder = os.path.join(self.node.folder, "bin")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "ssh")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SSH.format(api=self.node2.api))
        os.chmod(path, 0o755)
        env = {"PATH": folder + ":" + os.environ["PATH"]}
        self.assign("Büro 1")
        before = set(os.listdir("/tmp"))
        self.refused(UNREACHABLE, ["vm", "move", f"--to={self.libvirt2.uri}", "Büro 1", "unknown"],
                     "--to-socket", env=env)
        self.ok("vm", "move", f"--to={self.libvirt2.uri}", "Büro 1", "host2", env=env)
        self.assertEqual(len(self.node2.leases()), 1)
        left = [each for each in set(os.listdir("/tmp")) - before if each.startswith("cleave-ssh")]
        self.assertEqual(left, [])


if __name__ == "__main__":
    test_libvirt.main()
