# SPDX-License-Identifier: Apache-2.0
"""Comparisons, a line each: "same", "differs" or "cannot be read"."""
from nvml_read import Unread

SAME, DIFFERS, UNREAD = "same", "differs", "cannot be read"


class Findings:
    def __init__(self):
        self.lines = []  # (verdict, subject, text)

    def add(self, verdict, subject, text):
        self.lines.append((verdict, subject, text))

    def same(self, subject, text):
        self.add(SAME, subject, text)

    def differs(self, subject, text):
        self.add(DIFFERS, subject, text)

    def unread(self, subject, text):
        self.add(UNREAD, subject, text)

    def compare(self, subject, what, theirs, ours, ours_is):
        """Adds a line unless both are equal; returns whether they are."""
        if isinstance(theirs, Unread):
            says = "" if isinstance(ours, Unread) else f"; {ours_is} says {shown(ours)}"
            self.unread(subject, f"{what}: {theirs}{says}")
            return False
        if isinstance(ours, Unread):
            self.unread(subject, f"{what}: {ours}, {ours_is} does not say; the driver "
                     f"says {shown(theirs)}")
            return False
        if theirs != ours:
            self.differs(subject, f"{what}: the driver says {shown(theirs)}, {ours_is} "
                     f"{shown(ours)}")
        return theirs == ours

    def compare_all(self, subject, rows, ours_is="cleave"):
        """Rows of (what, theirs, ours): one line has all that are equal."""
        same = [f"{what} {shown(theirs)}" for what, theirs, ours in rows
                if self.compare(subject, what, theirs, ours, ours_is)]
        if same:
            self.same(subject, f"{', '.join(same)} ({ours_is})")

    def count(self, verdict):
        return sum(line[0] == verdict for line in self.lines)

    def summary(self):
        return ", ".join(f"{self.count(v)} {v}" for v in (SAME, DIFFERS, UNREAD))

    def text(self):
        return [f"{verdict}: {subject}: {text}" for verdict, subject, text in self.lines]


def shown(value):
    if isinstance(value, (list, tuple, set)):
        return "[" + " ".join(str(item) for item in value) + "]"
    return str(value)
