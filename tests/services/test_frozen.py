# SPDX-License-Identifier: Apache-2.0
"""Services that sleep frozen: real podman, HAProxy and agent, and the kernel's freezer.

usage: test_frozen.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import json
import os
import signal
import sys
import threading
import unittest

import bed
from bed import Load, Services
from ports import free_port

bed.PROGRAMS.update(zip(("cleave", "cleaved", "gates"), map(os.path.abspath, sys.argv[1:4])))
del sys.argv[1:4]
WHY_NOT = bed.why_not()
MEMORY = 100 << 20


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Frozen(Services):
    def sleeper(self, port, share=.25, memory="100M", idle=3, sleep=None, **keys):
        return self.service(port, **{
            "x-cleave": {"share": share, "memory": memory},
            "x-omnistrate-capabilities": {
                "autoscaling": {"minReplicas": 1, "maxReplicas": 2, "idleMinutesBeforeScalingDown": idle,
                                "overUtilizedMinutesBeforeScalingUp": 10000},
                "serverlessConfiguration": {"enableAutoStop": True, "targetPort": 8080,
                                            "x-cleave-sleep": "frozen", **(sleep or {})}}, **keys})

    def replicas(self, name="web"):
        return [each["state"] for each in self.status().get(name, {}).get("replicas", [])]

    def wait_until_frozen(self, name="web"):
        self.wait_until(lambda: self.replicas(name) == ["frozen"], "sleep")
        self.wait_until(lambda: self.status()[name]["state"] == "asleep", "sleep")
        self.wait_until(lambda: self.lease(name)["share"] < 1e-5, "its compute")

    def lease(self, service="web"):
        leases = json.loads(self.cleave("ps", "-o", "json").stdout)["items"]
        return next(each for each in leases if each["name"].startswith(f"{self.name}-{service}-"))

    def hold_compute(self):
        self.cleave("reserve", "--socket", self.socket, "--name", "other", "--share", ".9",
                    "--memory", "100M")

    def process(self, name="web"):
        """Which of its containers this is, and since when it runs."""
        return self.engine("inspect", f"{self.name}-{name}-1",
                           "--format={{.Id}} {{.State.Pid}} {{.State.StartedAt}}")

    def test_sleep_and_wake(self):
        """The same container answers; between, its compute is others', and its memory is not."""
        port = free_port()
        self.up(web=self.sleeper(port, environment={"DEVICE": "1"}))
        before = self.process()
        for _ in range(2):
            self.wait_until_frozen()
            self.assertEqual(self.lease()["memory_bytes"], MEMORY)
            loads = [Load(port, "/compute?ms=20") for _ in range(5)]
            for load in loads:
                load.stops = True
            for load in loads:
                self.assertEqual((load.end().failures, load.n), ([], 1))
            self.assertEqual(self.lease()["share"], .25)
            self.assertEqual(self.process(), before)
        said = self.said()
        self.assertEqual(said.count("web: goes on:"), 2)
        self.assertEqual(said.count("a replica is ready"), 1)

    def test_memory_that_shrinks(self):
        port = free_port()
        self.up(web=self.sleeper(port, environment={"DEVICE": "1"},
                                 sleep={"x-cleave-sleep-memory": "shrink"}))
        self.wait_until_frozen()
        self.assertLess(self.lease()["memory_bytes"], MEMORY)
        self.assertGreaterEqual(self.lease()["memory_bytes"], self.lease()["memory_used_bytes"])
        self.assertEqual(self.who(port)["memory"], MEMORY)
        self.assertEqual(self.lease()["memory_bytes"], MEMORY)

    def test_no_room_to_wake(self):
        """Requests wait until its device has room, and the same container answers them."""
        port = free_port()
        self.up(web=self.sleeper(port))
        before = self.process()
        self.wait_until_frozen()
        self.hold_compute()
        load = Load(port)
        load.stops = True
        self.wait_until(lambda: "web: no room:" in self.said(), "the event")
        self.assertEqual(self.replicas(), ["frozen"])
        self.cleave("release", "--socket", self.socket, "other")
        self.assertEqual((load.end().failures, load.n), ([], 1))
        self.assertEqual(self.process(), before)

    def test_no_room_for_long(self):
        """It is started again, as any other one that waits for room."""
        port = free_port()
        self.up(web=self.sleeper(port))
        before = self.process()
        self.wait_until_frozen()
        self.hold_compute()
        load = Load(port)
        load.stops = True
        self.wait_until(lambda: "another one is started" in self.said(), "the event")
        self.cleave("release", "--socket", self.socket, "other")
        self.assertEqual((load.end().failures, load.n), ([], 1))
        self.wait_until(lambda: before.split()[0] not in self.engine(
            "ps", "--all", "--no-trunc", "--format={{.ID}}"), "the end of the frozen one")

    def test_agent_that_is_away(self):
        """A request waits for the agent, and the same process then computes in its lease."""
        port = free_port()
        self.up(web=self.sleeper(port, environment={"DEVICE": "1"}))
        before = self.process()
        self.wait_until_frozen()
        self.stop_agent(signal.SIGKILL)
        load = Load(port, "/compute?ms=20")
        load.stops = True
        self.wait_until(lambda: "web: no room:" in self.said(), "the event")
        self.start_agent()
        self.assertEqual((load.end().failures, load.n), ([], 1))
        self.assertEqual((self.process(), self.lease()["share"]), (before, .25))

    def test_supervisor_that_is_killed(self):
        port = free_port()
        self.up(web=self.sleeper(port))
        before = self.process()
        self.wait_until_frozen()
        os.kill(self.supervisor(), signal.SIGKILL)
        self.supervise()
        self.wait_until(lambda: self.replicas() == ["frozen"], "the supervisor")
        self.assertEqual(self.status()["web"]["state"], "asleep")
        self.assertEqual(self.who(port)["version"], "")
        self.assertEqual(self.process(), before)

    def thaw(self, container):
        name, pid = self.engine("inspect", container, "--format={{.Id}} {{.State.Pid}}").split()
        with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
            rows = [line.strip().split(":", 2) for line in file]
        control, path = next(
            ((kind, path) for _, kind, path in rows if name in path and kind == "freezer"),
            next((("", path) for _, kind, path in rows if name in path and not kind), ("", "")))
        path = path[:path.index("/", path.index(name))] if "/" in path[path.index(name):] else path
        with open(f"/sys/fs/cgroup/{control}{path}/" + ("freezer.state" if control else "cgroup.freeze"),
                  "w", encoding="utf-8") as file:
            file.write("THAWED" if control else "0")

    def test_taken_over_while_it_runs(self):
        """A supervisor that is killed may have thawed it only to remove it."""
        port = free_port()
        self.up(web=self.sleeper(port, idle=10000))
        self.cleave("scale", f"{self.name}/web=0")
        self.wait_until_frozen()
        os.kill(self.supervisor(), signal.SIGKILL)
        self.thaw(f"{self.name}-web-1")
        self.supervise()
        self.wait_until(lambda: self.replicas() == ["ready"], "the supervisor")
        self.assertEqual(self.lease()["share"], .25)

    def fixed(self, port, n):
        """A service whose number is the file's, or a user's."""
        return self.service(port, deploy={"replicas": n}, **{
            "x-cleave": {"share": .25, "memory": "100M"},
            "x-omnistrate-capabilities": {"serverlessConfiguration": {
                "enableAutoStop": True, "targetPort": 8080, "x-cleave-sleep": "frozen"}}})

    def test_sleep_of_a_fixed_number(self):
        """The next request wakes all of them."""
        port = free_port()
        self.up(web=self.fixed(port, 2))
        before = self.engine("ps", "--no-trunc", "--format={{.ID}}")
        self.cleave("scale", f"{self.name}/web=0")
        self.wait_until(lambda: self.replicas() == ["frozen"] * 2, "sleep")
        self.who(port)
        self.wait_until(lambda: self.replicas() == ["ready"] * 2, "both")
        self.assertEqual(self.engine("ps", "--no-trunc", "--format={{.ID}}"), before)

    def test_number_that_is_set(self):
        """It is kept, and wakes nothing."""
        port = free_port()
        self.up(web=self.fixed(port, 2))
        self.cleave("scale", f"{self.name}/web=1")
        self.wait_until(lambda: self.replicas() == ["ready"], "one")
        self.wait_until(lambda: self.replicas() == ["frozen"], "sleep")
        os.kill(self.supervisor(), signal.SIGKILL)
        self.supervise()
        self.wait_until(lambda: self.replicas() == ["frozen"], "the supervisor")
        self.assertEqual(self.status()["web"]["state"], "asleep")
        self.assertEqual(self.said().count("goes on"), 0)
        self.who(port)
        self.wait_until(lambda: self.replicas() == ["ready"], "a request")

    def test_down(self):
        """Also where no supervisor knows that it is frozen."""
        port = free_port()
        for kills in (False, True):
            self.up(web=self.sleeper(port))
            self.wait_until_frozen()
            if kills:
                os.kill(self.supervisor(), signal.SIGKILL)
                with open(self.kept("kept.json"), "w", encoding="utf-8") as file:
                    file.write("{")
            self.cleave("down", self.name)
            self.assert_down(port)

    def test_update(self):
        """The old one does not come back."""
        port = free_port()
        self.up(web=self.sleeper(port, environment={"VERSION": "1"}))
        self.wait_until_frozen()
        self.up(web=self.sleeper(port, environment={"VERSION": "2"}))
        self.wait_until(lambda: not self.containers(), "the end of the old one")
        self.assertEqual(self.status()["web"]["state"], "asleep")
        self.assertEqual(self.who(port)["version"], "2")

    def test_other_level(self):
        """A file that says stopped ends what is frozen."""
        port = free_port()
        self.up(web=self.sleeper(port))
        self.wait_until_frozen()
        self.up(web=self.sleeper(port, sleep={"x-cleave-sleep": "stopped"}))
        self.wait_until(lambda: not self.containers(), "the end of the frozen one")
        self.assertEqual(self.who(port)["version"], "")

    def test_gives_way(self):
        """The memory of one that is frozen is room for others."""
        one, two = free_port(), free_port()
        device, = json.loads(self.cleave("devices", "--socket", self.socket, "-o", "json").stdout)["items"]
        memory = device["memory_bytes"] * 6 // 10
        self.up(a=self.sleeper(one, .1, memory, environment={"VERSION": "a"}))
        self.wait_until_frozen("a")
        self.up(a=self.sleeper(one, .1, memory, environment={"VERSION": "a"}),
                b=self.sleeper(two, .1, memory, idle=10000, environment={"VERSION": "b"}))
        self.assertEqual(self.who(two)["version"], "b")
        self.assertEqual(self.containers(), [f"{self.name}-b-1"])
        self.assertIn(f"a: gives way: {self.name}-a-1 stops for {self.name}/b", self.said())

    def test_killed_while_it_sleeps(self):
        """The next request starts another one."""
        port = free_port()
        self.up(web=self.sleeper(port))
        before = self.process()
        self.wait_until_frozen()
        self.kill(f"{self.name}-web-1")
        self.assertEqual(self.who(port)["version"], "")
        self.assertNotEqual(self.process(), before)

    def test_health_checks_rest(self):
        """A check of what is frozen would fail, and end it."""
        port = free_port()
        self.up(web=self.sleeper(port, healthcheck={
            "test": ["CMD", "true"], "interval": "1s", "timeout": "1s", "retries": 1}))
        before = self.process()
        self.wait_until_frozen()
        done = threading.Event()
        self.addCleanup(done.set)
        looks = [self.status()["web"]["state"] for _ in range(30) if not done.wait(.1)]
        self.assertEqual(set(looks), {"asleep"})
        self.who(port)
        self.wait_until_frozen()
        self.assertEqual(self.process(), before)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
