# SPDX-License-Identifier: Apache-2.0
"""The checks of CUDA on a GPU, and the sections of docs/gpu-verification.md with their results: a
table for each type of GPU and driver, and before them the checks that have run on no GPU."""
import re
import sys
from pathlib import Path

import document

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent.parent / "bench"))

import report  # noqa: E402

# The cases of the bench that fit into the time of a run on a GPU.
CASES = ("machine", "three-20us", "two-1ms", "four-5ms", "mixed-beside", "sync", "gaps",
         "together-two-100us", "together-two-5ms", "latency-1ms", "latency-1ms-most",
         "launch-open", "launch-shared")
HARDWARE_CASES = ("three-500ms", "long-beside", "latency-500ms", "latency-500ms-most",
                  "preemption")
CASE_NAMES = {*(f"gate-{case}" for case in CASES), *(f"hardware-{case}" for case in CASES),
              *(f"hardware-{case}" for case in HARDWARE_CASES)}
# Figures that only the double has, or that are the same there.
NOT_HERE = ("p99_seen", "driver_p50", "driver_p99", "submit_p50", "submit_p99")
UNVERIFIED = "not verified on a real GPU"
TITLE = "CUDA: what no GPU has been asked"
HEAD = "| check | metric | found | target | met | on | what is compared |"
ROW = re.compile(r"^\| ([^|]*) \| ([^|]*) \| ([^|]*) \| [^|]* \| ([^|]*) \| ([^|]*) \|", re.M)
PLAIN = ("", "fraction", "text")


def rows():
    """{(check, metric): Target} in the order in which they are checked and shown."""
    found = {}
    for line in (HERE / "cuda.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            check, metric, target, note = line.split("\t")
            found[check, metric] = report.Target.parse(target, note)
    for (bench, case, metric), target in report.load_targets().items():
        if bench == "cuda" and case in CASE_NAMES and metric not in NOT_HERE:
            found[case, metric] = target
    return found


def cell(text):
    return str(text).replace("|", "/").replace("\n", "; ").strip()


class Finding:
    """One checked row: a figure or words."""

    def __init__(self, value, unit, target, day):
        is_figure = unit != "text"
        more = "" if unit in PLAIN else f" {unit}"
        self.found = report.shown(value) + more if is_figure else cell(value)
        self.met = "-"
        if target.kind != "-":
            self.met = "yes" if is_figure and target.met(value) else "no"
        self.day = day


def known(text):
    """{(check, metric): (found, met, day)} of an existing section."""
    return {(m[1], m[2]): (m[3], m[4], m[5]) for m in ROW.finditer(text)
            if m[3] not in (UNVERIFIED, "found", "---")}


def section_in(text, title):
    match = re.search(rf"<!-- gpu {re.escape(title)} -->.*?<!-- end of {re.escape(title)} -->\n",
                      text, re.S)
    return match[0] if match else ""


def table(values):
    """All rows; those without a value are marked."""
    lines = [HEAD, "|---|---|---|---|---|---|---|"]
    for (check, metric), target in rows().items():
        found, met, day = values.get((check, metric), (UNVERIFIED, "-", "-"))
        lines.append(f"| {check} | {metric} | {found} | {target} | {met} | {day} "
                     f"| {cell(target.note)} |")
    return lines


def section(title, introduction, lines):
    return "\n".join([f"<!-- gpu {title} -->", f"## {title}", "", introduction, "", *lines,
                      f"<!-- end of {title} -->", ""])


def unverified(text):
    """(title, section) of the rows that no section of a GPU has."""
    sections = re.findall(r"<!-- gpu CUDA on [^>]*-->.*?<!-- end of CUDA on ", text, re.S)
    done = set().union(*(known(each) for each in sections)) if sections else set()
    open_rows = [(key, target) for key, target in rows().items() if key not in done]
    lines = ["| check | metric | | target | what is compared |", "|---|---|---|---|---|",
             *(f"| {check} | {metric} | {UNVERIFIED} | {target} | {cell(target.note)} |"
               for (check, metric), target in open_rows)]
    introduction = (
        "`./dev gpu` has not yet measured these on any NVIDIA GPU. What `docs/benchmarks.md` has "
        "of CUDA was measured on a double of the driver." if open_rows else
        "Nothing is left: the sections of the GPUs have a figure for each row.")
    return TITLE, section(TITLE, introduction, lines if open_rows else [])


def gpu_section(path, title, system, findings, notes):
    """(title, section): results of an earlier run stay until they are checked again."""
    text = Path(path).read_text() if Path(path).exists() else ""
    values = known(section_in(text, title))
    values.update({key: (f.found, f.met, f.day) for key, f in findings.items()})
    return title, section(title, system, [*table(values), *([""] if notes else []),
                                          *(f"- {cell(note)}" for note in notes)])


def write(path, sections=()):
    """The GPU's sections, then the remaining rows."""
    document.write(path, list(sections))
    document.write(path, [unverified(Path(path).read_text())])
