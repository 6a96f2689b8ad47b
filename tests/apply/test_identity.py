# SPDX-License-Identifier: Apache-2.0
"""A layout stays with the hardware that it was declared for: through restarts, other orders of the
drivers, added and lost GPUs, a kill in the middle, and state files of the version before."""
import os
import signal
import sqlite3

import worlds
from case import Case, layout, main
from harness import wait_until

UUIDS = [f"GPU-0000000{i}-1111-2222-3333-444444444444" for i in range(4)]
CREATE = "nvmlDeviceCreateGpuInstanceWithPlacement"
BY_NAME, BY_INDEX = "name: gpu1", "index: 1"


def gpus(*numbers, model="H100-80GB", more=""):
    return "\n".join(f"gpu {model} uuid={UUIDS[i]}{more}" for i in numbers)


def wanted(select, profile="1g.10gb", count=2):
    return layout(f"select: {{{select}}}, mig: on, partitions: "
                  f"[{{profile: {profile}, count: {count}}}]")


class IdentityCase(Case):
    def world(self, node):
        return self.live_in(worlds.Nvml(node))

    def parts(self, agent):
        """How many partitions each UUID has, where MIG is on."""
        return {d["uuid"]: len(d["partitions"]) for d in agent.node()["devices"]
                if d["mig"] and d["mig"]["on"]}

    def again(self, agent, world, node):
        """The agent's next start, after a reboot with other GPUs."""
        agent.stop(signal.SIGKILL)
        world.put("node", node)
        self.forget(world)
        agent.start()

    def forget(self, world):
        """The double keeps its state by the place of a GPU: it begins again."""
        if os.path.exists(os.path.join(world.folder, "state")):
            os.unlink(os.path.join(world.folder, "state"))


class Layouts(IdentityCase):
    def test_a_gpu_before_it_is_gone(self):
        """Finding 1a: the name and the index of the device become another's."""
        for select in (BY_NAME, BY_INDEX):
            with self.subTest(select):
                world = self.world(gpus(0, 1, 2))
                agent = self.start(world)
                agent.done(wanted(select))
                self.again(agent, world, gpus(1, 2))
                self.assertEqual(self.applied_again(agent), {UUIDS[1]: "applied"})
                self.assertEqual(self.parts(agent), {UUIDS[1]: 2})

    def test_it_is_gone(self):
        """Nothing else is touched; it is waited for, and said."""
        for select in (BY_NAME, BY_INDEX):
            with self.subTest(select):
                world = self.world(gpus(0, 1, 2))
                agent = self.start(world)
                agent.done(wanted(select))
                self.again(agent, world, gpus(0, 2))
                self.assertEqual(self.applied_again(agent), {UUIDS[1]: "gone"})
                self.assertEqual(self.parts(agent), {})
                self.assertEqual(agent.get("/v1/operations")["items"][-1]["what"],
                                 "apply test.yaml")
                event, = agent.events("layout_waits")
                self.assertIn("gpu1", event["message"])
                self.assertIn(UUIDS[1], event["message"])
                self.shown_as_waiting(agent)

    def test_it_comes_back(self):
        """While the agent waits."""
        world = self.world(gpus(0, 1, 2))
        agent = self.start(world)
        agent.done(wanted(BY_NAME))
        agent.stop()
        world.control("reboot")
        world.control("lose", "1")
        agent.start()
        self.assertEqual(self.applied_again(agent), {UUIDS[1]: "gone"})
        world.control("find", "1")
        self.assertTrue(wait_until(lambda: self.applied_again(agent)[UUIDS[1]] == "applied"), agent.log())
        self.assertEqual(self.parts(agent), {UUIDS[1]: 2})
        self.assertEqual(worlds.cleave(agent, "diff").returncode, 0)

    def test_it_is_lost_in_service(self):
        world = self.world(gpus(0, 1))
        agent = self.start(world)
        agent.done(wanted(BY_NAME))
        world.control("lose", "1")
        self.assertTrue(wait_until(lambda: self.applied_again(agent) == {UUIDS[1]: "gone"}))
        world.control("find", "1")
        self.assertTrue(wait_until(lambda: self.applied_again(agent) == {UUIDS[1]: "applied"}))

    def test_a_machine_has_it(self):
        """A driver of the host does not show the GPU of a running virtual machine."""
        world = self.world(gpus(0, 1))
        agent = self.start(world)
        agent.done(layout("select: {name: gpu1}, mig: off"))
        machine = "vm:6d5f8a2c-9b1e-4c38-8f57-0a1b2c3d4e5f"
        status, lease = agent.request("POST", "/v1/leases", {
            "device": "gpu1", "share": 1, "keep": True, "name": "m", "holder": machine,
            "command": "web"})
        self.assertEqual(status, 201, lease)
        world.control("lose", "1")
        self.assertTrue(wait_until(lambda: self.applied_again(agent) == {UUIDS[1]: "busy"}), agent.log())
        self.assertIn("the virtual machine web has gpu1", worlds.cleave(agent, "diff").stdout)
        agent.stop(signal.SIGKILL)
        agent.start()
        self.assertTrue(wait_until(lambda: self.applied_again(agent) == {UUIDS[1]: "busy"}), agent.log())
        world.control("find", "1")
        self.assertTrue(wait_until(lambda: self.applied_again(agent) == {UUIDS[1]: "applied"}))

    def test_refusal_names_the_device_with_the_profile(self):
        agent = self.start(self.world(gpus(0, 1)))
        agent.done(wanted(BY_NAME))
        for name in ("gpu0", "gpu1"):
            self.assertEqual(agent.request("POST", f"/v1/devices/{name}/cordon", {})[0], 200)
        for profile, named in (("1g.10gb", "gpu1"), ("3g.40gb", "gpu0")):
            status, answer = agent.request("POST", "/v1/leases", {"profile": profile})
            self.assertEqual(status, 409, answer)
            self.assertIn(f"{named} takes no new lease", answer["detail"])

    def shown_as_waiting(self, agent):
        doctor = worlds.cleave(agent, "doctor")
        self.assertRegex(doctor.stdout, r"(?m)^layout +warning")
        self.assertIn(UUIDS[1], doctor.stdout)
        diff = worlds.cleave(agent, "diff")
        self.assertEqual(diff.returncode, 1, diff.stderr)
        self.assertIn(f"! gpu1 ({UUIDS[1]}) gone: ", diff.stdout)
        self.assertIn("cleave_layout_devices_waiting 1\n", worlds.metrics(agent))

    def test_another_order(self):
        """Finding 1b: after a reboot the drivers list the GPUs in another order."""
        for select in (BY_NAME, BY_INDEX):
            with self.subTest(select):
                world = self.world(gpus(0, 1, 2))
                agent = self.start(world)
                agent.done(wanted(select, count=7))
                for order in ((2, 1, 0), (1, 0, 2), (2, 0, 1)):
                    self.again(agent, world, gpus(*order))
                    self.assertEqual(self.applied_again(agent), {UUIDS[1]: "applied"})
                    self.assertEqual(self.parts(agent), {UUIDS[1]: 7})

    def test_replaced(self):
        """Another GPU in the same place is a new device."""
        world = self.world(gpus(0, 1))
        agent = self.start(world)
        agent.done(wanted(BY_NAME))
        self.again(agent, world, gpus(0, 3))
        self.assertEqual(self.applied_again(agent), {UUIDS[1]: "gone"})
        self.assertEqual(self.parts(agent), {})
        names = {d["uuid"]: d["name"] for d in agent.node()["devices"]}
        self.assertEqual(names, {UUIDS[0]: "gpu0", UUIDS[3]: "gpu2"})

    def test_killed_in_the_middle(self):
        """Finding 1c: the resumed operation is for the same hardware."""
        for select in (BY_NAME, BY_INDEX):
            with self.subTest(select):
                world = self.world(gpus(0, 1, model="A100-40GB"))
                agent = self.start(world)
                world.faults(f"{CREATE} 3 hang")
                operation = agent.apply(wanted(select, "1g.5gb", 4))
                while operation["step"] < 3:
                    operation = agent.get(f"/v1/operations/{operation['id']}")
                agent.stop(signal.SIGKILL)
                world.faults()
                world.put("node", gpus(1, 0, model="A100-40GB"))
                self.forget(world)
                agent.start()
                self.assertTrue(wait_until(lambda: agent.last()["ended_at"]), agent.log())
                self.ends(agent.last(), "done")
                self.assertEqual(self.parts(agent), {UUIDS[1]: 4})
                self.assertEqual(agent.plan(wanted(f"uuid: {UUIDS[1]}", "1g.5gb", 4))[1]["steps"],
                                 [])

    def test_rolled_back_after_a_kill(self):
        world = self.world(gpus(0, 1, model="A100-40GB"))
        agent = self.start(world)
        world.faults(f"{CREATE} 3 hang")
        operation = agent.apply(wanted(BY_NAME, "1g.5gb", 4))
        while operation["step"] < 3:
            operation = agent.get(f"/v1/operations/{operation['id']}")
        agent.stop(signal.SIGKILL)
        world.faults(f"{CREATE} 1+ 999")
        agent.start()
        self.assertTrue(wait_until(lambda: agent.last()["ended_at"]), agent.log())
        self.ends(agent.last(), "rolled_back")
        self.assertEqual(self.parts(agent), {})

    def test_the_plan_says_which(self):
        agent = self.start(self.world(gpus(0, 1, 2)))
        for select in (BY_NAME, BY_INDEX, f"uuid: {UUIDS[1]}"):
            plan = agent.plan(wanted(select))[1]
            self.assertEqual([(d["name"], d["uuid"], d["line"]) for d in plan["devices"]],
                             [("gpu1", UUIDS[1], 3)])
        path = os.path.join(agent.folder, "l.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(wanted(BY_INDEX))
        self.assertIn(f"gpu1 is {UUIDS[1]}", worlds.cleave(agent, "plan", path).stdout)

    def test_what_is_stored(self):
        """Neither a name nor an index, but in the text that is shown as it was written."""
        agent = self.start(self.world(gpus(0, 1)))
        agent.done(wanted(BY_NAME))
        answer = agent.get("/v1/layout?of=wanted")
        self.assertEqual(answer["layout"], wanted(BY_NAME))
        self.assertIn(UUIDS[1], answer["resolved"])
        self.assertNotIn("gpu1", answer["resolved"])
        agent.stop()
        db = sqlite3.connect(os.path.join(agent.state, "cleaved.db"))
        target, before = db.execute("SELECT target,before FROM journal").fetchone()
        db.close()
        for text in (target, before):
            self.assertIn(UUIDS[1], text)
            self.assertNotIn("gpu1", text)


class Names(IdentityCase):
    def names(self, agent):
        return {d["uuid"]: d["name"] for d in agent.node()["devices"]}

    def test_for_ever(self):
        world = self.world(gpus(0, 1, 2))
        agent = self.start(world)
        first = self.names(agent)
        self.assertEqual(first, {UUIDS[i]: f"gpu{i}" for i in range(3)})
        for order in ((2, 1, 0), (1,), (2,), (0, 1, 2)):
            self.again(agent, world, gpus(*order))
            self.assertEqual(self.names(agent), {UUIDS[i]: f"gpu{i}" for i in order})
            # They are listed by their names, in whatever order the drivers show them.
            self.assertEqual([d["name"] for d in agent.get("/v1/devices")["items"]],
                             sorted(f"gpu{i}" for i in order))
        # An added one gets a number that none had.
        self.again(agent, world, gpus(3, 2))
        self.assertEqual(self.names(agent), {UUIDS[3]: "gpu3", UUIDS[2]: "gpu2"})

    def test_the_drivers_start_in_any_order(self):
        """A fresh state names the GPUs first, whichever of NVML and OpenCL answers first."""
        for fault in ("nvmlInit_v2 1 hang 1", ""):
            with self.subTest(fault):
                world = self.world(gpus(0, 1))
                world.faults(fault)
                vendors = os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")
                agent = self.start(world, OCL_ICD_VENDORS=vendors)

                def devices():
                    return {d["uuid"]: d["name"]
                            for d in agent.get("/v1/devices")["items"]}

                self.assertTrue(wait_until(lambda: len(devices()) >= 3), devices())
                names = devices()
                self.assertEqual([names[UUIDS[0]], names[UUIDS[1]]], ["gpu0", "gpu1"])


class Before(IdentityCase):
    """A layout that the version before has kept: with the devices as its user selected them."""

    def left(self, text, *order, is_applied, unfinished=None):
        world = self.world(gpus(0, 1, 2))
        agent = self.start(world)
        if is_applied:
            agent.done(wanted(BY_NAME))
        agent.stop()
        db = sqlite3.connect(os.path.join(agent.state, "cleaved.db"))
        with db:
            db.executescript("DROP TABLE names; ALTER TABLE layout DROP COLUMN resolved;"
                             "ALTER TABLE audit DROP COLUMN by_admin;"
                             "ALTER TABLE journal DROP COLUMN written; DELETE FROM journal;"
                             "ALTER TABLE journal DROP COLUMN request;"
                             "PRAGMA user_version=9;")
            for column in ("may_move", "asked_device", "asked_profile", "asked_ppm", "asked_bytes",
                           "ends_boot_ns", "holder"):
                db.execute(f"ALTER TABLE leases DROP COLUMN {column}")
            for column in ("code", "stack", "page"):
                db.execute(f"ALTER TABLE processes DROP COLUMN {column}")
            db.execute("INSERT OR REPLACE INTO layout(id,text) VALUES(1,?)", [text])
            if unfinished:
                db.execute("INSERT INTO journal(id,what,state,error,uid,started_ns,step,n_steps,target,"
                           "before,keeps_layout,for_lease) VALUES('o0123456789abcdef','create',"
                           "'running','',0,1,0,1,?,?,0,0)", [unfinished, unfinished])
        db.close()
        if order:
            world.put("node", gpus(*order))
            self.forget(world)
        agent.start()
        return agent

    def test_where_the_hardware_shows_it(self):
        for select in (BY_NAME, BY_INDEX):
            agent = self.left(wanted(select), is_applied=True)
            self.assertEqual(self.applied_again(agent), {UUIDS[1]: "applied"})
            self.assertIn(UUIDS[1], agent.get("/v1/layout?of=wanted")["resolved"])

    def test_where_no_order_matters(self):
        for select, n in ((f"uuid: {UUIDS[1]}", 1), ("vendor: nvidia", 3), ("model: H100", 3)):
            agent = self.left(wanted(select), 2, 1, 0, is_applied=False)
            self.assertEqual(set(self.applied_again(agent).values()), {"applied"})
            self.assertEqual(len(self.parts(agent)), n)

    def test_where_it_is_not_known(self):
        for select in (BY_NAME, BY_INDEX):
            agent = self.left(wanted(select), 2, 0, is_applied=False)
            self.assertEqual(self.applied_again(agent), {"": "unresolved"})
            self.assertEqual(self.parts(agent), {})
            event, = agent.events("layout_waits")
            self.assertIn("cleave export --wanted | cleave apply -", event["message"])
            agent.done(wanted(f"uuid: {UUIDS[2]}"))
            self.assertEqual(self.applied_again(agent), {UUIDS[2]: "applied"})

    def test_behind_an_operation_that_is_resumed(self):
        """It is tried for two minutes, as its device is gone: the layout is not said to be applied."""
        agent = self.left(wanted(BY_NAME), is_applied=True,
                          unfinished=wanted("uuid: GPU-ffffffff-1111-2222-3333-444444444444"))
        self.assertEqual(agent.last()["ended_at"], None)
        self.assertEqual([each["state"] for each in self.kept(agent).values()], ["pending"])
        self.assertIn("cleave_layout_devices_waiting 1\n", worlds.metrics(agent))
        self.assertRegex(worlds.cleave(agent, "doctor").stdout, r"(?m)^layout +warning .*earlier version")
        diff = worlds.cleave(agent, "diff")
        self.assertEqual(diff.returncode, 1, diff.stderr)
        self.assertRegex(diff.stdout, r"\A! .*pending: an earlier version")


if __name__ == "__main__":
    main()
