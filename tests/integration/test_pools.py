#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pools of whole devices, with the agent on simulated nodes.

usage: test_pools.py CLEAVE CLEAVED [TEST...]
"""
import json
import os
import shlex
import sys

from partition_sandbox import HERE, WithAgent, run_tests

sys.path.insert(0, os.path.join(HERE, "../bridge"))
import guide  # noqa: E402 (it is over there)

NODE = """version: 1
name: lab
devices:
  - {model: L40S, count: 3, pci: ["0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0"]}
  - {model: T4, pci: "0000:af:00.0"}
"""
PARTITIONS = """version: 1
devices:
  - select: {index: 0}
    partitions: [{profile: "vf:4", shares: [{name: quarter, share: 1}]}]
"""


class WithPools(WithAgent):
    def setUp(self):
        super().setUp()
        with open(os.path.join(self.folder, "lab.yaml"), "w") as file:
            file.write(NODE)

    def pool(self, *words, code=0, node="lab"):
        done = self.on(node, "pool", *words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def members(self, *words, node="lab"):
        return [(each["pool"], each["member"], each["state"], each["to"])
                for each in self.list(*words, node=node)["items"]]

    def list(self, *words, node="lab"):
        return json.loads(self.pool("list", *words, "-o", "json", node=node).stdout)


class Pools(WithPools):
    def test_created_changed_and_removed(self):
        created = self.pool("create", "l40s", "gpu0", "gpu1").stdout
        self.assertRegex(created, r"(?m)^l40s +gpu0 +NVIDIA L40S +45.0G +0000:3b:00.0 +available$")
        self.pool("add", "l40s", "gpu2")
        self.pool("create", "small", "gpu3")
        self.assertEqual(self.members("l40s"),
                         [("l40s", f"gpu{i}", "available", "") for i in range(3)])
        self.assertEqual(self.pool("list", "-o", "name").stdout, "gpu0\ngpu1\ngpu2\ngpu3\n")
        self.pool("remove", "l40s", "gpu1")
        self.assertEqual([each[1] for each in self.members()], ["gpu0", "gpu2", "gpu3"])
        # The device is for all again.
        self.assertEqual(self.on("lab", "run", "--share", "0.5", "--device", "gpu1", "true")
                         .returncode, 0)
        self.pool("remove", "l40s")
        self.pool("remove", "small")
        self.assertEqual(self.members(), [])

    def test_equal_devices_only(self):
        for words in (("create", "x", "gpu0", "gpu3"), ("create", "x", "gpu3", "gpu2")):
            self.assertIn("make another pool", self.pool(*words, code=64).stderr)
        self.pool("create", "x", "gpu0")
        refused = self.pool("add", "x", "gpu3", code=64).stderr
        self.assertIn("gpu3 is a Tesla T4", refused)
        self.assertEqual([each[1] for each in self.members()], ["gpu0"])

    def test_refusals(self):
        self.pool("create", "x", "gpu0")
        for words, text in (
                (("create", "x", "gpu1"), "there is a pool 'x' already"),
                (("create", "y", "gpu0"), "it has standing shares"),
                (("add", "y", "gpu1"), "there is no pool 'y'"),
                (("add", "x", "gpu0"), "gpu0 is in the pool already"),
                (("add", "x", "gpu9"), "there is no device 'gpu9'"),
                (("remove", "x", "gpu1"), "gpu1 is not in the pool"),
                (("remove", "y"), "there is no pool 'y'"),
                (("create", "1", "gpu1"), "'1' is no name of a pool"),
                (("create", "a/b", "gpu1"), "'a/b' is no name of a pool"),
                (("assign", "x"), "write cleave pool assign POOL VM..."),
                (("unassign", "x", "vm"), "'vm': "),
                (("pacemaker", "y", "vm"), "there is no pool 'y'"),
                (("pacemaker", "x", "a b"), "cannot be the name of a resource"),
                (("lend",), "'lend' is not a command of cleave pool")):
            with self.subTest(words):
                self.assertIn(text, self.pool(*words, code=64).stderr)
        self.assertEqual([each[1] for each in self.members()], ["gpu0"])

    def test_assigned(self):
        self.pool("create", "x", "gpu0", "gpu1")
        self.pool("assign", "x", "vm1", "vm2")
        self.assertEqual(self.members(), [("x", "gpu0", "assigned", "vm1"),
                                          ("x", "gpu1", "assigned", "vm2")])
        self.assertIn("vm3", self.pool("assign", "x", "vm3", code=75).stderr)
        self.assertIn("assigned to vm1", self.pool("remove", "x", "gpu0", code=75).stderr)
        self.assertEqual([each[1] for each in self.members("x", "vm2")], ["gpu1"])
        self.pool("unassign", "x", "vm1")
        self.assertEqual([each[2] for each in self.members()], ["available", "assigned"])
        self.assertIn("has no device of the pool y",
                      self.pool("unassign", "y", "vm2", code=64).stderr)

    def test_all_or_none(self):
        self.pool("create", "x", "gpu0", "gpu1")
        self.pool("assign", "x", "a", "b", "c", code=75)
        self.assertEqual({each[2] for each in self.members()}, {"available"})
        self.assertEqual(self.leases("lab"), [])

    def test_capacity(self):
        """For Pacemaker: what is free, and what it holds; not what others hold."""
        self.pool("create", "x", "gpu0", "gpu1", "gpu2")
        self.assertEqual(self.list("x")["capacity"], 3)
        self.pool("assign", "x", "by-hand")
        self.assertEqual(self.list("x")["capacity"], 2)
        self.pool("assign", "x", "vm", "--by", "ocf:cleave:gpu")
        self.assertEqual(self.list("x")["capacity"], 2)
        self.on("lab", "cordon", "gpu2")
        self.assertEqual(self.list("x")["capacity"], 1)
        self.assertEqual(self.list("x")["items"][2]["note"], "cordoned")

    def test_other_rules_stay(self):
        """A pool changes the standing shares of its devices and nothing else of the layout."""
        layout = os.path.join(self.folder, "shares.yaml")
        with open(layout, "w") as file:
            file.write("version: 1\ndevices: [{select: {index: [0, 1]}, shares: [{name: a, "
                       "share: 0.5}]}]\n")
        self.assertEqual(self.on("lab", "apply", "-y", layout).returncode, 0)
        self.pool("create", "x", "gpu2")
        shares = json.loads(self.on("lab", "plan", "-o", "json", layout).stdout)
        self.assertEqual(shares["share_changes"], [])
        self.pool("remove", "x")
        shares = json.loads(self.on("lab", "plan", "-o", "json", layout).stdout)
        self.assertEqual(shares["share_changes"], [])

    def test_kept_over_restarts(self):
        self.pool("create", "x", "gpu0", "gpu1")
        self.pool("assign", "x", "vm")
        before = self.members()
        self.end_agents()
        self.assertEqual(self.members(), before)

    def test_partitions(self):
        """Members by a layout: their names and addresses are those of functions."""
        layout = os.path.join(self.folder, "functions.yaml")
        with open(layout, "w") as file:
            file.write(PARTITIONS)
        done = self.on("flex170", "apply", "-y", layout)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.pool("assign", "quarter", "vm", node="flex170")
        items = self.list("quarter", node="flex170")["items"]
        self.assertEqual([each["member"] for each in items],
                         [f"gpu0/vf:4@{i}" for i in (1, 2, 3, 4)])
        self.assertEqual([each["state"] for each in items], ["assigned"] + ["available"] * 3)
        self.assertTrue(all(each["address"] for each in items))
        self.assertIn("is a partition", self.on("flex170", "pool", "remove", "quarter").stderr)


class Guide(WithPools):
    """docs/pools.md, on the node of these tests."""

    def test_commands(self):
        shown = guide.transcript("pools.md")
        self.assertEqual(len(shown), 7)
        for command, lines in shown:
            program, *words = shlex.split(command)
            self.assertEqual(program, "cleave")
            done = self.on("lab", *words)
            self.assertEqual(done.returncode, 0, (command, done.stderr))
            for line in lines:
                self.assertIn(line, done.stdout.splitlines(), command)

    def test_layout(self):
        path = os.path.join(self.folder, "layout.yaml")
        with open(path, "w") as file:
            file.write(guide.block("pools.md", "yaml"))
        done = self.on("lab", "apply", "-y", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.members(), [("l40s", f"gpu{i}", "available", "") for i in range(3)])


if __name__ == "__main__":
    run_tests(__doc__)
