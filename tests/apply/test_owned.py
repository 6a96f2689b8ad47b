# SPDX-License-Identifier: Apache-2.0
"""An operation owns what it changes and creates until its end; a rollback goes as far as it can; the
kept layout is applied again device by device."""
import os
import signal

import worlds
from case import Case, layout, main
from harness import wait_until

CREATE = "nvmlDeviceCreateGpuInstanceWithPlacement"
TWO = "gpu A100-40GB mig=on\ngpu A100-40GB mig=on"
HOPPERS = "gpu H100-80GB\ngpu H100-80GB"


def large(index):
    return layout(f"select: {{index: {index}}}, partitions: [{{profile: 2g.10gb, start: [0]}}]")


def small(index, *starts):
    return f"select: {{index: {index}}}, partitions: [{{profile: 1g.5gb, start: {list(starts)}}}]"


class OwnedCase(Case):
    def world(self, node):
        return self.live_in(worlds.Nvml(node))

    @staticmethod
    def until_step(agent, operation, step):
        while operation["step"] < step and not operation["ended_at"]:
            operation = agent.get(f"/v1/operations/{operation['id']}?wait_ms=1000"
                                  f"&after={operation['revision']}")
        return operation

    def instance(self, world, gpu, place):
        """The id of a GPU instance, by its place as the double shows it."""
        owner = None
        for line in world.control("show").splitlines():
            words = line.split()
            if words[0] == "gpu":
                owner = words[1]
            elif words[0] == "gi" and owner == str(gpu) and words[4].startswith(f"{place}"):
                return words[2]
        self.fail(world.control("show"))


class Leases(OwnedCase):
    def test_no_lease_on_what_is_half_made(self):
        """Finding 2: a lease on it would make the rollback fail."""
        world = self.world("gpu A100-40GB mig=on")
        agent = self.start(world)
        agent.done(large(0))
        before = world.shape()
        world.faults(f"{CREATE} 3 hang 3", f"{CREATE} 4 999")
        operation = self.until_step(agent, agent.apply(layout(small(0, 3, 4, 5, 6))), 3)
        self.assertEqual(operation["state"], "running")
        for request in ({"device": "gpu0/1g.5gb@4"}, {"profile": "1g.5gb"}, {"device": "gpu0"},
                        {"profile": "1g.5gb", "wait": True}, {"profile": "1g.5gb", "count": 1}):
            status, answer = agent.request("POST", "/v1/leases", {"share": 0.5, **request})
            self.refused((status, answer), 409, "is being repartitioned")
        self.ends(agent.wait(operation), "rolled_back")
        self.assertEqual(world.shape(), before)
        self.assertEqual(agent.request("POST", "/v1/leases",
                                       {"device": "gpu0/2g.10gb@0", "share": 0.5})[0], 201)

    def test_nor_after_a_kill(self):
        world = self.world("gpu A100-40GB mig=on")
        agent = self.start(world)
        world.faults(f"{CREATE} 2 hang")
        self.until_step(agent, agent.apply(layout(small(0, 4, 5))), 1)
        agent.stop(signal.SIGKILL)
        world.faults(f"{CREATE} 1 hang 3")
        agent.start()
        self.assertTrue(wait_until(lambda: self.names(agent)), agent.log())
        status, answer = agent.request("POST", "/v1/leases",
                                       {"device": "gpu0/1g.5gb@4", "share": 0.5})
        if not agent.last()["ended_at"]:
            self.refused((status, answer), 409, "is being repartitioned")
        self.ends(agent.wait(agent.last()), "done")

    def test_what_stays_is_open(self):
        world = self.world("gpu A100-40GB mig=on")
        agent = self.start(world)
        agent.done(layout(small(0, 0)))
        world.faults(f"{CREATE} 1 hang 3")
        operation = agent.apply(layout(small(0, 0, 1)))
        wait_until(lambda: agent.get(f"/v1/operations/{operation['id']}")["state"] == "running")
        self.assertEqual(agent.request("POST", "/v1/leases",
                                       {"device": "gpu0/1g.5gb@0", "share": 0.5})[0], 201)
        self.ends(agent.wait(operation), "done")


class Waits(OwnedCase):
    def now(self, agent, operation, state):
        path = f"/v1/operations/{operation['id']}"
        self.assertTrue(wait_until(lambda: agent.get(path)["state"] == state), agent.get(path))
        return agent.get(path)

    def test_outlive_their_agent(self):
        world = self.world("gpu A100-40GB mig=on")
        agent = self.start(world)
        agent.done(layout(small(0, 0)))
        world.put("processes", f"{os.getpid()} 0 {self.instance(world, 0, 0)} 0 4096")
        operation = agent.apply(layout(small(0, 4)), "name=test.yaml&on_busy=wait")
        self.now(agent, operation, "waiting")
        agent.stop(signal.SIGKILL)
        agent.start()
        operation = self.now(agent, operation, "waiting")
        world.put("processes", "")
        self.ends(agent.wait(operation), "done")
        self.assertEqual(self.names(agent), ["gpu0/1g.5gb@4"])

    def test_next_agent_waits_for_what_is_in_its_way(self):
        """A process begins to use an instance before the next agent goes on."""
        world = self.world("gpu A100-40GB mig=on")
        agent = self.start(world)
        agent.done(layout(small(0, 0, 4)))
        world.faults("nvmlGpuInstanceDestroy 2 hang")
        operation = self.until_step(agent, agent.apply(layout(small(0, 2))), 1)
        agent.stop(signal.SIGKILL)
        world.faults()
        place = 0 if "gpu0/1g.5gb@0" in operation["steps"][1]["text"] else 4
        world.put("processes", f"{os.getpid()} 0 {self.instance(world, 0, place)} 0 4096")
        agent.start()
        operation = self.now(agent, operation, "waiting")
        self.one_line(operation["error"]["detail"], "is in use by", str(os.getpid()))
        world.put("processes", "")
        self.ends(agent.wait(operation), "done")
        self.assertEqual(self.names(agent), ["gpu0/1g.5gb@2"])


    def test_a_gpu_is_lost_meanwhile(self):
        """The operation says which one is missing, and no longer what was in its way."""
        world = self.world("gpu A100-40GB mig=on")
        agent = self.start(world)
        agent.done(layout(small(0, 0)))
        world.put("processes", f"{os.getpid()} 0 {self.instance(world, 0, 0)} 0 4096")
        operation = agent.apply(layout(small(0, 4)), "name=test.yaml&on_busy=wait")
        path = f"/v1/operations/{operation['id']}"
        self.assertTrue(self.now(agent, operation, "waiting")["obstacles"])
        world.control("lose", "0")
        self.assertTrue(wait_until(lambda: agent.get(path)["error"]), agent.get(path))
        operation = agent.get(path)
        self.assertEqual((operation["state"], operation["obstacles"]), ("waiting", []))
        self.one_line(operation["error"]["detail"], "gpu0 (GPU-", "is gone, or its driver does not show it")
        world.put("processes", "")
        world.control("find", "0")
        self.ends(agent.wait(operation), "done")


class Back(OwnedCase):
    def test_device_by_device(self):
        """A process on one device does not keep the other from being put back."""
        world = self.world(TWO)
        agent = self.start(world)
        agent.done(layout(*(f"select: {{index: {i}}}, partitions: "
                            "[{profile: 2g.10gb, start: [4]}]" for i in (0, 1))))
        before = [line for line in world.shape() if line.startswith(("gpu 1", "gi 1"))]
        world.faults(f"{CREATE} 2 hang 3", f"{CREATE} 3 999")
        operation = agent.apply(layout(small(0, 4), small(1, 4, 5)))
        operation = self.until_step(agent, operation, 3)
        gi = self.instance(world, 0, 4)
        world.put("processes", f"{os.getpid()} 0 {gi} 0 4096")
        operation = agent.wait(operation)
        self.ends(operation, "failed", "gpu0 could not be put back", str(os.getpid()),
                  "destroy gpu0/1g.5gb@4", "create gpu0/2g.10gb@4")
        left, = operation["left"]
        self.assertEqual(left["device"], "gpu0")
        self.assertEqual(left["steps"], ["destroy gpu0/1g.5gb@4", "create gpu0/2g.10gb@4"])
        self.assertEqual([line for line in world.shape() if line.startswith(("gpu 1", "gi 1"))],
                         before)
        names = self.names(agent)
        self.assertEqual(sorted(names), ["gpu0/1g.5gb@4", "gpu1/2g.10gb@4"])

    def test_a_step_back_that_fails(self):
        world = self.world(TWO)
        agent = self.start(world)
        agent.done(layout(*(f"select: {{index: {i}}}, partitions: "
                            "[{profile: 2g.10gb, start: [4]}]" for i in (0, 1))))
        # The third create fails, and the first one on the way back, of gpu0.
        world.faults(f"{CREATE} 3 999", f"{CREATE} 4 999")
        operation = agent.finish(layout(small(0, 4), small(1, 4, 5)))
        self.ends(operation, "failed", "gpu0 could not be put back", "create gpu0/2g.10gb@4")
        self.assertEqual(self.names(agent), ["gpu1/2g.10gb@4"])


class Kept(OwnedCase):
    """The layout that was applied last, in the life of one agent."""
    TWO = layout("select: {index: 0}, mig: on, partitions: [{profile: 1g.10gb, count: 2}]")

    def isolated(self, agent, device):
        status, lease = agent.request("POST", "/v1/leases", {
            "isolation": "hardware", "memory_bytes": 8 << 30, "keep": True, "device": device})
        self.assertEqual(status, 201, lease)
        return lease

    def test_a_partition_of_a_lease_is_the_layouts(self):
        """Those of leases that end later are destroyed later."""
        agent = self.start(self.world(HOPPERS))
        first, second = (self.isolated(agent, name) for name in ("gpu0", "gpu1"))
        agent.done(self.TWO)
        names = self.names(agent)
        self.assertIn(first["device"], names)
        self.assertEqual(len(names), 3)
        for lease in first, second:
            self.assertEqual(agent.request("DELETE", f"/v1/leases/{lease['id']}")[0], 204)
        names.remove(second["device"])
        self.assertTrue(wait_until(lambda: second["device"] not in self.names(agent)), agent.log())
        self.assertEqual(self.names(agent), names)
        self.assertEqual(worlds.cleave(agent, "diff").returncode, 0)

    def test_what_is_not_as_the_layout_wants_it(self):
        agent = self.start(self.world(HOPPERS))
        agent.done(self.TWO)
        self.assertRegex(worlds.cleave(agent, "doctor").stdout, r"(?m)^layout +ok ")
        lost = self.names(agent)[1]
        status, operation = agent.request("DELETE", f"/v1/partitions?name={lost}")
        self.assertEqual(status, 202, operation)
        self.assertEqual(agent.wait(operation)["state"], "done")
        self.assertIn("cleave_layout_devices_waiting 1\n", worlds.metrics(agent))
        self.assertRegex(worlds.cleave(agent, "doctor").stdout, r"(?m)^layout +warning .*gpu0")
        diff = worlds.cleave(agent, "diff")
        self.assertEqual(diff.returncode, 1)
        self.assertRegex(diff.stdout, rf"\A! gpu0 \(GPU-.*\) changed: .*\n\+ {lost}\n\Z")
        agent.done(self.TWO)
        self.assertIn("cleave_layout_devices_waiting 0\n", worlds.metrics(agent))
        self.assertEqual(worlds.cleave(agent, "diff").returncode, 0)

    def test_what_the_agent_was_not_told(self):
        """A look at the layout asks the drivers."""
        world = self.world(HOPPERS)
        agent = self.start(world)
        agent.done(self.TWO)
        world.control("reboot")
        self.assertEqual([each["state"] for each in self.kept(agent).values()], ["changed"])
        self.assertIn("cleave_layout_devices_waiting 1\n", worlds.metrics(agent))


class Again(OwnedCase):
    def begin(self):
        world = self.world(HOPPERS)
        agent = self.start(world)
        agent.done(layout("select: {index: [0, 1]}, mig: on, partitions: "
                          "[{profile: 1g.10gb, count: 2}]"))
        agent.stop()
        world.control("reboot")
        return world, agent

    def states(self, agent):
        return {each["name"]: each["state"] for each in self.kept(agent).values()}

    def test_a_monitor_for_seconds(self):
        """Finding 3: the other device does not wait, and the first is not given up."""
        world, agent = self.begin()
        world.put("processes", f"{os.getpid()} 0 - - 4096")
        agent.start()
        self.applied_again(agent)
        self.assertEqual(self.states(agent), {"gpu0": "busy", "gpu1": "applied"})
        event, = agent.events("layout_waits")
        self.assertEqual(event["device"], "gpu0")
        self.assertRegex(worlds.cleave(agent, "doctor").stdout, r"(?m)^layout +warning .*gpu0")
        diff = worlds.cleave(agent, "diff")
        self.assertEqual(diff.returncode, 1)
        self.assertRegex(diff.stdout, r"\A! gpu0 \(GPU-.*\) busy: .*\n~ turn on MIG of gpu0\n\+ gpu0/")
        self.assertIn("cleave_layout_devices_waiting 1\n", worlds.metrics(agent))
        world.put("processes", "")
        self.assertTrue(wait_until(lambda: self.states(agent) ==
                                   {"gpu0": "applied", "gpu1": "applied"}), agent.log())
        self.assertEqual(len(self.names(agent)), 4)
        self.assertIn("cleave_layout_devices_waiting 0\n", worlds.metrics(agent))
        self.assertEqual(worlds.cleave(agent, "diff").returncode, 0)

    def test_another_device_meanwhile(self):
        """A request waits for the kept layout on its own devices, and not on others."""
        world = self.world(HOPPERS)
        agent = self.start(world)
        one = "select: {{index: {}}}, mig: on, partitions: [{{profile: 1g.10gb, start: [0]}}]"
        agent.done(layout(one.format(0)))
        agent.stop()
        world.control("reboot")
        world.faults(f"{CREATE} 1 hang 20")
        agent.start()
        self.assertTrue(wait_until(lambda: self.states(agent) == {"gpu0": "applying"}), agent.log())
        operation = agent.apply(layout(one.format(1)))
        self.assertEqual(self.states(agent), {"gpu0": "applying"})
        self.ends(agent.wait(operation), "done")
        self.assertTrue(wait_until(lambda: self.states(agent) ==
                                   {"gpu0": "applied", "gpu1": "applied"}), agent.log())
        self.assertEqual(self.names(agent), ["gpu0/1g.10gb@0", "gpu1/1g.10gb@0"])

    def test_an_operation_that_waits(self):
        """One operation is under way at a time, so the devices that a reboot has undone are reported."""
        world, agent = self.begin()
        agent.start()
        self.assertTrue(wait_until(lambda: set(self.states(agent).values()) == {"applied"}),
                        agent.log())
        place = int(self.names(agent)[0].rpartition("@")[2])
        world.put("processes", f"{os.getpid()} 0 {self.instance(world, 0, place)} 0 4096")
        wanted = layout("select: {index: [0, 1]}, mig: on, partitions: "
                        "[{profile: 2g.20gb, start: [0]}]")
        operation = agent.apply(wanted, "on_busy=wait")
        path = f"/v1/operations/{operation['id']}"
        self.assertTrue(wait_until(lambda: agent.get(path)["state"] == "waiting"))
        agent.stop(signal.SIGKILL)
        world.control("reboot")
        world.put("processes", f"{os.getpid()} 0 - - 4096")
        agent.start()
        self.assertTrue(wait_until(lambda: agent.get(path)["state"] == "waiting"))
        self.assertTrue(wait_until(lambda: self.states(agent) ==
                                   {"gpu0": "busy", "gpu1": "busy"}), self.states(agent))
        why, = (each["why"] for each in self.kept(agent).values() if each["name"] == "gpu1")
        self.assertIn(operation["id"], why)
        self.assertIn("cleave_layout_devices_waiting 2\n", worlds.metrics(agent))
        self.assertRegex(worlds.cleave(agent, "doctor").stdout, r"(?m)^layout +warning .*gpu1")
        world.put("processes", "")
        self.ends(agent.wait(operation), "done")
        self.assertEqual(self.names(agent), ["gpu0/2g.20gb@0", "gpu1/2g.20gb@0"])

    def test_one_that_fails(self):
        """The other device is applied, and the first is tried again."""
        world, agent = self.begin()
        world.faults("nvmlDeviceSetMigMode 1 999")
        agent.start()
        self.assertTrue(wait_until(lambda: set(self.states(agent).values()) == {"applied"}),
                        agent.log())
        self.assertEqual(len(agent.events("apply_rolled_back") + agent.events("apply_failed")), 1)
        self.assertEqual(len(self.names(agent)), 4)

    def test_no_lease_before_it_is_applied(self):
        """Neither on the device that is changed nor on the next one."""
        world, agent = self.begin()
        world.faults(f"{CREATE} 1 hang 3")
        agent.start()
        self.assertTrue(wait_until(lambda: "applying" in self.states(agent).values()), agent.log())
        for device in ("gpu0", "gpu1"):
            answer = agent.request("POST", "/v1/leases", {"device": device, "share": 0.5})
            self.refused(answer, 409, "is being repartitioned")
        self.applied_again(agent)
        self.assertEqual(len(self.names(agent)), 4)


if __name__ == "__main__":
    main()
