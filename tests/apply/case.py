# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of apply.

usage of the tests: test_X.py --build BUILD [unittest arguments]
"""
import os
import sys
import unittest

import worlds
from harness import wait_until

ROOT = os.path.dirname(worlds.TESTS)


def example(name):
    with open(os.path.join(ROOT, "examples", "layouts", name), encoding="utf-8") as file:
        return file.read()


def layout(*rules, more=""):
    """A layout of rules in YAML's flow style, without their braces."""
    lines = "".join(f"  - {{{rule}}}\n" for rule in rules)
    return f"version: 1\n{more}devices:\n{lines}"


class Case(unittest.TestCase):
    """Each test has a world; the test starts an agent on it."""

    def live_in(self, world):
        self.addCleanup(world.close)
        return world

    def start(self, world, folder=None, **env):
        agent = world.agent(folder, **env)
        self.addCleanup(self.end, agent)
        agent.start()
        return agent

    def end(self, agent):
        code = agent.close()
        self.assertIn(code, (0, -9))

    def split_and_fill(self, world):
        """GPU instances of an A100-40GB stay, and their compute instances are replaced."""
        agent = self.start(world)
        rule = "select: {index: 0}, mig: on, partitions: "
        for profile, start, parts in (("4g.20gb", 0, "2c, 2c"), ("3g.20gb", 4, "2c, 1c"),
                                      ("2g.10gb", 4, "1c, 1c"), ("7g.40gb", 0, "4c, 3c")):
            with self.subTest(profile):
                whole = f"{{profile: {profile}, start: [{start}]"
                filled = layout(f"{rule}[{whole}}}]")
                split = layout(f"{rule}[{whole}, parts: [{parts}]}}]")
                agent.done(filled)
                steps = [step["kind"] for step in agent.plan(split)[1]["steps"]]
                self.assertEqual(steps, ["destroy-part", "create-part", "create-part"])
                self.assertEqual(len(agent.done(split)["steps"]), 3)
                steps = [step["kind"] for step in agent.plan(filled)[1]["steps"]]
                self.assertEqual(steps, ["destroy-part", "destroy-part", "create-part"])
                self.assertEqual(len(agent.done(filled)["steps"]), 3)
                self.assertEqual(agent.plan(filled)[1]["steps"], [])

    def kept(self, agent):
        """The devices of the layout that is applied again at a start, by UUID."""
        return {each["uuid"]: each for each in agent.get("/v1/layout?of=wanted")["devices"]}

    def applied_again(self, agent):
        """The state of each of them, as soon as none is about to change."""
        def has_settled():
            states = {each["state"] for each in self.kept(agent).values()}
            return states and not states & {"pending", "applying"}

        self.assertTrue(wait_until(has_settled), agent.log())
        return {uuid: each["state"] for uuid, each in self.kept(agent).items()}

    def names(self, agent):
        return [p["name"] for d in agent.node()["devices"] for p in d["partitions"]]

    def one_line(self, text, *words):
        self.assertTrue(text and "\n" not in text and len(text) < 512, text)
        for word in words:
            self.assertIn(word, text)

    def refused(self, answer, status, *words):
        self.assertEqual(answer[0], status, answer)
        self.one_line(answer[1]["detail"], *words)

    def refuses(self, agent, text, *words):
        """Plan and apply refuse the layout, and nothing changes."""
        before = agent.node()
        self.refused(agent.plan(text), 400, *words)
        status, answer = agent.request("POST", "/v1/apply?name=test.yaml", text)
        if status == 202:
            answer = agent.wait(answer)
            self.assertEqual(answer["state"], "failed")
            answer = answer["error"]
        self.assertEqual((answer["status"], answer["code"]), (400, "bad_layout"))
        self.one_line(answer["detail"], *words)
        self.assertEqual(agent.node(), before)

    def ends(self, operation, state, *words):
        self.assertEqual(operation["state"], state, operation)
        if words:
            self.one_line(operation["error"]["detail"], *words)


def main():
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
