# SPDX-License-Identifier: Apache-2.0
"""cleave up --plan on an agent with two devices: what it says is what happens.

usage: test_plan.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import json
import os
import sys
import unittest

import bed
from bed import Services
from ports import free_port

bed.PROGRAMS.update(zip(("cleave", "cleaved", "gates"), map(os.path.abspath, sys.argv[1:4])))
del sys.argv[1:4]
WHY_NOT = bed.why_not()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Plan(Services):
    def start_agent(self):
        self.env["POCL_DEVICES"] = "basic basic"
        super().start_agent()

    def of(self, share, n=1, version="", **keys):
        return self.service(environment={"VERSION": version}, deploy={"replicas": n},
                            **{"x-cleave": {"share": share, "memory": "100M"}, **keys})

    def plan(self, *options, code=0, **services):
        done = self.cleave("up", "--plan", "-o", "json", *options, self.file(**services), code=code)
        return {each["name"]: each for each in json.loads(done.stdout)["items"]}

    def places(self, *options, code=0, **services):
        return {name: [each["device"] for each in row["placement"]]
                for name, row in self.plan(*options, code=code, **services).items()}

    def leases(self):
        return json.loads(self.cleave("ps", "-o", "json").stdout)["items"]

    def devices_of(self, name):
        return sorted(each["device"] for each in self.leases()
                      if each["name"].startswith(f"{self.name}-{name}-"))

    def reserve(self, name, share, device):
        self.cleave("reserve", "--socket", self.socket, "--name", name, "--share", str(share),
                    "--memory", "100M", "--device", device)

    def test_as_it_happens(self):
        services = {"a": self.of(.6), "b": self.of(.3, 2), "c": self.of(.5), "plain": self.service()}
        planned = self.places(**services)
        self.assertEqual(planned["plain"], [])
        self.assertEqual(self.leases(), [])
        self.up(**services)
        for name in "abc":
            self.assertEqual(sorted(planned[name]), self.devices_of(name))
        # Now all are there, and stay.
        rows = self.plan(**services)
        self.assertEqual({row["action"] for row in rows.values()}, {"keep"})
        self.assertEqual([each["replica"] for each in rows["b"]["placement"]],
                         [f"{self.name}-b-1", f"{self.name}-b-2"])
        self.assertEqual(self.places(**services)["b"], [each["device"] for each in sorted(
            self.leases(), key=lambda each: each["name"]) if "-b-" in each["name"]])

    def test_no_room(self):
        """It says which replicas could run, and why the others could not."""
        services = {"a": self.of(.6, 3)}
        placement = self.plan(code=75, **services)["a"]["placement"]
        self.assertEqual([each["fits"] for each in placement], [True, True, False])
        self.assertEqual({each["device"] for each in placement}, {"gpu0", "gpu1", None})
        self.assertIn("does not fit on", placement[2]["why"])
        done = self.cleave("up", "--plan", self.file(**services), code=75)
        self.assertIn("2 of 3 fit: ", done.stdout)
        self.assertEqual(self.leases(), [])
        self.assertFalse(os.path.exists(self.kept("")))
        # More than any device has.
        big = self.plan(code=75, a=self.of(.1, **{"x-cleave": {"share": .1, "memory": "100000G"}}))
        self.assertIn("more than the device has", big["a"]["placement"][0]["why"])

    def test_replicas_that_are_replaced(self):
        """The new one beside the old one where there is room, else after its end."""
        self.up(web=self.of(.6, version="1"))
        device, = self.devices_of("web")
        other = {"gpu0": "gpu1", "gpu1": "gpu0"}[device]
        changed = self.of(.6, version="2")
        (new,) = self.plan(web=changed)["web"]["placement"]
        self.assertEqual((new["device"], new["replaces"], new["after_end"]),
                         (other, f"{self.name}-web-1", False))
        self.reserve("held", .6, other)
        (new,) = self.plan(web=changed)["web"]["placement"]
        self.assertEqual((new["device"], new["after_end"]), (device, True))
        done = self.cleave("up", "--plan", self.file(web=changed))
        self.assertIn("the old replica ends before the new one starts", done.stdout)
        self.up(web=changed)
        self.assertEqual(self.devices_of("web"), [device])
        # What is removed is room for others.
        self.reserve("more", .4, other)
        self.assertEqual(self.places(code=75, web=changed, next=self.of(.5))["next"], [None])
        self.assertEqual(self.places(next=self.of(.5))["next"], [device])

    def test_what_sleeps(self):
        """What is frozen needs its compute again, where it is."""
        web = self.service(free_port(), **{
            "x-cleave": {"share": .6, "memory": "100M"},
            "x-omnistrate-capabilities": {"serverlessConfiguration": {
                "enableAutoStop": True, "targetPort": 8080, "x-cleave-sleep": "frozen"}}})
        self.up(web=web)
        device, = self.devices_of("web")
        self.cleave("scale", f"{self.name}/web=0")
        self.wait_until(lambda: self.leases()[0]["share"] < 1e-5, "sleep")
        (there,) = self.plan(web=web)["web"]["placement"]
        self.assertEqual((there["replica"], there["device"], there["after_end"]),
                         (f"{self.name}-web-1", device, False))
        self.assertAlmostEqual(there["share"], .6)
        self.reserve("held", .6, device)
        (there,) = self.plan(code=75, web=web)["web"]["placement"]
        self.assertFalse(there["fits"])

    def test_slowdown(self):
        """As cleave fit --predict, where all programs of the device were measured."""
        for name, part in (("a", .5), ("b", .9)):
            self.write(f"{name}.json", json.dumps({
                "device": "gpu0", "proposal": {"share": .9, "class": "batch"},
                "at_work": {"part": part, "pauses_per_second": 20, "command_seconds": .001}}))
        a, b = (os.path.join(self.folder, f"{each}.json") for each in "ab")
        fit = json.loads(self.cleave("fit", "--predict", "-o", "json", f"{a}=0.3,normal",
                                     f"{b}=0.5,normal").stdout)["items"]
        held = {"memory": "100M", "device": "gpu0"}
        services = {"a": self.of(.3, **{"x-cleave": {"share": .3, **held}}),
                    "b": self.of(.5, **{"x-cleave": {"share": .5, **held}})}
        rows = self.plan("--reports", self.folder, **services)
        for row in fit:
            self.assertGreater(row["slowdown"], 1)
            (planned,) = rows[row["program"]]["placement"]
            self.assertAlmostEqual(planned["slowdown"], row["slowdown"])
        self.assertIsNone(self.plan(**services)["a"]["placement"][0]["slowdown"])
        self.reserve("held", .1, "gpu0")
        (planned,) = self.plan("--reports", self.folder, **services)["a"]["placement"]
        self.assertEqual((planned["slowdown"], planned["slowdown_why"]), (None, "held was not measured"))
        done = self.cleave("up", "--plan", "--reports", self.folder, self.file(**services))
        self.assertIn("not known", done.stdout)
        self.assertIn("held was not measured", done.stdout)
        self.write("a.json", "{}")
        done = self.cleave("up", "--plan", "--reports", self.folder, self.file(**services), code=78)
        self.assertIn("is not a report of cleave profile", done.stderr)

    def test_no_agent(self):
        """The rest of the plan is printed, and the exit code says what is missing."""
        self.stop_agent()
        done = self.cleave("up", "--plan", self.file(a=self.of(.5)), code=69)
        self.assertRegex(done.stdout, r"a +create +- +1")
        self.cleave("up", "--plan", self.file(a=self.service()))

    def test_options(self):
        path = self.file(a=self.service(free_port()))
        for words in (("-o", "json"), ("--reports", self.folder)):
            self.assertIn("add --plan", self.cleave("up", *words, path, code=64).stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
