# SPDX-License-Identifier: Apache-2.0
"""Modes, hives, reloads, virtual functions and vGPUs on the double of sysfs."""
import os
import unittest

import worlds
from case import Case, layout, main

HIVE = [{"bdf": "0000:05:00.0", "model": "MI300X", "hive": 7},
        {"bdf": "0000:26:00.0", "model": "MI300X", "hive": 7}]
ALONE = {"bdf": "0000:46:00.0", "model": "MI300X"}
FLEX = {"bdf": "0000:3a:00.0", "model": "Flex170"}
L40S = {"bdf": "0000:41:00.0", "model": "L40S"}
A100 = {"bdf": "0000:42:00.0", "model": "A100"}
MACHINE = "vm:6d5f8a2c-9b1e-4c38-8f57-0a1b2c3d4e5f"
NVML = ("gpu T4 pci=0000:41:00.0 vgpu=host sriov\n"
        "vgpu-type 0 1154 12288 4 NVIDIA L40S-12Q\n"
        "vgpu-type 0 1156 24576 2 NVIDIA L40S-24Q")


def vgpus(count, name):
    return layout(f"select: {{index: 0}}, vf: {{count: {count}, type: {name}}}")



class SysfsCase(Case):
    def world(self, *devices):
        try:
            return self.live_in(worlds.Sysfs(list(devices)))
        except worlds.Unavailable as why:
            raise unittest.SkipTest(str(why))

    def there_and_back(self, world, there):
        agent = self.start(world)
        before, first = world.shape(), agent.export()
        agent.done(there)
        self.assertEqual(agent.done(there)["steps"], [])
        self.assertEqual(agent.done(agent.export())["steps"], [])
        agent.done(first)
        self.assertEqual(world.shape(), before)
        return agent


class Modes(SysfsCase):
    def modes(self, agent):
        return [(d["xcp"]["compute"], d["xcp"]["memory"]) for d in agent.node()["devices"]]

    def test_to_every_pair_and_back(self):
        for pair in ("DPX, memory-mode: NPS1", "CPX, memory-mode: NPS1",
                     "CPX, memory-mode: NPS4", "QPX, memory-mode: NPS4"):
            with self.subTest(pair):
                self.there_and_back(self.world(*HIVE), layout(
                    f"select: {{vendor: amd}}, compute-mode: {pair}"))

    def test_the_others_of_the_driver(self):
        world = self.world(*HIVE, ALONE)
        agent = self.start(world)
        agent.done(layout("select: {pci: '0000:46:00.0'}, compute-mode: DPX"))
        text = layout("select: {index: [0, 1]}, compute-mode: CPX, memory-mode: NPS4")
        plan = agent.plan(text)[1]
        self.assertIn("AMD advises against mixed memory modes", " ".join(plan["warnings"]))
        reload = next(s for s in plan["steps"] if s["kind"] == "reload")
        self.assertEqual(reload["affects"], ["gpu0", "gpu1", "gpu2"])
        agent.done(text)
        self.assertEqual(self.modes(agent), [("CPX", 4), ("CPX", 4), ("DPX", 1)])

    def test_wrong(self):
        old = dict(ALONE, memory_modes="NPS1")
        agent = self.start(self.world(*HIVE, old))
        self.refuses(agent, layout("select: {index: [0, 1]}, compute-mode: SPX, "
                                   "memory-mode: NPS4"), "SPX", "NPS4", "NPS1")
        self.refuses(agent, layout("select: {index: 2}, compute-mode: CPX, "
                                   "memory-mode: NPS4"), "does not offer NPS4", "NPS1")
        self.refuses(agent, layout("select: {index: 0}, compute-mode: CPX, "
                                   "memory-mode: NPS4"), "hive", "gpu1")
        self.refuses(agent, layout("select: {index: 0}, mig: on"), "no MIG", "compute-mode")

    def test_one_in_use(self):
        world = self.world(*HIVE)
        agent = self.start(world)
        before = world.shape()
        world.double.put("holders", [f"kfd 0000:26:00.0 {os.getpid()}"])
        text = layout("select: {vendor: amd}, compute-mode: CPX, memory-mode: NPS4")
        operation = agent.finish(text)
        self.ends(operation, "failed", "gpu1", str(os.getpid()), "nothing was changed")
        self.assertEqual(world.shape(), before)
        operation = agent.apply(text, "on_busy=wait")
        while operation["state"] != "waiting":
            operation = agent.get(f"/v1/operations/{operation['id']}")
        world.double.put("holders", [])
        self.ends(agent.wait(operation), "done")

    def test_a_reload_that_did_nothing(self):
        world = self.world(*HIVE)
        agent = self.start(world)
        world.faults("command modprobe/-r/amdgpu 1 ignore")
        operation = agent.finish(layout("select: {vendor: amd}, compute-mode: CPX, "
                                        "memory-mode: NPS4"))
        self.ends(operation, "failed", "reload", "NPS4 may have been requested")
        self.assertEqual(self.modes(agent), [("SPX", 1)] * 2)

    def test_applied_again_after_a_reboot(self):
        world = self.world(*HIVE)
        agent = self.start(world)
        agent.done(layout("select: {vendor: amd}, compute-mode: CPX"))
        agent.stop()
        world.double.run("reboot")
        agent.start()
        self.assertEqual(set(self.applied_again(agent).values()), {"applied"})
        self.assertEqual(self.modes(agent), [("CPX", 1)] * 2)


class Functions(SysfsCase):
    def test_there_and_back(self):
        self.there_and_back(self.world(FLEX), layout(
            "select: {vendor: intel}, vf: {count: 4, memory: 3G, exec-quantum: 16ms, "
            "preempt-timeout: 32ms, contexts: 1024, doorbells: 60, driver: vfio-pci}"))

    def test_profiles_have_memory(self):
        """A model that the driver does not name is selected by its name all the same."""
        agent = self.start(self.world(FLEX))
        profiles = {p["profile"]: p["memory_bytes"] for p in agent.get("/v1/profiles")["items"]}
        self.assertEqual([profiles["vf:1"], profiles["vf:4"]], [16 << 30, 4 << 30])
        agent.done(layout("select: {model: Flex 170}, vf: {count: 2}"))

    def test_by_way_of_none(self):
        agent = self.start(self.world(FLEX))
        agent.done(layout("select: {vendor: intel}, vf: {count: 4}"))
        operation = agent.done(layout("select: {vendor: intel}, vf: {count: 6}"))
        self.assertEqual([s["text"] for s in operation["steps"]],
                         ["set gpu0 to 0 virtual functions",
                          "set gpu0 to 6 virtual functions"])

    def test_a_quota_that_is_rounded_up(self):
        agent = self.start(self.world(FLEX))
        text = layout("select: {vendor: intel}, vf: {count: 2, memory: 3000000001}")
        agent.done(text)
        self.assertEqual(agent.done(text)["steps"], [])

    def test_wrong(self):
        agent = self.start(self.world(FLEX, L40S))
        self.refuses(agent, layout("select: {index: 0}, vf: {count: 32}"), "32", "0 to 31")
        self.refuses(agent, layout("select: {index: 1}, vf: {count: 5}"), "5", "0, 16")

    def test_vgpu_there_and_back(self):
        self.there_and_back(self.world(L40S), layout("select: {index: 0}, vf: {count: 16}"))

    def types(self, agent):
        return [i["quota"]["type"] for i in agent.node()["devices"][0]["vf"]["functions"]]

    def test_vgpus_of_a_type(self):
        """Types are listed with the functions, which are created all at once; both frameworks."""
        for gpu, name in ((L40S, "NVIDIA L40S-12Q"), (A100, "GRID A100-10C")):
            with self.subTest(name):
                agent = self.there_and_back(self.world(gpu), vgpus(4, name))
                plan = agent.plan(vgpus(3, name))[1]
                self.assertIn("does not list the vGPU type", " ".join(plan["warnings"]))
                agent.done(vgpus(3, name))
                self.assertEqual(self.types(agent), [name] * 3 + [""] * 13)
                self.assertIn(f"count: 3, type: {name}", agent.export().replace("\n", " ")
                              .replace("'", "").replace('"', ""))
                agent.done(vgpus(1, name.split()[1]))
                self.assertEqual(self.types(agent), [name] + [""] * 15)

    def test_another_type(self):
        agent = self.start(self.world(L40S))
        agent.done(vgpus(4, "L40S-12Q"))
        agent.done(vgpus(2, "L40S-24Q"))
        self.assertEqual(sorted(self.types(agent)), [""] * 14 + ["NVIDIA L40S-24Q"] * 2)
        agent.done(vgpus(1, "L40S-24Q"))
        agent.stop()
        agent.start()
        self.assertEqual(agent.wait(agent.last())["state"], "done")
        self.assertEqual(sorted(self.types(agent)), [""] * 15 + ["NVIDIA L40S-24Q"])
        agent.done(layout("select: {index: 0}, vf: {count: 0}"))
        self.assertEqual(self.types(agent), [])

    def test_a_type_that_is_not_there(self):
        """Without functions there are no types: the error comes when the type is set, and all is
        rolled back."""
        world = self.world(L40S)
        agent = self.start(world)
        before = world.shape()
        operation = agent.finish(vgpus(2, "NVIDIA L40S-13Q"))
        self.ends(operation, "rolled_back", "no vGPU type NVIDIA L40S-13Q",
                  "NVIDIA L40S-48Q", "the nearest is L40S-1")
        self.assertEqual(world.shape(), before)
        agent.done(layout("select: {index: 0}, vf: {count: 16}"))
        self.refuses(agent, vgpus(2, "NVIDIA L40S-13Q"), "NVIDIA L40S-48Q", "L40S-12Q")

    def test_more_vgpus_than_fit(self):
        world = self.world(L40S)
        agent = self.start(world)
        before = world.shape()
        operation = agent.finish(vgpus(5, "NVIDIA L40S-12Q"))
        self.ends(operation, "rolled_back", "L40S-12Q")
        self.assertEqual(world.shape(), before)
        agent = self.start(self.world(A100))
        agent.done(layout("select: {index: 0}, vf: {count: 16}"))
        self.refuses(agent, vgpus(5, "GRID A100-10C"), "5 vGPUs", "at most 4")

    def host(self):
        """The library knows the types before there are functions, and those that do not fit any
        more."""
        try:
            return self.live_in(worlds.Host([dict(L40S, totalvfs=4)], NVML))
        except worlds.Unavailable as why:
            raise unittest.SkipTest(str(why))

    def test_functions_that_are_off(self):
        """A GPU with functions that its driver does not create has a state of its own, apart from
        those that can be divided now."""
        world = self.world(FLEX, L40S)
        agent = self.start(world, PATH="/usr/bin:/bin")  # without sriov-manage
        vf = {d["pci_address"]: d["vf"] for d in agent.node()["devices"]}
        self.assertFalse(vf[L40S["bdf"]]["capable"])
        off = next(d["name"] for d in agent.node()["devices"] if d["vf"] == vf[L40S["bdf"]])
        shown = worlds.cleave(agent, "devices")
        self.assertIn("STATE", shown.stdout)
        self.assertEqual([line.split()[0] for line in shown.stdout.splitlines()
                          if "SR-IOV off" in line], [off])
        self.assertRegex(shown.stderr, rf"{off} is capable of SR-IOV, which is off: .*sriov-manage")
        self.assertEqual(shown.stderr.count("SR-IOV"), 1)

    def test_a_machine_has_one_of_unknown_memory(self):
        """As a whole; no driver tells its memory. The lease is there after a restart of the agent."""
        world = self.world(L40S)
        agent = self.start(world, PATH="/usr/bin:/bin")  # without sriov-manage
        name, = [each["name"] for each in agent.node()["devices"]]
        status, lease = agent.request("POST", "/v1/leases", {
            "device": name, "keep": True, "holder": MACHINE, "command": "web"})
        self.assertEqual(status, 201, lease)
        agent.stop()
        agent.start()
        kept, = agent.get("/v1/leases")["items"]
        self.assertEqual((kept["id"], kept["devices"][0]["pci_address"]), (lease["id"], L40S["bdf"]))

    def test_with_the_library(self):
        world = self.host()
        agent = self.start(world)
        self.assertEqual([d["backend"] for d in agent.node()["devices"]], ["nvidia"])
        self.refuses(agent, vgpus(2, "L40S-13Q"), "no vGPU type 'L40S-13Q'", "NVIDIA L40S-24Q")
        self.refuses(agent, vgpus(3, "L40S-24Q"), "3 vGPUs", "at most 2")
        plan = agent.plan(vgpus(2, "L40S-24Q"))[1]
        self.assertEqual(plan["warnings"], [])
        agent.done(vgpus(2, "L40S-24Q"))
        agent.stop()
        agent.start()
        self.assertEqual(agent.wait(agent.last())["state"], "done")
        self.assertEqual(self.types(agent), ["NVIDIA L40S-24Q"] * 2 + [""] * 2)
        self.assertEqual(agent.done(vgpus(2, "L40S-24Q"))["steps"], [])
        agent.done(vgpus(1, "L40S-12Q"))
        agent.done(layout("select: {index: 0}, vf: {count: 0}"))
        self.assertEqual(self.types(agent), [])

    def test_a_machine_has_one(self):
        world = self.world(L40S)
        agent = self.start(world)
        agent.done(vgpus(2, "L40S-12Q"))
        first = agent.node()["devices"][0]["vf"]["functions"][0]
        world.double.put("holders", [f"vfio {first['address']} {os.getpid()}"])
        operation = agent.finish(layout("select: {index: 0}, vf: {count: 0}"))
        self.assertIn(operation["state"], ("failed", "rolled_back"))
        self.assertEqual(self.types(agent)[0], "NVIDIA L40S-12Q")


if __name__ == "__main__":
    main()
