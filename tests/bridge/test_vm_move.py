# SPDX-License-Identifier: Apache-2.0
"""cleave vm move, between two libvirtds of this machine, each with an agent on a simulated node.  No
machine can be started with a partition here, so that one that runs comes back.

usage: test_vm_move.py CLEAVE CLEAVED [unittest arguments]
"""
import os
import re
import shutil
import signal
import subprocess
import unittest

import test_libvirt
from harness import wait_until
from libvirt_bed import (PROGRAMS, Cleave, Libvirt, Node, cleave_vms, copy_programs, hostdev,
                         left_by_ssh)
from test_libvirt import NO_FIT, UNREACHABLE, USAGE, Case

FAILED = 125
NODE = """version: 1
name: host2
devices:
  - {model: Arc Pro B60, at-start: {vf-count: 4}}
  - {model: Flex 170, at-start: {vf-count: 8}}
  - {model: Flex 170, at-start: {vf-count: 4}}
"""
HERE = test_libvirt.NODE + "  - {model: Arc Pro B60, at-start: {vf-count: 4}}\n"
# The socket of the agent is forwarded by a link, the stream of libvirt by copying it.
SSH = """#!/usr/bin/env python3
import os, select, signal, socket, sys, time
assert "ControlPath=none" in sys.argv, sys.argv
if sys.argv[-1] == "unknown":
    sys.exit(255)
if "-L" in sys.argv:
    local, remote = sys.argv[sys.argv.index("-L") + 1].split(":")
    assert (remote, sys.argv[-2:]) == ("/run/cleave/api.sock", ["--", "host2"]), sys.argv
    os.symlink("{api}", local)
    signal.pause()
if os.path.exists("{folder}/away"):
    sys.exit(255)
while os.path.exists("{folder}/late"):
    time.sleep(.1)
with open("{folder}/ssh.pid", "w") as file:
    file.write(str(os.getpid()))
there = socket.socket(socket.AF_UNIX)
there.connect("{folder}/libvirt-sock")
while True:
    for fd in select.select([0, there], [], [])[0]:
        data = os.read(0, 65536) if fd == 0 else there.recv(65536)
        if not data:
            sys.exit(0)
        there.sendall(data) if fd == 0 else os.write(1, data)
"""
# Waits in the middle of a start.
PAUSE = """#!/bin/sh
if [ "$2" = prepare ] && [ -e {folder}/pause ]; then
	touch {folder}/paused
	while [ -e {folder}/pause ]; do sleep .1; done
fi
exec {cleave_vms} hook --socket {api} -- "$@"
"""
CHECKPOINT = """<domaincheckpoint><name>one</name><creationTime>1</creationTime>
<disks><disk name='vda' checkpoint='bitmap' bitmap='one'/></disks>{}</domaincheckpoint>"""
FIRMWARE = """<os><type arch='x86_64' machine='q35'>hvm</type>
<loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE.fd</loader><nvram>{0}</nvram></os>
<features><acpi/></features>"""


def setUpModule():
    test_libvirt.NODE = HERE
    unittest.addModuleCleanup(shutil.rmtree, copy_programs())
    test_libvirt.setUpModule()
    Move.node2 = Node(NODE)
    unittest.addModuleCleanup(Move.node2.close)
    Move.libvirt2 = Libvirt("host2", Move.node2.api)
    unittest.addModuleCleanup(Move.libvirt2.close)
    Move.libvirt2.write("hook", PAUSE.format(
        folder=Move.libvirt2.folder, cleave_vms=cleave_vms(), api=Move.node2.api))
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

    def ends_off_here(self, code, stderr):
        """All is undone, and it cannot be started here either, as no machine with a partition can."""
        self.assertEqual(code, FAILED, stderr)
        self.assertIn("not all is undone: it is off here, and has its partitions", stderr)
        self.nothing_there()
        self.assertEqual((self.libvirt.state("Büro 1"), self.differences()), ("shut off", []))

    def ssh(self):
        """A program stands for ssh."""
        folder = os.path.join(self.node.folder, "bin")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "ssh")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SSH.format(api=self.node2.api, folder=self.libvirt2.folder))
        os.chmod(path, 0o755)
        return {"PATH": folder + ":" + os.environ["PATH"]}

    def there(self, name):
        return os.path.join(self.libvirt2.folder, name)

    def begin(self, *more):
        """A move by ssh that is starting the machine there, in a group of its own."""
        self.started()
        self.libvirt2.write("pause", "")
        self.addCleanup(self.remove, "paused")
        self.addCleanup(self.go_on)
        process = subprocess.Popen(
            [PROGRAMS["cleave"], "vm", "move", "--yes", "--timeout=1s", "--force", *more, "Büro 1",
             "host2"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=dict(self.cleave.env, **self.ssh()), start_new_session=True)
        self.addCleanup(process.kill)
        self.assertTrue(wait_until(lambda: os.path.exists(self.there("paused"))
                                   or process.poll() is not None))
        self.assertIsNone(process.poll())
        return process

    def remove(self, name):
        if os.path.exists(self.there(name)):
            os.unlink(self.there(name))

    def go_on(self):
        self.remove("pause")

    def cut_off(self):
        """Ends the connection to the libvirt there."""
        with open(self.there("ssh.pid"), encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGKILL)

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
        self.ends_off_here(done.returncode, done.stderr)
        self.assertEqual([each["id"] for each in self.node.leases()], [lease["id"]])
        self.assertIn("is turned off if it does not shut down in 1 s", done.stderr)
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

    def test_checkpoint(self):
        """libvirt undefines no machine that has one."""
        self.assign("Büro 1")
        path = self.libvirt.write("disk.img", "")
        self.edit("Büro 1", lambda xml: xml.replace(
            "</devices>", f"<disk type='file' device='disk'><driver name='qemu' type='qcow2'/>"
            f"<source file='{path}'/><target dev='vda' bus='virtio'/></disk></devices>"))
        self.libvirt.virsh("checkpoint-create", "Büro 1", "--redefine", self.libvirt.write(
            "checkpoint.xml", CHECKPOINT.format(self.libvirt.xml("Büro 1", "--inactive"))))
        self.refused(NO_FIT, self.words(), "has checkpoints, which libvirt keeps on this host")
        self.libvirt.virsh("checkpoint-delete", "--metadata", "Büro 1", "one")
        self.ok(*self.words())

    def test_interrupt_while_it_shuts_down(self):
        self.started()
        process = self.cleave.start(*self.words("--yes", "--timeout=10m"))
        self.addCleanup(process.kill)
        self.assertTrue(wait_until(self.node2.leases))
        process.send_signal(signal.SIGINT)
        stderr = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, 128 + signal.SIGINT, stderr)
        self.nothing_there()
        self.assertIn("Büro 1 still runs, and may shut down later: virsh start", stderr)
        self.assertTrue(stderr.endswith("Büro 1 was not moved: what was done is undone\n"), stderr)
        self.assertEqual(self.libvirt.state("Büro 1"), "running")

    def test_lease_that_went_meanwhile(self):
        """While the machine shuts down, its leases there are those of no machine."""
        self.started()
        process = self.cleave.start(*self.words("--yes", "--timeout=10m"))
        self.addCleanup(process.kill)
        self.assertTrue(wait_until(self.node2.leases))
        self.cleave2.run("vms", "--repair")
        self.assertEqual(self.node2.leases(), [])
        self.libvirt.virsh("destroy", "Büro 1")
        code, stderr = self.result(process)
        self.assertIn("the lease of gpu2/vf:4@1 on host2 was released meanwhile: try again", stderr)
        self.ends_off_here(code, stderr)

    def test_device_that_came_meanwhile(self):
        """While the machine shuts down it gets another device of this host."""
        self.started()
        process = self.cleave.start(*self.words("--yes", "--timeout=10m"))
        self.addCleanup(process.kill)
        self.assertTrue(wait_until(self.node2.leases))
        self.libvirt.virsh("attach-device", "--config", "Büro 1",
                           self.libvirt.write("device.xml", hostdev("0000:77:00.0")))
        self.libvirt.virsh("destroy", "Büro 1")
        code, stderr = self.result(process)
        self.assertIn("has a device of this host that is no partition", stderr)
        self.ends_off_here(code, stderr)

    def test_interrupt_of_the_group(self):
        """As the terminal sends it, also to ssh: the way back stays open."""
        process = self.begin()
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            os.killpg(process.pid, number)
        self.go_on()
        self.ends_off_here(*self.result(process))

    def result(self, process):
        stderr = process.communicate(timeout=240)[1]
        return process.returncode, stderr

    def test_lost_answer(self):
        """The connection ends while the machine is started there; over a new one it is asked."""
        process = self.begin()
        self.cut_off()
        self.go_on()
        self.ends_off_here(*self.result(process))

    def test_lost_answer_of_a_start(self):
        """It runs there when it is asked: it is moved, and neither defined nor started here."""
        process = self.begin()
        self.libvirt2.write("late", "")
        self.addCleanup(self.remove, "late")
        self.cut_off()
        self.go_on()
        self.assertTrue(wait_until(lambda: self.libvirt2.state("Büro 1") == "shut off"))
        xml = test_libvirt.without_hostdev(self.libvirt2.xml("Büro 1", "--inactive"))
        self.libvirt2.virsh("define", self.libvirt2.write("edited.xml", xml))
        self.libvirt2.virsh("start", "Büro 1")
        self.remove("late")
        code, stderr = self.result(process)
        self.assertEqual(code, 0, stderr)
        self.assertEqual((self.vms(), self.node.leases()), ({}, []))
        self.assertEqual((self.libvirt2.state("Büro 1"), len(self.node2.leases())), ("running", 1))

    def test_host_lost(self):
        """It is not known whether it runs there: it is neither started nor defined here, and keeps
        its partitions there."""
        process = self.begin()
        self.libvirt2.write("away", "")
        self.addCleanup(self.remove, "away")
        self.cut_off()
        code, stderr = self.result(process)
        self.go_on()
        self.assertEqual(code, FAILED, stderr)
        self.assertIn("not all is undone: it may run on host2, and is off here", stderr)
        self.assertNotIn("what was done is undone", stderr)
        self.assertEqual((len(self.node.leases()), len(self.node2.leases())), (1, 1))
        self.assertEqual(self.vms(), {})
        self.assertTrue(wait_until(lambda: self.libvirt2.state("Büro 1") == "shut off"))
        self.refused(USAGE, self.words(), "there is no virtual machine")
        self.completed()

    def completed(self):
        """The guide's way to complete a move when it is defined there only."""
        self.ok("unassign", self.uuid)
        self.assertEqual((self.vms(), self.node.leases()), ({}, []))
        self.assertEqual(self.cleave2.json("vms")["differences"], [])

    def test_killed(self):
        """It is defined there only, and has a lease on each host."""
        process = self.begin()
        process.kill()
        process.communicate()
        self.go_on()
        for folder in left_by_ssh():
            shutil.rmtree(folder)
        self.assertTrue(wait_until(lambda: self.libvirt2.state("Büro 1") == "shut off"))
        self.assertEqual((self.vms(), len(self.node.leases()), len(self.node2.leases())), ({}, 1, 1))
        self.completed()

    def test_left_lease(self):
        self.assign("Büro 1")
        self.node2.agent.request("POST", "/v1/leases", {
            "device": "gpu2/vf:4@1", "keep": True, "holder": f"vm:{self.uuid}"})
        self.refused(NO_FIT, self.words(), f"cleave unassign {self.uuid}")
        self.assertEqual(self.cleave2.run("unassign", self.uuid).returncode, 0)
        self.ok(*self.words())

    def test_two_models(self):
        for i, name in enumerate(("gpu0/vf:4@1", "gpu3/vf:4@1")):
            self.ok("assign", *(["--more"] if i else []), name, "Büro 1")
        self.ok(*self.words())
        self.assertEqual(sorted(each["device"] for each in self.node2.leases()),
                         ["gpu0/vf:4@1", "gpu2/vf:4@1"])

    def test_state_of_this_host(self):
        """A TPM or a file of the firmware's variables would be lost or empty there."""
        self.assign("Büro 1")
        self.edit("Büro 1", lambda xml: xml.replace("</devices>", "<tpm model='tpm-tis'>"
                  "<backend type='passthrough'><device path='/dev/tpm0'/></backend></tpm></devices>"))
        self.refused(NO_FIT, self.words(), "has a TPM, whose state stays on this host")
        self.edit("Büro 1", lambda xml: re.sub(r"<tpm.*?</tpm>", "", xml, flags=re.S))
        for path in ("", "/var/lib/libvirt/qemu/nvram/x_VARS.fd"):
            self.edit("Büro 1", lambda xml, path=path: re.sub(
                r"<os>.*?</os>", FIRMWARE.format(path), xml, flags=re.S))
            self.refused(NO_FIT, self.words(), "has its firmware's variables in a file of this host")
        self.assertEqual(self.node2.leases(), [])

    def test_other_devices_of_this_host(self):
        self.assign("Büro 1")
        self.edit("Büro 1", lambda xml: xml.replace(
            "</devices>", hostdev("0000:77:00.0") + "</devices>"))
        self.refused(NO_FIT, self.words(), "has a device of this host that is no partition")

    def test_storage_is_shown(self):
        self.assign("Büro 1")
        self.edit("Büro 1", lambda xml: re.sub(
            r"<os>.*?</os>", FIRMWARE.format("/srv/both/x_VARS.fd"), xml, flags=re.S).replace(
                "</devices>", "<disk type='file' device='disk'><source file='/srv/both/a.img'/>"
                "<target dev='vda' bus='virtio'/></disk></devices>"))
        stderr = self.ok(*self.words()).stderr
        self.assertIn("have to be the same on host2: /srv/both/a.img\n", stderr)
        self.assertIn("have to be the same on host2: /srv/both/x_VARS.fd\n", stderr)
        self.libvirt2.virsh("undefine", "--keep-nvram", "Büro 1")

    def test_differences_come_first(self):
        self.assign("Büro 1")
        self.edit("Büro 1", test_libvirt.without_hostdev)
        self.refused(NO_FIT, self.words(), "Büro 1", "--repair")

    def test_by_ssh(self):
        env = self.ssh()
        self.assign("Büro 1")
        self.refused(UNREACHABLE, ["vm", "move", f"--to={self.libvirt2.uri}", "Büro 1", "unknown"],
                     "--to-socket", env=env)
        self.ok("vm", "move", "Büro 1", "host2", env=env)
        self.assertEqual(len(self.node2.leases()), 1)
        self.assertEqual(left_by_ssh(), [])


if __name__ == "__main__":
    test_libvirt.main()
