# SPDX-License-Identifier: Apache-2.0
"""MIG on the double of libnvidia-ml: applied, blocked, refused, without rights or driver."""
import concurrent.futures
import json
import os
import pwd
import shutil
import subprocess
import tempfile

import worlds
from case import Case, layout, main
from harness import copy_for_others, request, wait_until

TWO = "gpu A100-40GB\ngpu H100-80GB"
NOBODY = pwd.getpwnam("nobody").pw_uid
HALVES = layout("select: {index: 0}, mig: on, partitions: [{profile: 3g.20gb, count: 2}]")


class Mig(Case):
    def world(self, node=TWO, driver="r580"):
        return self.live_in(worlds.Nvml(node, driver))

    def test_there_and_back(self):
        world = self.world()
        agent = self.start(world)
        before = world.shape()
        agent.done(HALVES)
        self.assertEqual(agent.done(HALVES)["steps"], [])
        self.assertEqual(agent.done(agent.export())["steps"], [])
        agent.done(layout("select: {index: [0, 1]}, mig: off"))
        self.assertEqual(world.shape(), before)

    def test_a_filled_instance_is_split(self):
        self.split_and_fill(self.world("gpu A100-40GB mig=on"))

    def test_a_model_of_no_table(self):
        """Profiles and places are the driver's; plan, profiles and doctor say once that no table
        checks them, and what the driver does not have is refused."""
        says = "cleave has no table of this model"
        agent = self.start(self.world("gpu X9000-80GB\ngpu A100-40GB"))
        text = layout("select: {index: 0}, mig: on, partitions: [{profile: 1g.11gb, count: 3}, "
                      "{profile: 3g.40gb}]")
        warnings = agent.plan(text)[1]["warnings"]
        self.assertEqual([each.startswith("gpu0 (NVIDIA X9000 80GB): " + says)
                          for each in warnings], [True])
        agent.done(text)
        self.assertEqual(len(self.names(agent)), 4)
        self.assertEqual(agent.plan(HALVES.replace("0", "1", 1))[1]["warnings"], [])
        profiles = worlds.cleave(agent, "profiles")
        self.assertRegex(profiles.stdout, r"gpu0 +2g.22gb +21.5G +32 +0 +3 ")
        self.assertEqual(profiles.stderr.count(says), 1, profiles.stderr)
        self.assertIn("gpu0 (NVIDIA X9000 80GB): " + says, profiles.stderr)
        self.assertEqual(worlds.cleave(agent, "doctor").stdout.count(says), 1)
        self.refuses(agent, layout("select: {index: 0}, partitions: [{profile: 1g.10gb}]"),
                     "1g.11gb, 2g.22gb, 3g.40gb")

    def test_a_driver_that_fails_at_the_start(self):
        """The agent asks again by itself, without a layout and without a request for the node."""
        world = self.world()
        world.faults("nvmlInit_v2 * kill")
        agent = self.start(world)
        doctor = worlds.cleave(agent, "doctor").stdout
        self.assertRegex(doctor, r"drivers +warning +the process that calls the drivers crashed")
        self.assertIn("the agent asks the driver again", doctor)
        self.assertEqual(agent.get("/v1/devices")["items"], [])
        world.faults()
        self.assertTrue(wait_until(lambda: len(agent.get("/v1/devices")["items"]) == 2))
        self.assertRegex(worlds.cleave(agent, "doctor").stdout,
                         r"drivers +ok +all drivers have answered")

    def test_wrong(self):
        agent = self.start(self.world())
        one = "select: {index: 0}, mig: on, partitions: "
        self.refuses(agent, layout(one + "[{profile: 2g.10gb, count: 4}]"), "3 of 4")
        self.refuses(agent, layout(one + "[{profile: 4g.20gb, count: 2}]"), "1 of 2")
        self.refuses(agent, layout(one + "[{profile: 1g.5gb, start: [7]}]"), "at 7")
        self.refuses(agent, layout("select: {index: 0}, compute-mode: CPX"), "MIG")

    def test_partitions_in_use_stay(self):
        world = self.world()
        agent = self.start(world)
        agent.done(HALVES)
        gi = world.control("show").split("gi 0 ")[1].split()[0]
        world.put("processes", f"{os.getpid()} 0 {gi} 0 4096")
        before = world.shape()
        for text in (layout("select: {index: 0}, mig: off"),
                     layout("select: {index: 0}, partitions: [{profile: 7g.40gb}]"),
                     layout("select: {index: 0}, partitions: []")):
            operation = agent.finish(text)
            self.ends(operation, "failed", str(os.getpid()), "nothing was changed")
        self.assertEqual(world.shape(), before)
        operation = agent.apply(text, "on_busy=wait")
        world.put("processes", "")
        self.ends(agent.wait(operation), "done")

    def test_a_mode_that_needs_a_reset(self):
        """Where the driver cannot reset now, or not at all, the error says what would work, and the
        pending mode is reset, so that no later reset activates it."""
        for how in ("required", "impossible"):
            with self.subTest(how):
                world = self.world(f"gpu A100-40GB reset={how}")
                agent = self.start(world)
                before = world.shape()
                self.assertIn("reset", agent.plan(HALVES)[1]["steps"][0]["needs"])
                self.ends(agent.finish(HALVES), "rolled_back", "after a reset",
                          "nvidia-smi --gpu-reset", "reboot")
                self.assertEqual(world.shape(), before)
                self.assertFalse(agent.node()["devices"][0]["mig"]["pending"])

    def test_a_gpu_that_falls_off_the_bus(self):
        """It does not prevent the rollback of the other one."""
        world = self.world("gpu A100-40GB mig=on\ngpu H100-80GB mig=on")
        agent = self.start(world)
        before = [line for line in world.shape() if line.startswith("gpu 0")]
        world.faults("nvmlGpuInstanceCreateComputeInstance 2+ hang 1")
        operation = agent.apply(layout(
            "select: {index: 0}, partitions: [{profile: 1g.5gb}]",
            "select: {index: 1}, partitions: [{profile: 1g.10gb}]"))
        while operation["step"] < 1:
            operation = agent.get(f"/v1/operations/{operation['id']}")
        world.control("lose", "1")
        operation = agent.wait(operation)
        self.ends(operation, "failed", "1g.10gb", "could not be put back: it is gone")
        world.control("find", "1")
        self.assertEqual([line for line in world.shape() if " 0 " in line[:6]], before)

    def test_two_at_once(self):
        world = self.world()
        agent = self.start(world)
        texts = [layout(f"select: {{index: 0}}, mig: on, partitions: "
                        f"[{{profile: {('1g.5gb', '1g.10gb')[i % 2]}}}]") for i in range(16)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(
                lambda text: agent.request("POST", "/v1/apply", text), texts))
        self.assertEqual({status for status, _ in answers}, {202, 409})
        for status, answer in answers:
            if status == 202:
                self.ends(agent.wait(answer), "done")
            else:
                self.refused((status, answer), 409, "another change of gpu0 is under way")

    def test_two_devices_at_once(self):
        """Neither is refused because of the other, and each ends as its layout says."""
        world = self.world()
        agent = self.start(world)
        for profiles in (("1g.5gb", "1g.10gb"), ("2g.10gb", "2g.20gb"), ("3g.20gb", "3g.40gb")):
            texts = [layout(f"select: {{index: {i}}}, mig: on, partitions: "
                            f"[{{profile: {profile}}}]") for i, profile in enumerate(profiles)]
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                answers = list(pool.map(
                    lambda text: agent.request("POST", "/v1/apply", text), texts))
            self.assertEqual([status for status, _ in answers], [202, 202], answers)
            for _, answer in answers:
                self.ends(agent.wait(answer), "done")
            self.assertEqual([[part["profile"] for part in device["partitions"]]
                              for device in agent.node()["devices"][:2]],
                             [[profile] for profile in profiles])

    def test_leases_against_apply(self):
        """The first one wins; no lease loses a partition that it has."""
        world = self.world("gpu A100-40GB mig=on")
        agent = self.start(world)
        text = layout("select: {index: 0}, partitions: [{profile: 1g.5gb, count: 7}]")
        empty = layout("select: {index: 0}, partitions: []")
        for _ in range(10):
            agent.done(text)
            names = self.names(agent)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                leases = [pool.submit(agent.request, "POST", "/v1/leases",
                                      {"device": name, "share": 0.5}) for name in names]
                operation = pool.submit(agent.finish, empty).result()
                taken = [future.result() for future in leases]
            held = [answer["device"] for status, answer in taken if status == 201]
            self.assertTrue(set(held) <= set(self.names(agent)) or not held, (held, operation))
            for lease in agent.get("/v1/leases")["items"]:
                agent.request("DELETE", f"/v1/leases/{lease['id']}?force=1")


class WithoutMig(Case):
    """T4 and V100: for every request of MIG the error says that they have none."""

    WANTED = ("mig: on", "mig: on, partitions: [{profile: 7g.80gb}]",
              "partitions: [{profile: 1g.5gb}]", "partitions: [{profile: 1g.10gb+me, count: 2}]")

    def refused_on_both(self, agent, reason):
        for index, model in enumerate(("T4", "V100")):
            for wanted in self.WANTED:
                self.refuses(agent, layout(f"select: {{index: {index}}}, {wanted}"),
                             f"gpu{index} (Tesla {model}", "it cannot have MIG instances", reason)
            status, answer = agent.request("POST", "/v1/partitions",
                                           {"device": f"gpu{index}", "profile": "1g.5gb"})
            error = agent.wait(answer)["error"] if status == 202 else answer
            self.one_line(error["detail"], f"gpu{index}", reason)

    def test_with_every_driver(self):
        for driver in ("r450", "r470", "r580"):
            world = self.live_in(worlds.Nvml("gpu T4\ngpu V100", driver))
            before = world.shape()
            self.refused_on_both(self.start(world), "this GPU has no MIG: use shares")
            self.assertEqual(world.shape(), before)

    def test_simulated(self):
        world = self.live_in(worlds.Sim.of_text(
            "version: 1\nname: old\ndevices:\n  - model: T4\n  - model: V100\n"))
        self.refused_on_both(self.start(world), "has no MIG and no virtual functions here")


FIRST, SECOND = "0000:07:00.0", "0000:0f:00.0"
MACHINE = "vm:6d5f8a2c-9b1e-4c38-8f57-0a1b2c3d4e5f"
CLOSE = "/v1/devices/gpu0/close"


class TakenAway(Case):
    """VFIO takes a whole GPU from NVIDIA's driver, which lets it go only when no process has it
    open, as the agent has."""

    def world(self, watch="off"):
        world = self.live_in(worlds.Nvml("gpu T4\ngpu V100"))
        world.show_bound(FIRST, SECOND)
        world.watch = watch
        return world

    def in_node(self, agent):
        return [each["name"] for each in agent.node()["devices"]]

    def close(self, agent, url=CLOSE):
        self.assertEqual(agent.request("POST", url), (204, None))

    def lease(self, agent, device, **wanted):
        status, lease = agent.request("POST", "/v1/leases", {"device": device, "keep": True, **wanted})
        self.assertEqual(status, 201, lease)
        return lease

    def test_closed(self):
        """The others stay in use."""
        world = self.world()
        agent = self.start(world)
        self.assertEqual(self.in_node(agent), ["gpu0", "gpu1"])
        self.assertIn("is open in process", world.take(0, FIRST))
        self.close(agent)
        self.assertEqual(self.in_node(agent), ["gpu1"])
        self.assertEqual(world.take(0, FIRST), "")
        self.assertEqual(self.in_node(agent), ["gpu1"])
        self.assertEqual(agent.node()["problems"], [])
        self.assertEqual(self.lease(agent, "gpu1", share=.5)["device"], "gpu1")

    def test_the_last(self):
        world = self.live_in(worlds.Nvml("gpu T4"))
        world.show_bound(FIRST)
        agent = self.start(world)
        self.close(agent, f"/v1/devices/{FIRST}/close")
        self.assertEqual(world.take(0, FIRST), "")
        self.assertEqual(self.in_node(agent), [])

    def test_both(self):
        world = self.world()
        agent = self.start(world)
        self.close(agent)
        self.close(agent, f"/v1/devices/{SECOND}/close")
        self.assertEqual((world.take(1, SECOND), world.take(0, FIRST)), ("", ""))

    def test_read_meanwhile(self):
        """The readings of the other GPU go on, and the closed one is not lost."""
        world = self.world("1s")
        world.put("readings", "0 power 50000\n1 power 60000")
        agent = self.start(world)
        self.assertTrue(wait_until(lambda: self.power(agent, "gpu0") == 50))
        self.close(agent)
        world.put("readings", "1 power 70000")
        self.assertTrue(wait_until(lambda: self.power(agent, "gpu1") == 70))
        self.assertEqual(world.take(0, FIRST), "")
        self.assertEqual(agent.events("device_lost"), [])

    def power(self, agent, name):
        return next(each.get("power_watts") for each in agent.get("/v1/devices")["items"]
                    if each["name"] == name)

    def test_after_a_crash_of_the_worker(self):
        world = self.world()
        agent = self.start(world)
        self.close(agent)
        world.faults("nvmlDeviceGetCount_v2 1 kill", "nvmlSystemGetDriverVersion 1 kill",
                     "nvmlDeviceGetHandleByPciBusId_v2 1 kill")
        self.assertEqual(self.in_node(agent), [])
        world.faults()
        self.assertEqual(self.in_node(agent), ["gpu1"])
        self.assertEqual(world.take(0, FIRST), "")

    def test_one_that_is_used(self):
        world = self.live_in(worlds.Nvml("gpu T4\ngpu A100-40GB mig=on"))
        world.show_bound(FIRST, SECOND)
        agent = self.start(world)
        status, _ = agent.request("POST", "/v1/leases", {"device": "gpu0", "name": "train", "share": .5})
        self.assertEqual(status, 201)
        self.refused(agent.request("POST", CLOSE), 409, "gpu0 is in use by lease train of root")
        self.refused(agent.request("POST", "/v1/devices/gpu1/close"), 409, "gpu1 is divided")
        self.refused(agent.request("POST", "/v1/devices/0000:aa:00.0/close"), 404, "0000:aa:00.0")
        self.assertEqual(self.in_node(agent), ["gpu0", "gpu1"])

    def test_without_the_list_of_the_driver(self):
        """No GPU is shown, rather than the closed one opened."""
        world = self.world()
        agent = self.start(world)
        self.close(agent)
        shutil.rmtree(world.sysfs)
        self.assertEqual(self.in_node(agent), [])
        self.one_line(agent.node()["problems"][0], "without those that are closed")
        world.control("unbind", "0")

    def test_open_when_its_lease_ends(self):
        world = self.world()
        agent = self.start(world)
        lease = self.lease(agent, "gpu0", holder=MACHINE, command="web")
        self.close(agent)
        self.close(agent, f"/v1/devices/{SECOND}/close")
        self.assertEqual(self.in_node(agent), [])
        agent.request("DELETE", f"/v1/leases/{lease['id']}?force=true")
        self.assertEqual(self.in_node(agent), ["gpu0"])
        self.assertIn("is open in process", world.take(0, FIRST))
        self.assertEqual(world.take(1, SECOND), "")

    def waiting(self, agent):
        status, lease = agent.request("POST", "/v1/leases", {"device": "gpu0", "wait": True, "share": .5})
        self.assertEqual((status, lease["state"]), (201, "queued"), lease)
        return lease

    def test_a_lease_that_waits_for_it_ends(self):
        """Only the end of the machine's own lease opens it."""
        world = self.world()
        agent = self.start(world)
        self.lease(agent, "gpu0", holder=MACHINE, command="web")
        waiting = self.waiting(agent)
        self.close(agent)
        agent.request("DELETE", f"/v1/leases/{waiting['id']}")
        self.assertEqual(self.in_node(agent), ["gpu1"])
        self.assertEqual(world.take(0, FIRST), "")

    def test_a_kept_share(self):
        """A program may begin in it at any time."""
        agent = self.start(self.world())
        self.lease(agent, "gpu0", share=.3, name="nightly")
        self.refused(agent.request("POST", CLOSE), 409, "gpu0 is in use by lease nightly")
        self.assertEqual(self.in_node(agent), ["gpu0", "gpu1"])

    def test_a_lease_while_it_closes(self):
        world = self.world()
        agent = self.start(world)
        agent.node()
        world.put("calls", "")
        world.faults("nvmlInit_v2 * hang 3")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            closing = pool.submit(agent.request, "POST", CLOSE)
            self.assertTrue(wait_until(lambda: "hangs" in world.read("calls")))
            self.refused(agent.request("POST", "/v1/leases", {"device": "gpu0", "share": .5}), 409,
                         "gpu0", "for a virtual machine")
            self.assertEqual(closing.result(), (204, None))
        self.assertEqual(world.take(0, FIRST), "")

    def test_a_driver_without_a_list(self):
        """It is refused, because the others could not be looked up alone."""
        world = self.world()
        agent = self.start(world)
        shutil.rmtree(world.sysfs)
        self.refused(agent.request("POST", CLOSE), 503, "without those that are closed")
        self.assertEqual(self.in_node(agent), ["gpu0", "gpu1"])
        self.assertEqual(agent.events("device_lost"), [])

    def test_of_several_devices(self):
        world = self.live_in(worlds.Nvml("gpu T4\ngpu T4"))
        world.show_bound(FIRST, SECOND)
        agent = self.start(world)
        status, lease = agent.request("POST", "/v1/leases", {"count": 2, "keep": True, "share": 1})
        self.assertEqual(status, 201, lease)
        for address in (FIRST, SECOND):
            self.close(agent, f"/v1/devices/{address}/close")
        self.assertEqual(self.in_node(agent), [])
        agent.request("DELETE", f"/v1/leases/{lease['id']}?force=true")
        self.assertEqual(self.in_node(agent), ["gpu0", "gpu1"])

    def test_a_member_of_a_pool(self):
        """Pacemaker's agent writes its address into the definition of the machine."""
        world = self.live_in(worlds.Nvml("gpu T4\ngpu T4"))
        world.show_bound(FIRST, SECOND)
        agent = self.start(world)
        agent.node()
        for words in (("create", "t4", "gpu0", "gpu1"), ("assign", "t4", "web")):
            done = worlds.cleave(agent, "pool", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
        member, = self.members(agent, "web")
        self.assertEqual((member["member"], member["address"]), ("gpu0", FIRST))
        self.close(agent)
        self.assertEqual(world.take(0, FIRST), "")
        agent.stop()
        agent.start()
        self.assertEqual(self.in_node(agent), ["gpu1"])
        self.assertEqual(self.members(agent, "web"), [member])

    def members(self, agent, name):
        return json.loads(worlds.cleave(agent, "pool", "list", "t4", name, "-o", "json").stdout)["items"]

    def test_a_machine_has_it_when_the_agent_starts(self):
        """Its lease has the address, by which libvirt's XML is compared."""
        world = self.world()
        agent = self.start(world)
        lease = self.lease(agent, "gpu0", holder=MACHINE, command="web")
        self.close(agent)
        self.assertEqual(world.take(0, FIRST), "")
        for _ in range(2):
            agent.stop()
            agent.start()
            kept, = agent.get("/v1/leases")["items"]
            device, = kept["devices"]
            self.assertEqual((kept["id"], device["name"], device["pci_address"]),
                             (lease["id"], "gpu0", FIRST))
            self.assertIn("gpu0", [each["name"] for each in agent.get("/v1/devices")["items"]])
            self.assertEqual(self.in_node(agent), ["gpu1"])


class Rights(Case):
    def test_not_root(self):
        world = self.live_in(worlds.Nvml(TWO + "\nunprivileged"))
        agent = self.start(world)
        before = world.shape()
        operation = agent.finish(HALVES)
        self.assertIn(operation["state"], ("failed", "rolled_back"))
        self.one_line(operation["error"]["detail"], "root")
        self.assertEqual(world.shape(), before)

    def test_unprivileged_user_at_the_system_agent(self):
        world = self.live_in(worlds.Nvml(TWO))
        world.arguments = ("--system",)
        agent = self.start(world)
        os.chmod(agent.folder, 0o755)
        os.chmod(agent.runtime, 0o755)
        script = copy_for_others()
        self.addCleanup(shutil.rmtree, os.path.dirname(script))
        ask = ("import sys, json; sys.path.insert(0, sys.argv[1]); import harness; "
               "print(json.dumps(harness.request(*sys.argv[2:])))")
        for method, url, body in (("POST", "/v1/apply", HALVES),
                                  ("POST", "/v1/partitions", "{}"),
                                  ("DELETE", "/v1/partitions?name=gpu0/1g.5gb@0", "")):
            said = subprocess.run(
                ["/usr/bin/python3", "-c", ask, os.path.dirname(script), agent.api, method,
                 url, body], user=NOBODY, capture_output=True, text=True, check=True, cwd="/")
            self.refused(json.loads(said.stdout), 403, "only root", "sudo")
        self.assertEqual(request(agent.api, "GET", "/v1/operations")[1]["items"], [])


class Libraries(Case):
    def no_devices(self, world, *words):
        agent = self.start(world)
        node = agent.node()
        self.assertEqual(node["devices"], [])
        operation = agent.finish(HALVES)
        self.ends(operation, "failed", "no device", *words)

    def test_missing(self):
        world = self.live_in(worlds.Nvml(TWO))
        os.unlink(os.path.join(world.folder, "node"))
        self.no_devices(world, "NVIDIA")

    def test_too_old(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        source = os.path.join(folder, "old.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("int nvmlInit(void) { return 0; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{folder}/libnvidia-ml.so.1", source],
                       check=True)
        world = self.live_in(worlds.Nvml(TWO))
        agent = self.start(world, LD_LIBRARY_PATH=folder)
        node = agent.node()
        self.assertEqual(node["devices"], [])
        for problem in node["problems"]:
            self.one_line(problem)
        self.assertIn("install R418 or newer", " ".join(node["problems"]))
        operation = agent.finish(HALVES)
        self.ends(operation, "failed", "install R418 or newer")

    def test_r450(self):
        """It cannot place an instance."""
        world = self.live_in(worlds.Nvml("gpu A100-40GB", "r450"))
        agent = self.start(world)
        before = world.shape()
        self.ends(agent.finish(HALVES), "failed", "install R460 or newer")
        self.assertEqual(world.shape(), before)


if __name__ == "__main__":
    main()
