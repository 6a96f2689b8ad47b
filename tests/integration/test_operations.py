#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cleave apply, agents that come and go, and simulated nodes, through the real binary:
against a double of the API, and against the agent on nodes that it simulates.

usage: test_operations.py CLEAVE [CLEAVED] [TEST...]
"""
import json
import os
import re
import signal
import sqlite3
import subprocess

import yaml

from cli_sandbox import Paths, StartedOnDemand, is_alive, wait_until
from partition_sandbox import (CREATE, DESTROY, DOUBLE, MIG_ON, OBSTACLE, ROLLED_BACK,
                               WAITING, WithAgent, WithDouble, done, plan, run_tests, states, step)


class Applies(WithDouble):
    def setUp(self):
        super().setUp()
        self.start_double()

    def test_creating_needs_no_yes(self):
        self.write(plan=plan(CREATE), operation=states("create gpu0/2g.20gb@0"))
        result = self.cleave("apply", self.layout)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "cleave: 1/1 create gpu0/2g.20gb@0 (0.2 s)\n")
        self.assertIn("STEP", result.stdout)
        self.assertRegex(result.stdout, r"\ndone: apply \S+layout.yaml \(1 step\)\n\Z")
        self.assertEqual(self.asked("POST", "v1/apply"),
                         [[{"name": self.layout}, "version: 1\n"]])

    def test_losing_needs_yes(self):
        for losing in (DESTROY, MIG_ON, step(1, "compute-mode", "set gpu0 to CPX", ["idle"]),
                       step(1, "vf-count", "set gpu0 to 0 virtual functions", ["idle"]),
                       step(1, "reload", "reload the driver of gpu0", ["idle", "reload"])):
            with self.subTest(losing["kind"]):
                self.write(plan=plan(losing, CREATE))
                result = self.cleave("apply", self.layout)
                self.assertEqual(result.returncode, 64)
                self.assertRegex(result.stderr, r"\Acleave: nothing was changed: 1 step destroys "
                                 r"or resets something.*--yes.*\n\Z")
                self.assertEqual(self.asked("POST", "v1/apply"), [])
        self.write(plan=plan(step(1, "vf-count", "set gpu0 to 4 virtual functions")))
        self.assertEqual(self.cleave("apply", self.layout).returncode, 0)
        self.write(plan=plan(DESTROY))
        self.assertEqual(self.cleave("apply", "--yes", self.layout).returncode, 0)

    def test_nothing_to_do_is_applied(self):
        """It becomes the wanted layout, and its standing shares are set aside."""
        result = self.cleave("apply", self.layout)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("nothing to do", result.stdout)
        self.assertEqual(len(self.asked("POST", "v1/apply")), 1)

    def test_question(self):
        self.write(plan=plan(CREATE), operation=states("create gpu0/2g.20gb@0"))
        for key, code, words in ((b"y\n", 0, "done: apply"), (b"n\n", 1, "nothing was changed"),
                                 (b"\n", 1, "nothing was changed"), (b"\x03", 130, "Apply?"),
                                 (b"\x04", 1, "nothing was changed"), (b"yes\n", 0, "done:")):
            with self.subTest(key):
                n = len(self.asked("POST", "v1/apply"))
                got, text = self.terminal("apply", self.layout, keys=[(b"[y/N]", key)])
                self.assertEqual(got, code, text)
                self.assertIn("Apply? [y/N]", text)
                self.assertIn(words, text)
                self.assertEqual(len(self.asked("POST", "v1/apply")) - n, code == 0)
        got, text = self.terminal("apply", "--yes", self.layout)
        self.assertEqual(got, 0)
        self.assertNotIn("Apply?", text)

    def test_bar(self):
        self.write(plan=plan(CREATE, CREATE),
                   operation=states("create gpu0/2g.20gb@0", "create gpu0/2g.20gb@2"))
        for columns in (40, 80):
            code, text = self.terminal("apply", "-y", self.layout, columns=columns)
            self.assertEqual(code, 0)
            self.assertIn("reading the state of the node", text)
            self.assertIn("[....................] 0/2", text)
            self.assertIn("[##########..........] 1/2", text)
            for drawn in re.findall(r"\r\x1b\[K([^\r\n]*)(?=\r\x1b)", text):
                self.assertLess(len(drawn), columns)
            self.assertRegex(text, r"\r\x1b\[Kdone: ")

    def test_lines(self):
        texts = ["create gpu0/2g.20gb@%d" % i for i in range(0, 6, 2)]
        self.write(plan=plan(*[CREATE] * 3), operation=states(*texts))
        result = self.cleave("apply", self.layout)
        self.assertEqual(result.stderr, "".join(
            "cleave: %d/3 %s (0.2 s)\n" % (i + 1, text) for i, text in enumerate(texts)))

    def test_dumb_terminal(self):
        self.env["TERM"] = "dumb"
        self.write(plan=plan(CREATE), operation=states("create gpu0/2g.20gb@0"))
        code, text = self.terminal("apply", "-y", self.layout)
        self.assertEqual(code, 0)
        self.assertNotIn("\x1b", text)
        self.assertIn("cleave: 1/1 create", text)

    def test_dry_run(self):
        self.write(plan=plan(DESTROY))
        result = self.cleave("apply", "--dry-run", self.layout)
        self.assertEqual((result.returncode, result.stdout),
                         (0, self.cleave("plan", self.layout).stdout))
        self.write(plan=plan(DESTROY, obstacles=[OBSTACLE]))
        self.assertEqual(self.cleave("apply", "-n", self.layout).returncode, 75)
        self.assertEqual(self.asked("POST", "v1/apply"), [])

    def test_objects(self):
        self.write(plan=plan(CREATE, warnings=["beware"]), operation=states("create x"))
        result = self.cleave("apply", self.layout, "-o", "json")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(json.loads(result.stdout)["state"], "done")
        self.assertIn("beware", result.stderr)
        result = self.cleave("apply", self.layout, "-o", "yaml")
        self.assertEqual(yaml.safe_load(result.stdout)["steps"][0]["text"], "create x")
        # With other output than a terminal there is no question.
        self.write(plan=plan(DESTROY))
        code, text = self.terminal("apply", "-ojson", self.layout)
        self.assertEqual(code, 64)
        self.assertNotIn("[y/N]", text)
        self.write(operation=ROLLED_BACK)
        result = self.cleave("apply", "-y", self.layout, "-o", "json")
        self.assertEqual(result.returncode, 125)
        self.assertEqual(json.loads(result.stdout)["state"], "rolled_back")

    def test_busy(self):
        blocked = plan(DESTROY, CREATE, obstacles=[OBSTACLE])
        self.write(plan=blocked)
        result = self.cleave("apply", "-y", self.layout)
        self.assertEqual(result.returncode, 75)
        self.assertIn("have to end first", result.stdout)
        self.assertNotIn("All holders", result.stdout)
        result = self.cleave("apply", "-y", "--on-busy=list", self.layout)
        self.assertEqual(result.returncode, 75)
        held = result.stdout.partition("All holders on these devices:\n")[2]
        self.assertEqual(len(held.splitlines()), 3)
        self.assertRegex(held, r"gpu0/3g.40gb@4/2c@1 +process 4711")
        result = self.cleave("apply", "-y", self.layout, "-o", "json")
        self.assertEqual((result.returncode, json.loads(result.stdout)), (75, blocked))
        self.write(plan=dict(blocked, on_busy="list"))
        self.assertIn("All holders", self.cleave("apply", "-y", self.layout).stdout)
        result = self.cleave("apply", "-y", "--on-busy=fail", self.layout)
        self.assertNotIn("All holders", result.stdout)
        self.assertEqual(self.asked("POST", "v1/apply"), [])

    def test_wait(self):
        after = states("destroy x", "create y")["states"][1:]
        self.write(plan=plan(DESTROY, CREATE, obstacles=[OBSTACLE]),
                   operation={"states": WAITING + [[at + 0.5, each] for at, each in after]})
        result = self.cleave("apply", "-y", "--on-busy=wait", self.layout)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.splitlines()[0], "cleave: waiting: gpu0/1g.10gb@0 is held "
                         "by lease train of bob, and 1 more")
        self.assertEqual(len(result.stderr.splitlines()), 3, result.stderr)
        self.assertEqual(self.asked("POST", "v1/apply")[0][0]["on_busy"], "wait")
        self.write(plan=dict(self.answers["plan"], on_busy="wait"))
        code, text = self.terminal("apply", "-y", self.layout, columns=120)
        self.assertEqual(code, 0)
        self.assertRegex(text, r"\r\x1b\[Kwaiting: gpu0/1g.10gb@0 is held by .* \(\d s\)")
        self.assertNotIn("on_busy", self.asked("POST", "v1/apply")[1][0])

    def test_interrupted_wait(self):
        self.write(plan=plan(CREATE, obstacles=[OBSTACLE], on_busy="wait"),
                   operation={"states": WAITING})
        code, text = self.terminal("apply", "-y", self.layout, keys=[(b"waiting", b"\x03")])
        self.assertEqual(code, 130)
        self.assertRegex(text, r"the wait was ended, and nothing was changed")
        self.assertEqual(len(self.asked("DELETE", "v1/operations/op1")), 1)
        process = subprocess.Popen([Paths.cleave, "apply", "-y", self.layout], env=self.env,
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.assertIn("waiting", process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        self.assertIn("nothing was changed", process.communicate(timeout=60)[1])
        self.assertEqual(process.returncode, 143)

    def test_interrupted_wait_of_one_that_has_begun(self):
        """An earlier agent had begun it: the agent goes back."""
        self.write(plan=plan(CREATE), operation={
            "states": [[0, {"state": "waiting", "error": {"code": "internal", "detail": "no driver"}}]],
            "ended": {"state": "rolling_back"}})
        code, text = self.terminal("apply", "-y", self.layout, keys=[(b"waiting: no driver", b"\x03")])
        self.assertEqual(code, 130)
        self.assertIn("goes on in the agent: follow it with cleave apply --follow op1", text)
        self.assertEqual(len(self.asked("DELETE", "v1/operations/op1")), 1)

    def test_interrupted_too_late(self):
        """It began to run when the user pressed the key: the agent does not end it."""
        self.write(plan=plan(CREATE), operation={"states": WAITING})
        self.write(problem={"operations/op2": [409, "in_use", "it runs"]})
        code, text = self.terminal("apply", "-y", self.layout, keys=[(b"waiting", b"\x03")])
        self.assertEqual(code, 130)
        process = subprocess.Popen([Paths.cleave, "apply", "-y", self.layout], env=self.env,
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.assertIn("cannot be followed", process.communicate(timeout=60)[1])
        self.assertEqual(process.returncode, 75)

    def test_interrupted_as_it_begins(self):
        self.write(plan=plan(CREATE), slow={"apply": 2})
        process = subprocess.Popen([Paths.cleave, "apply", "-y", self.layout], env=self.env,
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.assertTrue(wait_until(lambda: self.asked("POST", "v1/apply")))
        process.send_signal(signal.SIGINT)
        self.assertIn("cleave events", process.communicate(timeout=60)[1])
        self.assertEqual(process.returncode, 130)

    def test_interrupted_run(self):
        self.write(plan=plan(CREATE), operation={"states": [
            [0, {"state": "running", "steps": [
                {"text": "create x", "state": "running", "seconds": 0}]}],
            [3, {"state": "done", "steps": [done("create x")]}]]})
        code, text = self.terminal("apply", "-y", self.layout, keys=[(b"0/1", b"\x03")])
        self.assertEqual(code, 130)
        self.assertIn("goes on in the agent: follow it with cleave apply --follow op1", text)
        self.assertEqual(self.asked("DELETE", "v1/operations/op1"), [])
        result = self.cleave("apply", "--follow", "op1")
        self.assertEqual((result.returncode, result.stderr),
                         (0, "cleave: 1/1 create x (0.5 s)\n"))
        self.assert_refused(self.cleave("apply", "--follow", "op7"), 64, "op7")

    def test_rolled_back(self):
        self.write(plan=plan(DESTROY, CREATE), operation=ROLLED_BACK)
        result = self.cleave("apply", "-y", self.layout)
        self.assertEqual(result.returncode, 125)
        lines = result.stderr.splitlines()
        self.assertEqual(lines[:3], ["cleave: 1/2 destroy gpu0/1g.10gb@2 (0.5 s)",
                                     "cleave: 2/2 create gpu0/2g.20gb@0: failed (0.1 s)",
                                     "cleave: a step failed: undoing what was done"])
        self.assertEqual(lines[3], "cleave: 1/1 create gpu0/1g.10gb@2 (0.5 s)")
        self.assertRegex(lines[4], r"apply \S+layout.yaml failed, and the completed steps were "
                         r"undone: NVML says .* see cleave devices")
        self.assertEqual(len(lines), 5)
        code, text = self.terminal("apply", "-y", self.layout)
        self.assertEqual(code, 125)
        self.assertIn("undoing what was done", text)

    def test_failed(self):
        self.write(plan=plan(CREATE))
        for code, exit_code in (("in_use", 75), ("internal", 125), ("not_permitted", 77),
                                ("does_not_fit", 75), ("something_new", 125)):
            with self.subTest(code):
                self.write(operation={"states": [[0, {
                    "state": "failed", "error": {"code": code, "detail": "of a reason"}}]]})
                result = self.cleave("apply", "-y", self.layout)
                self.assertEqual(result.returncode, exit_code)
                self.assertRegex(result.stderr, r"\Acleave: apply \S+ failed: of a reason\n\Z")
        # The device was busy only after the first step: that is another error than busy.
        self.write(operation={"states": [[0, {
            "state": "failed", "steps": [done("destroy x")],
            "error": {"code": "does_not_fit", "detail": "it cannot be put back"}}]]})
        self.assertEqual(self.cleave("apply", "-y", self.layout).returncode, 125)
        self.write(problem={"apply": [409, "in_use", "gpu0 is being changed"]})
        self.assertEqual(self.cleave("apply", "-y", self.layout).returncode, 75)


class OnDemand(StartedOnDemand, WithDouble):
    """Agents that start and end."""

    AGENT = DOUBLE

    def test_agent_dies_and_is_started_anew(self):
        self.write(plan=plan(CREATE, CREATE),
                   operation=states("create x", "create y", dies_at=0.3))
        result = self.cleave("apply", "-y", self.layout)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.pids()), 2)
        self.assertEqual(result.stderr, "cleave: the agent went away: looking for it again\n"
                         "cleave: 1/2 create x (0.2 s)\ncleave: 2/2 create y (0.2 s)\n")
        self.assertEqual(len(self.asked("POST", "v1/apply")), 1)

    def test_operation_is_lost(self):
        self.write(plan=plan(CREATE), operation=states("create x", dies_at=0.3, lost=True))
        result = self.cleave("apply", "-y", self.layout)
        self.assertEqual(result.returncode, 125)
        self.assertRegex(result.stderr.splitlines()[-1], "cannot be followed any more.*cleave diff")

    def test_waiting_ends_with_its_agent(self):
        self.write(plan=plan(CREATE, obstacles=[OBSTACLE]),
                   operation={"states": WAITING, "dies_at": 0.5, "lost": True})
        result = self.cleave("apply", "-y", "--on-busy=wait", self.layout)
        self.assertEqual(result.returncode, 75)
        self.assertRegex(result.stderr.splitlines()[-1], "still waiting.*nothing was changed")

    def test_agent_leaves_while_the_user_thinks(self):
        """An idle agent may end before the user answers: its successor is started."""
        self.write(plan=plan(CREATE), operation=states("create x"))

        def kill_and_say_yes():
            os.kill(self.pids()[0], signal.SIGKILL)
            wait_until(lambda: not is_alive(self.pids()[0]))
            return b"y\n"

        code, text = self.terminal("apply", self.layout, keys=[(b"[y/N]", kill_and_say_yes)])
        self.assertEqual(code, 0, text)
        self.assertEqual((len(self.pids()), len(self.asked("POST", "v1/apply"))), (2, 1))

    def test_chosen_agent_does_not_come_back(self):
        """cleave does not start a chosen agent; Ctrl-C ends the search."""
        agent = self.start_double()
        self.write(plan=plan(CREATE), operation=states("create x", "create y", dies_at=0.3))
        code, text = self.terminal("apply", "-y", self.layout, keys=[(b"went away", b"\x03")])
        agent.wait()
        self.assertEqual(code, 130)
        self.assertIn("cleave apply --follow op1", text)

    def test_chosen_agent_comes_back(self):
        self.start_double()
        self.write(plan=plan(CREATE), operation=states("create x", "create y", dies_at=0.3))
        process = subprocess.Popen([Paths.cleave, "apply", "-y", self.layout], env=self.env,
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.assertTrue(any("went away" in line for line in process.stderr))
        self.start_double()
        self.assertIn("2/2 create y", process.communicate(timeout=60)[1])
        self.assertEqual(process.returncode, 0)


class Simulated(OnDemand):
    """--sim: a separate agent for each described node."""

    def setUp(self):
        super().setUp()
        self.node = os.path.join(self.folder, "node.yaml")
        with open(self.node, "w") as file:
            file.write("version: 1\n")
        self.env["XDG_STATE_HOME"] = os.path.join(self.folder, "state")

    def folders(self, under):
        folder = os.path.join(self.folder, under, "cleave")
        return [each for each in os.listdir(folder) if each.startswith("sim-")]

    def command_line(self, pid):
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read().decode().split("\0")

    def test_agent_of_its_own(self):
        result = self.cleave("--sim", self.node, "export")
        self.assertEqual((result.returncode, result.stdout), (0, self.answers["layout"]))
        name, = self.folders("")
        self.assertRegex(name, r"\Asim-[0-9a-f]{16}\Z")
        words = self.command_line(self.pids()[0])
        for word in ("--sim=" + self.node, "--runtime-dir=%s/cleave/%s" % (self.folder, name),
                     "--state-dir=%s/state/cleave/%s" % (self.folder, name)):
            self.assertIn(word, words)
        self.assertTrue(any(word.startswith("--idle-exit") for word in words))
        link = os.path.join(self.folder, "link.yaml")
        os.symlink(self.node, link)
        self.assertEqual(self.cleave("--sim=" + link, "ps").returncode, 0)
        self.assertEqual(self.cleave("--sim", os.path.relpath(self.node), "ps").returncode, 0)
        self.assertEqual(len(self.pids()), 1)
        other = os.path.join(self.folder, "other.yaml")
        os.link(self.node, other)
        self.assertEqual(self.cleave("--sim", other, "ps").returncode, 0)
        self.assertEqual((len(self.pids()), len(self.folders(""))), (2, 2))
        # The real one is another yet, and a chosen one does not stand in its way.
        self.assertEqual(self.cleave("devices").returncode, 0)
        self.assertEqual(len(self.pids()), 3)
        self.assertEqual(self.cleave("--sim", self.node, "ps",
                                     env={"CLEAVE_SOCKET": "/no/such"}).returncode, 0)

    def test_follows_its_own(self):
        self.write(plan=plan(CREATE), operation=states("create x", "create y", dies_at=0.3))
        result = self.cleave("--sim", self.node, "apply", "-y", self.layout)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.pids()), 2)
        self.assertEqual(len(self.folders("")), 1)

    def test_how_to_follow(self):
        self.write(plan=plan(CREATE), operation={"states": [[0, {"state": "running"}]]})
        code, text = self.terminal("--sim", self.node, "apply", "-y", self.layout,
                                   keys=[(b"0/0", b"\x03")], columns=100)
        self.assertEqual(code, 130)
        self.assertIn("cleave --sim %s apply --follow op1" % self.node, text)

    def test_inputs(self):
        for path, words in (("/no/such.yaml", "No such file"), (self.folder, "not a file")):
            for verb in ("devices", "ps", "plan"):
                arguments = [self.layout] if verb == "plan" else []
                self.assert_refused(self.cleave("--sim", path, verb, *arguments), 66, path, words)
        self.assert_refused(self.cleave("--sim", self.node, "ps", "--socket=/x"), 64, "agents")
        self.assert_refused(self.cleave("--sim"), 64, "--sim")
        self.assertEqual(self.pids(), [])
        self.write(node={"devices": [], "problems": ["node.yaml:2:1: unknown key"]})
        for arguments in (["devices"], ["ps"], ["plan", self.layout], ["apply", self.layout]):
            self.assert_refused(self.cleave("--sim", self.node, *arguments), 78,
                                "node.yaml:2:1")


class Examples(WithAgent):
    def layouts(self, node):
        folder = os.path.join(self.NODES, "layouts")
        return [os.path.join(folder, each) for each in sorted(os.listdir(folder))
                if each.startswith(node + "-")]

    def test_every_example(self):
        for file in sorted(os.listdir(self.NODES)):
            node, kind = os.path.splitext(file)
            for layout in self.layouts(node) if kind == ".yaml" and node != "trouble" else []:
                with self.subTest(layout):
                    number = os.path.join(str(len(os.listdir(self.folder))), node)
                    os.mkdir(os.path.join(self.folder, os.path.dirname(number)))
                    self.carry_out(number, layout)

    def shares(self, text):
        path = os.path.join(self.folder, "shares.yaml")
        with open(path, "w") as file:
            file.write("version: 1\ndevices: [{select: {index: 0}, shares: [%s]}]\n" % text)
        return path

    def test_output_that_cannot_be_written(self):
        """The secret of a token is not shown again."""
        self.on("dgx-a100", "devices")
        for arguments in (["token", "create", "lost"], ["backup"], ["completion", "bash"],
                          ["help", "run"]):
            with self.subTest(arguments), open("/dev/full", "w") as full:
                done = subprocess.run([Paths.cleave, "--sim", self.folder + "/dgx-a100.yaml",
                                       *arguments], env=self.env, stdin=subprocess.DEVNULL,
                                      stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertRegex(done.stderr, r"cleave: cannot write [^\n]*: No space left on device\n\Z")

    def test_backup(self):
        """Its restoration undoes later changes; the replaced state file is kept beside."""
        node = "dgx-a100"
        self.on(node, "token", "create", "before")
        path = os.path.join(self.folder, "backup.db")
        self.assertEqual(self.on(node, "backup", path).returncode, 0)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual(self.on(node, "backup", path).returncode, 125)
        self.on(node, "token", "create", "after")
        state = os.path.join(self.env["XDG_STATE_HOME"], "cleave")
        folder, = [os.path.join(state, each) for each in os.listdir(state)]
        run = os.path.join(self.folder, "cleave", os.path.basename(folder))

        def restore(path):
            return subprocess.run([Paths.cleaved, "--restore=" + path, "--state-dir=" + folder,
                                   "--runtime-dir=" + run], env=self.env, text=True,
                                  capture_output=True, check=False)

        self.assert_refused_by(restore(path), 75, "stop it first")
        self.end_agents()
        with open(path + ".bad", "w") as file:
            file.write("no database")
        self.assert_refused_by(restore(path + ".bad"), 78, "not a backup")
        self.assertEqual(restore(path).returncode, 0)
        self.assertIn("before", self.on(node, "token", "list").stdout)
        self.assertNotIn("after", self.on(node, "token", "list").stdout)
        self.assertTrue(any(".before-" in each for each in os.listdir(folder)))

    def test_the_replaced_state_is_whole(self):
        """Also where its agent was killed, and has left changes in SQLite's log."""
        node = "dgx-a100"
        path = os.path.join(self.folder, "backup.db")
        self.assertEqual(self.on(node, "backup", path).returncode, 0)
        self.on(node, "token", "create", "after")
        for pid in self.agents():
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not self.agents()))
        state = os.path.join(self.env["XDG_STATE_HOME"], "cleave")
        folder, = [os.path.join(state, each) for each in os.listdir(state)]
        done = subprocess.run([Paths.cleaved, "--restore=" + path, "--state-dir=" + folder,
                               "--runtime-dir=" + os.path.join(self.folder, "cleave",
                                                               os.path.basename(folder))],
                              env=self.env, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        aside, = [each for each in os.listdir(folder)
                  if ".before-" in each and each.endswith(".db")]
        db = sqlite3.connect(os.path.join(folder, aside))
        self.assertEqual(db.execute("SELECT name FROM tokens").fetchall(), [("after",)])
        db.close()

    def assert_refused_by(self, done, code, words):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_standing_shares_beside_leases(self):
        layout = self.shares("{name: a, share: 0.5}")
        self.on("dgx-a100", "export")
        program = subprocess.Popen(
            [Paths.cleave, "--sim", os.path.join(self.folder, "dgx-a100.yaml"), "run",
             "--device=gpu0", "--share=0.8", "--", "sleep", "60"], env=self.env)
        self.addCleanup(program.wait)
        self.addCleanup(program.terminate)
        self.assertTrue(wait_until(lambda: "sleep" in self.on("dgx-a100", "ps").stdout))
        result = self.on("dgx-a100", "apply", "--yes", layout)
        self.assertEqual(result.returncode, 75)
        self.assertIn("does not fit beside the standing shares", result.stdout)
        small = self.shares("{name: a, share: 0.2, memory: 1G}")
        self.assertEqual(self.on("dgx-a100", "apply", "--yes", small).returncode, 0)
        self.assertEqual(self.on("dgx-a100", "run", "--in=a", "--", "true").returncode, 0)

    def test_standing_shares_of_too_much_memory(self):
        layout = self.shares("{name: a, share: 0.5, memory: 30G}, "
                             "{name: b, share: 0.5, memory: 30G}")
        for verb in ("plan", "apply"):
            self.assert_refused(self.on("dgx-a100", verb, layout), 78,
                                "60 GiB of memory together", "make them smaller")

    def test_standing_shares_that_fill_a_device(self):
        """Equal parts of a memory that is no multiple of their number, and byte for byte."""
        thirds = ", ".join("{name: %s, share: 1/3}" % name for name in "abc")
        sixths = ", ".join("{name: %s, share: 1/6}" % name for name in "abcdef")
        devices = json.loads(self.on("dgx-a100", "devices", "-o", "json").stdout)["items"]
        third, rest = divmod(devices[0]["memory_bytes"], 3)
        exact = ", ".join("{name: %s, share: 1/3, memory: %d}" % (name, third + (rest > i))
                          for i, name in enumerate("abc"))
        for shares in ("[%s]" % thirds, "[%s]" % sixths, "[%s]" % exact, "2", "3", "7"):
            with self.subTest(shares):
                path = os.path.join(self.folder, "shares.yaml")
                with open(path, "w") as file:
                    file.write("version: 1\ndevices: [{select: {index: 0}, shares: %s}]\n" %
                               shares)
                result = self.on("dgx-a100", "apply", "--yes", path)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
        layout = self.shares(", ".join("{name: %s, share: 1/3, memory: %d}" % (name, third + 1)
                                       for name in "abc"))
        self.assert_refused(self.on("dgx-a100", "plan", layout), 78, "make them smaller")

    def carry_out(self, node, layout):
        result = self.on(node, "apply", "--yes", layout)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.on(node, "diff", layout).returncode, 0)
        with open(layout) as text:
            self.assertEqual(self.on(node, "export", "--wanted").stdout, text.read())
        exported = os.path.join(self.folder, "exported")
        with open(exported, "w") as text:
            text.write(self.on(node, "export").stdout)
        self.assertEqual(self.on(node, "diff", exported).returncode, 0)

    def test_roll_back(self):
        layout, = (each for each in self.layouts("trouble") if "refill" in each)
        result = self.on("trouble", "apply", "-y", layout)
        self.assertEqual(result.returncode, 125)
        self.assertRegex(result.stderr, r"failed, and the completed steps were undone: create gpu0/")
        result = self.on("trouble", "apply", "-y", layout)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_killed_agent(self):
        """Its successor continues, and the command follows it.  The work may be complete before the
        kill; then no agent has the operation any more."""
        layout, = (each for each in self.layouts("dgx-a100") if "inference" in each)
        self.on("dgx-a100", "profiles")
        agent = json.loads(self.on("dgx-a100", "version", "-ojson").stdout)["agent"]
        process = subprocess.Popen(
            [Paths.cleave, "--sim", os.path.join(self.folder, "dgx-a100.yaml"), "apply", "-y",
             layout], env=self.env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.assertIn("1/32", process.stderr.readline())
        os.kill(agent["pid"], signal.SIGKILL)
        text = process.communicate(timeout=60)[1]
        if process.returncode:
            self.assertRegex(text, "cannot be followed any more: there is no operation")
        self.assertEqual(self.on("dgx-a100", "diff", layout).returncode, 0, text)

    def test_agent_that_has_just_been_started(self):
        """The answer to the first request has the current node, although the agent is busy with the
        earlier layout then."""
        layout, = (each for each in self.layouts("dgx-a100") if "inference" in each)
        self.assertEqual(self.on("dgx-a100", "apply", "-y", layout).returncode, 0)
        for arguments, n_lines in ((["export"], 26), (["partition", "list"], 29),
                                   (["profiles", "gpu0"], 8), (["plan", layout], 6)):
            with self.subTest(arguments):
                self.end_agents()
                result = self.on("dgx-a100", *arguments)
                self.assertEqual((result.returncode, len(result.stdout.splitlines())),
                                 (0, n_lines), result)

    def test_no_new_lease_while_it_waits(self):
        """Otherwise it might wait forever."""
        part = "gpu0/3g.71gb@4"
        self.on("hgx-h200", "partition", "create", "gpu0", "1g.18gb", "--start=3")
        with open(os.path.join(self.folder, "layout.yaml"), "w") as file:
            file.write("version: 1\non-busy: wait\ndevices:\n  - select: {index: 0}\n"
                       "    partitions: [{profile: 1g.18gb, start: [0]}]\n")
        process = subprocess.Popen(
            [Paths.cleave, "--sim", os.path.join(self.folder, "hgx-h200.yaml"), "apply", "-y",
             file.name], env=self.env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.assertIn("waiting: " + part, process.stderr.readline())
        for arguments in (["--device", part], ["--device", "gpu0/1g.18gb@3"],
                          ["--profile", "3g.71gb"]):
            self.assert_refused(self.on("hgx-h200", "run", *arguments, "--share=0.1", "true"), 75,
                                arguments[1] + " is being repartitioned")
        # Partitions that stay take new leases, and so do other devices.
        for arguments in (["--device", "gpu0/1g.18gb@0"], ["--device", "gpu1"]):
            result = self.on("hgx-h200", "run", *arguments, "--share=0.1", "true")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_refused(self.on("hgx-h200", "partition", "create", "gpu0", "1g.18gb"), 75,
                            "another change of gpu0 waits", "cleave apply --follow o")
        self.assertEqual(self.on("hgx-h200", "partition", "create", "gpu1", "1g.18gb").returncode, 0)
        process.send_signal(signal.SIGINT)
        self.assertIn("the wait was ended", process.communicate(timeout=60)[1])
        result = self.on("hgx-h200", "run", "--device", part, "--share=0.1", "true")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_blocked(self):
        layout, = (each for each in self.layouts("trouble") if "blocked" in each)
        result = self.on("trouble", "apply", "-y", layout)
        self.assertEqual(result.returncode, 75)
        self.assertIn("All holders on these devices", result.stdout)
        self.assertIn("virtual machine desk-17", result.stderr + result.stdout)

    def test_wrong_layouts(self):
        path = os.path.join(self.folder, "layout.yaml")
        for text, words in (("version: 9\n", ":1:10:"), ("version: 1\ndevcies: []\n", "devices"),
                            ("version: 1\ndevices:\n  - select: {index: 0}\n    mig: on\n"
                             "    partitions: [{profile: 2g.10gb, count: 4}]\n", "2g.10gb")):
            with open(path, "w") as file:
                file.write(text)
            for verb in ("plan", "diff", "apply"):
                self.assert_refused(self.on("dgx-a100", verb, path), 78, path, words)

    def test_partitions(self):
        result = self.on("hgx-h100", "partition", "create", "gpu0", "1g.10gb", "--start", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("gpu0/1g.10gb@2", result.stdout)
        result = self.on("hgx-h100", "partition", "create", "gpu0", "1g.10gb", "--count=2")
        self.assertEqual((result.returncode, len(result.stdout.splitlines())), (0, 3))
        self.assertEqual(self.on("hgx-h100", "partition", "create", "gpu0", "7g.80gb").returncode, 75)
        rows = self.on("hgx-h100", "devices").stdout.splitlines()
        self.assertEqual(len([row for row in rows if row.startswith("  gpu0/1g.10gb@")]), 3)
        self.assertEqual(len([row for row in rows if "gpu0/" in row]), 3)
        self.assertRegex(self.on("hgx-h100", "profiles", "gpu0").stdout, r"gpu0 +1g.10gb .* 4 +7 ")
        names = self.on("hgx-h100", "partition", "list", "-oname").stdout.split()
        result = self.on("hgx-h100", "partition", "destroy", "-y", *names)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.on("hgx-h100", "partition", "list").stdout, "")

    def test_functions(self):
        """With another number each function gets its part, and not its earlier quota."""
        self.on("flex170", "partition", "create", "-y", "gpu0", "vf:16")
        self.on("flex170", "apply", "-y", self.layouts("flex170")[0])
        for number in ("vf:2", "vf:4"):
            result = self.on("flex170", "partition", "create", "-y", "gpu0", number)
            rows = [row.split() for row in result.stdout.splitlines()]
            self.assertEqual([row[1] for row in rows], ["PROFILE"] + [number] * int(number[3:]))
            self.assertIn(rows[1][2], ("7.9G", "3.9G"))
        profiles = self.on("flex170", "profiles", "gpu0").stdout
        self.assertRegex(profiles, r"gpu0 +vf:2 .* 0 +2 vf\ngpu0 +vf:3 .* 0 +3 vf\n"
                         r"gpu0 +vf:4 .* 4 +4 vf +as it is now")
        self.assertRegex(self.on("flex170", "profiles", "gpu3").stdout, r"vf:4 .* 4 +4 vf\n")

    def test_shares_that_are_too_large(self):
        """They are refused before the first step, and earlier standing shares stay."""
        path = os.path.join(self.folder, "layout.yaml")

        def divide(node, rule):
            with open(path, "w") as file:
                file.write("version: 1\ndevices:\n  - " + rule)
            return self.on(node, "apply", "-y", path)

        result = divide("mi300x", "{select: {index: 0}, shares: [{name: a, memory: 9G}]}")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("add the standing share gpu0/a (share 0.046875, memory 9 GiB", result.stdout)
        for node, rule in (("mi300x", "select: {index: 0}, shares: [{memory: 200G, "),
                           ("mi300x", "select: {}, partitions: [{profile: CPX/NPS4, "
                                      "shares: [{memory: 25G, "),
                           ("dgx-a100", "select: {index: 0}, partitions: [{profile: 1g.5gb, "
                                        "shares: [{memory: 6G, "),
                           ("flex170", "select: {}, partitions: [{profile: 'vf:2', "
                                       "shares: [{memory: 9G, "),
                           ("mixed", "select: {vendor: cpu}, partitions: [{profile: 'cores:2', "
                                     "shares: [{memory: 33G, ")):
            closing = "name: b}]}" + ("]}" if "partitions" in rule else "")
            with self.subTest(rule):
                self.assert_refused(divide(node, "{" + rule + closing), 78, path,
                                    "/b: ", "more than the device has")
        self.assertEqual(self.on("mi300x", "run", "--in", "a", "true").returncode, 0)

    def test_reasons(self):
        """Reasons for a single partition, without a layout from the user."""
        for node, arguments, code, reason in (
                ("dgx-a100", ("gpu0", "3g.21gb"), 64,
                 r"gpu0 \(NVIDIA A100-SXM4-40GB\): A100-40GB has no profile '3g.21gb'"),
                ("dgx-a100", ("gpu0", "1g.5gb", "--count=8"), 75,
                 r"gpu0 \(NVIDIA A100-SXM4-40GB\): only the first 7 of 8"),
                ("mixed", ("gpu8", "1g.5gb"), 64,
                 "gpu8 cannot be divided: Tesla T4 has no MIG [^:]*: use shares of it, cleave run")):
            result = self.on(node, "partition", "create", *arguments)
            self.assert_refused(result, code)
            self.assertRegex(result.stderr, r"\Acleave: create \S+ on gpu\d failed: " + reason)

    def test_wrong_node(self):
        path = os.path.join(self.folder, "node.yaml")
        with open(path, "w") as file:
            file.write("version: 1\ndevcies: []\n")
        for verb in ("devices", "ps", "export"):
            self.assert_refused(self.cleave("--sim", path, verb), 78, "node.yaml:2:1", "devices")

    def test_cannot_be_divided(self):
        result = self.on("mixed", "profiles")
        self.assertEqual(result.returncode, 0)
        for line in result.stderr.splitlines():
            self.assertRegex(line, r"\Agpu\d+ cannot be divided: .")


if __name__ == "__main__":
    run_tests(__doc__)
