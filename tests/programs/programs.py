#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of the distribution: in a share, beside a tenant that keeps the device busy, with a
quota of 1.2 times their need, they give the same results as alone.

usage: programs.py CLEAVE WAYS NAME

The need of a program is the peak of its lease's memory under a large quota.
"""
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bypass"))
from session import Session, Trouble, go_first  # noqa: E402

SKIP = 77
PLENTY = "2G"
LEAST_QUOTA = 16 << 20  # of programs that take nothing
# hashcat refuses to begin unless so much stays free besides what it takes: it keeps a
# reserve, and of a processor's memory it counts a part alone.
STAYS_FREE = {"hashcat": 960 << 20}
PYTHON = "/usr/bin/python3"
STARPU = "/usr/lib/x86_64-linux-gnu/starpu/examples"
# What the quota or the clock may change in what a program prints.
MEMORY_LINES = re.compile(r"mem|alloc|timer|version|\bsize\b", re.I)
NUMBER = re.compile(r"\d+(\.\d+)?")


def without_sizes(text):
    """clinfo's lines but for those about memory, which is to look smaller."""
    return [line for line in text.splitlines() if not MEMORY_LINES.search(line)]


def without_numbers(text):
    """clpeak's lines: what was measured, not how fast it was."""
    return [NUMBER.sub("N", line) for line in text.splitlines() if line.strip()]


def last_line(text):
    lines = text.split()
    return lines[-1:]


def passed(text):
    """CLBlast's counts for each routine: tests that passed, were skipped, failed."""
    return re.findall(r"^ +(\d+ test\(s\) \w+)", text, re.M)


def cracked(text):
    return re.findall(r"^[0-9a-f]{32}:\S+$", text, re.M)


# name: (command, what makes the result, environment, seconds)
PROGRAMS = {
    "clinfo": (["clinfo", "--raw"], without_sizes, {}, 60),
    "clpeak": (["clpeak", "--global-bandwidth", "--compute-sp", "--kernel-latency"],
               without_numbers, {}, 240),
    # The MD5 of "zeta".
    "hashcat": (["hashcat", "-m", "0", "-a", "3", "--quiet", "--force", "--potfile-disable",
                 "--opencl-device-types", "1", "e26026b73cdc3b59012c318ba26b5518", "?l?l?l?l"],
                cracked, {}, 280),
    "pyopencl": ([PYTHON, str(HERE / "array.py")], last_line, {}, 120),
    # Small matrices: a routine of its own for each precision and layout, many short kernels.
    "clblast": (["clblast_test_xaxpy", "-alpha", "1", "-n", "64"], passed, {}, 240),
    # A runtime that schedules tasks on the device by events and callbacks, in several threads.
    "starpu": ([f"{STARPU}/block"], last_line,
               {"STARPU_NCPU": "0", "STARPU_OPENCL_ON_CPUS": "1", "STARPU_OPENCL_ONLY_ON_CPUS": "1",
                "STARPU_SILENT": "1", "STARPU_HOME": "{run}"}, 120),
    "opencv": ([PYTHON, str(HERE / "image.py")], last_line,
               {"OPENCV_OPENCL_DEVICE": ":CPU:0"}, 120),
}


def missing(name):
    """Why a program cannot be tried, or None."""
    module = {"pyopencl": "pyopencl, numpy", "opencv": "cv2, numpy"}.get(name)
    if module:
        done = subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True)
        return f"{PYTHON} has no {module}" if done.returncode else None
    return None if shutil.which(PROGRAMS[name][0][0]) else f"{name} is not installed"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


class Peak(threading.Thread):
    """Looks all the time at what a lease has in use."""

    def __init__(self, session, name):
        super().__init__(daemon=True)
        self.path = os.path.join(session.environment["XDG_RUNTIME_DIR"], "cleave/api.sock")
        self.name_of_lease, self.bytes, self.ended = name, 0, threading.Event()

    def run(self):
        connection = UnixConnection(self.path)
        while not self.ended.wait(0.001):
            try:
                connection.request("GET", "/v1/leases")
                items = json.loads(connection.getresponse().read())["items"]
            except (OSError, http.client.HTTPException):
                connection.close()
                continue
            for item in items:
                if item["name"] == self.name_of_lease:
                    self.bytes = max(self.bytes, item["memory_used_bytes"])


def run(session, options, command, name, seconds):
    """(output, the most memory in use)"""
    peak = Peak(session, name)
    program = session.start(options, command, name)
    peak.start()
    try:
        lines = program.finish(seconds)
    finally:
        peak.ended.set()
        peak.join()
        session.end(program)
    if program.process.returncode:
        raise Trouble(f"{name} ended with {program.process.returncode} under "
                      f"{' '.join(options)}: {lines[-3:]}")
    return "\n".join(lines), peak.bytes


def try_program(session, neighbour_program, name):
    command, result, environment, seconds = PROGRAMS[name]
    run_folder = session.environment["XDG_RUNTIME_DIR"]
    session.environment.update({key: value.format(run=run_folder)
                                for key, value in environment.items()})
    done = subprocess.run(command, env=session.environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=seconds)
    alone = result(done.stdout)
    if done.returncode or not alone:
        raise Trouble(f"{name} alone ended with {done.returncode}: {done.stdout[-300:]}")
    text, need = run(session, ["--share", "0.3", "--memory", PLENTY], command,
                     f"{name}-plenty", seconds)
    if result(text) != alone:
        raise Trouble(f"{name} has another result in a share: {text[-600:]}")
    quota = max(int(need * 1.2), LEAST_QUOTA) + STAYS_FREE.get(name, 0)
    neighbour = session.start(["--share", "0.5", "--memory", "64M"],
                              [neighbour_program, "neighbour"], "neighbour")
    neighbour.wait_for("go")
    text, used = run(session, ["--share", "0.3", "--memory", str(quota)], command, name, seconds)
    if result(text) != alone:
        raise Trouble(f"{name} has another result with {quota} bytes: {text[-600:]}")
    if used > quota:
        raise Trouble(f"{name} used {used} bytes of {quota}")
    print(f"{name}: the same result; needs {need}, had {quota}, used {used} bytes")


def main():
    cleave, neighbour, name = sys.argv[1:4]
    reason = missing(name)
    if reason:
        print(f"{reason}: install what tests/programs/packages.txt lists")
        return SKIP
    go_first()
    session = Session(os.path.abspath(cleave), {"BYPASS_LOOPS_PER_MS": "3000"})
    try:
        try_program(session, os.path.abspath(neighbour), name)
    except Trouble as trouble:
        print(trouble)
        return 1
    finally:
        session.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
