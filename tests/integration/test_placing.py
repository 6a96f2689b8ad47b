#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The device on which `cleave run` places a lease, on simulated nodes: not the first one with room,
but the one where the rest stays most useful.

usage: test_placing.py CLEAVE CLEAVED [TEST...]
"""
import json
import os
import subprocess

from cli_sandbox import Paths, wait_until
from partition_sandbox import WithAgent, run_tests


class Placing(WithAgent):
    def defrag(self, node, *arguments, code=0):
        result = self.on(node, "defrag", *arguments, "-o", "json")
        self.assertEqual((result.returncode, result.stderr), (code, ""))
        return [{key: row[key] for key in ("do", "lease", "from", "to") if key in row}
                for row in json.loads(result.stdout)["items"]]

    def start(self, node, *arguments, **more):
        """Starts a program that runs until it is ended; returns the devices of its lease."""
        super().start(node, *arguments, **more)
        return [device["name"] for device in self.leases(node)[-1]["devices"]]

    def apply(self, node, layout):
        path = os.path.join(self.NODES, "layouts", layout + ".yaml")
        result = self.on(node, "apply", "--yes", path)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_compute_that_is_left(self):
        """The first device would have room, and would be broken up."""
        self.start("dgx-a100", "--device", "gpu0", "--share", "0.3")
        self.start("dgx-a100", "--device", "gpu1", "--share", "0.6")
        self.assertEqual(self.start("dgx-a100", "--share", "0.4"), ["gpu1"])
        self.assertEqual(self.start("dgx-a100", "--share", "0.7"), ["gpu0"])
        self.assertEqual(self.start("dgx-a100", "--share", "0.1"), ["gpu2"])

    def test_memory_that_is_left(self):
        """Both have the same free compute; by that alone the first would be chosen."""
        self.start("dgx-a100", "--device", "gpu0", "--share", "0.2", "--memory", "4G")
        self.start("dgx-a100", "--device", "gpu1", "--share", "0.2", "--memory", "23G")
        self.assertEqual(self.start("dgx-a100", "--share", "0.1", "--memory", "16G"), ["gpu1"])

    def test_whole_devices_stay_whole(self):
        self.start("dgx-a100", "--device", "gpu5", "--share", "0.2")
        self.assertEqual(self.start("dgx-a100", "--share", "0.2"), ["gpu5"])
        self.assertEqual(len(self.start("dgx-a100", "--count", "7")), 7)

    def test_several_are_near_each_other(self):
        """gpu0 and gpu1 are on one NUMA node, gpu2 and gpu3 on the next."""
        self.start("dgx-a100", "--device", "gpu0", "--share", "0.2")
        self.assertEqual(self.start("dgx-a100", "--count", "2"), ["gpu2", "gpu3"])
        self.assertEqual(self.start("dgx-a100", "--count", "1"), ["gpu1"])

    def test_several_partitions_fill_a_device(self):
        self.apply("mi300x", "mi300x-cpx-nps4")
        profile = "--profile", "CPX/NPS4"
        self.start("mi300x", *profile, "--device", "gpu0", "--count", "3")
        self.start("mi300x", *profile, "--device", "gpu1", "--count", "6")
        self.assertEqual({name.split("/")[0] for name in
                          self.start("mi300x", *profile, "--count", "2")}, {"gpu1"})
        self.assertEqual({name.split("/")[0] for name in
                          self.start("mi300x", *profile, "--count", "5")}, {"gpu0"})

    def test_several_partitions_share_an_io_die(self):
        """Two of eight are on each; a single one leaves whole dies to those that want both."""
        self.apply("mi300x", "mi300x-cpx-nps4")
        profile = "--profile", "CPX/NPS4", "--device", "gpu0"
        self.start("mi300x", "--device", "gpu0/CPX/NPS4@0", "--count", "1")
        self.assertEqual(self.start("mi300x", *profile, "--count", "2"),
                         ["gpu0/CPX/NPS4@2", "gpu0/CPX/NPS4@3"])
        self.start("mi300x", "--device", "gpu0/CPX/NPS4@6", "--count", "1")
        self.assertEqual(self.start("mi300x", *profile, "--count", "3"),
                         ["gpu0/CPX/NPS4@1", "gpu0/CPX/NPS4@4", "gpu0/CPX/NPS4@5"])
        table = self.on("mi300x", "devices").stdout
        self.assertIn("IO-DIE", table)

    def test_what_came_before_is_expected(self):
        """The same request is placed elsewhere if requests of another size are usual."""
        self.start("dgx-a100", "--device", "gpu0", "--share", "0.5")
        self.start("dgx-a100", "--device", "gpu1", "--share", "0.2")
        for device in ("gpu4", "gpu5", "gpu6"):
            for _ in range(2):
                self.start("dgx-a100", "--device", device, "--share", "0.5")
        # 0.5 beside 0.5, since 0.3 on gpu1 would be too little for another 0.5.
        self.assertEqual(self.start("dgx-a100", "--share", "0.3"), ["gpu1"])
        self.assertEqual(self.start("dgx-a100", "--share", "0.5"), ["gpu0"])

    def test_overcommitted_devices(self):
        path = os.path.join(self.folder, "dgx-a100.yaml")
        self.on("dgx-a100", "ps")
        for _ in range(2):
            result = self.cleave("--sim", path, "run", "--overcommit", "--share", "1", "--", "true")
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_partition_that_is_made(self):
        """On the GPU where the fewest possible placements are lost."""
        for device, profile in (("gpu1", "4g.40gb"), ("gpu1", "1g.10gb")):
            result = self.on("mixed", "partition", "create", device, profile)
            self.assertEqual(result.returncode, 0, result.stderr)
        devices = json.loads(self.on("mixed", "devices", "-o", "json").stdout)["items"]
        for name in [device["name"] for device in devices if device["parent"]]:
            self.assertEqual(self.start("mixed", "--device", name, "--share", "1"), [name])
        made, = self.start("mixed", "--isolation", "hardware", "--memory", "9G")
        self.assertTrue(made.startswith("gpu1/1g.10gb@"), made)

    def test_queue_of_a_profile(self):
        """A lease that waits for a profile takes whichever partition is free first, and not only
        the one in whose queue it is."""
        for _ in range(3):
            result = self.on("mixed", "partition", "create", "gpu1", "1g.10gb")
            self.assertEqual(result.returncode, 0, result.stderr)
        devices = json.loads(self.on("mixed", "devices", "-o", "json").stdout)["items"]
        parts = [device["name"] for device in devices if device["parent"] == "gpu1"]
        for number, name in enumerate(parts):
            self.start("mixed", "--name", f"holder{number}", "--device", name, "--share", "1")
        waiting = subprocess.Popen(
            [Paths.cleave, "--sim", os.path.join(self.folder, "mixed.yaml"), "run", "--wait",
             "--profile", "1g.10gb", "--share", "1", "--name", "waits", "--", "sleep", "60"],
            env=self.env, stderr=subprocess.DEVNULL)
        self.addCleanup(waiting.wait)
        self.addCleanup(waiting.kill)

        def lease():
            return next((each for each in self.leases("mixed") if each["name"] == "waits"),
                        {"state": "", "device": ""})
        self.assertTrue(wait_until(lambda: lease()["state"] == "queued"))
        self.assertEqual(lease()["device"], parts[0])
        result = self.on("mixed", "release", "--force", "holder2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(wait_until(lambda: lease()["state"] == "active"), lease())
        self.assertEqual(lease()["device"], parts[2])

    def test_profiles(self):
        """Memory where no source gives it, and what AMD says of each pair of modes."""
        def rows(node, device):
            result = self.on(node, "profiles", device, "-o", "json")
            self.assertEqual(result.returncode, 0, result.stderr)
            return {row["profile"]: row for row in json.loads(result.stdout)["items"]}
        h200 = rows("hgx-h200", "gpu0")
        self.assertEqual({name: row["memory_bytes"] >> 30 for name, row in h200.items()}, {
            "1g.18gb": 16, "1g.18gb+me": 16, "1g.35gb": 35, "2g.35gb": 35, "3g.71gb": 70,
            "4g.71gb": 70, "7g.141gb": 140})
        self.assertEqual({name: row["note"] for name, row in rows("mi300x", "gpu0").items()}, {
            "SPX/NPS1": "as it is now",
            "DPX/NPS1": "accepted by the driver, not validated by AMD",
            "DPX/NPS2": "",
            "QPX/NPS1": "accepted by the driver, not validated by AMD",
            "QPX/NPS4": "accepted by the driver, not validated by AMD",
            "CPX/NPS1": "isolation, fine-grained scheduling, small batches; described by AMD, not "
                        "in its table of validated modes",
            "CPX/NPS4": "as CPX/NPS1, models up to 13B, collectives; memory of its quadrant: less "
                        "latency and power, more cache bandwidth"})

    def fill(self, *more):
        """Of eight GPUs six are full, and two have leases in the way of a whole device."""
        for device in range(2, 8):
            self.start("dgx-a100", "--device", f"gpu{device}", "--share", "1")
        self.start("dgx-a100", "--name", "chat", "--device", "gpu0", "--share", "0.3", *more)
        self.start("dgx-a100", "--name", "train", "--device", "gpu1", "--share", "0.6")

    def test_defrag_of_shares(self):
        self.fill()
        self.assertEqual(self.defrag("dgx-a100", "--share", "0.7"), [{"do": "place", "to": "gpu0"}])
        moves = [{"do": "restart", "lease": "chat", "from": "gpu0", "to": "gpu1"},
                 {"do": "place", "to": "gpu0"}]
        self.assertEqual(self.defrag("dgx-a100", "--share", "1"), moves)
        self.assertEqual(self.defrag("dgx-a100", "--count", "1"), moves)
        self.assertEqual(self.defrag("dgx-a100", "--share", "0.1", "--memory", "30G"), moves)
        # The advice works, and nothing was changed before.
        self.assertEqual(self.on("dgx-a100", "run", "--share", "1", "--", "true").returncode, 75)
        self.assertEqual(self.on("dgx-a100", "release", "--force", "chat").returncode, 0)
        self.assertTrue(wait_until(lambda: len(self.leases("dgx-a100")) == 7))
        self.assertEqual(self.start("dgx-a100", "--device", "gpu1", "--share", "0.3"), ["gpu1"])
        self.assertEqual(self.start("dgx-a100", "--share", "1"), ["gpu0"])

    def test_defrag_keeps(self):
        self.fill()
        self.assertEqual(self.defrag("dgx-a100", "--share", "1", "--keep", "chat"), [
            {"do": "restart", "lease": "train", "from": "gpu1", "to": "gpu0"},
            {"do": "place", "to": "gpu1"}])
        self.assertEqual(self.defrag("dgx-a100", "--share", "1", "--keep", "x,train,chat", code=75),
                         [{"do": "cannot fit"}])
        self.assertEqual(self.defrag("dgx-a100", "--share", "1", "--moves", "1")[0]["lease"], "chat")
        self.assertEqual(self.on("dgx-a100", "cordon", "gpu1").returncode, 0)
        self.assertEqual(self.defrag("dgx-a100", "--share", "1", code=75), [{"do": "cannot fit"}])

    def test_defrag_says_what_it_cannot_do(self):
        self.fill()
        result = self.on("dgx-a100", "defrag", "--share", "1")
        self.assertIn("no running program's memory can be moved", result.stderr)
        self.assertIn("sleep", result.stdout)
        for words, arguments in (("no request is given", ()), ("name both files", ("x.yaml",)),
                                 ("leave out --share", ("a.yaml", "b.yaml", "--share", "1")),
                                 ("--keep and --apply", ("a.yaml", "b.yaml", "--apply")),
                                 ("at most 8", ("--share", "1", "--moves", "9")),
                                 ("whole devices", ("--count", "2", "--share", "1"))):
            with self.subTest(arguments):
                self.assert_refused(self.on("dgx-a100", "defrag", *arguments), 64, words)

    def test_defrag_of_instances(self):
        """Room for the largest instance needs the end of one of two, of which one is in use."""
        for device, profile in (("gpu0", "1g.10gb"), ("gpu1", "1g.10gb"), ("gpu1", "2g.20gb")):
            result = self.on("mixed", "partition", "create", device, profile)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.start("mixed", "--name", "chat", "--device", "gpu0/1g.10gb@6", "--share", "1")
        anew = self.defrag("mixed", "--profile", "7g.80gb")
        self.assertEqual([move["do"] for move in anew], ["make anew", "make anew", "place"])
        self.assertEqual(anew[2]["to"], "gpu1/7g.80gb@0")
        # One of them suffices, and its end would end a program.
        moves = self.defrag("mixed", "--profile", "7g.80gb", "--moves", "1")
        self.assertEqual([move["do"] for move in moves], ["restart", "place"])
        self.assertEqual((moves[0]["lease"], moves[0]["from"]), ("chat", "gpu0/1g.10gb@6"))
        self.assertEqual(moves[1]["to"], "gpu0/7g.80gb@0")
        self.defrag("mixed", "--profile", "7g.80gb", "--moves", "1", "--keep", "chat", code=75)
        self.assertEqual(self.defrag("mixed", "--profile", "3g.40gb")[0]["do"], "place")

    def partitions(self, node):
        result = self.on(node, "partition", "list", "-o", "json")
        return sorted(row["name"] for row in json.loads(result.stdout)["items"])

    def test_defrag_apply(self):
        """Unused instances are moved and the requested one is created; where a program would
        have to restart, nothing is."""
        for device, profile in (("gpu0", "1g.10gb"), ("gpu1", "1g.10gb"), ("gpu1", "2g.20gb")):
            result = self.on("mixed", "partition", "create", device, profile)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.start("mixed", "--name", "chat", "--device", "gpu0/1g.10gb@6", "--share", "1")
        before = self.partitions("mixed")
        result = self.on("mixed", "defrag", "--profile", "7g.80gb", "--apply")
        self.assertEqual((result.returncode, self.partitions("mixed")), (64, before))
        self.assertIn("2 unused instances would be destroyed", result.stderr)
        result = self.on("mixed", "defrag", "--profile", "7g.80gb", "--moves", "1", "--apply", "--yes")
        self.assertEqual(result.returncode, 75)
        self.assertIn("nothing was changed: the plan restarts programs", result.stderr)
        self.assertEqual(self.partitions("mixed"), before)
        plan = self.defrag("mixed", "--profile", "7g.80gb")
        self.assertEqual(self.partitions("mixed"), before)
        result = self.on("mixed", "defrag", "--profile", "7g.80gb", "--apply", "--yes")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.partitions("mixed"),
                         sorted(["gpu0/1g.10gb@6", *(row["to"] for row in plan)]))
        self.assertEqual([lease["name"] for lease in self.leases("mixed")], ["chat"])
        # What fits already is created; a share has nothing to be created.
        result = self.on("mixed", "defrag", "--profile", "1g.10gb", "--apply", "-o", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(json.loads(result.stdout)["items"][0]["to"], self.partitions("mixed"))
        now = self.partitions("mixed")
        self.assertEqual(self.on("dgx-a100", "defrag", "--share", "0.5", "--apply").returncode, 0)
        self.assertEqual(self.partitions("mixed"), now)

    def test_defrag_applies_nothing_by_a_name(self):
        """A program's owner chooses what it is called: only a supervisor of the caller says which
        leases are replicas, and it is asked before anything is changed."""
        program = os.path.join(self.folder, "cleave up x")
        os.symlink("/bin/sleep", program)
        for device in range(2, 8):
            self.start("dgx-a100", "--device", f"gpu{device}", "--share", "1")
        self.start("dgx-a100", "--name", "x-web-1", "--device", "gpu0", "--share", "0.3",
                   command=(program, "60"))
        self.start("dgx-a100", "--name", "train", "--device", "gpu1", "--share", "0.6")
        result = self.on("dgx-a100", "defrag", "--share", "1", "--apply", "--yes")
        self.assertEqual(result.returncode, 75, result.stderr)
        self.assertIn("nothing was changed: no service has a replica 'x-web-1'",
                      result.stderr)
        self.assertEqual(len(self.leases("dgx-a100")), 8)


if __name__ == "__main__":
    run_tests(__doc__)
