# SPDX-License-Identifier: Apache-2.0
"""Figures of time and of rates.  `./dev measure` asserts them, on a machine that does nothing
else; `./dev check` asserts what is counted and what comes first, which no load changes."""
import math
import os
import unittest

LOOKS = 3
MEASURES = bool(os.environ.get("CLEAVE_MEASURED"))

measured = unittest.skipUnless(MEASURES, "a figure of time: ./dev measure asserts it")


def bound(exact, coarse):
    """coarse: what only a mechanism that does not work at all misses."""
    return exact if MEASURES else coarse


def settles(look):
    """What is wrong by the last of some looks.  In the check the first that finds nothing is enough:
    a mechanism that does not work passes none, and a busy machine disturbs some."""
    wrong = []
    for _ in range(bound(1, LOOKS)):
        wrong = look()
        if not wrong:
            break
    return wrong


def disagreements(shares, parts, points):
    """What is wrong with how work was divided: by points off its share, when measured, and in
    the check whoever has next to nothing, or is nearer to the part of one with half of its share or less
    than to its own.  By ratios: all have the same where shares are not held to."""
    if MEASURES:
        return [f"{part:.3f} for {share}" for share, part in zip(shares, parts)
                if abs(part - share) > points / 100]
    pairs = list(zip(shares, parts))
    return [f"{part:.3f} for {share}" for share, part in pairs if part < share / 5] + [
        f"{more:.3f} for {share} beside {less:.3f} for {half}"
        for share, more in pairs for half, less in pairs
        if share >= 2 * half and more < less * math.sqrt(share / half)]
