#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""promtool's opinion of the alert rules, and their own tests; and that rules and dashboard
name no metric that there is not.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
RULES = os.path.join(ROOT, "packaging", "prometheus", "cleave.rules.yml")
DASHBOARD = os.path.join(ROOT, "packaging", "grafana", "cleave.json")
NAME = re.compile(r"\b(?:cleave|process)_[a-z_]+")
SKIP = 77


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def unknown_names():
    known = set(re.findall(r"^\| `([a-z_]+)` \|", read(os.path.join(ROOT, "docs", "metrics.md")),
                           re.M))
    known |= {f"{name}_{end}" for name in known for end in ("bucket", "sum", "count")}
    texts = [t["expr"] for p in json.loads(read(DASHBOARD))["panels"]
             for t in p.get("targets", [])]
    texts += re.findall(r"expr: (?:>-\n)?(.*?)\n\s+(?:for|labels):", read(RULES), re.S)
    return {name for text in texts for name in NAME.findall(text)} - known


def promtool(*arguments, **options):
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=60,
                          **options)
    if done.returncode:
        print(done.stdout + done.stderr)
    return done.returncode


def main():
    wrong = unknown_names()
    for name in sorted(wrong):
        print(f"{name} is not in docs/metrics.md")
    if wrong:
        return 1
    if not shutil.which("promtool"):
        print("promtool is not here: install prometheus")
        return SKIP
    with tempfile.TemporaryDirectory() as folder:
        for path in (RULES, os.path.join(HERE, "rules.test.yml")):
            shutil.copy(path, folder)
        return promtool("check", "rules", RULES) or \
            promtool("test", "rules", "rules.test.yml", cwd=folder)


if __name__ == "__main__":
    sys.exit(main())
