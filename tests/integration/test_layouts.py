#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs that show nodes, partitions and plans, and imports, through the real binary
against a double of the API.

usage: test_layouts.py CLEAVE [TEST...]
"""
import json
import os
import re
import subprocess

import yaml

from cli_sandbox import Paths, Sandbox
from partition_sandbox import (BOB, CREATE, DESTROY, GIB, MIG_ON, NODE, OBSTACLE, ROLLED_BACK,
                               SHARE, WithDouble, plan, run_tests, states)


FACTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "facts",
                     "mig-profiles.json")


class Plans(WithDouble):
    def setUp(self):
        super().setUp()
        self.start_double()

    def test_nothing_to_do(self):
        result = self.cleave("plan", self.layout)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("nothing to do", result.stdout)

    def test_what_is_sent(self):
        with open(self.layout, "w") as file:
            file.write("version: 1 # \u00e4\n")
        self.cleave("plan", self.layout)
        self.assertEqual(self.asked("POST", "v1/plan"),
                         [[{"name": self.layout}, "version: 1 # \u00e4\n"]])
        result = subprocess.run([Paths.cleave, "plan", "-"], env=self.env, input="version: 2\n",
                                text=True, stdout=subprocess.PIPE)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(self.asked("POST", "v1/plan")[-1], [{"name": "stdin"}, "version: 2\n"])
        os.makedirs(os.path.join(self.folder, "d" * 200))
        long = os.path.join(self.folder, "d" * 200, "\u00fc&=.yaml")
        os.rename(self.layout, long)
        self.cleave("plan", long)
        name = self.asked("POST", "v1/plan")[-1][0]["name"]
        self.assertTrue(long.endswith(name) and len(name) > 80, name)

    def test_table(self):
        self.write(plan=plan(MIG_ON, CREATE, kept=["gpu0/1g.10gb@2", "gpu0/3g.40gb@4"],
                             warnings=["mixed memory modes are slower"], shares=[SHARE]))
        result = self.cleave("plan", self.layout)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr, "cleave: warning: mixed memory modes are slower\n")
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0].split(), ["#", "STEP", "NEEDS", "AFFECTS"])
        self.assertRegex(lines[1], r"^1 turn MIG on on gpu0 +idle, reset +gpu0$")
        self.assertRegex(lines[2], r"^2 create gpu0/2g.20gb@0 +gpu0$")
        self.assertEqual(lines[3:], ["2 partitions stay as they are"])

    def test_explain_and_verbose(self):
        self.write(plan=plan(CREATE, kept=["gpu0/1g.10gb@2"], shares=[SHARE]))
        text = self.cleave("plan", "--explain", self.layout).stdout
        self.assertRegex(text, r"(?m)WHY\n.*because of 1$")
        self.assertIn("1 partition stays as it is\n", text)
        self.assertNotIn("gpu0/1g.10gb@2", text)
        text = self.cleave("plan", "--verbose", self.layout).stdout
        self.assertIn("as it is:\n  gpu0/1g.10gb@2\n", text)
        self.assertRegex(text, r"gpu0/1g.10gb@2/infer +gpu0/1g.10gb@2 +25% +2G +latency")

    def test_blocked(self):
        self.write(plan=plan(DESTROY, CREATE, obstacles=[OBSTACLE]))
        result = self.cleave("plan", self.layout)
        self.assertEqual(result.returncode, 75)
        self.assertRegex(result.stdout, r"have to end first:\nWHERE +HELD BY +PID +LEASE +WHY\n"
                         r"gpu0/1g.10gb@0 +lease train of bob +l4f9c0a1b2c3d4e5 2g.20gb fits "
                         r"nowhere else\ngpu0/1g.10gb@0 +process 4711 \(python3\) +4711 *\n")
        self.assertRegex(result.stderr, r"\Acleave: the layout cannot be applied now: "
                         r"gpu0/1g.10gb@0 is held by lease train of bob, and 1 more; .*wait\n\Z")

    def test_blocked_by_an_unknown_holder(self):
        self.write(plan=plan(CREATE, obstacles=[dict(OBSTACLE, partition="", holders=[])]))
        result = self.cleave("plan", self.layout)
        self.assertEqual(result.returncode, 75)
        self.assertIn("gpu0 is held by a process that the driver does not name", result.stderr)
        self.assertRegex(result.stdout, r"(?m)^gpu0 +2g.20gb fits nowhere else$")

    def test_objects(self):
        full = plan(CREATE, obstacles=[OBSTACLE], shares=[SHARE])
        self.write(plan=full)
        result = self.cleave("plan", self.layout, "-o", "json")
        self.assertEqual((result.returncode, json.loads(result.stdout)), (75, full))
        result = self.cleave("plan", self.layout, "-o", "yaml")
        self.assertEqual(yaml.safe_load(result.stdout), full)
        result = self.cleave("plan", self.layout, "-o", "name")
        self.assertEqual(result.stdout, "create gpu0/2g.20gb@0\n")

    def test_problems(self):
        for code, status, exit_code in (("bad_layout", 400, 78), ("does_not_fit", 409, 75),
                                        ("not_permitted", 403, 77), ("internal", 500, 125)):
            with self.subTest(code):
                detail = "layout.yaml:3:5: three of them do not fit: ask for two"
                self.write(problem={"plan": [status, code, detail]})
                for verb in ("plan", "apply", "diff"):
                    self.assert_refused(self.cleave(verb, self.layout), exit_code, detail)

    def test_inputs(self):
        for verb in ("plan", "apply", "diff"):
            with self.subTest(verb):
                self.assert_refused(self.cleave(verb, "/no/such.yaml"), 66, "/no/such.yaml")
                self.assert_refused(self.cleave(verb, self.folder), 66, self.folder)
                self.assert_refused(self.cleave(verb, self.layout, "more"), 64, verb)
        self.assert_refused(self.cleave("plan"), 64, "FILE")
        self.assert_refused(self.cleave("apply"), 64, "--follow")
        self.assert_refused(self.cleave("apply", self.layout, "--follow=op1"), 64)
        with open(self.layout, "w") as file:
            file.write("#" * ((1 << 16) + 1))
        for verb in ("plan", "apply", "diff"):
            self.assert_refused(self.cleave(verb, self.layout), 78, self.layout, "64 KiB")

    def test_control_characters(self):
        evil = dict(OBSTACLE, holders=[dict(BOB, text="process 1 (\x1b[31m\nboo)")])
        self.write(plan=plan(CREATE, obstacles=[evil], warnings=["a\x1b[0mb"],
                             kept=["x\x1by"]))
        result = self.cleave("plan", "-v", self.layout)
        self.assertNotIn("\x1b", result.stdout + result.stderr)
        self.assertIn("process 1 (?[31m?boo)", result.stdout)
        self.assertEqual(len(result.stderr.splitlines()), 2)

    def test_no_blanks_at_the_ends_of_lines(self):
        self.write(plan=plan(MIG_ON, dict(CREATE, affects=[], why="")))
        for arguments in (["plan", "--explain"], ["plan"]):
            for line in self.cleave(*arguments, self.layout).stdout.splitlines():
                self.assertEqual(line, line.rstrip())

    def test_narrow(self):
        self.write(plan=plan(*[CREATE] * 3, obstacles=[OBSTACLE]))
        for columns in (40, 60, 100):
            with self.subTest(columns):
                code, text = self.terminal("plan", "-e", self.layout, columns=columns)
                bare = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
                self.assertEqual(code, 75)
                self.assertLessEqual(max(len(line) for line in bare
                                         if not line.startswith("cleave:")), columns)
                self.assertIn(CREATE["text"], text)

    def test_diff(self):
        self.assertEqual((self.cleave("diff", self.layout).returncode,
                          self.cleave("diff", self.layout).stdout), (0, ""))
        self.write(plan=plan(DESTROY, MIG_ON, CREATE))
        result = self.cleave("diff", self.layout)
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertEqual(result.stdout, "- gpu0/1g.10gb@0\n~ turn MIG on on gpu0\n"
                         "+ gpu0/2g.20gb@0\n")
        code, text = self.terminal("diff", self.layout)
        self.assertEqual(code, 1)
        self.assertIn("\x1b[32m+ gpu0/2g.20gb@0", text)
        result = self.cleave("diff", self.layout, "-o", "json")
        self.assertEqual((result.returncode, json.loads(result.stdout)),
                         (1, plan(DESTROY, MIG_ON, CREATE)))

    def test_diff_before_any_apply(self):
        self.assert_refused(self.cleave("diff"), 64, "no layout has been applied",
                            "cleave diff FILE", "cleave apply FILE")

    def test_export(self):
        result = self.cleave("export")
        self.assertEqual((result.returncode, result.stdout), (0, self.answers["layout"]))
        self.assert_refused(self.cleave("export", "--wanted"), 64, "no layout has been applied",
                            "cleave apply FILE")
        self.write(wanted="version: 1\n")
        self.assertEqual(self.cleave("export", "--wanted", "-oyaml").stdout, "version: 1\n")
        self.assertEqual(json.loads(self.cleave("export", "-w", "-ojson").stdout),
                         {"layout": "version: 1\n"})


class Partitions(WithDouble):
    PROFILES = [
        {"device": "gpu0", "scheme": "mig", "profile": "1g.10gb", "memory_bytes": 10 * GIB,
         "compute_units": 14, "fits": 2, "most": 7, "starts": [0, 1, 2], "note": ""},
        {"device": "gpu2", "scheme": "vf", "profile": "vf:4", "memory_bytes": 4 * GIB,
         "compute_units": 0, "fits": 1, "most": 1, "starts": [], "note": "equal parts"}]

    def setUp(self):
        super().setUp()
        self.write(profiles=self.PROFILES)
        self.start_double()

    def test_profiles(self):
        result = self.cleave("profiles")
        self.assertEqual(result.returncode, 0)
        rows = [line.split() for line in result.stdout.splitlines()]
        self.assertEqual(rows[0], ["DEVICE", "PROFILE", "MEMORY", "UNITS", "FITS", "MOST",
                                   "PLACES", "BY", "NOTE"])
        self.assertEqual(rows[1], ["gpu0", "1g.10gb", "10G", "14", "2", "7", "0,1,2", "mig"])
        self.assertEqual(rows[2], ["gpu2", "vf:4", "4G", "1", "1", "vf", "equal", "parts"])
        self.assertEqual(result.stderr,
                         "gpu1 cannot be divided: a T4 has no MIG: use shares\n")
        self.assertEqual(self.rows("profiles", "gpu0")[1].split(), rows[1])
        result = self.cleave("profiles", "gpu1")
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertIn("a T4 has no MIG", result.stderr)
        self.assertEqual(json.loads(self.cleave("profiles", "-ojson").stdout)["items"],
                         self.PROFILES)
        self.assertEqual(self.rows("profiles", "-oname"), ["1g.10gb", "vf:4"])

    def test_devices(self):
        rows = self.rows("devices")
        self.assertEqual(rows[0].split(), ["NAME", "TYPE", "MODEL", "UNITS", "PROMISED", "MEMORY",
                                           "MEM-PROMISED", "MEM-USED", "LEASES", "QUEUED", "TURN",
                                           "HAND-OVER", "BY"])
        self.assertRegex(rows[1], r"^gpu0 +gpu +Double of a device +2 +0% +16G")
        self.assertRegex(rows[2], r"^  gpu0/1g.10gb@0 +partition 1g.10gb +14 +10G +1 +mig$")
        self.assertRegex(rows[4], r"^  gpu0/3g.40gb@4 ")
        self.assertRegex(rows[5], r"^    gpu0/3g.40gb@4/1c@0 ")
        self.assertRegex(rows[7], r"^gpu1 +gpu +T4 +108 +80G")
        items = json.loads(self.cleave("devices", "-o", "json").stdout)["items"]
        self.assertEqual(items[0]["partitions"], NODE["devices"][0]["partitions"])
        self.assertEqual(items[0]["share_promised"], 0)
        self.assertEqual([each["name"] for each in items], ["gpu0", "gpu1"])
        self.assertEqual(self.rows("devices", "-oname"), ["gpu0", "gpu1"])
        self.write(node=dict(NODE, problems=["one GPU does not answer"]))
        result = self.cleave("devices")
        self.assertEqual((result.returncode, result.stderr), (0, "one GPU does not answer\n"))
        self.assertEqual(self.cleave("devices", "-ojson").stderr, "")
        self.write(problem={"node": [404, "not_found", "an older agent"]})
        result = self.cleave("devices")
        self.assertEqual((result.stderr, len(result.stdout.splitlines())), ("", 2))
        self.write(problem={"node": [500, "internal", "the driver is gone"]})
        result = self.cleave("devices")
        self.assertEqual((result.returncode, len(result.stdout.splitlines())), (0, 2))
        self.assertIn("the driver is gone", result.stderr)

    def test_list(self):
        rows = self.rows("partition", "list")
        self.assertEqual(len(rows), 6)
        self.assertRegex(rows[1], r"^gpu0/1g.10gb@0 +1g.10gb +10G +14 lease train of bob +MIG-")
        self.assertIn("1g.10gb (incomplete)", rows[2])
        self.assertRegex(rows[4], r"^  gpu0/3g.40gb@4/1c@0 ")
        self.assertEqual(len(self.rows("partition", "list", "GPU-gpu0")), 6)
        result = self.cleave("partition", "list", "gpu1")
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertEqual(json.loads(self.cleave("partition", "list", "-ojson").stdout)["items"],
                         NODE["devices"][0]["partitions"])
        self.assertIn("gpu0/3g.40gb@4/2c@1", self.rows("partition", "list", "-oname"))

    def test_creating_may_lose(self):
        """The cost is shown, and the user is asked to confirm."""
        self.write(plan=plan(MIG_ON, CREATE), operation=states("create gpu0/1g.10gb@0"))
        result = self.cleave("partition", "create", "gpu0", "1g.10gb")
        self.assertEqual(result.returncode, 64)
        self.assertIn("STEP", result.stdout)
        self.assertIn("1 step destroys or resets something", result.stderr)
        code, text = self.terminal("partition", "create", "gpu0", "1g.10gb",
                                   keys=[(b"[y/N]", b"n\n")])
        self.assertEqual(code, 1, text)
        self.assertEqual(self.cleave("partition", "create", "gpu0", "1g.10gb",
                                     "--yes").returncode, 0)
        self.assertEqual(len([each for each in self.asked("POST", "v1/partitions")
                              if "dry_run" not in each[0]]), 1)

    def test_create(self):
        self.write(operation=states("create gpu0/1g.10gb@0"))
        result = self.cleave("partition", "create", "gpu0", "1g.10gb", "--start=0")
        self.assertEqual((result.returncode, result.stderr),
                         (0, "cleave: 1/1 create gpu0/1g.10gb@0 (0.2 s)\n"))
        self.assertIn("MIG-gpu0/1g.10gb@0", result.stdout)
        self.assertEqual(len(result.stdout.splitlines()), 2)
        self.cleave("partition", "create", "gpu0", "1g.10gb", "--count", "3")
        self.assertEqual([each[1] for each in self.asked("POST", "v1/partitions")
                          if "dry_run" not in each[0]],
                         [{"device": "gpu0", "profile": "1g.10gb", "start": 0},
                          {"device": "gpu0", "profile": "1g.10gb", "count": 3}])
        result = self.cleave("partition", "create", "gpu0", "1g.10gb", "-oname")
        self.assertEqual(result.stdout, "gpu0/1g.10gb@0\n")
        result = self.cleave("partition", "create", "gpu0", "1g.10gb", "-ojson")
        self.assertEqual(json.loads(result.stdout)["what"], "create 1g.10gb on gpu0")
        # A partition's new parts are below it; a mode or functions belong to the whole device.
        self.write(operation=states("create gpu0/3g.40gb@4", "create gpu0/3g.40gb@4/2c@1"))
        result = self.cleave("partition", "create", "gpu0", "2c.3g.40gb")
        self.assertEqual(len(result.stdout.splitlines()), 4)
        self.write(operation=states("set gpu0 to 2 virtual functions"))
        result = self.cleave("partition", "create", "gpu0", "vf:2")
        self.assertEqual(len(result.stdout.splitlines()), 6)
        self.write(operation=ROLLED_BACK)
        result = self.cleave("partition", "create", "gpu0", "1g.10gb")
        self.assertEqual((result.returncode, result.stdout), (125, ""))
        self.write(problem={"partitions": [409, "does_not_fit", "it holds three"]})
        self.assert_refused(self.cleave("partition", "create", "gpu0", "2g.20gb"), 75,
                            "it holds three")

    def test_destroy(self):
        self.write(operation=states("destroy gpu0/1g.10gb@2"))
        names = ["gpu0/1g.10gb@2", "gpu0/3g.40gb@4/1c@0"]
        result = self.cleave("partition", "destroy", *names)
        self.assertEqual(result.returncode, 64)
        self.assertIn("2 partitions would be destroyed", result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 3)
        self.assertEqual(self.asked("DELETE", "v1/partitions"), [])
        code, text = self.terminal("partition", "destroy", names[0],
                                   keys=[(b"Destroy? [y/N]", b"y\n")])
        self.assertEqual(code, 0, text)
        result = self.cleave("partition", "destroy", "--yes", *names)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([each[0]["name"] for each in self.asked("DELETE", "v1/partitions")],
                         [names[0], *names])
        result = self.cleave("partition", "destroy", "-y", *names, "-ojson")
        self.assertEqual(len(json.loads(result.stdout)["items"]), 2)
        self.assert_refused(self.cleave("partition", "destroy", "-y", "gpu0/none@1"), 64,
                            "gpu0/none@1", "cleave partition list")
        self.write(problem={"partitions": [409, "in_use", "lease train of bob holds it"]})
        result = self.cleave("partition", "destroy", "-y", *names)
        self.assertEqual(result.returncode, 75)
        self.assertEqual(result.stderr.count("bob holds it"), 2)

    def test_usage(self):
        for arguments, words in (
                (["partition"], ["create"]), (["partition", "make"], ["create, destroy or list"]),
                (["partition", "create", "gpu0"], ["DEVICE PROFILE"]),
                (["partition", "destroy"], ["NAME..."]),
                (["partition", "list", "a", "b"], ["[DEVICE]"]),
                (["partition", "list", "gpu9"], ["there is no device 'gpu9'"]),
                (["partition", "create", "a", "b", "--count=0"], ["--count", "from 1 to"]),
                (["apply", "--follow=a/b"], ["a/b", "not the id of an operation"]),
                (["partition", "list", "--count=2"], ["--count"]),
                (["partition", "create", "a", "b", "--start=-1"], ["--start"]),
                (["partition", "create", "a", "b", "--start=1", "--count=2"], ["--start"]),
                (["partition", "create", "a", "b", "--start=99999999999"], ["--start"]),
                (["apply", "x", "--on-busy=maybe"], ["fail, wait, list"]),
                (["export", "-oname"], ["yaml, json"])):
            with self.subTest(arguments):
                self.assert_refused(self.cleave(*arguments), 64, *words)


class Imports(Sandbox):
    FILES = {
        "mig-parted": "version: v1\nmig-configs:\n  balanced:\n    - devices: [0, 1]\n"
                      "      mig-enabled: true\n      mig-devices: {1g.10gb: 2}\n"
                      "  off:\n    - {devices: all, mig-enabled: false}\n",
        "device-plugin": "version: v1\nflags: {migStrategy: none}\nsharing:\n"
                         "  timeSlicing:\n    resources:\n"
                         "      - {name: nvidia.com/gpu, replicas: 4}\n",
        "device-config-manager": '{"gpu-config-profiles": {"cpx": {"profiles": [{'
                                 '"computePartition": "CPX", "memoryPartition": "NPS4", '
                                 '"numGPUsAssigned": 8}]}}}',
        "compose": "services: {}\nx-internal-integrations:\n  multiTenantGpu:\n"
                   "    instanceType: g4dn.xlarge\n    timeSlicingReplicas: 4\n",
    }

    def file(self, text):
        path = os.path.join(self.folder, "file")
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_every_format(self):
        for name, text in self.FILES.items():
            options = ["--select=balanced"] if name == "mig-parted" else []
            for choice in ([], ["--format", name]):
                with self.subTest(name, choice=choice):
                    result = self.cleave("import", self.file(text), *options, *choice)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(yaml.safe_load(result.stdout)["version"], 1)
            about = json.loads(self.cleave("import", self.file(text), *options, "-ojson").stdout)
            self.assertEqual((about["format"], about["layout"]), (name, result.stdout))
            self.assertIn(name, self.cleave("import", "--help").stdout.replace("\n" + " " * 28, " "))

    def test_mig_parted_with_every_profile(self):
        """One file with a configuration for each profile of each GPU, as published files have
        them: as it is, as the second document, and in a ConfigMap."""
        with open(FACTS, encoding="utf-8") as file:
            gpus = json.load(file)["gpus"]
        most = {}
        for gpu in gpus.values():
            for each in gpu["profiles"]:
                most[each["name"]] = max(each["max_instances"], most.get(each["name"], 0))
        names = {f"all-{profile.replace('+', '.')}": (profile, n) for profile, n in most.items()}
        text = yaml.safe_dump({"version": "v1", "mig-configs": {
            "all-disabled": [{"devices": "all", "mig-enabled": False}],
            **{name: [{"devices": "all", "mig-enabled": True, "mig-devices": {profile: n}}]
               for name, (profile, n) in names.items()}}})
        path = self.file(text)
        self.assertGreater(len(names), 70)
        for name, (profile, n) in names.items():
            result = self.cleave("import", path, "--select", name)
            self.assertEqual((result.returncode, result.stderr), (0, ""), name)
            (rule,) = yaml.safe_load(result.stdout)["devices"]
            (part,) = rule["partitions"]
            self.assertEqual((rule["mig"], part["profile"], part.get("count", 1)),
                             (True, profile, n), name)
        wanted = result.stdout.splitlines()[1:]
        second = self.file("kind: Namespace\nmetadata: {name: gpu}\n---\n" + text)
        mapped = yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap",
                                 "metadata": {"name": "parted"}, "data": {"config.yaml": text}})
        for path in (second, self.file(mapped)):
            result = self.cleave("import", path, "--select", name)
            self.assertEqual(result.stdout.splitlines()[1:], wanted, result.stderr)

    def test_remarks(self):
        path = self.file(self.FILES["device-plugin"])
        result = self.cleave("import", path)
        self.assertRegex(result.stderr, r"(?m)^\S+file:6:\d+: .*memory")
        about = json.loads(self.cleave("import", path, "-o", "json").stdout)
        self.assertEqual([each["text"] for each in about["remarks"]],
                         result.stderr.splitlines())
        lines = [each["line"] for each in about["remarks"]]
        self.assertGreater(lines[0], 0)
        self.assertEqual(lines, sorted(lines))

    def test_refusals(self):
        path = self.file(self.FILES["mig-parted"])
        self.assert_refused(self.cleave("import", path), 78, "--select")
        self.assert_refused(self.cleave("import", path, "-s", "none"), 78, "balanced")
        self.assert_refused(self.cleave("import", path, "-f", "toml"), 64, "mig-parted, device-plugin")
        self.assert_refused(self.cleave("import", "/no/such"), 66, "/no/such")
        self.assert_refused(self.cleave("import", self.file("#" * ((1 << 20) + 1))), 78, "1 MiB")
        self.assert_refused(self.cleave("import", self.file("a: [")), 78, "file:2:1")
        self.assert_refused(self.cleave("import", self.file("a: 1\n")), 78)


if __name__ == "__main__":
    run_tests(__doc__)
