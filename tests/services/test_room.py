# SPDX-License-Identifier: Apache-2.0
"""Services on a device that has no room for all of them: real podman, HAProxy and agent.

usage: test_room.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import json
import os
import signal
import socket
import sys
import unittest

import bed
from bed import Load, Services
from ports import free_port

bed.PROGRAMS.update(zip(("cleave", "cleaved", "gates"), map(os.path.abspath, sys.argv[1:4])))
del sys.argv[1:4]
WHY_NOT = bed.why_not()


class RoomBed(Services):
    @staticmethod
    def scaling(**keys):
        """No service changes by itself for the time of a test."""
        return {"autoscaling": {"minReplicas": 1, "maxReplicas": 2, "idleMinutesBeforeScalingDown": 10000,
                                "overUtilizedMinutesBeforeScalingUp": 10000}, **keys}

    def sleeper(self, port, version="", share=.6, timeout="1m"):
        return self.service(port, **{
            "environment": {"VERSION": version}, "x-cleave": {"share": share, "memory": "100M"},
            "x-omnistrate-capabilities": self.scaling(serverlessConfiguration={
                "enableAutoStop": True, "targetPort": 8080, "x-cleave-wake-timeout": timeout})})

    def other_project(self, **services):
        name = f"{self.name}b"
        path = self.write("other.yaml", json.dumps({"name": name, "services": services}))
        self.addCleanup(self.cleave, "down", name, code=None)
        self.cleave("up", path)
        return name

    def said_by(self, project):
        return self.cleave("services", project, "--why").stdout


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Room(RoomBed):
    """Idle services give way to those that need room."""

    def test_of_one_project(self):
        """Of two services one has room: each gets it by a request, and no request fails."""
        one, two = free_port(), free_port()
        self.up(a=self.sleeper(one, "a"), b=self.sleeper(two, "b"))
        for port, awake, asleep in ((one, "a", "b"), (two, "b", "a"), (one, "a", "b")):
            self.assertEqual(self.who(port)["version"], awake)
            self.wait_until(lambda: self.status()[asleep]["state"] == "asleep", "sleep")
        said = self.said()
        self.assertIn(f"a: gives way: {self.name}-a-1 stops for {self.name}/b, for which", said)
        self.assertIn(f"b: others give way: {self.name}-a-1 of {self.name} is asked to stop", said)
        self.assertEqual(len(self.containers()), 1)

    def test_of_one_that_starts(self):
        """`cleave up` waits for what starts: once it is idle it gives way."""
        one, two = free_port(), free_port()
        self.slow_down("run", "sleep 8")
        self.up(a=self.sleeper(one, "a"), b=self.sleeper(two, "b"))
        self.assertIn("gives way", self.said())

    def begin_to_ask(self, **request):
        """As another supervisor asks this one."""
        asked = socket.socket(socket.AF_UNIX)
        self.addCleanup(asked.close)
        asked.connect(self.kept("control.sock"))
        asked.sendall(json.dumps(request).encode())
        return asked

    @staticmethod
    def answer_to(asked):
        return json.loads(b"".join(iter(lambda: asked.recv(65536), b"")))

    def ask(self, **request):
        return self.answer_to(self.begin_to_ask(**request))

    def test_one_that_is_asked_after_a_request(self):
        """Its requests since the last look count, and it stays."""
        one = free_port()
        # Ten seconds without a request are ten seconds.
        self.env["CLEAVE_SERVICES_MINUTE"] = "60s"
        self.up(a=self.sleeper(one, "a"))
        request = {"do": "give way", "leases": [f"{self.name}-a-1"], "for": "other/service"}

        def spare():
            return self.ask(do="status", after=0)["services"][0]["spare"]
        self.wait_until(spare, "an idle service")
        self.who(one)
        self.assertEqual(self.ask(**request), {"given": 0})
        self.assertNotIn("gives way", self.said())
        self.wait_until(lambda: not spare(), "a look at the request")
        self.wait_until(spare, "an idle service")
        self.assertEqual(self.ask(**request), {"given": 1})
        self.wait_until(lambda: self.status()["a"]["state"] == "asleep", "sleep")

    def test_one_that_is_wanted_again(self):
        """A replica that is to stop, and has not yet, stays where its service is scaled."""
        port = free_port()
        many = self.service(port, **{"x-cleave": {"share": .3, "memory": "100M"},
                                     "x-omnistrate-capabilities": self.scaling()})
        self.up(many=many)
        self.cleave("scale", "many=2")
        self.wait_until(lambda: self.ask(do="status", after=0)["services"][0]["spare"], "an idle service")
        before, load = self.containers(), Load(port, method="POST")
        supervisor = self.supervisor()
        # One that does not wait for the answer has asked others meanwhile.
        os.kill(supervisor, signal.SIGSTOP)
        self.begin_to_ask(**{"do": "give way", "leases": before[1:], "for": "other/service"}).close()
        os.kill(supervisor, signal.SIGCONT)
        self.assertNotIn("gives way", self.said())
        os.kill(supervisor, signal.SIGSTOP)
        asked = [self.begin_to_ask(**{"do": "give way", "leases": before[1:], "for": "other/service"}),
                 self.begin_to_ask(do="scale", service="many", replicas=2)]
        os.kill(supervisor, signal.SIGCONT)
        self.assertEqual([self.answer_to(each) for each in asked], [{"given": 1}, {}])
        self.wait_until(lambda: "stays" in self.said(), "the replica that stays")
        self.assertEqual(self.status()["many"]["state"], "ready")
        self.assertEqual(self.containers(), before)
        self.assertEqual(load.end().failures, [])

    def test_of_another_project(self):
        one, two = free_port(), free_port()
        self.up(a=self.sleeper(one, "a"))
        other = self.other_project(b=self.sleeper(two, "b"))
        self.assertEqual(self.who(two)["version"], "b")
        self.assertEqual(self.status()["a"]["state"], "asleep")
        self.assertIn(f"{self.name}-a-1 stops for {other}/b", self.said())
        self.assertIn(f"{self.name}-a-1 of {self.name} is asked to stop", self.said_by(other))
        self.assertEqual(self.who(one)["version"], "a")
        self.assertIn(f"{other}-b-1 stops for {self.name}/a", self.said_by(other))

    def test_beside_one_that_stands_still(self):
        """A supervisor that does not answer is not waited for, and others give way."""
        one, two = free_port(), free_port()
        self.up(a=self.sleeper(one, "a"))
        other = self.other_project(c=self.service())
        still = self.supervisor(other)
        os.kill(still, signal.SIGSTOP)
        self.addCleanup(os.kill, still, signal.SIGCONT)
        self.up(a=self.sleeper(one, "a"), b=self.sleeper(two, "b"))
        self.assertEqual(self.who(two)["version"], "b")
        self.assertIn(f"{self.name}-a-1 stops for {self.name}/b", self.said())

    def test_one_that_is_busy_stays(self):
        one, two = free_port(), free_port()
        self.up(a=self.sleeper(one))
        load = Load(one, path="/wait?ms=100", method="POST")
        self.wait_until(lambda: self.status()["a"]["in_flight"], "a request")
        self.cleave("up", self.file(a=self.sleeper(one), b=self.sleeper(two, "b", timeout="3s")), code=75)
        self.assertIn("no idle service could make room", self.status()["b"]["failure"])
        self.assertEqual(self.get(two)[0], 503)
        self.assertEqual(load.end().failures, [])
        self.assertNotIn("gives way", self.said())
        # Once it is idle it does.
        self.wait_until(lambda: self.status()["b"]["state"] == "ready", "room")
        self.assertEqual(self.who(two)["version"], "b")

    def test_agent_that_is_away(self):
        """A lease that cannot be released, because no agent answers, is released once one does."""
        one, two = free_port(), free_port()
        self.up(a=self.sleeper(one, "a"))
        works = self.slow_down("rm", f"touch {self.folder}/asked; while ! test -e {self.folder}/go; do "
                               "sleep .1; done")
        self.start("up", self.file(a=self.sleeper(one, "a"), b=self.sleeper(two, "b")))
        self.wait_until(lambda: os.path.exists(os.path.join(self.folder, "asked")), "the end of a")
        self.stop_agent(signal.SIGKILL)
        self.write("go", "")
        self.wait_until(lambda: "a lease stays" in self.said(), "a lease that stays")
        works()
        self.start_agent()
        self.wait_until(lambda: self.status()["b"]["state"] == "ready", "room")
        self.assertEqual(self.who(two)["version"], "b")

    def test_down_to_the_minimum(self):
        """A replica beyond it stops, under load, and the last one does not."""
        one, two = free_port(), free_port()
        many = self.service(one, **{"x-cleave": {"share": .4, "memory": "100M"},
                                    "x-omnistrate-capabilities": self.scaling()})
        self.up(many=many)
        self.cleave("scale", "many=2")
        load = Load(one, method="POST")
        few = self.service(two, environment={"VERSION": "few"},
                           **{"x-cleave": {"share": .5, "memory": "100M"}})
        self.up(many=many, few=few)
        self.assertEqual(self.who(two)["version"], "few")
        self.wait_until(lambda: self.status()["many"]["state"] == "ready", "one replica")
        self.assertEqual(len(self.containers()), 2)
        more = {**few, "deploy": {"replicas": 2}}
        self.up(many=many, few=more, code=75)
        self.assertEqual(load.end().failures, [])
        self.assertEqual(self.said().count("gives way"), 1)
        self.assertEqual(len(self.ready("many")), 1)

    def test_not_for_who_waits(self):
        """What becomes free on a device for which a lease waits already would be that one's."""
        one = free_port()
        few = self.service(**{"x-cleave": {"share": .4, "memory": "100M"}})
        self.up(a=self.sleeper(one, share=.3), few=few)
        self.start("reserve", "--name", "big", "--share", ".9", "--memory", "100M", "--wait")
        self.wait_until(lambda: "queued" in self.cleave("ps").stdout, "the queue")
        self.up(code=75, a=self.sleeper(one, share=.3), few={**few, "deploy": {"replicas": 2}})
        self.assertNotIn("gives way", self.said())
        self.assertEqual(self.status()["a"]["state"], "ready")

    def test_not_for_nothing(self):
        """Where even all idle services would not be enough none stops."""
        one = free_port()
        self.up(a=self.sleeper(one, share=.3))
        held = {"share": .6, "memory": "100M"}
        self.up(a=self.sleeper(one, share=.3), b=self.service(**{"x-cleave": held}))
        self.up(code=75, a=self.sleeper(one, share=.3), b=self.service(**{"x-cleave": held}),
                c=self.service(**{"x-cleave": {"share": .5, "memory": "100M"}}))
        self.assertNotIn("gives way", self.said())
        self.assertEqual(self.status()["a"]["state"], "ready")


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Mutual(RoomBed):
    """Two devices, and two projects that need room at the same time."""

    def start_agent(self):
        self.env["POCL_DEVICES"] = "basic basic"
        super().start_agent()

    def test_two_that_ask_each_other(self):
        """Of each project one service is idle, one requested: both get room, and none waits for the other."""
        ports = {name: free_port() for name in ("a1", "a2", "b1", "b2")}
        mine = {name: self.sleeper(ports[name], name) for name in ("a1", "a2")}
        self.up(a2=mine["a2"])
        other = self.other_project(b2=self.sleeper(ports["b2"], "b2"))
        self.up(**mine, code=None)
        self.cleave("scale", f"{self.name}/a1=0")
        self.wait_until(lambda: self.status()["a1"]["state"] == "asleep", "sleep")
        path = self.write("other.yaml", json.dumps({"name": other, "services": {
            name: self.sleeper(ports[name], name) for name in ("b1", "b2")}}))
        self.cleave("up", path, code=None)
        self.cleave("scale", f"{other}/b1=0")
        for name in ("a2", "b2"):
            self.who(ports[name])
        self.wait_until(lambda: len(self.containers()) == 2, "two idle services")
        before = (self.said() + self.said_by(other)).count("gives way:")
        both = [self.supervisor(), self.supervisor(other)]
        for supervisor in both:
            os.kill(supervisor, signal.SIGSTOP)
        loads = [Load(ports[name]) for name in ("a1", "b1")]
        for load in loads:
            load.stops = True
        for supervisor in both:
            os.kill(supervisor, signal.SIGCONT)
        for load, name in zip(loads, ("a1", "b1")):
            self.assertEqual((load.end().failures, load.n, load.versions), ([], 1, [name]))
        after = (self.said() + self.said_by(other)).count("gives way:")
        self.assertGreaterEqual(after - before, 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
