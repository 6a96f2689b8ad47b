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
                              *(("--moves", budget) if budget else ()))
            self.assertEqual((row["placed"], row.get("moved")), (placed, moved))
        done = cleave("simulate", nodes, pods, "--fill", 100)
        self.assertEqual((done.returncode, done.stdout), (78, ""))
        self.assertIn("the trace has gangs", done.stderr)
        done = cleave("simulate", nodes, pods, "--moves", 9)
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

    def test_draws(self):
        """The figures are those of the seeds one after the other, with their extremes as bounds."""
        words = "simulate", FLEET, WEEK, "-p", "balance,first-fit"
        rows = self.items(*words, "--draws", 4, "--seed", 7)
        alone = [self.items(*words, "--seed", seed) for seed in range(7, 11)]
        for row, policy in zip(rows, zip(*alone)):
            self.assertEqual((row["policy"], row["draws"], row["first_seed"], row["last_seed"]),
                             (policy[0]["policy"], 4, 7, 10))
            self.assertAlmostEqual(row["inside"], 3 / 5)
            for key in "accepted", "allocated", "allocated_mean", "stranded":
                values = [draw[key] for draw in policy]
                self.assertLess(min(values), max(values))
                self.assertAlmostEqual(row[key], sum(values) / 4)
                self.assertEqual((row[key + "_from"], row[key + "_to"]), (min(values), max(values)))
            self.assertEqual(row["best"], sum(
                draw["allocated_mean"] == max(each["allocated_mean"] for each in all_of_draw)
                for draw, all_of_draw in zip(policy, alone)))
        done = cleave(*words, "--draws", 19, "--fill", 90)
        self.assertIn("seeds 0 to 18; one more draw is in an interval with a probability of 90 % or more",
                      done.stdout)
        waits, = self.items("simulate", FLEET, WEEK, "-p", "fgd", "--queue", "fifo", "--draws", 2)
        self.assertLessEqual(waits["wait_mean_s_from"], waits["wait_mean_s_to"])

    def test_draws_of_what_is_not_drawn(self):
        files = self.file("nodes.csv", NODES), self.file("pods.csv", PODS)
        for words, said in ((("--draws", 3), "nothing is drawn here"), (("--draws", 1), "takes 2 or more"),
                            (("--draws", 5000), "is not from 1 to 4096"),
                            (("--draws", 3, "--accept", "90%"), "leave out --accept")):
            done = cleave("simulate", *files, *words)
            self.assertEqual((done.returncode, done.stdout), (64, ""))
            self.assertIn(said, done.stderr)
        self.assertEqual(len(self.items("simulate", *files, "-p", "random", "--draws", 3)), 1)

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
        """The nodes that are found accept the part that was asked for, and one node less does not."""
        nodes = self.file("nodes.csv", NODES)
        pods = self.file("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + "".join(
            f"p{i},1000,1024,1,1000\n" for i in range(100)))
        rows = self.items("simulate", nodes, pods, "--accept", "97%")
        self.assertEqual(sum(row["nodes"] for row in rows), 25)
        few = cleave("simulate", nodes, pods, "--accept", "97%", "--most-nodes", 10)
        self.assertEqual((few.returncode, few.stdout), (75, ""))
        self.assertIn("at most 80.00 % can be placed", few.stderr)
        # On a terminal each replay is shown.
        _, text = run_in_terminal([CLEAVE, "simulate", nodes, pods, "--accept", "97%"],
                                  {**os.environ, "TERM": "xterm"})
        self.assertRegex(text, "replay \\d+, \\d+ %; the lowest cost so far: ")
        self.assertIn("accepted 100.00 % at a cost of 100", text)

    def test_capacity_by_prices(self):
        """The cheapest nodes of several kinds together: B where A will not do, and processors for
        what finds none beside the devices of B."""
        kinds = self.file("kinds.yaml", "version: 1\nnodes:\n"
                          "  - {model: A, cpus: 16, memory: 64Gi, devices: 2, price: 2}\n"
                          "  - {model: B, cpus: 64, memory: 256Gi, devices: 8, price: 10}\n"
                          "  - {model: none, cpus: 64, memory: 256Gi, devices: 0, price: 1}\n")
        wanted = self.file("wanted.yaml", "version: 1\nrequests:\n"
                           "  - {count: 20, devices: 1, cpus: 1}\n"
                           "  - {count: 3, devices: 8, cpus: 8}\n"
                           "  - {count: 10, cpus: 32}\n")
        rows = self.items("simulate", kinds, wanted, "--accept", "100%")
        self.assertEqual([(row["model"], row["nodes"], row["cost"]) for row in rows],
                         [("A", 10, 20), ("B", 3, 30), ("none", 4, 4)])

    def test_capacity_is_the_cheapest(self):
        """Ten nodes with the cheapest devices cost 70; each fleet of less than 65 refuses some."""
        kinds = self.file("kinds.yaml", "version: 1\nnodes:\n"
                          "  - {model: A, cpus: 12, memory: 64Gi, devices: 2, price: 2}\n"
                          "  - {model: B, cpus: 24, memory: 64Gi, devices: 4, price: 4}\n"
                          "  - {model: C, cpus: 48, memory: 64Gi, devices: 8, price: 7}\n")
        wanted = self.file("wanted.yaml", "version: 1\nrequests:\n"
                           "  - {count: 12, devices: 4, cpus: 8}\n  - {count: 3, devices: 1, cpus: 1}\n"
                           "  - {count: 1, devices: 4, cpus: 4}\n  - {count: 13, devices: 1, cpus: 2}\n"
                           "  - {count: 9, share: 0.4, cpus: 2}\n")
        rows = self.items("simulate", kinds, wanted, "--accept", "100%")
        self.assertEqual([row["nodes"] for row in rows], [1, 0, 9])

    def test_capacity_with_a_queue(self):
        """Where requests may wait, fewer nodes are enough."""
        nodes = self.file("nodes.csv", NODES)
        pods = self.file("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,arrives_s,stays_s\n"
                         + "".join(f"p{i},1000,1024,4,1000,0,100\n" for i in range(8)))
        for more, n in (((), 8), (("--queue", "fifo", "--wait", "100s"), 4),
                        (("--queue", "fifo"), 1)):
            rows = self.items("simulate", nodes, pods, "--times", "--accept", "100%", *more)
            self.assertEqual(sum(row["nodes"] for row in rows), n)

    def test_capacity_that_no_number_has(self):
        """Requests that fit on no node of any kind end the search: the rest is what any number
        accepts."""
        nodes = self.file("nodes.csv", NODES)
        pods = self.file("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + "".join(
            f"p{i},1000,1024,{1 if i % 4 else 64},1000\n" for i in range(100)))
        done = cleave("simulate", nodes, pods, "--accept", "97%")
        self.assertEqual((done.returncode, done.stdout), (75, ""))
        self.assertIn("accept 97.00 %: at most 75.00 % can be placed", done.stderr)
        rows = self.items("simulate", nodes, pods, "--accept", "75%")
        self.assertEqual(sum(row["nodes"] for row in rows), 19)

    def test_progress_without_a_terminal(self):
        """A line now and then, here of a trace of ten million requests."""
        long = self.file("long.yaml", WEEK.read_text().replace("per_hour: 40", "per_hour: 400")
                         .replace("until: 7d", "until: 1000d"))
        for more, said in ((["--accept", "99%"], rb"cleave: replay \d+, \d+ %; the lowest cost so far: 0\n"),
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

    def test_queues(self):
        """Waiting and completion times by each order, and the mean of what is allocated."""
        nodes = self.file("nodes.csv", "sn,cpu_milli,memory_mib,gpu\na,64000,262144,2\n")
        pods = self.file("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,arrives_s,stays_s,"
                         "priority\na,1,1,1,1000,0,10,1\nb,1,1,2,1000,1,10,1\nc,1,1,1,1000,2,5,1\n"
                         "d,1,1,1,1000,4,20,7\n")
        for order, waits, preempted in (("fifo", [0, 9, 16, 18], None),
                                        ("backfill", [0, 0, 9, 16], None),
                                        ("priority", [0, 0, 23, 32], None)):
            row, = self.items("simulate", nodes, pods, "-p", "best-fit", "--queue", order)
            self.assertEqual(row["placed"], 4)
            self.assertAlmostEqual(row["wait_mean_s"], sum(waits) / 4, msg=order)
            self.assertEqual((row["wait_p50_s"], row["wait_p99_s"]), (waits[1], waits[3]))
            self.assertAlmostEqual(row["completion_mean_s"], (sum(waits) + 45) / 4)
            self.assertEqual(row.get("preempted"), preempted)
        row, = self.items("simulate", nodes, pods, "-p", "best-fit", "--queue", "fifo",
                          "--wait", "17s")
        self.assertEqual((row["placed"], row["given_up"]), (3, 1))
        # One of two devices is in use until the last arrival.
        row, = self.items("simulate", nodes, pods, "-p", "best-fit", "--queue", "fifo")
        self.assertEqual(row["allocated_mean"], 0.5)
        for words, message in ((("--queue", "fifo", "--moves", 1), "leave out --fill, --moves"),
                               (("--wait", "1h"), "add --queue")):
            done = cleave("simulate", nodes, pods, *words)
            self.assertEqual(done.returncode, 64)
            self.assertIn(message, done.stderr)

    def test_admission(self):
        """Of requests whose duration is known, a large and long one is refused when little is
        free, by every policy."""
        nodes = self.file("nodes.csv", NODES)
        pods = self.file("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,arrives_s,stays_s\n"
                         + "".join(f"p{i},1,1,1,1000,{i},{20}\n" for i in range(7))
                         + "large,1,1,1,1000,8,9000\nsmall,1,1,1,1000,9,1\n")
        for row in self.items("simulate", nodes, pods, "--times", "-p", "fgd,first-fit,balance",
                              "--admit"):
            self.assertEqual((row["placed"], row["not_admitted"]), (8, 1), row["policy"])
        for row in self.items("simulate", nodes, pods, "--times", "-p", "fgd"):
            self.assertEqual((row["placed"], row.get("not_admitted")), (8, None))

    def test_what_if(self):
        fleet = self.file("fleet.yaml", "version: 1\nnodes:\n"
                          "  - {model: A, count: 2, cpus: 8, memory: 64Gi, devices: 4, rack: r1}\n"
                          "  - {model: B, count: 3, cpus: 8, memory: 64Gi, devices: 2, rack: r2}\n")
        wanted = self.file("wanted.yaml", "version: 1\nrequests: [{count: 40, devices: 1}]\n")
        for words, devices in (((), 14), (("--lose", "rack=r1"), 6), (("--lose", "0,3-4"), 6),
                               (("--lose", "0,rack=r2"), 4), (("--add", "B=3"), 20),
                               (("--add", "A=1,B=1", "--lose", "5"), 16)):
            row, = self.items("simulate", fleet, wanted, "-p", "fgd", *words)
            self.assertEqual(row["placed"], devices, words)
        for words, message in ((("--lose", "rack=r7"), "no node of the fleet is in rack 'r7'"),
                               (("--lose", "4-5"), "'4-5' is no node or range of nodes from 0 to 4"),
                               (("--lose", "x"), "'x' is no node"),
                               (("--add", "C=2"), "no node has the model 'C'"),
                               (("--add", "B"), "'B' is no MODEL=COUNT")):
            done = cleave("simulate", fleet, wanted, *words)
            self.assertEqual((done.returncode, done.stdout), (64, ""))
            self.assertIn(message, done.stderr)

    def test_gangs_in_one_rack(self):
        """Gangs with the rule, or all of them by an option, are in one rack, with moves and in a
        queue too; one that no rack could have is refused and holds up no other."""
        fleet = self.file("racks.yaml", "version: 1\nnodes:\n" + "".join(
            f"  - {{model: A, count: 1, cpus: 8, memory: 64Gi, devices: 2{rack}}}\n"
            for rack in ("", ", rack: r1", ", rack: r2", ", rack: r1", ", rack: r2", "")))
        gang = "{{gang: {}, devices: 1, for: 10s{}}}"
        ruled, free = gang.format(4, ", rule: one-rack"), gang.format(4, "")
        large = gang.format(5, ", rule: one-rack")

        def play(requests, *words):
            trace = self.file("gangs.yaml", f"version: 1\nrequests: [{requests}]\n")
            row, = self.items("simulate", fleet, trace, "-p", "first-fit", *words)
            return row["gangs_placed"], row["gangs_in_one_rack"]
        self.assertEqual(play(f"{free}, {free}, {free}"), (3, 0))
        self.assertEqual(play(f"{ruled}, {ruled}, {ruled}"), (2, 2))
        self.assertEqual(play(f"{ruled}, {ruled}, {ruled}", "--moves", 2), (2, 2))
        self.assertEqual(play(f"{free}, {free}, {free}", "--gangs", "one-rack"), (2, 2))
        for queue in "fifo", "backfill", "priority":
            self.assertEqual(play(f"{large}, {ruled}, {ruled}, {ruled}", "--queue", queue), (3, 3))
        # There are six nodes: a gang of seven delays no other job.
        apart = gang.format(6, ", rule: apart"), gang.format(7, ", rule: apart")
        self.assertEqual(play(f"{apart[1]}, {apart[0]}, {free}", "--queue", "fifo"), (2, 0))
        rows = self.file("gangs.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gang,rule\n" + "".join(
            f"p{i},1,1,1,1000,{i // 4 + 1},one-rack\n" for i in range(8)))
        row, = self.items("simulate", fleet, rows, "-p", "balance")
        self.assertEqual((row["placed"], row["gangs_in_one_rack"]), (8, 2))

    def test_moves_for_gangs_in_one_rack(self):
        """No lease moves for a gang where one rack has room as it is, and a rack in which room can
        be made is tried however little of it is free."""
        def play(sizes, n, gang):
            fleet = self.file("racks.yaml", "version: 1\nnodes:\n" + "".join(
                f"  - {{model: A, cpus: 99, memory: 64Gi, devices: {size}{rack}}}\n"
                for size, rack in zip(sizes, (", rack: r1", ", rack: r2", ""))))
            trace = self.file("gangs.yaml", "version: 1\nrequests: [" + n * "{share: 0.6}, " +
                              f"{{gang: {gang}, devices: 1, rule: one-rack}}]\n")
            row, = self.items("simulate", fleet, trace, "-p", "first-fit", "--moves", 2)
            return row["gangs_in_one_rack"], row["moved"]
        self.assertEqual(play((6, 4, 2), 4, 3), (1, 0))
        self.assertEqual(play((6, 2, 2), 4, 3), (1, 1))
        self.assertEqual(play((6, 2, 2), 4, 4), (1, 2))
        self.assertEqual(play((4, 2, 1), 1, 4), (1, 1))
        self.assertEqual(play((4, 2, 1), 1, 5), (0, 0))

    def test_speeds(self):
        """A request takes its time by the speed of the model that it is on: in a replay, where the
        next one then has room or not, in a queue, and where nodes are found."""
        fleet = self.file("fleet.yaml", "version: 1\nnodes:\n" + "".join(
            f"  - {{model: {model}, cpus: 8, memory: 64Gi, devices: 1, price: {price}}}\n"
            for model, price in (("A", 3), ("B", 1))))
        head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,arrives_s,stays_s\n"
        trace = self.file("jobs.csv", head +
                          "p,1,1,1,1000,A,0,100\nq,1,1,1,1000,B,0,100\nr,1,1,0,0,,0,100\n"
                          "s,1,1,1,1000,A,60,10\nt,1,1,1,1000,B,210,10\n")
        for words, placed in ((("--times",), 4), (("--times", "--speeds", "A=2"), 5),
                              (("--times", "--speeds", "A=2,B=0.4"), 4),
                              (("--queue", "fifo", "--speeds", "A=2,B=0.4"), 5)):
            row, = self.items("simulate", fleet, trace, "-p", "best-fit", *words)
            self.assertEqual(row["placed"], placed, words)
        # 50, 250, 100, 5, and 25 after a wait of 40 s.
        self.assertEqual(row["completion_mean_s"], (50 + 250 + 100 + 5 + 65) / 5)
        jobs = self.file("equal.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,arrives_s,stays_s\n"
                         + "".join(f"p{i},1,1,1,1000,{i},8\n" for i in range(16)))
        for speeds, nodes in (("A=1", {"A": 0, "B": 8}), ("B=0.5", {"A": 0, "B": 16}),
                              ("A=4", {"A": 2, "B": 0})):
            items = self.items("simulate", fleet, jobs, "--times", "--accept", "100%", "--speeds", speeds)
            self.assertEqual({row["model"]: row["nodes"] for row in items}, nodes, speeds)
        for words, message in ((("--times", "--speeds", "C=2"), "no node has the model 'C'"),
                               (("--times", "--speeds", "A=0"), "'A=0' is no MODEL=FACTOR"),
                               (("--times", "--speeds", "A=nan"), "'A=nan' is no MODEL=FACTOR"),
                               (("--times", "--speeds", "A"), "'A' is no MODEL=FACTOR"),
                               (("--times", "--speeds", "A=1e9"), "from 0.001 to 1000"),
                               (("--speeds", "A=2"), "add --times"),
                               (("--fill", 50, "--speeds", "A=2"), "leave out --speeds")):
            done = cleave("simulate", fleet, trace, *words)
            self.assertEqual((done.returncode, done.stdout), (64, ""))
            self.assertIn(message, done.stderr)

    def test_power(self):
        """What nodes draw, from the first arrival to the last one: a device and a socket in use draw
        all of their power, and policies that count it put the first request where less is added."""
        head = "sn,cpu_milli,memory_mib,gpu,model,gpu_idle_w,gpu_full_w,socket_idle_w,socket_full_w,"
        table = self.file("nodes.csv", head + "socket_cpu_milli\n"
                          "big,64000,262144,4,A,50,400,20,270,32000\n"
                          "small,64000,262144,4,B,10,70,20,120,32000\n")
        tree = self.file("nodes.yaml", "version: 1\nnodes:\n" + "".join(
            f"  - {{model: {model}, cpus: 64, memory: 256Gi, devices: 4, device_watts: {device}, "
            f"socket_watts: {socket}, socket_cpus: 32}}\n"
            for model, device, socket in (("A", "50..400", "20..270"), ("B", "10..70", "20..120"))))
        pods = self.file("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,arrives_s,stays_s\n"
                         "p,4000,1024,1,500,1000,3600\nq,4000,1024,1,500,8200,3600\n")
        for nodes in table, tree:
            rows = {row["policy"]: row for row in self.items(
                "simulate", nodes, pods, "--times", "-p", "fgd,balance,pwr-fgd,pwr-balance")}
            for policy, added in (("fgd", 600), ("balance", 600), ("pwr-fgd", 160),
                                  ("pwr-balance", 160)):
                row = rows[policy]
                self.assertEqual(row["watts"], 320 + added, policy)
                self.assertAlmostEqual(row["watts_mean"], 320 + added / 2)
                self.assertAlmostEqual(row["energy_kwh"], (2 * 320 + added) / 1000)
        # Without times there is no energy.
        row, = self.items("simulate", table, pods, "-p", "pwr-balance", "--power", "0.5")
        self.assertEqual((row["watts"], "energy_kwh" in row), (480, False))
        self.assertEqual(row["curve"][-1]["watts"], 480)
        done = cleave("simulate", table, pods, "--times", "-p", "fgd")
        self.assertRegex(done.stdout, r"POWER +ENERGY[^\n]*\nfgd .* 0\.6 kW +1 kWh")

    def test_power_that_is_wrong(self):
        nodes, pods = self.file("nodes.csv", NODES), self.file("pods.csv", PODS)
        node = "version: 1\nnodes:\n  - {model: A, cpus: 64, memory: 1Gi, devices: 4, device_watts: "
        for fleet, words, code, said in (
                (nodes, ("-p", "fgd,pwr-fgd"), 78, "nodes.csv: no node says what it draws"),
                (nodes, ("--power", "0.5"), 64, "--power is for the policies pwr-fgd and pwr-balance"),
                (nodes, ("--power", "2", "-p", "pwr-fgd"), 64, "2"),
                (self.file("a.yaml", node + "300}\n"), (), 78, "a.yaml:3:"),
                (self.file("b.yaml", node + "400..50}\n"), (), 78, "no less in use than idle"),
                (self.file("c.yaml", node + "-1..50}\n"), (), 78, "'-1..50' is no power in watts"),
                (self.file("d.csv", NODES.replace("model\n", "model,gpu_full_w\n").replace(
                    ",A\n", ",A,many\n")), (), 78, "d.csv:2:")):
            done = cleave("simulate", fleet, pods, *words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(said, done.stderr)

    def test_joined_by_nvlink(self):
        """Threes of devices, and requests for two that NVLink joins, or on one NUMA node."""
        nodes = "sn,cpu_milli,memory_mib,gpu,model,nvlink,numa\nn1,9000,9000,6,A,3,3\n"
        fleets = (self.file("threes.csv", nodes),
                  self.file("threes.yaml", "version: 1\nnodes:\n  - {model: A, cpus: 9, memory: 9Gi, "
                            "devices: 6, nvlink: 3, numa: 3}\n"))
        head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,nvlink,numa\n"
        for fleet in fleets:
            for key, placed in (("nvlink", 2), ("numa", 3), ("rack", None)):
                trace = self.file("two.yaml", "version: 1\nrequests: "
                                  f"[{{count: 4, devices: 2, {key}: on}}]\n")
                if placed is None:
                    self.assertEqual(cleave("simulate", fleet, trace).returncode, 78)
                    continue
                row, = self.items("simulate", fleet, trace, "-p", "balance")
                self.assertEqual(row["placed"], placed, key)
            rows = self.file("two.csv", head + "a,1,1,1,1000,,\nb,1,1,4,1000,1,\nc,1,1,2,1000,1,0\n")
            row, = self.items("simulate", fleet, rows, "-p", "first-fit")
            self.assertEqual((row["placed"], row["too_large"]), (2, 1))
        done = cleave("fit", fleets[1], self.file("four.yaml", "version: 1\nrequests: "
                                                  "[{devices: 4, nvlink: on}]\n"))
        self.assertEqual(done.returncode, 75)
        self.assertIn("joined by NVLink", done.stdout)

    def test_racks_that_are_wrong(self):
        bare = self.file("bare.yaml", "version: 1\nnodes:\n"
                         "  - {model: A, cpus: 8, memory: 64Gi, devices: 4}\n")
        racks = self.file("racks.yaml", "version: 1\nnodes:\n"
                          "  - {model: A, cpus: 8, memory: 64Gi, devices: 4, rack: r1}\n")
        gang = self.file("gang.yaml", "version: 1\nrequests: [{gang: 2, devices: 1, rule: one-rack}]\n")
        rule = self.file("rule.yaml", "version: 1\nrequests: [{gang: 2, rule: one-row}]\n")
        single = self.file("single.yaml", "version: 1\nrequests: [{devices: 1, rule: apart}]\n")
        whole = self.file("whole.yaml", "version: 1\nrequests: [{gang: 2, rule: together}]\n")
        rows = self.file("rows.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,group,rule\n"
                         "p1,1,1,1,1000,1,one-rack\n")
        gangs = self.file("gangs.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gang,rule\n"
                          "p1,1,1,1,1000,1,together\np2,1,1,1,1000,1,together\n")
        group = self.file("group.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,group\n"
                          "p1,1,1,1,1000,2147483648\n")
        for words, code, message in (
                ((bare, gang), 78, "gang.yaml:2:12: the rule one-rack needs a fleet with racks"),
                ((racks, rule), 78, "'one-row' is no rule of a gang: free, apart"),
                ((racks, whole), 78, "a gang on one node is one request"),
                ((racks, single), 78, "say how many with 'gang'"),
                ((bare, rows), 78, "rows.csv:2:17: the rule one-rack needs a fleet with racks"),
                ((racks, gangs), 78, "gangs.csv:2:17: a gang on one node is one request of several"),
                ((racks, gang, "--accept", "9%"), 78, "(the nodes of --accept have none)"),
                ((racks, group), 78, "group.csv:2:15: '2147483648' is more than 2147483647"),
                ((bare, gang, "--gangs", "one-rack"), 78, "no node has a rack"),
                ((racks, gang, "--gangs", "one-rack", "--accept", "9%"), 64, "leave out --gangs"),
                ((racks, gang, "--gangs", "one-row"), 64, "one-rack")):
            done = cleave("simulate", *words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(message, done.stderr)
        done = cleave("fit", racks, gang)
        self.assertEqual(done.returncode, 0)
        done = cleave("fit", self.file("apart.yaml", "version: 1\nnodes:\n" + "".join(
            f"  - {{model: A, cpus: 8, memory: 64Gi, devices: 1, rack: r{i}}}\n" for i in range(4))), gang)
        self.assertEqual(done.returncode, 75)
        self.assertIn("room for all of its gang", done.stdout)

    def test_what_if_in_mig(self):
        """Half of the shares become instances; the others, and what is whole, stay."""
        fleet = self.file("fleet.yaml", "version: 1\nnodes:\n"
                          "  - {model: A100-80GB, cpus: 99, memory: 64Gi, devices: 8, mig: on}\n")
        wanted = self.file("wanted.yaml", "version: 1\nrequests: [{count: 40, share: 0.25}]\n")
        row, = self.items("simulate", fleet, wanted, "-p", "fgd")
        self.assertEqual(row["placed"], 0)
        row, = self.items("simulate", fleet, wanted, "-p", "fgd", "--in-mig", "100%")
        self.assertEqual(row["placed"], 24)
        row, = self.items("simulate", fleet, wanted, "-p", "fgd", "--in-mig", "50%")
        self.assertTrue(10 <= row["placed"] <= 24, row["placed"])
        done = cleave("simulate", self.file("nodes.csv", NODES), wanted, "--in-mig", "50%")
        self.assertEqual(done.returncode, 78)
        self.assertIn("no node is divided by MIG", done.stderr)

    def test_published_traces(self):
        """Files as they are published: PAI's rows come in no order and its header apart, Philly's
        jobs as JSON, and their machines likewise."""
        self.file("pai_machine_spec.header", "machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n")
        machines = self.file("pai_machine_spec.csv", "m1,T4,96,512,2\nm2,CPU,96,512,0\n")
        self.file("pai_task_table.header", "job_name,task_name,inst_num,status,start_time,end_time,"
                  "plan_cpu,plan_mem,plan_gpu,gpu_type\n")
        tasks = self.file("pai_task_table.csv",
                          "j2,worker,2.0,Terminated,50.0,90.0,600.0,29.296875,50.0,T4\n"
                          "j1,tensorflow,1.0,Terminated,10.0,40.0,600.0,29.296875,100.0,T4\n"
                          "j1,ps,1.0,Terminated,10.0,40.0,600.0,29.296875,,CPU\n"
                          "j3,worker,1.0,Failed,95.0,96.0,100.0,1.0,25.0,V100\n")
        row, = self.items("simulate", machines, tasks, "--times", "-p", "fgd")
        self.assertEqual((row["arrived"], row["placed"], row["of_no_model"], row["gangs_placed"]),
                         (5, 4, 1, 1))
        machines = self.file("cluster_machine_list",
                             "machineId,number of GPUs, single GPU mem\nm31,8, 24GB\nm32,8, 24GB\n")
        attempt = {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23",
                   "detail": [{"ip": "m31", "gpus": ["gpu0"] * 8}, {"ip": "m32", "gpus": ["gpu0"] * 8}]}
        jobs = [{"status": "Pass", "vc": "ee9e8c", "jobid": "2", "attempts": [attempt],
                 "submitted_time": "2017-10-07 01:11:39", "user": "ce2f4c"},
                {"status": "Killed", "vc": "ee9e8c", "jobid": "1", "attempts": [],
                 "submitted_time": "2017-10-07 00:11:39", "user": "ce2f4c"}]
        log = self.file("cluster_job_log", json.dumps(jobs, indent=4))
        done = cleave("simulate", machines, log, "--queue", "backfill", "-p", "fgd", "-o", "json")
        self.assertEqual(done.stderr, "cleave: 1 jobs have no attempt or no start in the file, and were "
                         "left out\n")
        row, = json.loads(done.stdout)["items"]
        self.assertEqual((row["arrived"], row["placed"], row["completion_mean_s"]), (2, 2, 74))
        helios = self.file("cluster_log.csv", "\ufeffjob_id,user,vc,gpu_num,cpu_num,node_num,state,"
                           "submit_time,start_time,end_time,duration,queue\r\n"
                           "1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,"
                           "2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0\r\n"
                           "1425513,uzqls,vcpDC,2048,1,2,CANCELLED,2020-06-09 18:41:28,"
                           "2020-06-09 18:41:28,2020-06-17 14:15:21,675233,0\r\n")
        row, = self.items("simulate", self.file("nodes.csv", NODES), helios, "--times", "-p", "fgd")
        self.assertEqual((row["arrived"], row["placed"], row["too_large"]), (3, 1, 2))

    def test_rows_that_are_wrong_are_skipped(self):
        nodes = self.file("nodes.csv", NODES)
        pods = self.file("bad.csv", PODS + "u,1,-5,1,1,,15,\nv,4000,1024,1,1000,,11,\n"
                         "w,4000,1024,1,1000,,16,\n" + "x\n" * 20)
        done = cleave("simulate", nodes, pods, "--times")
        self.assertEqual((done.returncode, done.stdout), (78, ""))
        self.assertIn("bad.csv:7:5: '-5' is less than 0", done.stderr)
        done = cleave("simulate", nodes, pods, "--times", "--skip-bad", "-p", "fgd,balance", "-o",
                      "json")
        self.assertEqual(done.returncode, 0)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 11)
        self.assertIn("skipped: ", lines[0])
        self.assertIn("bad.csv:7:5: '-5' is less than 0", lines[0])
        self.assertIn("bad.csv:8:21: it arrives before the one above", lines[1])
        self.assertIn("22 rows were wrong, and were skipped", lines[10])
        for row in json.loads(done.stdout)["items"]:
            self.assertEqual((row["arrived"], row["placed"]), (6, 3))

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
