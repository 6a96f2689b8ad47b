#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every bench has rows of targets, and every row has five fields, a note among them."""
import re
import sys

import tree

TARGET = re.compile(r"^(-|[<>]=[0-9.]+|[0-9.]+\+-[0-9.]+)$")


def main():
    benches = set(re.findall(r'^    "([\w-]+)": \w+\.run\w*,', tree.read("bench/run.py"), re.M))
    rows, wrong = [], []
    for number, line in enumerate(tree.read("bench/targets.tsv").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        where = f"bench/targets.tsv:{number}"
        if len(fields) != 5 or not all(fields):
            wrong.append(f"{where}: a row needs bench, case, metric, target and note")
            continue
        rows.append(fields)
        if not TARGET.match(fields[3]):
            wrong.append(f"{where}: '{fields[3]}' is not a target")
    named = {row[0] for row in rows}
    wrong += [f"the bench {b} has no row" for b in sorted(benches - named)]
    wrong += [f"bench/targets.tsv: no bench is called {b}"
              for b in sorted(named - benches)]
    keys = [tuple(row[:3]) for row in rows]
    wrong += [f"{' '.join(key)} is there twice" for key in sorted(set(keys))
              if keys.count(key) > 1]
    tree.finish(wrong, len(rows))


if __name__ == "__main__":
    sys.exit(main())
