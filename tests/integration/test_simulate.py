#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cleave simulate`, `cleave fit` and `cleave defrag`: files in, tables, JSON and charts out, no agent.

Argument: the cleave program.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom
from pathlib import Path

from cli_sandbox import run_in_terminal

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples/placement"
FLEET, WEEK, WANTED = (EXAMPLES / f"{name}.yaml" for name in ("fleet", "week", "wanted"))
CLEAVE = "cleave"

NODES = "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,4,A\nb,64000,262144,4,B\n"
PODS = ("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,arrives_s,stays_s\n"
        "p,4000,1024,4,1000,A,0,10\nq,4000,1024,4,1000,A,5,10\nr,4000,1024,4,1000,A,12,10\n"
        "s,4000,1024,5,1000,,13,1\nt,4000,1024,1,500,C,14,1\n")


def cleave(*words):
    return subprocess.run([CLEAVE, *map(str, words)], capture_output=True, text=True,
                          timeout=120, check=False)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def items(self, *words, code=0):
        done = cleave(*words, "-o", "json")
        self.assertEqual(done.returncode, code)
        # On a busy machine there may be lines of progress.
        self.assertRegex(done.stderr, r"\A(cleave: [^\n]* \d+ %[^\n]*\n)*\Z")
        return json.loads(done.stdout)["items"]


class Simulate(Case):
    def test_arrivals_and_departures(self):
        files = self.file("nodes.csv", NODES), self.file("pods.csv", PODS)
        stay, = self.items("simulate", *files, "-p", "balance")
        go, = self.items("simulate", *files, "-p", "balance", "--times")
        self.assertEqual((stay["placed"], stay["too_large"], stay["of_no_model"]), (1, 1, 1))
        self.assertEqual((go["arrived"], go["placed"], go["refused"]), (5, 2, 3))
        self.assertAlmostEqual(go["busy_device_hours"], 80 / 3600)

    def test_what_cannot_fit_is_counted(self):
        """Models that the fleet lacks, and sizes that no node has: no such request counts as placed."""
        pods = self.file("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
                         "a,64001,1,1,1000,\nb,1,262145,1,1000,\nc,1,1,5,1000,\nd,1,1,1,1000,Z\n"
                         "e,1,1,1,1000,Y|Z\nf,1,1,1,1000,B|Z\n")
        for row in self.items("simulate", self.file("nodes.csv", NODES), pods,
                              "-p", "random,first-fit,best-fit,worst-fit,packing,dot-product,"
                              "clustering,fgd,balance"):
            self.assertEqual((row["arrived"], row["placed"], row["refused"], row["too_large"],
                              row["of_no_model"]), (6, 1, 5, 3, 2), row["policy"])
            self.assertEqual(row["devices_in_use"], 1)

    def test_gangs_and_moves(self):
        nodes = self.file("nodes.csv", NODES)
        pods = self.file("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gang\n"
                         + "".join(f"p{i},1000,1024,1,600,\n" for i in range(8))
                         + "".join(f"g{i},1000,1024,1,1000,1\n" for i in range(2))
                         + "s,1000,1024,1,400,\n")
        row, = self.items("simulate", nodes, pods, "-p", "balance")
        self.assertEqual((row["placed"], row["refused"], row["gangs"], row["gangs_placed"]),
                         (9, 2, 1, 0))
        self.assertNotIn("moved", row)
        # With 0.3 on each of two devices, a whole device is free after one lease has moved.
        pods = self.file("pods.yaml", "version: 1\nrequests:\n"
                         "  - {name: a, count: 8, share: 0.3}\n"
                         "  - {name: b, gang: 2, devices: 1}\n")
        for budget, placed, moved in ((0, 8, None), (2, 10, 2)):
            row, = self.items("simulate", nodes, pods, "-p", "worst-fit",
                              *(("--defrag", budget) if budget else ()))
            self.assertEqual((row["placed"], row.get("moved")), (placed, moved))
        done = cleave("simulate", nodes, pods, "--fill", 100)
        self.assertEqual((done.returncode, done.stdout), (78, ""))
        self.assertIn("the trace has gangs", done.stderr)
        done = cleave("simulate", nodes, pods, "--defrag", 9)
        self.assertEqual(done.returncode, 64)

    def test_who_stays_beyond_the_end_of_time(self):
        pods = self.file("pods.csv", PODS.partition("\n")[0] + "\n"
                         + f"p,1,1,4,1000,A,{1 << 62},{(1 << 63) - 1}\nq,1,1,4,1000,A,{1 << 62},0\n")
        row, = self.items("simulate", self.file("nodes.csv", NODES), pods, "--times", "-p", "fgd")
        self.assertEqual((row["placed"], row["refused"]), (1, 1))

    def test_the_same_seed_is_the_same_result(self):
        words = ("simulate", FLEET, WEEK, "--times", "-p", "random,balance", "--seed")
        first, again, other = (self.items(*words, seed) for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_drawn_requests_end(self):
        """A generator says how long requests stay: without --times too."""
        words = ("simulate", FLEET, WEEK, "-p", "balance")
        self.assertEqual(self.items(*words), self.items(*words, "--times"))

    def test_policies_side_by_side_and_alone_agree(self):
        words = ("simulate", FLEET, WEEK, "--fill", 120, "-p")
        together = self.items(*words, "best-fit,fgd,balance")
        for row in together:
            self.assertEqual(self.items(*words, row["policy"]), [row])

    def test_chart(self):
        path = self.folder / "curves.svg"
        done = cleave("simulate", FLEET, WEEK, "--fill", 50, "--svg", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        names = {node.firstChild.data for node in
                 xml.dom.minidom.parse(str(path)).getElementsByTagName("text")}
        self.assertLess({"first-fit", "best-fit", "fgd", "balance"}, names)

    def test_capacity(self):
        nodes = self.file("nodes.csv", NODES)
        pods = self.file("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + "".join(
            f"p{i},1000,1024,1,1000\n" for i in range(100)))
        rows = self.items("simulate", nodes, pods, "--accept", "97%")
        self.assertEqual([(row["model"], row["nodes"]) for row in rows], [("A", 25), ("B", 25)])
        self.assertEqual(rows[0]["accepted"], 1)
        counts = [point["nodes"] for point in rows[0]["curve"]]
        self.assertEqual(counts, sorted(counts))
        few, _ = self.items("simulate", nodes, pods, "--accept", "97%", "--most-nodes", 10)
        self.assertEqual((few["nodes"], few["accepted"]), (None, 0.4))
        # On a terminal each number of nodes that is tried is shown.
        _, text = run_in_terminal([CLEAVE, "simulate", nodes, pods, "--accept", "97%"],
                                  {**os.environ, "TERM": "xterm"})
        for model in "AB":
            self.assertRegex(text, f"Nodes with {model}: trying 25, \\d+ %")

    def test_capacity_that_no_number_has(self):
        """Requests that fit on no node of a kind end its search at once: the rest is what any
        number accepts."""
        nodes = self.file("nodes.csv", NODES)
        pods = self.file("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + "".join(
            f"p{i},1000,1024,{1 if i % 4 else 64},1000\n" for i in range(100)))
        for row in self.items("simulate", nodes, pods, "--accept", "97%"):
            self.assertEqual((row["nodes"], row["accepted"]), (None, 0.75))
            self.assertEqual(len(row["curve"]), 1)
        for row in self.items("simulate", nodes, pods, "--accept", "75%"):
            self.assertEqual((row["nodes"], row["accepted"]), (19, 0.75))

    def test_progress_without_a_terminal(self):
        """A line now and then, here of a trace of ten million requests."""
        long = self.file("long.yaml", WEEK.read_text().replace("per_hour: 40", "per_hour: 400")
                         .replace("until: 7d", "until: 1000d"))
        for more, said in ((["--accept", "99%"], rb"cleave: nodes with \S+: trying 1, \d+ %\n"),
                           (["-p", "fgd"], rb"cleave: \d+ % of the trace is played\n")):
            with self.subTest(said), subprocess.Popen(
                    [CLEAVE, "simulate", FLEET, long, "--times", *more],
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
                self.assertRegex(process.stderr.readline(), said)
                process.kill()

    def test_memory_does_not_grow_with_rows(self):
        """Only names need memory, less than eight bytes each."""
        def peak(rows):
            pods, most = self.folder / "many.csv", 0
            with open(pods, "w", encoding="utf-8") as file:
                file.write("name,cpu_milli,memory_mib,num_gpu,gpu_milli,arrives_s,stays_s\n")
                file.writelines(f"p{i},4000,1024,1,{1 + i % 1000},{i},9\n" for i in range(rows))
            with subprocess.Popen(
                    [CLEAVE, "simulate", self.file("nodes.csv", NODES), pods, "--times", "-p",
                     "balance"], stdout=subprocess.DEVNULL) as process:
                while process.poll() is None:
                    status = Path(f"/proc/{process.pid}/status").read_text()
                    found = re.search(r"VmHWM:\s+(\d+)", status)
                    most = max(most, int(found[1]) if found else 0)
                    time.sleep(0.01)
            self.assertEqual(process.returncode, 0)
            return most * 1024

        few, many = peak(100_000), peak(600_000)
        print(f"{(many - few) / 500_000:.1f} bytes a row")
        self.assertLess(many - few, 8 * 500_000)

    def test_wrong_files_say_where(self):
        nodes, bad = self.file("nodes.csv", NODES), self.file("bad.csv", PODS + "p,1,1,1,1,,,\n")
        for words, code, message in (
                ((nodes, bad), 78, f"{bad}:7:1: the name 'p' appears twice"),
                ((bad, nodes), 78, f"{bad}:1:1: the column 'sn' is missing"),
                ((nodes, self.folder / "none.csv"), 78, "No such file"),
                ((FLEET, self.file("x.yaml", "version: 1\nmix: [{shar: 1}]\n")), 78,
                 "x.yaml:2:8: "),
                ((FLEET, self.file("y.yaml", "version: 1\nrequests: [{name: a, cpus: 1}, "
                                   "{name: a, cpus: 2}]\n")), 78,
                 "y.yaml:2:32: the name 'a' appears twice"),
                ((nodes, self.file("minus.csv", PODS + "u,1,-5,1,1,,,\n")), 78,
                 "minus.csv:7:5: '-5' is less than 0"),
                ((nodes, self.file("late.csv", PODS + f"u,1,5,1,1,,{1 << 63},\n")), 78,
                 "late.csv:7:12: "),
                ((nodes, self.file("nobody.csv", PODS.partition("\n")[0] + "\n")), 78,
                 "nothing arrives"),
                ((self.file("empty.csv", NODES.partition("\n")[0] + "\n"), WEEK), 78,
                 "empty.csv:2:1: the fleet has no nodes"),
                ((self.file("empty.yaml", "version: 1\nnodes: []\n"), WEEK), 78,
                 "the fleet has no nodes"),
                ((FLEET, WEEK, "-p", "fdg"), 64, "did you mean 'fgd'?"),
                ((FLEET, WEEK, "--fill", 50, "--accept", "99%"), 64, "one of them")):
            done = cleave("simulate", *words)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stdout, "")


class Fit(Case):
    def test_what_fits_says_where(self):
        items = self.items("fit", FLEET, WANTED)
        self.assertEqual([item["fits"] for item in items], ["yes"] * 10)
        self.assertEqual(items[0]["model"], "A100-80GB")
        places = [(item["node"], item["devices"], item.get("start")) for item in items[1:]]
        self.assertEqual(len(set(places)), 9)

    def test_beside_what_is_placed(self):
        items = self.items("fit", Defrag.NODES, Defrag.CROWDED, code=75)
        self.assertEqual(items, [{"request": 1, "fits": "no",
                                  "missing": "free devices on one node"}])

    def test_gangs_all_or_none(self):
        """Twelve devices on ten nodes of one: none of the gang is placed, and others are."""
        nodes = self.file("nodes.csv", "sn,cpu_milli,memory_mib,gpu\n" + "".join(
            f"n{i},8000,8192,1\n" for i in range(10)))
        wanted = "version: 1\nrequests:\n  - {gang: %d, devices: 1}\n  - {count: 3, share: 0.5}\n"
        items = self.items("fit", nodes, self.file("many.yaml", wanted % 12), code=75)
        self.assertEqual([item["fits"] for item in items], ["no"] * 12 + ["yes"] * 3)
        self.assertEqual({item.get("missing") for item in items[:12]},
                         {"room for all of its gang at once"})
        items = self.items("fit", nodes, self.file("few.yaml", wanted % 8))
        self.assertEqual([item["fits"] for item in items], ["yes"] * 11)

    def test_what_is_missing(self):
        wanted = self.file("wanted.yaml", "version: 1\nrequests:\n"
                           "  - {cpus: 200, devices: 1}\n  - {devices: 1, models: [T4]}\n"
                           "  - {devices: 9}\n  - {devices: 1, device_memory: 100Gi}\n")
        items = self.items("fit", FLEET, wanted, code=75)
        self.assertEqual([item["missing"] for item in items], [
            "processors beside free devices", "no node has one of its models",
            "free devices on one node", "memory on devices with free compute"])


class Defrag(Case):
    NODES, CROWDED = EXAMPLES / "nodes.yaml", EXAMPLES / "crowded.yaml"

    def test_one_move(self):
        self.assertEqual(self.items("defrag", self.NODES, self.CROWDED), [
            {"for": "training", "do": "move", "lease": "images", "from": "node 1: 0",
             "to": "node 0: 0"},
            {"for": "training", "do": "place", "to": "node 1: 0,1"}])

    def test_each_step_fits(self):
        """A lease that makes place for another one moves before it."""
        nodes = self.file("nodes.yaml", "version: 1\nnodes:\n"
                          "  - {model: A, count: 3, cpus: 8, memory: 8Gi, devices: 1}\n")
        wanted = self.file("wanted.yaml", "version: 1\nplaced:\n"
                           "  - {name: a, node: 0, on: [0], share: 0.7}\n"
                           "  - {name: b, node: 1, on: [0], share: 0.4}\n"
                           "  - {name: c, node: 1, on: [0], share: 0.2, fixed: yes}\n"
                           "  - {name: e, node: 2, on: [0], share: 0.6, fixed: yes}\n"
                           "requests:\n  - {name: d, share: 0.9}\n")
        free = {"node 0: 0": 0.3, "node 1: 0": 0.4, "node 2: 0": 0.4}
        share = {"a": 0.7, "b": 0.4}
        items = self.items("defrag", nodes, wanted)
        self.assertEqual([item["do"] for item in items], ["move"] * 2 + ["place"])
        for item in items[:-1]:
            free[item["from"]] += share[item["lease"]]
            free[item["to"]] -= share[item["lease"]]
            self.assertGreaterEqual(free[item["to"]], -1e-9, items)
        self.assertGreaterEqual(free[items[-1]["to"]], 0.9 - 1e-9)

    def test_what_is_fixed_stays(self):
        text = self.CROWDED.read_text().replace("share: 0.3", "fixed: yes, share: 0.3")
        items = self.items("defrag", self.NODES, self.file("fixed.yaml", text), code=75)
        self.assertEqual(items, [{"for": "training", "do": "cannot fit"}])

    def test_what_is_placed_must_have_room(self):
        text = self.CROWDED.read_text().replace("node: 1", "node: 0")
        text = text.replace("share: 0.3", "share: 0.6")
        done = cleave("defrag", self.NODES, self.file("twice.yaml", text))
        self.assertEqual((done.returncode, done.stdout), (78, ""))
        self.assertIn("number 3 has no room on node 0: taken", done.stderr)


if __name__ == "__main__":
    CLEAVE = sys.argv.pop(1)
    unittest.main(verbosity=2)
