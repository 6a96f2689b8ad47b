# SPDX-License-Identifier: Apache-2.0
"""Figures of time and of rates.  `./dev measure` asserts them, on a machine that does nothing
else; `./dev check` asserts counts and orders, which load does not change."""
import math
import os
import unittest

LOOKS = 3
MEASURES = bool(os.environ.get("CLEAVE_MEASURED"))

measured = unittest.skipUnless(MEASURES, "a figure of time: ./dev measure asserts it")


def bound(exact, coarse):
    """coarse: a bound that only a mechanism that does not work at all misses."""
    return exact if MEASURES else coarse


def settles(look):
    """The faults that the last of several checks found.  In ./dev check one without a fault is enough:
    a mechanism that does not work passes none, and a busy machine disturbs some."""
    wrong = []
    for _ in range(bound(1, LOOKS)):
        wrong = look()
        if not wrong:
            break
    return wrong


def disagreements(shares, parts, points):
    """The parts of the work that do not match their shares.  When measured: parts that differ from
    the share by more than points.  In ./dev check: parts under a fifth of the share, and parts that
    are nearer to that of a lease with half of the share or less than to their own, by ratios,
    because all parts are equal where shares are not enforced."""
    if MEASURES:
        return [f"{part:.3f} for {share}" for share, part in zip(shares, parts)
                if abs(part - share) > points / 100]
    pairs = list(zip(shares, parts))
    return [f"{part:.3f} for {share}" for share, part in pairs if part < share / 5] + [
        f"{more:.3f} for {share} beside {less:.3f} for {half}"
        for share, more in pairs for half, less in pairs
        if share >= 2 * half and more < less * math.sqrt(share / half)]
