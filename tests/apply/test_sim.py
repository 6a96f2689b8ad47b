# SPDX-License-Identifier: Apache-2.0
"""Layouts applied on simulated nodes: successes, errors, and waits for holders."""
import os
import glob
import json

import worlds
from case import ROOT, Case, example, layout, main


def node_of(name):
    """The example node that an example layout is for."""
    nodes = glob.glob(os.path.join(ROOT, "examples", "*.yaml"))
    stems = [os.path.basename(node)[:-len(".yaml")] for node in nodes]
    return max((s for s in stems if name.startswith(s + "-")), key=len)


def sim(name):
    return worlds.Sim(os.path.join(ROOT, "examples", f"{name}.yaml"))


# The result of an example on its node, where that is not "done".
ENDS = {
    "trouble-blocked": ("failed", "in use"),
    "trouble-refill": ("rolled_back", "the simulated driver fails"),
}

HELD = """version: 1
name: held
devices:
  - model: A100-80GB
    at-start:
      mig: on
      instances:
        - {profile: 3g.40gb, start: 4, parts: [1c@0, 1c@1]}
holders:
  - {on: gpu0/3g.40gb@4/1c@1, process: x, pid: 12}
"""


class Examples(Case):
    def test_every_example(self):
        for path in glob.glob(os.path.join(ROOT, "examples", "layouts", "*.yaml")):
            with self.subTest(path):
                self.check(os.path.basename(path)[:-len(".yaml")])

    def check(self, name):
        agent = self.start(self.live_in(sim(node_of(name))))
        before, text = agent.node(), example(f"{name}.yaml")
        state, *words = ENDS.get(name, ("done",))
        operation = agent.finish(text)
        self.ends(operation, state, *words)
        if state != "done":
            self.assertEqual(self.shapes(agent.node()), self.shapes(before))
            return
        status, plan = agent.plan(text)
        self.assertEqual((status, plan["steps"], plan["obstacles"]), (200, [], []))
        again = agent.done(text)
        self.assertEqual(again["steps"], [])
        self.export_and_back(agent, before)

    def export_and_back(self, agent, before):
        there = agent.node()
        now = agent.export()
        self.assertEqual(agent.plan(now)[1]["steps"], [])
        empty = "".join(f"  - {{select: {{name: {d['name']}}}, partitions: []}}\n"
                        for d in before["devices"] if d["mig"] and not d["holders"]
                        and not any(p["holders"] for p in d["partitions"]))
        if not empty:
            return
        agent.done("version: 1\ndevices:\n" + empty)
        agent.done(now)
        self.assertEqual(self.shapes(agent.node()), self.shapes(there))

    @staticmethod
    def shapes(node):
        """An instance without a part is of no use and counts as none."""
        return [(d["name"], d["scheme"], d["mig"] and d["mig"]["on"],
                 d["xcp"] and (d["xcp"]["compute"], d["xcp"]["memory"]),
                 sorted((p["name"], sorted(q["name"] for q in p["parts"]))
                        for p in d["partitions"] if not p["half_made"]))
                for d in node["devices"]]


class WrongLayouts(Case):
    def test_of_mig(self):
        agent = self.start(self.live_in(sim("dgx-a100")))
        one = "select: {index: 0}, mig: on, partitions: "
        for text, words in (
                ("[{profile: 2g.10gb, count: 4}]", ("2g.10gb", "3 of 4")),
                ("[{profile: 4g.20gb, count: 2}]", ("4g.20gb", "1 of 2")),
                ("[{profile: 1g.5gb, start: [7]}]", ("1g.5gb", "at 7", "0, 1")),
                ("[{profile: 1g.6gb}]", ("1g.6gb",)),
                ("[{profile: 3g.20gb, parts: [1c@0, 1c@0]}]", ("fit",)),
                ("[{profile: 3g.20gb, parts: [1c@3]}]", ("1c", "at 3", "0, 1, 2")),
                ("[{profile: 3g.20gb, parts: [4c]}]", ("4", "3g.20gb")),
                ("[{profile: CPX/NPS1}]", ("no compute and memory modes", "MIG"))):
            with self.subTest(text):
                self.refuses(agent, layout(one + text), *words)
        self.refuses(agent, layout("select: {index: 0}, migs: on"), "migs")
        self.refuses(agent, layout("select: {index: 0}, mig: on",
                                   "select: {name: gpu0}, mig: off"), "gpu0", "rule")
        self.refuses(agent, layout("select: {index: 99}, mig: on"), "no device")
        self.refuses(agent, "version: 1\ndevices: [{{{", "test.yaml:")
        self.refuses(agent, "version: 2\ndevices: []", "test.yaml:1", "version")
        self.refuses(agent, "", "test.yaml")

    def test_of_modes(self):
        agent = self.start(self.live_in(sim("mi300x")))
        self.refuses(agent, layout("select: {vendor: amd}, compute-mode: SPX, "
                                   "memory-mode: NPS4"), "NPS4", "SPX")
        self.refuses(agent, layout("select: {index: 0}, compute-mode: CPX, "
                                   "memory-mode: NPS4"), "hive")
        self.refuses(agent, layout("select: {index: 0}, compute-mode: CPX, "
                                   "memory-mode: NPS8"), "NPS8")

    def test_of_functions(self):
        agent = self.start(self.live_in(sim("flex170")))
        self.refuses(agent, layout("select: {index: 0}, vf: {count: 32}"), "32", "0 to 16")
        self.refuses(agent, layout("select: {index: 0}, vf: {count: 4, memory: 8G}"),
                     "memory", "at most")
        text = layout("select: {index: 0}, vf: {count: 4}")
        agent.done(text)
        more = agent.done(layout("select: {index: 0}, vf: {count: 6}"))
        self.assertEqual([s["text"].split()[3] for s in more["steps"]], ["0", "6"])


class Holders(Case):
    def blocked(self, agent, on_busy):
        return agent.request("POST", f"/v1/apply?on_busy={on_busy}",
                             layout("select: {index: 7}, mig: on"))

    def test_fail_and_list(self):
        agent = self.start(self.live_in(sim("dgx-a100")))
        before = agent.node()
        for how in ("fail", "list"):
            operation = agent.wait(self.blocked(agent, how)[1])
            self.ends(operation, "failed", "gpu7", "4711", "nothing was changed")
            self.assertEqual(operation["obstacles"][0]["holders"][0]["pid"], 4711)
        self.refused(self.blocked(agent, "later"), 400, "fail, wait or list")
        self.assertEqual(agent.node(), before)

    def test_wait_and_cancel(self):
        agent = self.start(self.live_in(sim("dgx-a100")))
        operation = self.blocked(agent, "wait")[1]
        url = f"/v1/operations/{operation['id']}"
        while operation["state"] != "waiting":
            operation = agent.get(f"{url}?wait_ms=5000&after={operation['revision']}")
        self.refused(self.blocked(agent, "fail"), 409, "another change", operation["id"])
        status, ended = agent.request("DELETE", url)
        self.assertEqual(status, 200)
        self.ends(ended, "failed", "nothing was changed")
        self.assertEqual(agent.request("DELETE", url)[1]["state"], "failed")

    def test_a_held_part_of_an_instance(self):
        agent = self.start(self.live_in(worlds.Sim.of_text(HELD)))
        text = layout("select: {index: 0}, partitions: "
                      "[{profile: 3g.40gb, start: [4], parts: [1c, 2c]}]")
        obstacles = agent.plan(text)[1]["obstacles"]
        self.assertEqual([o["partition"] for o in obstacles], ["gpu0/3g.40gb@4/1c@1"])
        self.ends(agent.finish(text), "failed", "process 12", "nothing was changed")


class Partitions(Case):
    def test_create_and_destroy(self):
        agent = self.start(self.live_in(sim("mixed")))
        status, operation = agent.request("POST", "/v1/partitions", json.dumps(
            {"device": "gpu0", "profile": "1g.10gb", "count": 2}))
        self.assertEqual(status, 202)
        self.ends(agent.wait(operation), "done")
        made = [n for n in self.names(agent) if n.startswith("gpu0/")]
        self.assertEqual(len(made), 2)
        for name in made:
            status, operation = agent.request("DELETE", f"/v1/partitions?name={name}")
            self.ends(agent.wait(operation), "done")
        self.assertEqual([n for n in self.names(agent) if n.startswith("gpu0/")], [])
        operation = agent.wait(agent.request("DELETE", f"/v1/partitions?name={name}")[1])
        self.ends(operation, "failed", name)

    def test_a_filled_instance_is_split(self):
        self.split_and_fill(self.live_in(sim("dgx-a100")))

    def test_too_many(self):
        agent = self.start(self.live_in(sim("mixed")))
        operation = agent.wait(agent.request("POST", "/v1/partitions", json.dumps(
            {"device": "gpu0", "profile": "1g.10gb", "count": 8}))[1])
        self.ends(operation, "failed", "1g.10gb", "7 of 8")

    def test_the_first_who_waits_gets_a_new_one(self):
        """And not the one who comes when it is made."""
        rule = "select: {index: 0}, mig: on, partitions: [{profile: 1g.10gb, start: [%s]}]"
        wanted = {"profile": "1g.10gb", "share": 1, "keep": True}
        agent = self.start(self.live_in(sim("hgx-h100")))
        agent.done(layout(rule % 4))
        for _ in range(3):
            status, lease = agent.request("POST", "/v1/leases", {**wanted, "wait": True})
            self.assertEqual(status, 201, lease)
        agent.done(layout(rule % "4, 5"))
        self.refused(agent.request("POST", "/v1/leases", wanted), 409,
                     "1 lease waits already for gpu0/1g.10gb@4")
        self.assertEqual([(each["state"], each["device"])
                          for each in agent.get("/v1/leases")["items"]],
                         [("active", "gpu0/1g.10gb@4"), ("active", "gpu0/1g.10gb@5"),
                          ("queued", "gpu0/1g.10gb@4")])

    def test_wrong_bodies(self):
        agent = self.start(self.live_in(sim("mixed")))
        right = {"device": "gpu0", "profile": "1g.10gb"}
        for change in ({"device": ""}, {"device": "x" * 96}, {"device": "a\nb"},
                       {"profile": 7}, {"count": 0}, {"count": 1.5}, {"start": -1},
                       {"start": 1 << 40}, {"colour": "red"}, {"profile": "\u00e9" * 39}):
            answer = agent.request("POST", "/v1/partitions", json.dumps({**right, **change}))
            with self.subTest(change):
                self.refused(answer, 400)
        for body in ("", "[]", "{", "null", "[" * 5000):
            self.refused(agent.request("POST", "/v1/partitions", body), 400)
        cut = {**right, "profile": "1g" + "\u00e9" * 18}
        operation = agent.wait(agent.request("POST", "/v1/partitions", json.dumps(cut))[1])
        self.ends(operation, "failed")


class Operations(Case):
    def test_progress(self):
        agent = self.start(self.live_in(sim("dgx-a100")))
        operation = agent.apply(example("dgx-a100-inference.yaml"))
        seen = [operation]
        while seen[-1]["ended_at"] is None:
            url = f"/v1/operations/{operation['id']}"
            seen.append(agent.get(f"{url}?wait_ms=9000&after={seen[-1]['revision']}"))
        revisions = [o["revision"] for o in seen]
        self.assertEqual(revisions, sorted(set(revisions)))
        self.assertGreater(len(seen), len(seen[-1]["steps"]) // 2)
        self.assertTrue(all(s["state"] == "done" for s in seen[-1]["steps"]))
        self.assertEqual(seen[-1]["step"], len(seen[-1]["steps"]))

    def test_odd_questions(self):
        agent = self.start(self.live_in(sim("dgx-a100")))
        for url, status in (("/v1/operations/nobody", 404),
                            ("/v1/operations/a%0Ab%FF", 404),
                            ("/v1/operations/../node", 404),
                            ("/v1/profiles?device=%0A%FF", 404),
                            ("/v1/layout?of=%0A", 400), ("/v1/layout?of=wanted", 404)):
            with self.subTest(url):
                self.refused(agent.request("GET", url), status)
        operation = agent.done(layout("select: {index: 0}, mig: on"))
        for query in ("wait_ms=-1", "after=1e9", "wait_ms=999999999999"):
            answer = agent.request("GET", f"/v1/operations/{operation['id']}?{query}")
            self.refused(answer, 400)
        for name in ("", "gpu0", "%2F%2F@", "gpu0%00/1g.5gb@0", "%FF@1", "a%0Ab@1",
                     "x" * 200, "gpu0/1g.5gb@-1", "gpu0/%25n%25s@0"):
            status, answer = agent.request("DELETE", f"/v1/partitions?name={name}")
            if status == 202:
                operation = agent.wait(answer)
                self.ends(operation, "failed", "such as gpu0/" if "@" not in name and
                          "gpu" in name else "see cleave")
            else:
                self.refused((status, answer), 400)

    def test_odd_names_of_layouts(self):
        agent = self.start(self.live_in(sim("dgx-a100")))
        for name in ("x%0Ay", "%FF%FE", "%C3", "a%00b", "%1B[31m", "..%2F..%2F", "x" * 500,
                     "%25s%25n", "%F0%9F%92%A9" * 30):
            status, answer = agent.request("POST", f"/v1/apply?name={name}", "nonsense: 1")
            self.refused((status, answer), 400)
            operation = agent.done(layout("select: {index: 0}, mig: on"), f"name={name}")
            self.one_line(operation["what"], "apply ")
        self.assertEqual(len(agent.get("/v1/operations")["items"]), 9)
        self.assertNotIn("\x1b", agent.log())

    def test_huge_bodies(self):
        agent = self.start(self.live_in(sim("dgx-a100")))
        for n in (70_000, 900_000, 2_000_000):
            body = "version: 1\n#" + "x" * n
            for method, url in (("POST", "/v1/plan"), ("POST", "/v1/apply"),
                                ("POST", "/v1/partitions")):
                try:
                    self.refused(agent.request(method, url, body), 413)
                except (BrokenPipeError, ConnectionResetError):
                    self.assertGreater(n, 1_000_000)
        self.assertEqual(agent.get("/v1/operations")["items"], [])

    def test_only_so_many_are_kept(self):
        agent = self.start(self.live_in(sim("mixed")))
        first = agent.done(layout("select: {index: 0}, mig: on"))
        for _ in range(40):
            agent.done(layout("select: {index: 0}, mig: on"))
        self.assertEqual(len(agent.get("/v1/operations")["items"]), 32)
        self.refused(agent.request("GET", f"/v1/operations/{first['id']}"), 404)


class Resets(Case):
    def test_a_guest_may_not_reset(self):
        """The plan says so, and apply leaves no pending mode."""
        agent = self.start(self.live_in(worlds.Sim.of_text(
            "version: 1\nname: guest\ndevices:\n  - {model: A100-40GB, reset: refused}\n")))
        text = layout("select: {}, mig: on")
        obstacles = agent.plan(text)[1]["obstacles"]
        self.assertEqual([o["holders"] for o in obstacles], [[]])
        self.one_line(obstacles[0]["why"], "reset", "virtual machine", "nvidia-smi -i 0 -mig 1")
        self.ends(agent.finish(text), "failed", "virtual machine", "nothing was changed")
        mig = agent.node()["devices"][0]["mig"]
        self.assertEqual([mig["on"], mig["pending"], mig["cannot_reset"]], [False, False, True])


class Places(Case):
    def test_partitions_say_where_they_are(self):
        """A partition is near its device's processors, and so are its parts."""
        agent = self.start(self.live_in(worlds.Sim.of_text(
            "version: 1\nname: places\ndevices:\n  - {model: A100-40GB, numa: 1}\n"
            "  - {model: MI300X, numa: 0}\n  - {model: T4}\n")))
        agent.done(layout("select: {index: 0}, partitions: [{profile: 3g.20gb, parts: [2c, 1c]}]",
                          "select: {index: 1}, compute-mode: DPX, memory-mode: NPS2"))
        a100, mi300x, t4 = agent.node()["devices"]
        self.assertEqual([d["numa_node"] for d in (a100, mi300x, t4)], [1, 0, -1])
        instance = a100["partitions"][0]
        self.assertEqual([instance["numa_node"], instance["memory_part"]], [1, -1])
        self.assertEqual([p["numa_node"] for p in instance["parts"]], [1, 1])
        self.assertEqual([(p["numa_node"], p["memory_part"]) for p in mi300x["partitions"]],
                         [(0, 0), (0, 1)])

    def test_accelerators_name_their_io_die(self):
        """Both in the node and in the list of devices; where it is unknown, there is no member,
        and null where a member always is."""
        agent = self.start(self.live_in(worlds.Sim.of_text(
            "version: 1\nname: dies\ndevices:\n  - {model: MI300X}\n  - {model: MI300X}\n"
            "  - {model: A100-40GB}\n")))
        agent.done(layout("select: {index: 0}, compute-mode: CPX, memory-mode: NPS4",
                          "select: {index: 1}, compute-mode: DPX, memory-mode: NPS2",
                          "select: {index: 2}, partitions: [{profile: 3g.20gb, start: [0]}]"))
        dies = [[p.get("io_die", "none") for p in d["partitions"]]
                for d in agent.node()["devices"]]
        self.assertEqual(dies, [[0, 0, 1, 1, 2, 2, 3, 3], ["none"] * 2, ["none"]])
        shown = {d["name"]: d["partition"]["io_die"] for d in agent.get("/v1/devices")["items"]
                 if d["partition"]}
        self.assertEqual(shown, {
            **{f"gpu0/CPX/NPS4@{i}": i // 2 for i in range(8)},
            **{name: None for name in ("gpu1/DPX/NPS2@0", "gpu1/DPX/NPS2@1", "gpu2/3g.20gb@0")}})


if __name__ == "__main__":
    main()
