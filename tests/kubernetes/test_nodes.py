# SPDX-License-Identifier: Apache-2.0
"""The extender follows the nodes of a double of the API server, whose answers are late, broken off
and too old, and other extenders' pods.

usage: test_nodes.py EXTENDER [unittest arguments]
"""
import json
import os
import random
import subprocess
import sys
import unittest

import helm
import scheduler
from bed import wait_until
from test_extender import Case, device, node, pod

SEED = int(os.environ.get("CLEAVE_SEED") or random.SystemRandom().randrange(1 << 32))


def announced(*devices):
    return {"metadata": {"annotations": {scheduler.ANNOTATION: json.dumps(
        [dict(each, name=f"gpu{i}") for i, each in enumerate(devices)])}}}


class Follow(Case):
    def start(self, *options):
        self.api.nodes["n"] = node("n", device(500))
        super().start(*options)

    def set(self, name, *devices):
        self.api.nodes[name] = node(name, *devices)

    def sees(self, wanted, *fit, among=("n",)):
        """Before long these nodes fit the pod."""
        found = []

        def do_fit():
            found[:] = self.filter_names(wanted, *among)
            return found[0] == list(fit)
        self.assertTrue(wait_until(do_fit), (found, self.log))
        return found[1]

    def logged(self, words):
        self.assertTrue(wait_until(lambda: any(words in line for line in self.log)), self.log)


class Names(Follow):
    def test_names_alone(self):
        """What kube-scheduler sends to an extender with nodeCacheCapable: true."""
        self.set("full", device(100))
        self.set("whole", device(1000))
        names = ("n", "full", "whole", "unknown")
        failed = self.sees(pod("a", (50, 0)), "n", "whole", among=names)
        self.assertIn("most: 10 hundredths", failed["full"])
        self.assertIn("has not told", failed["unknown"])
        scores = {each["Host"]: each["Score"] for each in self.ask(
            "/prioritize", scheduler.names_args(pod("a", (50, 0)), names))}
        self.assertEqual((scores["n"], scores["full"], scores["unknown"]), (10, 0, 0))
        self.assertLess(scores["whole"], 10)
        self.assertEqual(self.bind("a", "n"), "")
        self.assertEqual(self.filter_names(pod("b", (50, 0)), "n")[0], [])

    def test_only_metadata_is_asked_for(self):
        """An object of a node has 10 KB, of which the extender needs one annotation."""
        seen = []
        shown = self.api.nodes.shown
        self.api.nodes.shown = lambda obj, accept: seen.append(accept) or shown(obj, accept)
        self.set("m", device(1000))
        self.sees(pod("a", (50, 0)), "m", among=("m",))
        self.assertTrue(all(each.startswith(
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1") for each in seen), seen)

    def test_changes(self):
        self.set("n", device(100))
        self.sees(pod("a", (50, 0)))
        self.set("n", device(700))
        self.sees(pod("a", (50, 0)), "n")
        self.api.nodes.pop("n")
        self.assertIn("has not told", self.sees(pod("a", (50, 0)))["n"])
        self.set("n", device(700))
        self.sees(pod("a", (50, 0)), "n")
        self.assertEqual(self.api.nodes.n_lists, 1)

    def test_a_node_that_comes_back(self):
        """What is held for its pods is held again, until it announces them."""
        self.filter_names(pod("a", (30, 0)), "n")
        self.assertEqual(self.bind("a", "n"), "")
        self.api.nodes.pop("n")
        self.sees(pod("b", (30, 0)))
        self.set("n")
        self.set("n", device(500))
        self.sees(pod("b", (20, 0)), "n")
        self.assertEqual(self.filter_names(pod("b", (30, 0)), "n")[0], [])
        self.set("n", device(200))
        self.set("n", device(300))
        self.sees(pod("b", (30, 0)), "n")

    def test_more_than_a_page(self):
        for i in range(1201):
            self.set(f"n{i}", device(1000))
        self.api.nodes.loses_pages = 1
        self.api.nodes.forget_history()
        self.api.nodes.end_watches()
        names = [f"n{i}" for i in range(1201)]
        self.sees(pod("a", (60, 0)), *names, among=names)
        self.assertGreaterEqual(self.api.nodes.n_lists, 2)


class Away(Follow):
    def test_api_server_away(self):
        """The last list is used, which the log and the probe tell; then the watch goes on where it
        was, without another list."""
        self.set("n", device(600))
        self.sees(pod("a", (60, 0)), "n")
        self.api.down = True
        self.api.nodes.end_watches()
        self.logged("the last list is used")
        self.assertEqual(self.filter_names(pod("a", (50, 0)), "n")[0], ["n"])
        status, words = self.get("/readyz")
        self.assertEqual((status, "are those of" in words), (200, True), words)
        self.set("n", device(100))
        self.assertEqual(self.filter_names(pod("a", (50, 0)), "n")[0], ["n"])
        self.api.down = False
        self.logged("changes of nodes arrive")
        self.sees(pod("a", (50, 0)))
        self.assertEqual((self.get("/readyz"), self.api.nodes.n_lists), ((200, "ok\n"), 1))

    def test_history_is_lost(self):
        """410: only a list shows what was deleted."""
        self.set("m", device(1000))
        self.sees(pod("a", (50, 0)), "n", "m", among=("n", "m"))
        self.api.down = True
        self.api.nodes.end_watches()
        self.logged("the last list is used")
        self.api.nodes.pop("m")
        self.set("n", device(600))
        self.api.nodes.forget_history()
        self.api.down = False
        failed = self.sees(pod("a", (60, 0)), "n", among=("n", "m"))
        self.assertIn("has not told", failed["m"])
        self.assertEqual(self.api.nodes.n_lists, 2)

    def test_bookmark(self):
        """It moves the version on: nothing is lost with the history before it."""
        self.api.pods[("ns", "elsewhere")] = pod("elsewhere")  # moves the server's version
        self.api.nodes.bookmark()
        self.assertTrue(wait_until(lambda: self.api.nodes.n_bookmarks))
        self.api.nodes.forget_history()
        self.api.nodes.end_watches()
        self.set("n", device(100))
        self.sees(pod("a", (50, 0)))
        self.assertEqual(self.api.nodes.n_lists, 1)

    def test_restored_server(self):
        """A server whose data were restored from a copy waits for a version that it once had; its
        objects are older than those that were seen."""
        for free in (100, 200, 300, 1000):
            self.set("m", device(free))
        self.sees(pod("a", (60, 0)), "m", among=("m",))
        self.api.nodes.restore(1)
        self.set("m", device(200))
        for n_watches in (2, 3):
            self.api.nodes.end_watches()
            self.assertTrue(wait_until(lambda n=n_watches: self.api.nodes.n_watches >= n))
        self.sees(pod("a", (60, 0)), among=("m",))
        self.set("m", device(700))
        self.sees(pod("a", (60, 0)), "m", among=("m",))

    def test_random_faults(self):
        """However it is told, in the end the extender knows the nodes as they are."""
        print(f"CLEAVE_SEED={SEED}", file=sys.stderr)
        chance = random.Random(SEED)
        names = [f"r{i}" for i in range(12)]
        faults = (self.api.nodes.end_watches, self.api.nodes.forget_history,
                  self.api.nodes.bookmark, lambda: setattr(self.api, "down", True),
                  lambda: setattr(self.api, "down", False))
        for _ in range(400):
            if chance.random() < .15:
                chance.choice(faults)()
            name = chance.choice(names)
            if chance.random() < .3:
                self.api.nodes.pop(name, None)
            else:
                self.set(name, device(chance.randrange(0, 1001, 100)))
            if chance.random() < .1:
                self.filter_names(pod("x", (50, 0)), *names)
        self.api.down = False
        self.api.nodes.end_watches()
        for share in range(10, 101, 10):
            fit = [name for name in names if name in self.api.nodes and json.loads(
                self.api.nodes[name]["metadata"]["annotations"][scheduler.ANNOTATION])[0][
                    "free_milli"] >= 10 * share]
            self.sees(pod("a", (share, 0)), *fit, among=names)


class AwayAtFirst(Follow):
    is_answering = False

    def start(self, *options):
        self.api.down = True
        super().start(*options)

    @unittest.skipIf(helm.why_not(), helm.why_not())
    def test_probes(self):
        """Those of the chart: alive from the start, ready once the nodes are known."""
        (container,) = (each for each in helm.containers(helm.documents())
                        if each["name"] == "extender")
        probes = {kind: container[kind]["httpGet"]["path"]
                  for kind in ("livenessProbe", "readinessProbe")}
        self.assertEqual({kind: self.get(path)[0] for kind, path in probes.items()},
                         {"livenessProbe": 200, "readinessProbe": 503})
        self.api.down = False
        self.assertTrue(wait_until(lambda: self.get(probes["readinessProbe"])[0] == 200))

    def test_no_list_yet(self):
        """No answer can be right: the scheduler tries again."""
        for _ in range(2):
            answer = self.ask("/filter", scheduler.names_args(pod("a", (50, 0)), ["n"]))
            self.assertIn("not known yet", answer["Error"])
        self.logged("not now")
        self.assertEqual(self.get("/readyz")[0], 503)
        self.assertEqual(self.get("/healthz")[0], 200)
        self.assertEqual(self.filter(pod("a", (50, 0)), node("n", device(500)))[0], ["n"])
        self.api.down = False
        self.assertTrue(wait_until(lambda: self.get("/readyz")[0] == 200))
        self.sees(pod("a", (50, 0)), "n")


class Replicas(Follow):
    """Each scheduler has an extender beside it; another one takes over."""

    def other(self, before=()):
        made = type(self)("run_nothing")
        made.config, made.api, made.folder = self.config, self.api, self.folder
        made.before = before
        made.addCleanup = self.addCleanup
        Case.start(made)
        return made

    def run_nothing(self):
        pass

    def add_pod(self, name, *containers, **more):
        made = pod(name, *containers)
        made["spec"].pop("nodeName", None)
        made["status"] = {"phase": "Pending"}
        made["spec"].update(more)
        self.api.pods[("ns", name)] = made
        return made

    def place(self, name, share):
        wanted = self.add_pod(name, (share, 0))
        self.assertEqual(self.filter_names(wanted, "n")[0], ["n"])
        self.assertEqual(self.bind(name, "n"), "")

    def test_each_knows_what_the_other_has_bound(self):
        other = self.other()
        self.place("a", 30)
        self.assertIn("most: 20 hundredths", other.sees(pod("b", (30, 0)))["n"])
        other.place("c", 20)
        self.assertIn("most: 0 hundredths", self.sees(pod("d", (10, 0)))["n"])
        self.set("n", device(0))
        self.set("n", device(300))
        for each in (self, other):
            each.sees(pod("d", (30, 0)), "n")

    def test_clocks_that_differ(self):
        """Nothing of one extender's clock reaches another: theirs differ by a day and more."""
        ahead = ["unshare", "--time", "--monotonic", "100000"]
        if subprocess.run([*ahead, "true"], capture_output=True, check=False).returncode:
            self.skipTest("time namespaces need root")
        other = self.other(ahead)
        self.place("a", 30)
        self.assertIn("most: 20 hundredths", other.sees(pod("b", (30, 0)))["n"])
        other.place("c", 20)
        self.assertIn("most: 0 hundredths", self.sees(pod("d", (10, 0)))["n"])
        for each in (self, other):
            self.assertEqual(each.filter_names(pod("d", (10, 0)), "n")[0], [])
        self.set("n", device(0))
        self.set("n", device(500))
        for each in (self, other):
            each.sees(pod("d", (50, 0)), "n")

    def test_restart(self):
        self.place("a", 30)
        self.process.kill()
        self.process.wait()
        again = self.other()
        self.assertIn("most: 20 hundredths", again.sees(pod("b", (30, 0)))["n"])

    def test_adopted_once(self):
        """A later change of the pod does not take the room again that the node has announced."""
        other = self.other()
        self.place("a", 30)
        other.sees(pod("b", (30, 0)))
        self.set("n", device(200))
        self.set("n", device(500))
        other.sees(pod("b", (50, 0)), "n")
        made = self.api.pods[("ns", "a")]
        made["metadata"]["labels"] = {"new": "1"}
        self.api.pods[("ns", "a")] = made
        self.set("m", device(100))
        other.sees(pod("b", (10, 0)), "m", among=("m",))
        self.assertEqual(other.filter_names(pod("b", (50, 0)), "n")[0], ["n"])

    def test_annotation_of_a_user(self):
        """Nothing beyond what the pod requests is held, and nothing on another node."""
        made = self.add_pod("mine", (10, 0), nodeName="n")
        made["metadata"]["annotations"] = {"cleave.dev/placed": json.dumps([
            {"container": 0, "device": "gpu0", "milli": 500, "mib": 40960, "free": 500},
            {"container": 1, "device": "gpu0", "milli": 500, "mib": 40960, "free": 500},
            {"container": -1, "device": "gpu0"}, 7, {}])}
        self.api.pods[("ns", "mine")] = made
        self.assertIn("most: 40 hundredths", self.sees(pod("b", (50, 0)))["n"])
        self.sees(pod("b", (40, 0)), "n")
        broken = self.add_pod("broken", (10, 0), nodeName="n")
        broken["metadata"]["annotations"] = {"cleave.dev/placed": "{"}
        self.api.pods[("ns", "broken")] = broken
        self.place("a", 40)

    def test_two_take_the_same_pods(self):
        """Two schedulers at a time: what both bind before either is told is more than fits, which
        the node refuses; nothing more is given after that."""
        other = self.other()
        for name in "ab":
            wanted = self.add_pod(name, (30, 0))
            for each in (self, other):
                each.filter_names(wanted, "n")
        self.assertEqual(self.bind("a", "n"), "")
        other.bind("b", "n")
        for each in (self, other):
            each.sees(pod("c", (30, 0)))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
