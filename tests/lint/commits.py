#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commit messages since this lint was introduced: `area: imperative subject` of at most 72
characters, and a body.  Passes in a tree without its history (an archive, a shallow clone)."""
import re
import subprocess
import sys

import tree

# When the lint was introduced, by the committer's date: hashes do not survive a rebase.
SINCE = "2026-11-23T20:50:00Z"
MOST = 72
SUBJECT = re.compile(r"[a-z0-9][a-z0-9/._-]*(, [a-z0-9][a-z0-9/._-]*)*: [^A-Z\s].*[^.\s]")
# A first word that is a verb in another form than the imperative.
OTHER_FORM = re.compile(r"\w+(ed|ing)|\w*[^s\W]s")
IMPERATIVE = {"address", "bring", "embed", "exceed", "feed", "need", "ring", "seed", "speed",
              "string"}


def faults(subject, body):
    """The faults of a message."""
    if subject.startswith(("Merge ", "Revert ", "fixup! ", "squash! ")):
        return []
    found = []
    if len(subject) > MOST:
        found.append(f"{len(subject)} characters, at most {MOST}")
    if not SUBJECT.fullmatch(subject):
        found.append("not `area: subject` in lower case without a full stop")
    else:
        verb = subject.partition(": ")[2].split()[0]
        if OTHER_FORM.fullmatch(verb) and verb not in IMPERATIVE:
            found.append(f"'{verb}' is not an imperative")
    if not body.strip():
        found.append("no body that says why and how it was checked")
    return found


def messages():
    """[(hash, subject, body)], newest first."""
    done = subprocess.run(["git", "log", "--no-merges", f"--since={SINCE}",
                           "--format=%h%x00%s%x00%b%x01"], cwd=tree.ROOT, capture_output=True,
                          text=True)
    if done.returncode:
        return []
    return [entry.lstrip("\n").split("\0") for entry in done.stdout.split("\1") if "\0" in entry]


def main():
    wrong, new = [], messages()
    for commit, subject, body in new:
        wrong += [f"{commit} {subject!r}: {fault}" for fault in faults(subject, body)]
    tree.finish(wrong, len(new) or "no history")


if __name__ == "__main__":
    sys.exit(main())
