# SPDX-License-Identifier: Apache-2.0
"""Renders the chart as Helm does, for the part of Helm's language that it uses: values, and
conditions on one. Any other construct is an error here.

usage: chart.py [KEY=VALUE...] > packaging/kubernetes/cleave.yaml
"""
import os
import re
import sys

import yaml

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../packaging/kubernetes")
# In the order in which they are applied.
TEMPLATES = ("access", "settings", "node", "extender", "class")
HEAD = """# SPDX-License-Identifier: Apache-2.0
# The chart with its own values, for kubectl apply: tests/kubernetes/chart.py writes this.
apiVersion: v1
kind: Namespace
metadata:
  name: cleave-system
"""


def values(**other):
    with open(os.path.join(FOLDER, "chart/values.yaml"), encoding="utf-8") as file:
        return {**yaml.safe_load(file), **other}


def text_of(value):
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) \
        else str(value)


def render(template, known):
    lines, stack = [], [True]
    for line in template.splitlines(keepends=True):
        condition = re.fullmatch(r"\{\{-? if \.Values\.(\w+) \}\}\n", line)
        if condition:
            stack.append(stack[-1] and bool(known[condition[1]]))
        elif re.fullmatch(r"\{\{-? end \}\}\n", line):
            stack.pop()
        elif stack[-1]:
            made = re.sub(r"\{\{ \.Values\.(\w+) \}\}", lambda m: text_of(known[m[1]]), line)
            if "{{" in made:
                raise ValueError(f"more of Helm's language than is known here: {line}")
            lines.append(made)
    assert len(stack) == 1, "a condition that does not end"
    return "".join(lines)


def render_all(known):
    documents = []
    for name in TEMPLATES:
        path = os.path.join(FOLDER, "chart/templates", name + ".yaml")
        with open(path, encoding="utf-8") as file:
            documents.append(render(file.read(), known))
    return "---\n".join(each for each in documents if each.strip())


if __name__ == "__main__":
    given = dict(each.split("=", 1) for each in sys.argv[1:])
    sys.stdout.write(HEAD + "---\n" + render_all(
        values(**{key: yaml.safe_load(value) for key, value in given.items()})))
