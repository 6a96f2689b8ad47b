# SPDX-License-Identifier: Apache-2.0
"""An agent with the journal of an earlier one, with a damaged journal, and with a worker that gives
arbitrary answers."""
import os
import signal
import sqlite3
import time

import worlds
from case import ROOT, Case, example, layout, main
from harness import wait_until

GPU = "select: {uuid: GPU-3773e735-4ebb-5c6c-a7ba-9e5442e9d3d0}"  # the first of the node
FIRST = layout(f"{GPU}, mig: on, partitions: [{{profile: 3g.20gb, count: 2}}]")
SECOND = layout(f"{GPU}, partitions: [{{profile: 1g.5gb, count: 7}}]")
COLUMNS = ("id", "what", "state", "error", "uid", "started_ns", "step", "n_steps", "target",
           "before", "keeps_layout")

class JournalCase(Case):
    def live(self):
        return self.live_in(worlds.Sim(os.path.join(ROOT, "examples", "dgx-a100.yaml")))

    def leave(self, agent, **row):
        """Leaves a row in the journal of an ended agent."""
        whole = {"id": "o1", "what": "apply x", "state": "running", "error": "", "uid": 0,
                 "started_ns": 1, "step": 1, "n_steps": 3, "target": SECOND,
                 "before": FIRST, "keeps_layout": 1, **row}
        names = [n for n in os.listdir(agent.state) if n.endswith((".db", ".sqlite"))]
        self.assertEqual(len(names), 1, os.listdir(agent.state))
        db = sqlite3.connect(os.path.join(agent.state, names[0]))
        with db:
            db.execute(f"INSERT OR REPLACE INTO journal({','.join(COLUMNS)}) "
                       f"VALUES({','.join('?' * len(COLUMNS))})",
                       [whole[column] for column in COLUMNS])
        db.close()

    @staticmethod
    def settled(agent):
        """The last operation, once it has ended; its id may be anything."""
        while agent.last()["ended_at"] is None:
            time.sleep(0.01)
        return agent.last()

    def left(self, world, **row):
        agent = self.start(world)
        agent.done(FIRST)
        agent.stop(signal.SIGKILL)
        self.leave(agent, **row)
        agent.start()
        return agent


class Journals(JournalCase):
    def test_gone_on_with(self):
        agent = self.left(self.live())
        operation = self.settled(agent)
        self.ends(operation, "done")
        self.assertEqual(operation["id"], "o1")
        self.assertEqual(len(self.names(agent)), 7)
        self.assertEqual(agent.get("/v1/layout?of=wanted")["layout"], SECOND)

    def test_remembered(self):
        """A later agent reports how an ended operation ended."""
        agent = self.start(self.live())
        operation = agent.done(FIRST)
        create = [step for step in operation["steps"] if step["kind"] == "create"]
        self.assertEqual([step["partition"] for step in create],
                         ["gpu0/3g.20gb@0", "gpu0/3g.20gb@4"])
        agent.stop(signal.SIGKILL)
        agent.start()
        self.assertEqual(agent.get(f"/v1/operations/{operation['id']}"), operation)
        self.assertEqual(agent.get("/v1/operations")["items"][0], operation)
        for _ in range(20):
            agent.done(SECOND)
            agent.done(FIRST)
        agent.stop(signal.SIGKILL)
        agent.start()
        self.assertEqual(len([item for item in agent.get("/v1/operations")["items"]
                              if "again" not in item["what"]]), 32)

    def test_gone_back_with(self):
        agent = self.left(self.live(), state="rolling_back", error="it was so", target=FIRST,
                          before=SECOND)
        operation = self.settled(agent)
        self.ends(operation, "rolled_back", "it was so")
        self.assertEqual(len(self.names(agent)), 7)

    def test_a_target_that_cannot_be(self):
        """The changes on the way to it are rolled back."""
        for target in ("", "nonsense", "\x00\x01", "version: 1\ndevices: []",
                       layout("select: {index: 99}, mig: on"),
                       # Of an earlier version: which device that was is not known.
                       layout("select: {index: 0}, partitions: [{profile: 1g.5gb, count: 3}]"),
                       layout("select: {name: gpu0}, partitions: [{profile: 1g.5gb, count: 3}]"),
                       layout("select: {index: 0}, partitions: [{profile: 9g.99gb}]"),
                       layout("select: {index: 7}, mig: on")):
            with self.subTest(target):
                agent = self.left(self.live(), target=target, before=SECOND)
                operation = self.settled(agent)
                if "devices: []" in target:
                    continue
                self.ends(operation, "rolled_back")
                self.one_line(operation["error"]["detail"])
                self.assertEqual(len(self.names(agent)), 7)
                agent.done(FIRST)

    def test_rows_that_make_no_sense(self):
        for row in ({"before": ""}, {"before": "}{"}, {"before": None, "target": None},
                    {"id": "\x1b[31m" * 20, "what": "a\nb" * 99}, {"id": b"\xff\xfe" * 40},
                    {"what": b"\xff" * 200, "error": b"\xc3" * 900, "state": "rolling_back"},
                    {"step": 1 << 40, "n_steps": -1, "uid": -5, "started_ns": -1},
                    {"target": FIRST + "#" * 5_000_000}):
            with self.subTest(str(row)[:60]):
                agent = self.left(self.live(), **row)
                operation = self.settled(agent)
                self.assertIn(operation["state"], ("done", "failed", "rolled_back"))
                agent.done(FIRST)
                agent.stop()
                agent.start()
                self.assertEqual(self.settled(agent)["state"], "done")

    def test_an_older_one_that_seems_unfinished(self):
        agent = self.left(self.live())
        self.settled(agent)
        agent.stop()
        self.leave(agent, id="o2", started_ns=-1)
        self.leave(agent, id="o3", target=FIRST, started_ns=1 << 62)
        agent.start()
        self.assertEqual(self.settled(agent)["id"], "o3")
        agent.stop()
        agent.start()
        self.assertEqual(set(self.applied_again(agent).values()), {"applied"})
        self.assertEqual(agent.last()["id"], "o3")
        self.assertEqual(len(self.names(agent)), 2)

    def test_killed_again_and_again(self):
        world = self.live()
        agent = self.start(world)
        text = example("dgx-a100-inference.yaml")
        for i in range(12):
            if not agent.get("/v1/operations")["items"]:
                agent.apply(text)
            time.sleep(0.002 * i)
            agent.stop(signal.SIGKILL)
            agent.start()
        if agent.get("/v1/operations")["items"]:
            self.ends(self.settled(agent), "done")
        agent.done(text)
        self.assertEqual(len(self.names(agent)), 28)


SHARES = layout(f"{GPU}, partitions: [{{profile: 3g.20gb, count: 2, shares: 2}}]")


class Unopened(JournalCase):
    """The state file cannot be opened when the agent starts, and can be later."""

    @staticmethod
    def begin_without(agent):
        path = os.path.join(agent.state, "cleaved.db")
        os.rename(path, path + ".away")
        os.mkdir(path)
        agent.start()
        return path

    def give_back(self, agent, path):
        os.rmdir(path)
        os.rename(path + ".away", path)
        self.assertTrue(wait_until(lambda: "the state is written again" in agent.log()),
                        agent.log())

    def kept_by_another(self, agent, body):
        status, lease = agent.request("POST", "/v1/leases", {"keep": True, **body})
        self.assertEqual(status, 201, lease)
        return lease

    def test_layout_shares_and_cordons(self):
        agent = self.start(self.live())
        agent.done(SHARES)
        agent.request("POST", "/v1/devices/gpu1/cordon", {"reason": "it is hot"})
        shares = agent.get("/v1/shares")["items"]
        wanted = self.applied_again(agent)
        agent.stop(signal.SIGKILL)
        path = self.begin_without(agent)
        self.refused(agent.request("POST", "/v1/apply?name=test.yaml", SECOND), 500,
                     "cannot open the state")
        self.give_back(agent, path)
        self.assertEqual(self.applied_again(agent), wanted)
        self.assertEqual(agent.get("/v1/shares")["items"], shares)
        self.assertEqual(len(shares), 4)
        self.assertEqual([each["name"] for each in agent.get("/v1/devices")["items"]
                          if each["cordoned"]], ["gpu1"])
        # An apply to another device leaves the shares as they are.
        agent.done(layout("select: {index: 2}, mig: on, "
                          "partitions: [{profile: 3g.20gb, count: 1, shares: 2}]"))
        self.assertEqual(len(agent.get("/v1/shares")["items"]), 6)

    def test_partitions_of_leases(self):
        agent = self.start(self.live())
        self.kept_by_another(agent, {"name": "own", "isolation": "hardware", "memory_bytes": 1 << 30})
        names = self.names(agent)
        self.assertEqual(len(names), 1)
        agent.stop(signal.SIGKILL)
        self.give_back(agent, self.begin_without(agent))
        self.assertEqual(self.names(agent), names)
        self.assertEqual(agent.request("DELETE", "/v1/leases/own")[0], 204)
        self.assertTrue(wait_until(lambda: self.names(agent) == []), agent.log())

    def test_an_unfinished_operation(self):
        agent = self.start(self.live())
        agent.done(FIRST)
        agent.stop(signal.SIGKILL)
        self.leave(agent)
        self.give_back(agent, self.begin_without(agent))
        operation = self.settled(agent)
        self.assertEqual(operation["id"], "o1")
        self.ends(operation, "done")
        self.assertEqual(len(self.names(agent)), 7)


class Workers(JournalCase):
    def lied_to(self, answer):
        """The end of an apply whose worker gives this answer to everything."""
        world = self.live()
        path = os.path.join(world.folder, "lie")
        worlds.write_whole(path, answer)
        agent = self.start(world, CLEAVE_LIE=path,
                           LD_PRELOAD=worlds.built("tests/apply/libapply-lie.so"))
        operation = agent.wait(agent.apply(FIRST), 30)
        self.one_line(operation["error"]["detail"])
        agent.get("/v1/leases")
        return operation

    def test_answers_that_are_none(self):
        for answer in ("\n", "{}\n", "[]\n", "null\n", "7\n", "{\n", "\x00\n", "", "{}\n{}\n",
                       '{"node": 7}\n', '{"node": {"devices": [{}]}}\n', '{"device": {}}\n',
                       '{"error": {}}\n', '{"error": {"code": 0, "message": "x"}}\n',
                       '{"error": {"code": -16, "message": "a driver says\\nso"}}\n',
                       '{"node": {"devices": [], "problems": ["' + "x" * 3000 + '"]}}\n',
                       "[" * 100000 + "\n", '{"node": {"name": "' + "x" * 70000 + '"}}\n'):
            with self.subTest(answer[:40]):
                self.ends(self.lied_to(answer), "failed")

    def test_workers_that_ended(self):
        """Each is reaped, and its file descriptor closed."""
        world = self.live()
        path = os.path.join(world.folder, "lie")
        worlds.write_whole(path, "7\n")
        agent = self.start(world, CLEAVE_LIE=path,
                           LD_PRELOAD=worlds.built("tests/apply/libapply-lie.so"))
        for _ in range(5):
            self.ends(agent.wait(agent.apply(FIRST), 30), "failed")
        self.assertTrue(wait_until(lambda: self.pidfds(agent) <= 1), self.pidfds(agent))

    @staticmethod
    def pidfds(agent):
        folder, n = f"/proc/{agent.process.pid}/fd", 0
        for fd in os.listdir(folder):
            try:
                n += "pidfd" in os.readlink(os.path.join(folder, fd))
            except FileNotFoundError:
                pass
        return n


if __name__ == "__main__":
    main()
