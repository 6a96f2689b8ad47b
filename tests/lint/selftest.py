#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lints detect what they are for, and accept what is correct."""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import budget
import calls
import changed
import commits
import documents
import findings
import includes
import rooms
import source
import tree
import words


class Rules(unittest.TestCase):
    def test_line_comments(self):
        text = 'a("http://x"); /* // */\nb(); // here\nchar c = \'"\'; // and here\n'
        self.assertEqual(tree.line_comments(text), [2, 3])

    def test_arrows(self):
        for room, included, allowed in (
                ("gate", "arbiter/page.h", True), ("gate", "arbiter/policy/policy.h", False),
                ("gate", "core/share/share.h", False), ("core", "base/error.h", True),
                ("base", "core/share/share.h", False), ("cli", "agent/api/handler/api.h", False),
                ("agent/lease", "arbiter/arbiter.h", True),
                ("agent/lease", "core/plan/plan.h", True), ("agent", "corelib/x.h", False),
                ("core/plan", "core/gpu/mig.h", True), ("core/gpu", "core/plan/plan.h", False),
                ("client", "core/share/share.h", False),
                ("gate/cuda", "gate/preload/library.h", True), ("gate", "gate/cuda/abi.h", False),
                ("gate/preload", "gate/process/state.h", False),
                ("agent/lease", "agent/device/devices.h", True),
                ("agent/device", "agent/lease/lease.h", False)):
            self.assertIs(rooms.may_use(room, included), allowed, (room, included))

    def test_commit_messages(self):
        why = "why\n\nChecked: how"
        for subject in ("agent: look at ended processes first", "gate, cli: say what is wrong",
                        "core/plan: address an overlap", "Merge branch 'x'"):
            self.assertEqual(commits.faults(subject, why), [], subject)
        for subject, body in (("agent: " + "x" * 66, why), ("Agent: look", why),
                              ("agent: Look", why), ("look at processes", why),
                              ("agent: looks at processes", why), ("agent: looked", why),
                              ("agent: looking away", why), ("agent: look away.", why),
                              ("agent: look", "")):
            self.assertEqual(len(commits.faults(subject, body)), 1, subject)

    def test_circles(self):
        self.assertEqual(calls.circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}),
                         [["a", "b", "c"]])
        self.assertEqual(calls.circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}), [])

    def test_unit_of_several_files(self):
        units = calls.Units({"x/store", "x/store-log", "x/store-internal", "x/other"})
        self.assertEqual([units.of(s) for s in ("x/store-log", "x/other")],
                         ["x/store", "x/other"])

    def test_inputs_of_a_target(self):
        text = ("a/test:\n  input: c_LINKER\n    a/test.p/x.c.o\n    | lib.a\n    || b/tool\n"
                "  outputs:\n    all\nlib.a:\n  input: STATIC_LINKER\n    lib.p/y.c.o\n")
        self.assertEqual(changed.read_query(text),
                         {"a/test": ["a/test.p/x.c.o", "lib.a", "b/tool"],
                          "lib.a": ["lib.p/y.c.o"]})

    def test_what_a_linker_takes(self):
        defined = {"main": {"main"}, "x": {"x"}, "y": {"y"}, "z": {"z"}}
        used = {"main": {"x", "printf"}, "x": {"y"}, "z": {"x"}}
        self.assertEqual(changed.steps_from(["main"], ["x", "y", "z"], defined, used),
                         {"main": 0, "x": 1, "y": 2})

    def test_nearest_and_quickest_first(self):
        near = [(changed.CALLS, 5, True, "slow"), (changed.CALLS, 1, True, "quick"),
                (changed.HAS_IT, 1, True, "far"), (changed.OWN, 9, True, "own")]
        self.assertEqual(changed.choose(near, 10, 1), (["own", "quick"], ["slow", "far"]))
        self.assertEqual(changed.choose(near, 4, 9), (["quick", "far"], ["own", "slow"]))
        self.assertEqual(changed.choose(near, 9, 2), (["own", "quick", "slow", "far"], []))
        self.assertEqual(changed.choose(near, .5, 1)[0], [])

    def test_span(self):
        self.assertEqual(budget.span([], 2), 0)
        self.assertEqual(budget.span([(1, True), (3, True), (2, True)], 2), 3)
        self.assertEqual(budget.span([(1, True), (3, True), (2, False)], 2), 5)

    def outcomes_of(self, seconds, **commands):
        """Of shell commands, each taken for as long as its last word says, on one processor."""
        tests = [{"name": name, "cmd": ["/bin/sh", "-c", command], "env": {}, "workdir": None,
                  "is_parallel": True, "protocol": "tap" if "ok" in command else "exitcode"}
                 for name, (command, _) in commands.items()]
        with tempfile.TemporaryDirectory() as folder:
            runs = budget.Budget(tests, {n: s for n, (_, s) in commands.items()}, seconds, 1,
                                 Path(folder))
            return runs.run()

    def test_budget(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(
                self.outcomes_of(60, good=("exit 0", 3), bad=("exit 1", 2), skips=("exit 77", 1),
                                 fails=("echo not ok 1", 1), known=(f"echo 'not ok 1 {budget.EXPECTED}'", 1)),
                {"good": "OK", "bad": "FAIL", "skips": "OK", "fails": "FAIL", "known": "OK"})
            # What does not fit does not start; what turns out not to fit is ended.
            self.assertEqual(self.outcomes_of(5, long=("exit 1", 60), fits=("exit 0", 0)),
                             {"long": "LEFT", "fits": "OK"})
            self.assertEqual(self.outcomes_of(1, hangs=("sleep 600", 0), next=("exit 1", 0)),
                             {"hangs": "LEFT", "next": "LEFT"})

    def test_tests_about_rooms(self):
        for room in changed.ABOUT:
            self.assertIn(room, rooms.ROOMS)
        self.assertEqual(changed.about("gate/cuda/memory"), changed.ABOUT["gate/cuda"])
        self.assertEqual(changed.about("nowhere/at/all"), ())

    def test_findings(self):
        texts = {"unit": ["/* also_here (x) */\nstatic void test_one(void **state)\n{\n\ttest_two(x);\n}\n"],
                 "ways": ['\t{ "own-way", own_way },\n', "/* old-way, \"x\" */\n"],
                 "cases": ["class A(B):\n    def test_a(self):\n        pass\n\n\n"
                           "class C(A):\n    def test_c(self):\n        pass\n"],
                 "bench/x.tsv": ["shares\tmixed\tworst\n"]}
        chosen = {"cases": ["A.test_a", "C"]}
        for test, row, wrong in (
                ("unit", "test_one", False), ("unit", "test_two", True), ("unit", "also_here", True),
                ("unit", "test_on", True), ("ways", "own-way", False), ("ways", "old-way", True),
                ("ways", "way", True), ("cases", "A.test_a", False), ("cases", "C.test_c", False),
                ("cases", "A.test_c", True), ("cases", "C.test_a", False), ("cases", "test_a", True),
                ("cases", "C.test_b", True), ("no-test", "test_one", True),
                ("bench/x.tsv", "shares mixed", False), ("bench/x.tsv", "shares none", True)):
            found = findings.fault(["cuda", "13a", "what it is", test, row], texts, texts.get,
                                   lambda name: chosen.get(name, []))
            self.assertEqual(bool(found), wrong, (test, row, found))
        self.assertFalse(findings.runs(["C", "A.test_b"], "A.test_a"))
        # Rows of a table: of a sample, and those that a whole class goes through.
        self.assertTrue(findings.runs(["own-way"], "own-way"))
        self.assertFalse(findings.runs(["own-way"], "other-way"))
        self.assertTrue(findings.runs(["C"], "own-way"))
        self.assertFalse(findings.runs(["C.test_some"], "own-way"))
        listed = [["cuda", "1 2a 2b", "2b"]]
        for numbers, n_wrong in ((["1", "2a"], 0), (["1"], 1), (["1", "2a", "2b"], 1), (["1", "2a", "3"], 1)):
            wrong = findings.incomplete(listed, [["cuda", number] for number in numbers])
            self.assertEqual(len(wrong), n_wrong, (numbers, wrong))
        for row in (["cuda", "13a", "", "unit", "test_one"], ["hip", "1", "x", "unit", "test_one"],
                    ["cuda", "1", "x", "unit"], ["cuda", "a1", "x", "unit", "test_one"]):
            self.assertTrue(findings.fault(row, texts, texts.get, lambda name: []), row)

    def test_offending_include(self):
        wrong = includes.offenders_of("src/base/x.c", '#include "core/share/share.h"\n')
        self.assertEqual(len(wrong), 1)
        self.assertEqual(len(includes.offenders_of("src/nowhere/x.c", "")), 1)

    def test_own_header_first(self):
        text = '#include "base/error.h"\n#include "base/units.h"\n'
        self.assertEqual(len(includes.own_header_first("src/base/units.c", text)), 1)
        self.assertEqual(includes.own_header_first("src/base/error.c", text), [])

    def test_source(self):
        self.assertEqual(len(source.check_header("x.c", "int x;\n")), 1)
        self.assertEqual(len(source.check_name("docs/x.md.orig")), 1)
        self.assertEqual(source.check_name("docs/x.md"), [])
        self.assertEqual(len(source.check_lengths("x.c", "\t" * 11 + "abc\n")), 1)
        self.assertEqual(source.check_lengths("x.c", "\t" * 11 + "ab\n"), [])
        self.assertEqual(len(source.check_lengths("x.c", "\n" * 801)), 1)
        self.assertEqual(len(source.check_text("x.c", "/* TO" + "DO */\n")), 1)
        self.assertEqual(len(source.check_text("x.c", "a \nb")), 2)
        locks = "l = PTHREAD_MUTEX_INITIALIZER;\npthread_mutex_init(&l, 0);\n"
        self.assertEqual(len(source.check_locks("src/gate/queue/x.c", locks)), 2)
        self.assertEqual(len(source.check_locks("src/gate/queue/x.c", "clv_lock_init(&l)" + locks)), 1)
        self.assertEqual(source.check_locks("src/gate/memory/x.c", locks), [])

    def test_commands(self):
        text = "`cleave run --share 0.3 -- x`, `cleave fly`, `cleave run --wings=2 x`, `./dev fly`"
        wrong = documents.check_commands("x.md", text, {"demo"}, {"run": {"--share"}})
        self.assertEqual(len(wrong), 3)
        self.assertEqual(documents.check_commands("x.md", "we cleave wood", set(), {}), [])

    def test_pages(self):
        text = "man_verbs = ['run',\n  'set']\nother = ['fly']\n"
        self.assertEqual(documents.check_pages({"run": set(), "set": set()}, text), [])
        self.assertEqual(len(documents.check_pages({"run": set(), "fly": set()}, text)), 1)

    def test_links_and_files(self):
        self.assertEqual(len(documents.check_links("README.md", "[a](no.md) [b](dev)")), 1)
        for link, wrong in (("#a-b", 0), ("#c", 1), ("README.md#limits", 0), ("README.md#limit", 1)):
            text = f"## A `b`\n[x]({link})"
            self.assertEqual(len(documents.check_links("CHANGELOG.md", text)), wrong, link)
        known = ["src/base/error.c"]
        text = "`error.c` `base/error.c` `src/base/error.c` `rror.c`"
        self.assertEqual(len(documents.check_files("x.md", text, known)), 1)

    def test_paths(self):
        known = ["src/base/error.c", "man/cleave-run.1.scd"]
        folders = documents.folders_of(known)
        for text, wrong in (("`src/base`, `base/error.c`, `man/cleave-NAME.1.scd`", 0),
                            ("`src/base/*.c` is in `src/base`", 0),
                            ("`src/bass`, `base/wrong.c`, `src/core/*.c`", 3),
                            ("`/etc/base`, `~/man/x`, `gpu0/1g.10gb@4`, base/wrong.c", 0),
                            ("```\nmore `base/wrong.c`\n```", 0)):
            self.assertEqual(len(documents.check_paths("x.md", text, known, folders)), wrong, text)

    def test_tables(self):
        text = "## A\n\n| x | y |\n|---|---|\n| `a`, `b` | c |\n\n## B\n\n| x |\n|---|\n| d |\n"
        self.assertEqual(words.table(text, "## A"), [["`a`, `b`", "c"]])
        self.assertEqual(words.table(text, "## B"), [["d"]])

    def test_words(self):
        rows = [["`way round`, `nobody`", "bypass", "documents"]]
        for text, lines in (("a way round it", [1]), ("one\nNobody, a way\n  round", [2, 2]),
                            ("`nobody` and\n```\nnobody\n```\n", []), ("a runway roundly", []),
                            ("<!-- x -->\nnobody\n<!-- end of x -->\nnobody", [4])):
            found = words.offenders_of("x.md", words.prose(text), rows)
            self.assertEqual([int(f.split(":")[1]) for f in found], lines[::-1], text)
        text = 'int nobody; /* a way\n * round */ f("nobody"); /* x */\n/* nobody */\n'
        found = words.offenders_of("x.c", words.comments(text), rows)
        self.assertEqual([int(f.split(":")[1]) for f in found], [1, 3])

    def test_words_of_python(self):
        rows = [["`way round`, `nobody`", "bypass", "documents, comments"]]
        text = ('"""A module.\n\nNobody: `nobody`, "nobody"."""\nx = "nobody"  # é nobody\n'
                '# a way\n# round\ndef nobody():\n    """é "nobody" or nobody"""\n')
        found = words.offenders_of("x.py", words.python_comments(text), rows)
        self.assertEqual([int(f.split(":")[1]) for f in found], [5, 3, 4, 8])

    def test_terms(self):
        known = ["src/agent/watch/watch.c", "man/cleave-run.1.scd"]
        good = [["a", "b", "`struct clv_x`, `src/agent/watch`", "c"], ["d", "", "`cleave run`", ""]]
        self.assertEqual(words.check_terms(good, "struct clv_x {", known), [])
        bad = [["b", "", "`struct clv_y`", ""], ["a", "", "`cleave fly`", ""], ["c", "", "`src/at`"]]
        self.assertEqual(len(words.check_terms(bad, "struct clv_yy {", known)), 4)

    def test_names(self):
        rows = [["`wherever`", "placing"]]
        self.assertEqual(len(words.check_names(["src/core/wherever.h", "src/core/where.h"], rows)), 1)


if __name__ == "__main__":
    unittest.main()
