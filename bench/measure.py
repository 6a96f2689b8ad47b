# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of the benches: from records of kernels to rates, shares and turns.

Pure functions over records (start_ns, end_ns, kind, work_ns).  They neither read cleave's own
ledger nor start a program; selftest.py checks them on logs with known results.
"""
import bisect
import math
import struct

KERNEL, REQUEST, IDLE = 1, 2, 3
RECORD = struct.Struct("=QQII")
SECOND = 1_000_000_000
NEVER = math.inf


def parse_log(data):
    """Records of a log, in order of their start."""
    whole = len(data) // RECORD.size * RECORD.size
    return sorted(RECORD.iter_unpack(data[:whole]))


def kernels(records):
    return [r for r in records if r[2] == KERNEL]


class Curve:
    """Work completed up to a time; the work of each span is distributed evenly over the span."""

    def __init__(self, spans):
        slopes = {}
        for start, end, work in spans:
            slope = work / max(end - start, 1)
            slopes[start] = slopes.get(start, 0.0) + slope
            slopes[max(end, start + 1)] = slopes.get(max(end, start + 1), 0.0) - slope
        self.times, self.totals, self.slopes = [], [], []
        total, slope, last = 0.0, 0.0, 0
        for time in sorted(slopes):
            total += slope * (time - last)
            slope += slopes[time]
            last = time
            self.times.append(time)
            self.totals.append(total)
            self.slopes.append(slope)

    def at(self, time):
        i = bisect.bisect_right(self.times, time) - 1
        if i < 0:
            return 0.0
        return self.totals[i] + self.slopes[i] * (time - self.times[i])

    def between(self, begin, end):
        return self.at(end) - self.at(begin)


def work_curve(records):
    """Completed work, in calibrated nanoseconds of kernels."""
    return Curve((r[0], r[1], r[3]) for r in kernels(records))


def merge_spans(spans):
    """Spans in order, with overlapping ones merged."""
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def busy_curve(records):
    """Nanoseconds during which at least one kernel was on the device."""
    spans = merge_spans((r[0], r[1]) for r in kernels(records))
    return Curve((s, e, e - s) for s, e in spans)


def rate(records, begin, end):
    """Work per time; 1.0 is the rate that calibration measured on the idle device."""
    return work_curve(records).between(begin, end) / (end - begin)


def turns(by_tenant):
    """(tenant, start, end) of each turn: from the first kernel's start to the last kernel's
    end uninterrupted by another tenant's kernels.  The gaps of a holder belong to its turn."""
    merged = sorted((r[0], r[1], name)
                    for name, records in by_tenant.items() for r in kernels(records))
    result = []
    for start, end, name in merged:
        if result and result[-1][0] == name:
            result[-1][2] = max(result[-1][2], end)
        else:
            result.append([name, start, end])
    return [tuple(t) for t in result]


def held_ns(by_tenant, begin=0, end=NEVER):
    """Time each tenant held the device within the window, from its turns."""
    held = {name: 0 for name in by_tenant}
    for name, start, stop in turns(by_tenant):
        held[name] += max(0, min(stop, end) - max(start, begin))
    return held


def fractions(values):
    """Each value over the sum of all values; zeros if all are zero."""
    total = sum(values.values())
    return {name: (value / total if total else 0.0) for name, value in values.items()}


def normalised(rates, alone):
    """r_i = rate / own rate alone, then r_i / sum(r)."""
    return fractions({name: (rates[name] / alone[name] if alone[name] else 0.0)
                      for name in rates})


def worst_points(achieved, promised):
    """The largest distance from the promise, in percentage points."""
    total = sum(promised.values())
    return max(abs(achieved[n] - promised[n] / total) * 100 for n in promised)


def windows(begin, end, length_ns=SECOND, step_ns=SECOND // 20):
    """Every window of that length between begin and end."""
    at = begin
    while at + length_ns <= end:
        yield at, at + length_ns
        at += step_ns


def worst_window_points(blocks, alone, promised, length_ns=SECOND, curve=work_curve):
    """blocks: (begin, end, {tenant: records}), or what else curve makes a Curve of.  The worst
    error over every window."""
    worst = 0.0
    for begin, end, by_tenant in blocks:
        curves = {name: curve(by_tenant[name]) for name in promised}
        for start, stop in windows(begin, end, length_ns):
            rates = {name: curves[name].between(start, stop) for name in promised}
            worst = max(worst, worst_points(normalised(rates, alone), promised))
    return worst


def longest_wait_ns(records, begin, end):
    """The longest time within the window in which none of these kernels ran."""
    longest, last = 0, begin
    for start, stop in merge_spans((r[0], r[1]) for r in kernels(records)):
        if stop <= begin or start >= end:
            continue
        longest = max(longest, start - last)
        last = max(last, stop)
    return max(longest, end - last)


def hand_overs_ns(giver, taker):
    """The time from each end of giver's work to the next kernel of taker; 0 if one was running."""
    ends = sorted(r[1] for r in kernels(giver))
    starts = merge_spans((r[0], r[1]) for r in kernels(taker))
    first = [s for s, _ in starts]
    waits = []
    for idle in (r for r in giver if r[2] == IDLE):
        i = bisect.bisect_right(ends, idle[0]) - 1
        if i < 0:
            continue
        fell = ends[i]
        j = bisect.bisect_right(first, fell) - 1
        if j >= 0 and starts[j][1] > fell:
            waits.append(0)
        elif j + 1 < len(first):
            waits.append(first[j + 1] - fell)
    return waits


def percentile(values, fraction):
    """The smallest value with at least that fraction at or below it."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[max(0, math.ceil(fraction * len(ordered)) - 1)]


def median(values):
    ordered = sorted(values)
    if not ordered:
        return math.nan
    mid = len(ordered) // 2
    return ordered[mid] if len(ordered) % 2 else (ordered[mid - 1] + ordered[mid]) / 2


def middle_mean(values):
    """The mean of the middle half, which a single slow sample does not change."""
    ordered = sorted(values)
    cut = len(ordered) // 4
    middle = ordered[cut:len(ordered) - cut]
    return sum(middle) / len(middle) if middle else math.nan


def between_ratios(inner, outer):
    """Each inner value over the mean of the outer ones before and after it, so that a
    steady drift of the machine cancels out.  There is one more outer value than inner ones."""
    return [value * 2 / (outer[i] + outer[i + 1]) if outer[i] + outer[i + 1] else math.nan
            for i, value in enumerate(inner)]
