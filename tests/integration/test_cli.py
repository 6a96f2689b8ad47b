#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line, through the real binary.

usage: test_cli.py CLEAVE [CLEAVED] [--pages FOLDER] [TEST...]

All tests run against a double of the API; those that need no fault of the agent also run
against the real cleaved, if it is given and finds a device.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

import cli_agents
import cli_starts
import cli_tables
from cli_sandbox import (SYSTEM_SOCKET, Paths, Sandbox, StartedOnDemand, hang_up,
                         is_alive, run_in_terminal, state_of, wait_until)

HERE = os.path.dirname(os.path.abspath(__file__))
DOUBLE = os.path.join(HERE, "api_double.py")
VERBS = ("devices run reserve ps top set release profiles partition plan apply diff export import cordon "
         "drain uncordon simulate fit defrag serve-plan models-plan advise profile cdi compose systemd "
         "slurm pool up down services scale move logs vms assign unassign vm events tenants token audit "
         "reload backup restore doctor version completion help").split()


class WithoutAgent(Sandbox):
    def test_help_of_every_verb(self):
        for verb in VERBS:
            with self.subTest(verb):
                first, second = self.cleave(verb, "--help"), self.cleave("help", verb)
                self.assertEqual((first.returncode, first.stderr), (0, ""))
                self.assertEqual(first.stdout, second.stdout)
                self.assertTrue(first.stdout.startswith("Usage: cleave " + verb))
                for line in first.stdout.splitlines():
                    self.assertLessEqual(len(line), 90)
                    self.assertEqual(line, line.rstrip())
        text = self.cleave("--help").stdout
        for verb in VERBS:
            self.assertRegex(text, r"(?m)^  %s +\w" % verb)

    def test_help_fits_a_narrow_terminal(self):
        _, text = run_in_terminal([Paths.cleave, "run", "--help"], self.env, columns=60)
        self.assertIn("--memory", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 60)

    def test_usage_errors(self):
        for arguments, words in (
                (["rnu"], ["did you mean 'run'"]),
                (["frobnicate"], ["cleave help"]),
                (["ps", "extra"], ["no arguments"]),
                (["ps", "--outptu=json"], ["--output"]),
                (["ps", "-o", "xml"], ["table, json, yaml"]),
                (["ps", "-Z"], ["-Z"]),
                (["ps", "--help=yes"], ["takes no value"]),
                (["run"], ["PROGRAM"]),
                (["run", "true"], ["--share", "--memory"]),
                (["run", "--share"], ["needs a value"]),
                (["set"], ["NAME"]),
                (["set", "x"], ["--share"]),
                (["release"], ["NAME"]),
                (["cordon", "gpu0/1g.5gb@0"], ["a partition", "cleave cordon gpu0"]),
                (["drain", "gpu0/vf1"], ["cleave drain gpu0"]),
                (["completion", "tcsh"], ["bash, zsh or fish"]),
                (["help", "nothing"], ["nothing"])):
            with self.subTest(arguments):
                self.assert_refused(self.cleave(*arguments), 64, *words)

    def test_bad_numbers_of_run(self):
        for option, value in (
                ("--share", "0"), ("--share", "0%"), ("--share", "1.1"), ("--share", "-0.3"),
                ("--share", "nan"), ("--share", "inf"), ("--share", "7/6"), ("--share", "1/0"),
                ("--share", "a"), ("--share", "0.3x"), ("--share", ""), ("--share", "0x1"),
                ("--cap", "0"), ("--cap", "2"), ("--sm", "0"), ("--sm", "101%"),
                ("--sm", "nan"), ("--sm", "much"), ("--memory", "-1"), ("--memory", "0"),
                ("--memory", "nan"), ("--memory", "512X"), ("--memory", "M"),
                ("--memory", "99999999999999999999"), ("--wait", "-1s"), ("--wait", "soon"),
                ("--class", "fast"), ("--if-no-agent", "maybe"), ("--name", "")):
            with self.subTest(option=option, value=value):
                result = self.cleave("run", "--share=0.5", "%s=%s" % (option, value), "true")
                self.assert_refused(result, 64, option)

    def test_cap_below_share(self):
        self.assert_refused(self.cleave("run", "--share=.5", "--cap=.4", "true"), 64, "--cap")

    def test_program_is_looked_for_first(self):
        plain = os.path.join(self.folder, "plain")
        with open(plain, "w") as file:
            file.write("no program")
        for program, code in (("no-such-program", 127), ("/no/such/program", 127), (plain, 126),
                              (self.folder, 126), ("", 127)):
            with self.subTest(program):
                self.assert_refused(self.cleave("run", "-s.1", "--", program), code)

    def test_no_agent(self):
        if os.path.exists(SYSTEM_SOCKET):
            self.skipTest("the system's agent runs")
        for arguments in (["ps"], ["top"], ["events"], ["set", "x", "-s.1"], ["release", "x"]):
            with self.subTest(arguments):
                self.assert_refused(self.cleave(*arguments), 69, "cleave run")
        self.assert_refused(self.cleave("ps", "--socket=/no/such.sock"), 69, "/no/such.sock")
        self.assert_refused(self.cleave("ps", env={"CLEAVE_SOCKET": "/no/such.sock"}), 69)

    def test_missing_gate(self):
        result = self.cleave("run", "-s.1", "true", env={"CLEAVE_GATE_DIR": "/no/such"})
        self.assert_refused(result, 125, "CLEAVE_GATE_DIR")

    def test_agent_that_does_not_start(self):
        if os.path.exists(SYSTEM_SOCKET):
            self.skipTest("the system's agent runs")
        broken = os.path.join(self.folder, "broken")
        with open(broken, "w") as file:
            file.write("#!/bin/sh\necho the roof is on fire >&2\nexit 1\n")
        os.chmod(broken, 0o755)
        result = self.cleave("run", "-s.1", "true", env={"CLEAVE_AGENT": broken})
        self.assert_refused(result, 69, "the roof is on fire", "cleaved.log")
        result = self.cleave("run", "-s.1", "true", env={"CLEAVE_AGENT": "/no/such"})
        self.assert_refused(result, 69, "CLEAVE_AGENT")

    def test_open_without_agent(self):
        result = self.cleave("run", "-s.1", "--if-no-agent=open", "sh", "-c",
                             "echo $CLEAVE_LEASE:$OPENCL_LAYERS; exit 4",
                             env={"CLEAVE_SOCKET": "/no/such.sock"})
        self.assertEqual((result.returncode, result.stdout), (4, ":\n"))
        self.assertIn("without a share", result.stderr)

    def test_not_a_socket(self):
        self.assert_refused(self.cleave("ps", "--socket=/etc/passwd"), 69, "not a socket")

    def test_runtime_folder_of_another_user(self):
        if os.getuid() != 0 or os.path.exists(SYSTEM_SOCKET):
            self.skipTest("needs root and no system agent")
        os.mkdir(os.path.join(self.folder, "cleave"), 0o700)
        os.chown(os.path.join(self.folder, "cleave"), 12345, -1)
        self.assert_refused(self.cleave("ps"), 77, "12345")

    def test_version(self):
        self.assertRegex(self.cleave("--version").stdout, r"\Acleave \d+\.\d+\.\d+\n\Z")
        about = json.loads(self.cleave("version", "-o", "json",
                                       env={"CLEAVE_SOCKET": "/no/such"}).stdout)
        self.assertEqual(about["api"], 1)
        self.assertIsNone(about["agent"])
        self.assert_refused(self.cleave("version", "--ready", "--socket=/no/such"), 69, "/no/such")

    def test_doctor_is_complete(self):
        result = self.cleave("doctor", "-o", "json", env={"CLEAVE_SOCKET": "/no/such.sock"})
        self.assertEqual(result.returncode, 1)
        report = json.loads(result.stdout)
        self.assertFalse(report["can_run_shares"])
        verdicts = {each["check"]: each["verdict"] for each in report["items"]}
        self.assertEqual(verdicts["agent"], "fail")
        self.assertEqual(verdicts["gate"], "fail")  # an empty file is not a gate
        self.assertEqual(verdicts["runtime-folder"], "ok")
        self.assertEqual(self.vendors({"broken.icd": "libnosuch.so"})["verdict"], "fail")
        self.assertEqual(self.vendors({})["verdict"], "fail")
        for each in report["items"]:
            self.assertIn(each["verdict"], ("ok", "info", "warning", "fail"))
            self.assertTrue(each["found"])
            if each["verdict"] in ("warning", "fail"):
                self.assertTrue(each["remedy"], each)


    def test_doctor_says_where_memory_is_not_cleared(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        for words, verdict in (("Foo=1;RMDisableScrubOnFree=1", "warning"),
                               ("RMDisableScrubOnFree=0x1;Foo=2", "warning"),
                               ("RMDisableScrubOnFree=0", "ok"), ("", "ok")):
            with open(os.path.join(folder, "params"), "w") as file:
                file.write(f'Mobile: 4294967295\nRegistryDwords: "{words}"\n')
            result = self.cleave("doctor", "-o", "json",
                                 env={"CLEAVE_SOCKET": "/no/such.sock",
                                      "CLEAVE_NVIDIA_PROC": folder})
            found = next(each for each in json.loads(result.stdout)["items"]
                         if each["check"] == "memory-clearing")
            self.assertEqual(found["verdict"], verdict, (words, found))

    def vendors(self, files):
        folder = tempfile.mkdtemp(dir=self.folder)
        for name, text in files.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        result = self.cleave("doctor", "-o", "json", env={"CLEAVE_SOCKET": "/no/such.sock",
                                                          "OCL_ICD_VENDORS": folder})
        return next(each for each in json.loads(result.stdout)["items"]
                    if each["check"] == "opencl-vendors")

    def test_agent_that_hangs(self):
        """Ctrl-C ends the wait for an agent that does not become ready."""
        if os.path.exists(SYSTEM_SOCKET):
            self.skipTest("the system's agent runs")
        hanging = os.path.join(self.folder, "hanging")
        with open(hanging, "w") as file:
            file.write("#!/bin/sh\nexec sleep 5\n")
        os.chmod(hanging, 0o755)
        both = [subprocess.Popen([Paths.cleave, "run", "-s.1", "true"],
                                 env=dict(self.env, CLEAVE_AGENT=hanging)) for _ in range(2)]
        time.sleep(0.5)
        for each in both:
            each.send_signal(signal.SIGINT)
        self.assertEqual([each.wait(timeout=60) for each in both], [130, 130])


class Completion(Sandbox):
    def script(self, shell):
        result = self.cleave("completion", shell)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def complete_bash(self, *words):
        driver = self.script("bash") + """
COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cleave; printf '%%s\\n' "${COMPREPLY[@]}"
""" % " ".join("'%s'" % word for word in words)
        path = os.path.dirname(Paths.cleave) + ":" + os.environ["PATH"]
        result = subprocess.run(["bash", "-c", driver], env=dict(self.env, PATH=path), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_scripts_parse(self):
        for shell in ("bash", "zsh", "fish"):
            text = self.script(shell)
            self.assertIn("if-no-agent", text)
            self.assertNotIn("scdoc", text)
            if not shutil.which(shell):
                continue
            with self.subTest(shell):
                result = subprocess.run([shell, "-n"], input=text, text=True,
                                        stderr=subprocess.PIPE)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_bash_offers(self):
        self.assertEqual(sorted(self.complete_bash("cleave", "")), sorted(VERBS))
        self.assertEqual(self.complete_bash("cleave", "re"), ["reserve", "release", "reload", "restore"])
        self.assertEqual(self.complete_bash("cleave", "run", "--cl"), ["--class"])
        self.assertEqual(self.complete_bash("cleave", "run", "--class", "b"), ["batch"])
        self.assertEqual(self.complete_bash("cleave", "run", "--class", "=", "l"), ["latency"])
        self.assertEqual(self.complete_bash("cleave", "ps", "-o", "y"), ["yaml"])
        self.assertIn("sleep", self.complete_bash("cleave", "run", "slee"))


class AgentTests(cli_starts.Starts, cli_tables.Tables):
    """Tests that pass with the double and with the real agent."""

    def isolation(self):
        """The option without which this machine cannot run programs in a lease."""
        report = json.loads(self.cleave("doctor", "-o", "json").stdout)
        allowed = any(each["check"] == "mount-namespace" and each["verdict"] == "ok"
                      for each in report["items"])
        return allowed, [] if allowed else ["--no-namespace"]

    def run_options(self, *more):
        return ["run", *self.isolation()[1], *more]

    def leases(self):
        return json.loads(self.cleave("ps", "-o", "json").stdout)["items"]

    def start(self, *arguments, **more):
        process = subprocess.Popen([Paths.cleave, *arguments], env=self.env, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **more)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        """Ends cleave run by SIGTERM, which reaches the program; the program would outlive a SIGKILL."""
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()

    def start_holder(self, share, *more, name="holder"):
        process = self.start(*self.run_options("--share=%s" % share, "--name", name, *more,
                                               "--", "sleep", "60"))
        self.assertTrue(wait_until(lambda: any(each["name"] == name and
                                               each["state"] == "active"
                                               for each in self.leases())))
        return process

    def test_exit_codes_pass(self):
        for code in (0, 1, 7, 125, 255):
            result = self.cleave(*self.run_options("-s.1", "--", "sh", "-c", "exit %d" % code))
            self.assertEqual((result.returncode, result.stderr), (code, ""))
        result = self.cleave(*self.run_options("-s.1", "sh", "-c", "kill -9 $$"))
        self.assertEqual(result.returncode, 137)
        self.assertEqual(self.leases(), [])

    def test_program_that_cannot_start(self):
        script = os.path.join(self.folder, "script")
        with open(script, "w") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(script, 0o755)
        self.assert_refused(self.cleave(*self.run_options("-s.1", script)), 127, "interpreter")
        self.assertEqual(self.leases(), [])

    def test_options_end_at_the_program(self):
        result = self.cleave(*self.run_options("-s.1", "echo", "-s", "--help", "--", "x"))
        self.assertEqual(result.stdout, "-s --help -- x\n")

    def test_environment(self):
        result = self.cleave(*self.run_options("-s.1", "--", "env"),
                             env={"OPENCL_LAYERS": "/x/libcleave-opencl.so:/other.so"})
        env = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
        self.assertEqual(env["OPENCL_LAYERS"], self.gate + ":/other.so")
        self.assertEqual(env["OCL_ICD_LAYERS"], self.gate)
        self.assertTrue(env["CLEAVE_LEASE"].endswith("/lease.sock"))
        self.assertNotIn("CLEAVE_IF_NO_AGENT", env)
        result = self.cleave(*self.run_options("-s.1", "--if-no-agent=open", "env"))
        self.assertIn("CLEAVE_IF_NO_AGENT=open\n", result.stdout)

    def test_programs_without_environment(self):
        if not self.isolation()[0] or not os.path.isdir("/etc/OpenCL/vendors"):
            self.skipTest("no mount namespace, or no vendors")
        script = ("set -e; cd /etc/OpenCL/vendors; ls; so=$(cat cleave.icd); readlink $so; "
                  "ls $(dirname $so)/vendors.real; cat $(dirname $so)/vendors.real/*.icd")
        before = sorted(os.listdir("/etc/OpenCL/vendors"))
        result = self.cleave("run", "-s.1", "env", "-i", "/bin/sh", "-c", script)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = result.stdout.splitlines()
        beside = ["cleave.icd", "lease.sock", "libcleave-opencl.so", "vendors.real"]
        self.assertEqual(lines[:5], [*beside, self.gate])
        self.assertEqual(lines[5:5 + len(before)], before)
        self.assertEqual(sorted(os.listdir("/etc/OpenCL/vendors")), before)

    def test_chosen_vendors(self):
        if not self.isolation()[0]:
            self.skipTest("no mount namespace")
        chosen = os.path.join(self.folder, "vendors")
        os.mkdir(chosen)
        with open(os.path.join(chosen, "mine.icd"), "w") as file:
            file.write("libmine.so\n")
        script = "cd $OCL_ICD_VENDORS; ls *.icd; cat $(dirname $(cat cleave.icd))/vendors.real/*"
        for value in (chosen, os.path.join(chosen, "mine.icd"), "libmine.so"):
            with self.subTest(value):
                result = self.cleave("run", "-s.1", "sh", "-c", script,
                                     env={"OCL_ICD_VENDORS": value})
                self.assertEqual(result.stdout, "cleave.icd\nlibmine.so\n", result.stderr)

    def test_ends_with_the_last_of_the_tree(self):
        for script in ("(sleep 0.6; touch %s) & exit 3",
                       "setsid sh -c '(sleep 0.6; touch %s) &' ; exit 3"):
            with self.subTest(script):
                done = os.path.join(self.folder, "done")
                result = self.cleave(*self.run_options("-s.1", "sh", "-c", script % done))
                self.assertEqual(result.returncode, 3)
                os.unlink(done)
                self.assertEqual(self.leases(), [])

    def test_signals_are_forwarded(self):
        for name in ("TERM", "INT", "HUP", "USR1", "USR2", "QUIT"):
            with self.subTest(name):
                script = "trap 'exit 7' %s; echo ready; while :; do sleep 0.05; done" % name
                process = self.start(*self.run_options("-s.1", "sh", "-c", script))
                self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(getattr(signal, "SIG" + name))
                self.assertEqual(process.wait(timeout=60), 7)

    def test_kill_of_cleave_leaves_the_program(self):
        mark = os.path.join(self.folder, "mark")
        process = self.start(*self.run_options("-s.1", "sh", "-c",
                                               "echo up; sleep 0.5; echo done >%s" % mark))
        self.assertEqual(process.stdout.readline(), "up\n")
        process.kill()
        process.wait()
        self.assertTrue(wait_until(lambda: os.path.exists(mark)))
        self.assertTrue(wait_until(lambda: self.leases() == []))

    def test_ctrl_c_reaches_the_program_once(self):
        script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done"
        code, output = run_in_terminal([Paths.cleave, *self.run_options("-s.1", "bash", "-c", script)],
                                       self.env, keys=[(b"ready", b"\x03")])
        self.assertEqual(code, 5, output)
        self.assertEqual(output.count("caught"), 1)

    def test_hangup_of_the_terminal(self):
        """The kernel tells it to cleave alone, which leads the session where no shell does; a
        child of the program has it when the program has ended."""
        code, output = hang_up([Paths.cleave, *self.run_options(
            "-s.1", "sh", "-c", "sleep 600 & echo $! ready; wait")], self.env, b"ready")
        self.assertEqual(code, 128 + signal.SIGHUP)
        self.assertTrue(wait_until(lambda: not is_alive(int(output.split()[0]))))
        self.assertTrue(wait_until(lambda: self.leases() == []))

    def test_stop_and_continue(self):
        """As a shell sends it, to the whole group; and to cleave alone, which forwards it."""
        for send in (os.killpg, os.kill):
            with self.subTest(send):
                process = self.start(*self.run_options("-s.1", "sh", "-c", "echo $$; exec sleep 60"),
                                     process_group=0)
                program = int(process.stdout.readline())
                send(process.pid, signal.SIGTSTP)
                self.assertTrue(wait_until(lambda: state_of(process.pid) == "T" ==
                                           state_of(program)))
                send(process.pid, signal.SIGCONT)
                self.assertTrue(wait_until(lambda: state_of(process.pid) == "S" ==
                                           state_of(program)))
                os.killpg(process.pid, signal.SIGTERM)
                self.assertEqual(process.wait(timeout=60), 143)

    def test_does_not_fit(self):
        self.start_holder(0.8)
        self.assert_refused(self.cleave(*self.run_options("--share=.3", "true")), 75)
        result = self.cleave(*self.run_options("--share=.1", "--name=holder", "true"))
        self.assert_refused(result, 64, "holder")
        self.assertEqual(len(self.leases()), 1)

    def test_queue(self):
        holder = self.start_holder(0.8)
        second = self.start(*self.run_options("-s.5", "--wait", "--name=second", "echo", "in"))
        self.assertTrue(wait_until(lambda: len(self.leases()) == 2))
        third = self.start(*self.run_options("-s.5", "--wait", "--name=third", "echo", "in"))
        self.assertTrue(wait_until(lambda: len(self.leases()) == 3))
        positions = {each["name"]: each["queue_position"] for each in self.leases()}
        self.assertEqual(positions, {"holder": None, "second": 1, "third": 2})
        second.send_signal(signal.SIGINT)
        self.assertEqual(second.wait(timeout=60), 130)
        self.assertTrue(wait_until(lambda: len(self.leases()) == 2))
        for position in (2, 1):
            self.assertEqual(third.stderr.readline(),
                             "cleave: waiting for gpu0: position %d\n" % position)
        holder.send_signal(signal.SIGTERM)
        output, rest = third.communicate(timeout=60)
        self.assertEqual((third.returncode, output, rest), (0, "in\n", ""))

    def test_queue_with_timeout(self):
        self.start_holder(0.8)
        result = self.cleave(*self.run_options("--share=.3", "--wait=400ms", "true"))
        self.assertEqual(result.returncode, 75)
        self.assertIn("in time", result.stderr)
        self.assertEqual(len(self.leases()), 1)

    def test_queue_on_a_terminal(self):
        self.start_holder(0.8)
        code, output = run_in_terminal(
            [Paths.cleave, *self.run_options("--share=.3", "--wait", "true")], self.env,
            keys=[(b"waiting", b"\x03")])
        self.assertEqual(code, 130)
        self.assertIn("\rwaiting", output.replace("\x1b[K", ""))
        self.assertEqual(output.count("\n"), 0)
        self.assertTrue(wait_until(lambda: len(self.leases()) == 1))

    def test_bad_requests_of_run(self):
        for arguments, code in ((["--share=.1", "--memory=999T"], 64),
                                (["--share=.1", "--device=gpu77"], 64)):
            with self.subTest(arguments):
                self.assert_refused(self.cleave(*self.run_options(*arguments, "true")), code)
        self.assertEqual(self.leases(), [])

    def test_set(self):
        self.start_holder(0.4, "--memory=100M")
        result = self.cleave("set", "holder", "--share=6/20", "--cap=50%", "--memory=0.5GiB",
                             "--class=batch", "-o", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        lease = json.loads(result.stdout)
        self.assertAlmostEqual(lease["share"], 0.3)
        self.assertEqual((lease["cap"], lease["memory_bytes"], lease["class"]),
                         (0.5, 1 << 29, "batch"))
        lease = json.loads(self.cleave("set", "holder", "--cap=none", "-ojson").stdout)
        self.assertIsNone(lease["cap"])
        self.assertIn("30%", self.cleave("set", "holder", "--memory=200M").stdout)
        self.assert_refused(self.cleave("set", "nobody", "--share=.2"), 64, "nobody")
        self.assert_refused(self.cleave("set", "no/bo dy", "--share=.2"), 64)
        other = self.start_holder(0.5, "--memory=100M", name="other")
        self.assert_refused(self.cleave("set", "holder", "--share=.6"), 75)
        self.assertAlmostEqual(self.leases()[0]["share"], 0.3)
        other.send_signal(signal.SIGTERM)

    def test_release(self):
        self.start_holder(0.4)
        self.assert_refused(self.cleave("release", "nobody"), 64, "nobody")
        result = self.cleave("release", "holder")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual(self.leases(), [])

    def test_formats_agree(self):
        self.start_holder(0.25, "--memory=64M")
        for verb, column in (("ps", "name"), ("devices", "name"), ("events", "id")):
            with self.subTest(verb):
                objects = json.loads(self.cleave(verb, "-o", "json").stdout)
                as_yaml = yaml.safe_load(self.cleave(verb, "-o", "yaml").stdout)
                rows = self.cleave(verb).stdout.splitlines()
                names = self.cleave(verb, "-o", "name").stdout.split()
                if verb == "ps":
                    for each in objects["items"] + as_yaml["items"]:
                        self.steady(each)
                self.assertEqual(objects, as_yaml)
                self.assertEqual(len(rows), len(objects["items"]) + 1)
                if verb != "events":
                    self.assertEqual(names, [each[column] for each in objects["items"]])
                for row, each in zip(rows[1:], objects["items"]):
                    self.assertIn(str(each[column]), row.split())
        row = dict(zip(*(line.split() for line in self.cleave("ps").stdout.splitlines())))
        self.assertEqual((row["NAME"], row["SHARE"], row["QUOTA"], row["CLASS"], row["COMMAND"]),
                         ("holder", "25%", "64M", "normal", "sleep"))

    @staticmethod
    def steady(lease):
        for key in list(lease):
            if key.endswith("_seconds") or key in ("share_used", "waiting", "holding"):
                del lease[key]

    def test_top(self):
        self.start_holder(0.25)
        result = self.cleave("top")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"(?m)^holder +normal +25%")
        self.assertNotIn("\x1b", result.stdout)
        for columns in (40, 60, 120):
            with self.subTest(columns):
                code, text = run_in_terminal([Paths.cleave, "top", "-i", "100ms"], self.env,
                                             columns=columns, keys=[(b"holder", b"jk"), (b"", b"q")])
                self.assertEqual(code, 0)
                self.assertIn("holder", text)
                self.assertIn("25%", text)

    def test_events_follow(self):
        process = self.start("events", "--follow", "-o", "json")
        holder = self.start_holder(0.25)
        holder.send_signal(signal.SIGTERM)
        seen = []
        while "lease_ended" not in seen:
            event = json.loads(process.stdout.readline())
            seen.append(event["type"])
            self.assertIn("message", event)
        self.assertIn("lease_created", seen)
        process.send_signal(signal.SIGTERM)
        count = len(self.cleave("events").stdout.splitlines()) - 1
        self.assertGreaterEqual(count, 2)
        self.assertEqual(len(self.cleave("events", "-n", "2").stdout.splitlines()), 3)
        self.assertEqual(len(self.cleave("events", "--after=1").stdout.splitlines()), count)

    def test_inside_another_lease(self):
        options = self.run_options("-s.1")
        result = self.cleave(*options, Paths.cleave, *options, "sh", "-c", "echo $OPENCL_LAYERS")
        self.assertEqual(result.stdout, self.gate + "\n", result.stderr)


class WithDouble(Sandbox, AgentTests):
    def setUp(self):
        super().setUp()
        self.agent = None
        self.start_agent()

    def start_agent(self, **env):
        if self.agent:
            self.agent.kill()
            self.agent.wait()
        path = os.path.join(self.folder, "cleave", "api.sock")
        if os.path.exists(path):
            os.unlink(path)  # a file that a killed agent leaves
        self.agent = subprocess.Popen([sys.executable, DOUBLE], env=dict(self.env, **env))
        self.addCleanup(self.agent.wait)
        self.addCleanup(self.agent.kill)
        self.env["CLEAVE_SOCKET"] = path
        self.assertTrue(wait_until(lambda: self.cleave("ps").returncode != 69 or
                                   "DOUBLE_API" in env and os.path.exists(path)))

    def test_turns_of_a_device(self):
        header, row = self.cleave("devices").stdout.splitlines()
        end = header.index("HAND-OVER") + len("HAND-OVER")
        self.assertEqual(header[:end].split()[-2:], ["TURN", "HAND-OVER"])
        self.assertEqual(row[:end].split()[-4:], ["16", "ms", "0.10", "ms"])

    def test_other_version(self):
        self.start_agent(DOUBLE_API="2")
        time.sleep(0.3)
        for arguments in (["ps"], ["run", "-s.1", "true"]):
            self.assert_refused(self.cleave(*arguments), 69, "version 2", "version 1")
        self.assertIn("version 2", self.cleave("version").stdout)

    def test_problems_of_the_agent(self):
        for problem, code in (("507 disk_full", 125), ("500 internal", 125),
                              ("403 not_permitted", 77), ("400 bad_request", 64),
                              ("409 in_use", 75), ("413 too_large", 64)):
            with self.subTest(problem):
                self.start_agent(DOUBLE_PROBLEM=problem)
                self.assert_refused(self.cleave("run", "-s.1", "true"), code,
                                    problem.split()[1])

    def test_slurm_job_that_does_not_fit(self):
        """Whatever the agent advises, what works for a job is to be submitted again."""
        for problem, words in (("409 does_not_fit", ["submit the job again later"]),
                               ("403 not_permitted", [])):
            with self.subTest(problem):
                self.start_agent(DOUBLE_PROBLEM=problem)
                result = self.cleave("slurm", "begin", "-j1", "-s.1", "--user=0",
                                     f"--pid={os.getpid()}", "--state", self.folder + "/jobs")
                self.assert_refused(result, 75 if words else 77, problem.split()[1], *words)
                self.assertEqual("submit" in result.stderr, bool(words))

    def test_socket_of_another_user(self):
        if os.getuid() != 0:
            self.skipTest("needs root")
        os.chown(self.env["CLEAVE_SOCKET"], 12345, -1)
        self.assert_refused(self.cleave("ps"), 77, "12345")

    def test_release_lists_what_it_would_end(self):
        self.start_agent(DOUBLE_ATTACHED="4711 4712")
        self.start_holder(0.4)
        self.assert_refused(self.cleave("release", "holder"), 75, "4711, 4712", "--force")
        self.assertEqual(len(self.leases()), 1)
        self.assertEqual(self.cleave("release", "--force", "holder").returncode, 0)
        self.assertEqual(self.leases(), [])


class OnDemand(cli_agents.Agents, StartedOnDemand, Sandbox):
    """The first `cleave run` starts an agent, and two at the same time start one."""

    AGENT = DOUBLE

    def test_one_agent_for_two(self):
        both = [subprocess.Popen([Paths.cleave, "run", "--no-namespace", "-s.2", "true"], env=self.env)
                for _ in range(4)]
        self.assertEqual([each.wait(timeout=60) for each in both], [0, 0, 0, 0])
        self.assertEqual(len(self.pids()), 1)
        pid = self.pids()[0]
        with open("/proc/%d/stat" % pid) as stat:
            fields = stat.read().rpartition(")")[2].split()
        self.assertNotEqual(int(fields[3]), os.getsid(0))  # a session of its own
        self.assertEqual(os.readlink("/proc/%d/cwd" % pid), "/")
        open_files = {os.readlink("/proc/%d/fd/%s" % (pid, fd))
                      for fd in ("0", "1", "2")}
        self.assertEqual(open_files, {"/dev/null", os.path.join(
            self.folder, "cleave", "cleaved.log")})
        self.assertEqual(self.cleave("ps").returncode, 0)
        self.assertEqual(self.cleave("devices").returncode, 0)
        self.assertEqual(len(self.pids()), 1)


    def test_agent_that_is_killed(self):
        """The supervising cleave run starts the next agent, and does not wait for that agent's
        end."""
        with subprocess.Popen([Paths.cleave, "run", "--no-namespace", "-s.2", "cat"],
                              env=self.env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as run:
            run.stdin.write(b"there\n")
            run.stdin.flush()
            self.assertEqual(run.stdout.readline(), b"there\n")
            for n in (1, 2, 3):
                self.assertTrue(wait_until(lambda: len(self.pids()) == n, 40))
                # The agent answers, so the supervisor has noticed it.
                self.assertTrue(wait_until(lambda: self.cleave("ps").returncode == 0, 40))
                if n < 3:
                    os.kill(self.pids()[-1], signal.SIGKILL)
            run.stdin.close()
            self.assertEqual(run.wait(60), 0)
        self.assertTrue(is_alive(self.pids()[-1]))

    def test_agent_that_is_leaving(self):
        """An idle agent may end between two requests: then the next one is started."""
        self.env["DOUBLE_LEAVES"] = os.path.join(self.folder, "left")
        result = self.cleave("run", "--no-namespace", "-s.2", "echo", "in")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "in\n", ""))
        self.assertEqual(len(self.pids()), 2)


class WithAgent(cli_starts.StartsInLease, Sandbox, AgentTests):
    """The same tests with cleaved."""

    def setUp(self):
        super().setUp()
        if not Paths.cleaved or not os.path.exists(Paths.cleaved):
            self.skipTest("no cleaved given")
        if os.path.exists(SYSTEM_SOCKET):
            self.skipTest("the system's agent runs")
        # Locks of its own, because another agent of this machine may hold the device.
        wrapper = os.path.join(self.folder, "cleaved")
        with open(wrapper, "w") as file:
            file.write("#!/bin/sh\nexec '%s' '--lock-dir=%s' \"$@\"\n" % (Paths.cleaved, self.folder))
        os.chmod(wrapper, 0o755)
        self.env["CLEAVE_AGENT"] = wrapper
        result = self.cleave("devices", "-o", "json")
        self.addCleanup(self.end_agent)
        if result.returncode == 69:
            self.skipTest("cleaved does not start: " + result.stderr.strip())
        if not json.loads(result.stdout)["items"]:
            self.skipTest("cleaved finds no device")

    def end_agent(self):
        about = self.cleave("version", "-o", "json")
        agent = json.loads(about.stdout)["agent"] if about.returncode == 0 else None
        if agent:
            os.kill(agent["pid"], signal.SIGTERM)
            wait_until(lambda: not is_alive(agent["pid"]))

    def test_limit_in_space_of_a_cpu(self):
        result = self.cleave(*self.run_options("--share=.1", "--sm=25%", "true"))
        self.assert_refused(result, 64, "leave out sm")

    def assert_whole_tree_ends(self, *options, then):
        """The tree has a process in a session of its own that ignores SIGTERM; none of it has
        attached to the lease."""
        script = "setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 61' & wait"
        run = self.start(*self.run_options("-s.1", "--name", "tree", *options, "sh", "-c", script))
        last = int(run.stdout.readline())
        then()
        self.assertEqual(run.wait(timeout=60), 143)
        self.assertFalse(is_alive(last))
        self.assertRegex(run.stderr.read(), "^cleave: the lease tree has ended, .*\n$")
        self.assertEqual(self.leases(), [])

    def test_release_of_a_running_program(self):
        self.assert_whole_tree_ends(then=lambda: self.assertEqual(
            self.cleave("release", "--force", "tree").returncode, 0))
        records = json.loads(self.cleave("audit", "-o", "json").stdout)["items"]
        self.assertEqual([record["result"] for record in records
                          if record["action"] == "lease.release"], ["ok"])

    def test_program_whose_time_has_expired(self):
        self.assert_whole_tree_ends("--time=1s", then=lambda: None)


class Pages(Sandbox):
    """Man pages: their options are those of the programs."""

    def setUp(self):
        super().setUp()
        if not Paths.pages:
            self.skipTest("no folder of pages given")

    def fill(self, verb):
        name = "cleave%s.1.scd" % ("-" + verb if verb else "")
        return self.cleave("help", "--scdoc", os.path.join(Paths.pages, name),
                           *([verb] if verb else [])).stdout

    def test_every_verb_has_a_page(self):
        for verb in ["", *VERBS]:
            with self.subTest(verb):
                page, text = self.fill(verb), self.cleave("help", *verb.split()).stdout
                self.assertNotRegex(page, r"(?m)^@")
                for option in re.findall(r"--[a-z-]+", text.partition("Options:")[2]):
                    self.assertIn("*%s*" % option, page)
                if shutil.which("scdoc"):
                    made = subprocess.run(["scdoc"], input=page, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    self.assertEqual((made.returncode, made.stderr), (0, ""))

    def examples(self):
        """The commands of each page's examples, with the page's name."""
        for name in sorted(os.listdir(Paths.pages)):
            with open(os.path.join(Paths.pages, name)) as file:
                section = file.read().partition("\n# EXAMPLES\n")[2].partition("\n# ")[0]
            if name.endswith(".scd"):
                yield name, [line.strip("\t+").replace("\\", "") for line in section.splitlines()
                             if re.match(r"\t?(sudo )?cleaved? ", line)]

    def test_examples(self):
        """Each page has one, and the options in it exist."""
        for name, commands in self.examples():
            with self.subTest(name):
                self.assertTrue(commands or not name.startswith("cleave-") or ".8" in name)
            for words in map(str.split, re.split(r"\n| \| ", "\n".join(commands))):
                words = words[words[:1] == ["sudo"]:]
                if words[:2] == ["cleave", "--sim"]:
                    del words[1:3]
                if words[:1] not in (["cleave"], ["cleaved"]):
                    continue
                shown = (self.cleave("help", words[1]) if words[0] == "cleave" else subprocess.run(
                    [Paths.cleaved or "true", "--help"], text=True, stdout=subprocess.PIPE))
                with self.subTest(words=words):
                    self.assertEqual(shown.returncode, 0)
                    for word in words[:words.index("--") if "--" in words else None]:
                        if re.match("--[a-z]", word) and shown.stdout:
                            self.assertIn(word.partition("=")[0], shown.stdout)

    def test_page_of_the_agent(self):
        if not Paths.cleaved:
            self.skipTest("no cleaved given")
        text = subprocess.run([Paths.cleaved, "--help"], text=True, stdout=subprocess.PIPE).stdout
        with open(os.path.join(Paths.pages, "cleaved.8.scd")) as file:
            page = file.read().partition("# OPTIONS")[2].partition("# EXIT")[0]
        self.assertEqual(sorted(re.findall(r"(?m)^ +(--[a-z-]+)", text)),
                         sorted(re.findall(r"(?m)^\*(--[a-z-]+)\*", page)))


if __name__ == "__main__":
    words = sys.argv[1:]
    if "--pages" in words:
        at = words.index("--pages")
        Paths.pages = os.path.abspath(words[at + 1])
        del words[at:at + 2]
    paths = [each for each in words if os.sep in each]
    if not paths:
        sys.exit(__doc__)
    Paths.cleave = os.path.abspath(paths[0])
    Paths.cleaved = os.path.abspath(paths[1]) if len(paths) > 1 else None
    unittest.main(argv=sys.argv[:1] + [each for each in words if os.sep not in each])
