# SPDX-License-Identifier: Apache-2.0
"""cleave vms --follow, with a libvirtd of this machine and emulated virtual machines.

usage: test_vm_follow.py CLEAVE CLEAVED [unittest arguments]
"""
import json
import os
import signal
import threading

import test_libvirt
from harness import wait_until
from test_libvirt import UNREACHABLE, USAGE, Case, without_hostdev
from test_libvirt import setUpModule  # noqa: F401 (unittest calls it)

DISK = """<disk type='file' device='disk'><source file='{path}'/><target dev='sdb' bus='scsi'/>
<alias name='{alias}'/></disk>"""
SCSI = "<controller type='scsi' index='0' model='virtio-scsi'/>"
AWAY = "while libvirt was away"


class Follower:
    """cleave vms --follow and the lines that it has printed."""

    def __init__(self, case, *words):
        self.case = case
        self.lines = []
        self.process = case.cleave.start("vms", "--follow", *(words or ("-o", "json")))
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        case.addCleanup(self.end)
        # An event of another machine tells that it follows.
        assert wait_until(self.answers), self.process.poll()
        case.libvirt.virsh("undefine", "marker")
        self.wait(lambda line: "undefined" in line)
        self.lines.clear()

    def answers(self):
        self.case.libvirt.define("marker", number="99999999-2222-4333-8444-555555555555")
        return self.lines or self.process.poll() is not None

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def wait(self, is_last):
        """Until the last line is such a one."""
        found = wait_until(lambda: any(is_last(line) for line in list(self.lines)))
        self.case.assertTrue(found, self.lines)

    def events(self, last):
        """Until one of the type; (type, name, reason) of each."""
        self.wait(lambda line: json.loads(line)["type"] == last)
        found = [json.loads(line) for line in self.lines]
        self.lines.clear()
        return found

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.reader.join()
        said = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return said


def short(events):
    return [(each["type"], each["name"], each["reason"]) for each in events]


class Follow(Case):
    def test_states(self):
        follower = Follower(self)
        number = self.libvirt.define("a&b <c>")
        for words in (("start",), ("suspend",), ("resume",), ("destroy",), ("undefine",)):
            self.libvirt.virsh(*words, "a&b <c>")
        events = follower.events("undefined")
        self.assertEqual([each for each in short(events) if each[0] != "resumed"], [
            ("defined", "a&b <c>", "added"), ("started", "a&b <c>", "booted"),
            ("paused", "a&b <c>", "by a command"), ("shutting_down", "a&b <c>", "by the host"),
            ("stopped", "a&b <c>", "turned off"), ("undefined", "a&b <c>", "removed")])
        self.assertIn(("resumed", "a&b <c>", "by a command"), short(events))
        self.assertEqual({(each["uuid"], each["uri"], each["device"]) for each in events},
                         {(number, self.libvirt.uri, None)})
        self.assertRegex(events[0]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$")

    def test_for_eyes(self):
        follower = Follower(self, "-o", "table")
        self.libvirt.define("Büro 1")
        self.assign("Büro 1")
        follower.wait(lambda line: " assigned" in line)
        lease, = self.node.leases()
        line, = [each for each in follower.lines if " assigned" in each]
        self.assertRegex(line, rf"^\S+Z +assigned +Büro 1 +{lease['device']} ")

    def test_partitions(self):
        """Of a machine that is off: they come into its XML and leave it."""
        self.libvirt.define("web")
        follower = Follower(self)
        self.assign("--count=2", "web")
        names = sorted(each["device"] for each in self.node.leases())
        self.ok("unassign", "web")
        self.libvirt.virsh("undefine", "web")
        events = follower.events("undefined")
        for kind in ("assigned", "unassigned"):
            found = [each for each in events if each["type"] == kind]
            self.assertEqual(sorted(each["partition"] for each in found), names, events)
            self.assertEqual({each["name"] for each in found}, {"web"})

    def test_by_another_editor(self):
        self.libvirt.define("web")
        lease, = self.assign("web")
        follower = Follower(self)
        self.edit("web", without_hostdev)
        found = follower.events("unassigned")[-1]
        self.assertEqual((found["partition"], found["device"]),
                         (lease["device"], f"ua-cleave-{lease['id']}"))

    def test_devices(self):
        """A disk stands for a function, which this machine cannot give to a guest: both come and go
        by the same events."""
        number = self.libvirt.define("web", SCSI)
        self.libvirt.virsh("start", "web")
        path = os.path.join(self.libvirt.folder, "disk.img")
        with open(path, "wb") as file:
            file.truncate(1 << 20)
        _, answer = self.node.agent.request("POST", "/v1/leases", {
            "device": "gpu0/vf:4@3", "keep": True, "holder": f"vm:{number}"})
        follower = Follower(self)
        for alias, name in ((f"ua-cleave-{answer['id']}", "gpu0/vf:4@3"), ("ua-other", None)):
            disk = self.libvirt.write("disk.xml", DISK.format(path=path, alias=alias))
            self.libvirt.virsh("attach-device", "web", disk, "--live")
            self.libvirt.virsh("detach-device", "web", disk, "--live")
            events = follower.events("detached")
            self.assertEqual([(each["type"], each["name"], each["device"], each["partition"])
                              for each in events],
                             [("attached", "web", alias, name), ("detached", "web", alias, name)])

    def test_libvirt_is_restarted(self):
        """What happened meanwhile is reported, and what happens later, too."""
        for name in ("web", "gone", "kept"):
            self.libvirt.define(name)
        self.libvirt.virsh("start", "web")
        self.libvirt.virsh("start", "kept")
        follower = Follower(self)
        self.libvirt.stop()
        event, = follower.events("disconnected")
        self.assertEqual((event["name"], event["reason"], event["uri"]),
                         (None, "libvirt ended the connection", self.libvirt.uri))
        self.libvirt.kill("web")
        self.libvirt.forget("gone")
        self.libvirt.go_on()
        self.assertEqual(short(follower.events("stopped")), [
            ("reconnected", None, None), ("undefined", "gone", AWAY), ("stopped", "web", AWAY)])
        self.libvirt.virsh("destroy", "kept")
        self.assertEqual(short(follower.events("stopped"))[-1], ("stopped", "kept", "turned off"))

    def test_wrong_words(self):
        self.refused(USAGE, ["vms", "--follow", "--repair"], "give one")
        self.refused(USAGE, ["vms", "--follow", "--gpus"], "give one")
        self.refused(UNREACHABLE, ["vms", "-f", "-c", "qemu+unix:///system?socket=/none"],
                     "does not answer")

    def test_changes_nothing(self):
        """Differences stay as they are."""
        self.libvirt.define("web")
        self.assign("web")
        follower = Follower(self)
        self.edit("web", without_hostdev)
        follower.events("unassigned")
        self.assertEqual((self.differences(), len(self.node.leases())), (["not-in-xml"], 1))


class Away(Case):
    """A libvirt that does not come back for 30 s."""

    def test_several_libvirts(self):
        """One that goes away is left out, the command ends with the last one."""
        both = f"{self.libvirt.uri},test:///default"
        followers = [Follower(self), Follower(self, "-o", "json", "-c", both)]
        self.libvirt.stop()
        try:
            for follower in followers:
                follower.events("disconnected")
                self.assertIn("not looked for any longer: start libvirtd",
                              follower.process.stderr.readline())
            self.assertEqual(followers[0].process.wait(timeout=300), UNREACHABLE)
        finally:
            self.libvirt.go_on()
        self.assertIsNone(followers[1].process.poll(), "the other one is followed on")


if __name__ == "__main__":
    test_libvirt.main()
