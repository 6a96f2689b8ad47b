# SPDX-License-Identifier: Apache-2.0
"""Tables on terminals of several widths, and in a pipe."""
import json
import re

from cli_sandbox import Paths, run_in_terminal


class Tables:
    """Tests for a case with an agent: see test_cli.py."""

    def test_narrow_and_plain(self):
        self.start_holder(0.25, name="a-rather-long-name-of-a-lease")
        _, wide = run_in_terminal([Paths.cleave, "ps"], self.env, columns=200)
        _, narrow = run_in_terminal([Paths.cleave, "ps"], self.env, columns=50)
        plain = self.cleave("ps").stdout
        self.assertIn("COMMAND", wide)
        self.assertIn("\x1b[", wide)
        self.assertNotIn("COMMAND", narrow)
        bare = re.sub(r"\x1b\[[0-9;]*m", "", narrow)
        self.assertLessEqual(max(map(len, bare.splitlines())), 50)
        self.assertIn("SHARE", bare)
        self.assertIn("a-rather-long-name-of-a-lease", plain)
        self.assertNotIn("\x1b", plain)
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            _, text = run_in_terminal([Paths.cleave, "ps"], dict(self.env, **env), columns=200)
            self.assertNotIn("\x1b", text)

    def on_terminal(self, columns, *arguments):
        _, text = run_in_terminal([Paths.cleave, *arguments],
                                  dict(self.env, LC_ALL="C.UTF-8", NO_COLOR="1"), columns=columns)
        table = text.replace("\r", "").split("\n\n")[0].splitlines()
        self.assertLessEqual(max(map(len, table)), columns, text)
        return table

    def test_what_identifies_is_never_cut(self):
        names = [f"resnet50-train-on-the-second-node-{letter}" for letter in "ab"]
        for name in names:
            self.start_holder(0.25, name=name)
        for columns in (60, 80):
            rows = self.on_terminal(columns, "ps")[1:]
            self.assertEqual(sorted(row.split()[0] for row in rows), names)
            events = " ".join(self.on_terminal(columns, "events"))
            for name in names:
                self.assertIn(name, events)

    def test_long_text_is_wrapped(self):
        found = [each["found"] for each in
                 json.loads(self.cleave("doctor", "-o", "json").stdout)["items"]]
        narrow = self.on_terminal(50, "doctor")
        self.assertTrue(any(line.startswith(" " * 10) for line in narrow), narrow)
        words = "".join(narrow).replace(" ", "")
        for text in found:
            for word in text.split():
                self.assertIn(word, words)

    def test_an_ellipsis_shows_what_is_cut(self):
        model = json.loads(self.cleave("devices", "-o", "json").stdout)["items"][0]["model"]
        n_cut = 0
        for columns in range(50, 100, 5):
            header, line = self.on_terminal(columns, "devices")[:2]
            if "MODEL" not in header:
                continue
            shown, ellipsis, _ = line[header.index("MODEL"):].partition("\u2026")
            n_cut += bool(ellipsis)
            self.assertTrue(model.startswith(shown) if ellipsis else model in line, line)
        self.assertGreater(n_cut, 0)
