#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules find what they are there to find, and leave alone what is right."""
import unittest

import calls
import changed
import documents
import includes
import rooms
import source
import tree


class Rules(unittest.TestCase):
    def test_line_comments(self):
        text = 'a("http://x"); /* // */\nb(); // here\nchar c = \'"\'; // and here\n'
        self.assertEqual(tree.line_comments(text), [2, 3])

    def test_arrows(self):
        for room, included, allowed in (
                ("gate", "arbiter/page.h", True), ("gate", "arbiter/policy.h", False),
                ("gate", "core/share.h", False), ("core", "base/error.h", True),
                ("base", "core/share.h", False), ("cli", "agent/api/api.h", False),
                ("agent/lease", "arbiter/arbiter.h", True), ("client", "core/share.h", False),
                ("gate/cuda", "gate/preload/library.h", True), ("gate", "gate/cuda/abi.h", False),
                ("gate/preload", "gate/gate.h", False),
                ("agent/lease", "agent/device/devices.h", True),
                ("agent/device", "agent/lease/lease.h", False)):
            self.assertIs(rooms.may_use(room, included), allowed, (room, included))

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
        near = [(changed.CALLS, 5, "slow"), (changed.CALLS, 1, "quick"),
                (changed.HAS_IT, 1, "far"), (changed.OWN, 9, "own")]
        self.assertEqual(changed.choose(near, 10, 1), (["own", "quick"], ["slow", "far"]))
        self.assertEqual(changed.choose(near, 4, 9), (["own", "quick", "far"], ["slow"]))
        self.assertEqual(changed.choose(near, 2, 1), (["own"], ["quick", "slow", "far"]))

    def test_tests_about_rooms(self):
        for room in changed.ABOUT:
            self.assertIn(room, rooms.ROOMS)

    def test_offending_include(self):
        wrong = includes.offenders_of("src/base/x.c", '#include "core/share.h"\n')
        self.assertEqual(len(wrong), 1)
        self.assertEqual(len(includes.offenders_of("src/nowhere/x.c", "")), 1)

    def test_own_header_first(self):
        text = '#include "base/error.h"\n#include "base/units.h"\n'
        self.assertEqual(len(includes.own_header_first("src/base/units.c", text)), 1)
        self.assertEqual(includes.own_header_first("src/base/error.c", text), [])

    def test_source(self):
        self.assertEqual(len(source.check_header("x.c", "int x;\n")), 1)
        self.assertEqual(len(source.check_lengths("x.c", "\t" * 11 + "abc\n")), 1)
        self.assertEqual(source.check_lengths("x.c", "\t" * 11 + "ab\n"), [])
        self.assertEqual(len(source.check_lengths("x.c", "\n" * 801)), 1)
        self.assertEqual(len(source.check_text("x.c", "/* TO" + "DO */\n")), 1)
        self.assertEqual(len(source.check_text("x.c", "a \nb")), 2)

    def test_commands(self):
        text = "`cleave run --share 0.3 -- x`, `cleave fly`, `cleave run --wings=2 x`, `./dev fly`"
        wrong = documents.check_commands("x.md", text, {"demo"}, {"run": {"--share"}})
        self.assertEqual(len(wrong), 3)
        self.assertEqual(documents.check_commands("x.md", "we cleave wood", set(), {}), [])

    def test_links_and_files(self):
        self.assertEqual(len(documents.check_links("README.md", "[a](no.md) [b](dev)")), 1)
        known = ["src/base/error.c"]
        text = "`error.c` `base/error.c` `src/base/error.c` `rror.c`"
        self.assertEqual(len(documents.check_files("x.md", text, known)), 1)


if __name__ == "__main__":
    unittest.main()
