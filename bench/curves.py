# SPDX-License-Identifier: Apache-2.0
"""Curves [(time, work done until then)] of several programs, compared with their promises.

Pure functions; selftest.py checks them on curves with known results."""
import bisect
import math

import measure


def at(curve, moment):
    """Work until a given time, interpolated between two samples."""
    i = bisect.bisect_right(curve, moment, key=lambda sample: sample[0])
    if i == 0:
        return curve[0][1]
    if i == len(curve):
        return curve[-1][1]
    (t0, w0), (t1, w1) = curve[i - 1], curve[i]
    return w0 + (w1 - w0) * (moment - t0) / (t1 - t0)


def span(curves):
    """The time range that all curves cover."""
    return max(curve[0][0] for curve in curves), min(curve[-1][0] for curve in curves)


def rates(curves, begin, end):
    return [(at(curve, end) - at(curve, begin)) / (end - begin) for curve in curves]


def error_points(done, alone, promised):
    """Each program's work over its work alone, as a part of the sum: the largest distance from the
    promise, in percentage points."""
    names = range(len(promised))
    achieved = measure.normalised(dict(zip(names, done)), dict(zip(names, alone)))
    return measure.worst_points(achieved, dict(zip(names, promised)))


def errors(curves, alone, promised):
    """(error over the whole time, worst error of a second)"""
    begin, end = span(curves)
    seconds = [error_points(rates(curves, start, stop), alone, promised)
               for start, stop in measure.windows(int(begin), int(end))]
    return error_points(rates(curves, begin, end), alone, promised), max(seconds, default=math.nan)
