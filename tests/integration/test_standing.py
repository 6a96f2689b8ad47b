#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Standing shares in plans, differences and exports, with the agent on simulated nodes.

usage: test_standing.py CLEAVE CLEAVED [TEST...]
"""
import json
import os

from partition_sandbox import WithAgent, run_tests

WHOLE = """version: 1
devices:
  - select: {index: 0}
    shares:
      - {name: train, share: 0.5, memory: 10G, cap: 0.8, class: batch}
      - {name: serve, share: 0.1..0.3}
"""
# For each simulated node a layout with standing shares in each kind of partition.
EXPORTED = {
    "dgx-a100": """version: 1
devices:
  - select: {index: 0}
    partitions:
      - {profile: 3g.20gb, start: [4], parts: [2c, 1c], shares: [{name: a, share: 0.5}]}
      - {profile: 1g.5gb, count: 2, shares: 2}
      - {profile: 1g.5gb, count: 2}
  - select: {index: 1}
    mig: off
    shares: [{name: b, share: 1/3, class: latency}, {name: c, memory: 1G}]
""",
    "mi300x": """version: 1
devices:
  - select: {index: 0}
    partitions: [{profile: CPX/NPS1, shares: 2}]
""",
    "flex170": """version: 1
devices:
  - select: {index: 0}
    partitions: [{profile: "vf:4", shares: [{name: a, share: 0.2}]}]
""",
    "mixed": """version: 1
devices:
  - select: {vendor: cpu}
    partitions: [{profile: "cores:2", count: 2, shares: 3}]
  - select: {model: T4}
    shares: [{name: d, share: 0.1..0.6, cap: 0.9}]
""",
}


class Standing(WithAgent):
    def layout(self, text):
        path = os.path.join(self.folder, "standing.yaml")
        with open(path, "w") as file:
            file.write(text)
        return path

    def apply(self, node, text):
        result = self.on(node, "apply", "--yes", self.layout(text))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def changes(self, node, text):
        plan = self.on(node, "plan", "-o", "json", self.layout(text))
        return [(each["change"], each["name"]) for each in json.loads(plan.stdout)["share_changes"]]

    def test_changes_are_shown(self):
        self.assertEqual(self.changes("dgx-a100", WHOLE),
                         [("add", "gpu0/train"), ("add", "gpu0/serve")])
        added = self.apply("dgx-a100", WHOLE)
        self.assertIn("\nadd the standing share gpu0/train (share 0.5, memory 10 GiB, cap 0.8, "
                      "class batch)\n", added)
        self.assertEqual(self.changes("dgx-a100", WHOLE), [])
        bigger = WHOLE.replace("10G", "12G")
        self.assertEqual(self.changes("dgx-a100", bigger), [("change", "gpu0/train")])
        self.assertIn("memory 10 GiB, cap 0.8, class batch; new: share 0.5, memory 12 GiB",
                      self.on("dgx-a100", "plan", self.layout(bigger)).stdout)

    def test_removed_shares(self):
        """A layout that selects the device without shares removes them: said before, and refused
        without --yes and without a terminal."""
        self.apply("dgx-a100", WHOLE)
        self.start("dgx-a100", "--in", "serve")
        without = self.layout("version: 1\ndevices: [{select: {index: 0}, mig: off}]\n")
        removed = "remove the standing share gpu0/train (share 0.5, memory 10 GiB, cap 0.8, " \
                  "class batch)\n"
        plan = self.on("dgx-a100", "plan", without).stdout
        self.assertIn(removed, plan)
        self.assertRegex(plan, r"remove the standing share gpu0/serve \(share 0.1..0.3, .*\); the "
                         r"lease in it keeps what it has\n")
        self.assertNotIn("nothing to do", plan)
        diff = self.on("dgx-a100", "diff", without)
        self.assertEqual(diff.returncode, 1)
        self.assertIn("- " + removed, diff.stdout)
        refused = self.on("dgx-a100", "apply", without)
        self.assertEqual(refused.returncode, 64)
        self.assertIn("nothing was changed: 2 standing shares are removed, and", refused.stderr)
        self.assertEqual(self.on("dgx-a100", "run", "--in", "train", "true").returncode, 0)
        self.assertEqual(self.on("dgx-a100", "apply", "-y", without).returncode, 0)
        self.assertIn("nothing to do", self.on("dgx-a100", "plan", without).stdout)
        # Another device's shares are not concerned.
        self.assertEqual(len(self.leases("dgx-a100")), 1)

    def test_other_devices_keep_theirs(self):
        self.apply("dgx-a100", WHOLE)
        self.assertEqual(self.changes("dgx-a100", WHOLE.replace("index: 0", "index: 1")),
                         [("add", "gpu1/train"), ("add", "gpu1/serve")])

    def test_exported(self):
        """An export has the standing shares: to apply it changes nothing."""
        for node, text in EXPORTED.items():
            with self.subTest(node):
                self.apply(node, text)
                shares = self.shares(node)
                self.assertTrue(shares)
                exported = self.on(node, "export").stdout
                self.assertIn("shares: [", exported)
                self.assertIn("nothing to do",
                              self.on(node, "plan", self.layout(exported)).stdout)
                self.assertEqual(self.on(node, "diff", self.layout(exported)).returncode, 0)
                self.apply(node, exported)
                self.assertEqual(self.shares(node), shares)

    def shares(self, node):
        """The shares that the agent's plan of the layout that was last applied has."""
        wanted = self.on(node, "export", "--wanted").stdout
        plan = json.loads(self.on(node, "plan", "-o", "json", self.layout(wanted)).stdout)
        self.assertEqual(plan["share_changes"], [])
        return sorted(each["name"] for each in plan["shares"])


if __name__ == "__main__":
    run_tests(__doc__)
