# SPDX-License-Identifier: Apache-2.0
"""What the threads of a hanging program wait for, for the message of the test that ends it."""
import os
import shutil
import subprocess

GDB_SECONDS = 30
SHOWN = ("comm", "wchan", "syscall", "stack")


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError as error:
        return f"({error.strerror})"


def by_kernel(pid):
    lines = []
    for task in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        folder = f"/proc/{pid}/task/{task}"
        state = read(f"{folder}/stat").rpartition(")")[2].strip()[:1]
        shown = ", ".join(f"{name} {read(f'{folder}/{name}')}" for name in SHOWN)
        lines.append(f"thread {task}: state {state}, {shown}")
    return "\n".join(lines)


def by_debugger(pid):
    if not shutil.which("gdb"):
        return "no stacks: gdb is not installed"
    try:
        gdb = subprocess.run(
            ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", str(pid),
             "-ex", "thread apply all backtrace 16"],
            text=True, capture_output=True, timeout=GDB_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no stacks: gdb took more than {GDB_SECONDS} s"
    stacks = gdb.stdout[gdb.stdout.find("\nThread "):].strip()
    return stacks or f"no stacks: {gdb.stderr.strip()}"


def of_processes(pids):
    """The kernel's view comes first: a debugger interrupts what it looks at."""
    shown = []
    for pid in pids:
        try:
            shown.append(f"process {pid}: {read(f'/proc/{pid}/cmdline')!r}\n"
                         f"{by_kernel(pid)}\n{by_debugger(pid)}")
        except FileNotFoundError:
            shown.append(f"process {pid} has ended")
    return "\n".join(shown)
