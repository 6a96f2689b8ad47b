# SPDX-License-Identifier: Apache-2.0
"""Runs each deadlock case inside a share beside a saturating tenant, on PoCL, on the strict double,
which runs nothing before a flush, or on oclgrind or rusticl, where these are installed; and some
alone on the device.

usage: run.py CLEAVE PROGRAM VENDORS|-|oclgrind|rusticl [CASE...]

A case fails when it hangs, returns an error, or leaves a drain overdue each time that it runs: then
the gate waited for, or did not see, the wrong command.  On a busy machine a correct case can leave
one overdue too, but not each time."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bypass"))
import vendors  # noqa: E402

LIMIT_SECONDS = 60
RUNS = 4
SKIPPED = 77
# Faults and limits of a driver without the gate.
NOT_ON = {
    # Mesa 22: a finish does not wait for commands flushed before, and nothing runs out of order.
    # The gate's marker before a finish, which it needs for that, may still count as a reference.
    "rusticl": ("user_event_in_order", "user_event_across_queues", "user_event_out_of_order",
                "thread_and_callbacks_in_one_queue", "hundred_user_events",
                "maps_and_shared_memory", "queue_references", "command_buffers"),
    # 21.10: it checks only events that a call waits for, has no shared memory, and ends a program
    # in which two threads compute.
    "oclgrind": ("user_event_in_order", "user_event_across_queues", "user_event_out_of_order",
                 "user_event_from_callback", "hundred_user_events", "failed_user_event",
                 "maps_and_shared_memory", "work_beside_finish", "many_threads",
                 "command_buffers"),
}
# A simulator takes up to ten seconds for each of these.
LONG_ON = {"oclgrind": ("flushed_at_the_end", "two_queues_flushed_at_the_end",
                        "finished_is_complete", "launches_from_native_kernels")}
# There nothing runs before the program waits for it or flushes, with or without the gate.
WAITED_FOR = ("oclgrind",)
COMPARED = ("queue_references",)
# Commands that wait for room beside the program's own, and not for a turn, without another tenant.
ALONE = ("lock_shared_with_callbacks",)


def count_overdue(folder):
    """The turns so far after which the device was not given back in time."""
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.sock.connect(os.path.join(folder, "cleave", "api.sock"))
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    except OSError:  # the first program starts the agent
        return 0
    finally:
        connection.close()
    name = "cleave_device_drains_overdue_total"
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(name))


def main():
    cleave, program, driver, *wanted = sys.argv[1:]
    folder = tempfile.mkdtemp(prefix="cleave-deadlock-")
    environment = dict(os.environ, XDG_RUNTIME_DIR=folder, XDG_STATE_HOME=folder,
                       CLEAVE_LOCK_DIR=folder)
    if driver in NOT_ON:
        there, more = vendors.name_only(driver, folder)
        environment.update(more)
        if not there:
            shutil.rmtree(folder)
            sys.exit(SKIPPED)
    elif driver != "-":
        environment["OCL_ICD_VENDORS"] = driver

    def run(*arguments, **options):
        return subprocess.run([cleave, *arguments], env=environment, text=True,
                              capture_output=True, **options)

    names = wanted or subprocess.run([program, "list"], text=True, check=True,
                                     capture_output=True).stdout.split()
    left_out = (*NOT_ON.get(driver, ()), *LONG_ON.get(driver, ()))
    names = [name for name in names if wanted or name not in left_out]
    alone = [name for name in ALONE if name in names]
    failed = 0

    def without_gate(name):
        """The output of a case that is compared."""
        if name not in COMPARED:
            return ""
        return subprocess.run([program, name], env=environment, text=True, check=True,
                              capture_output=True, timeout=LIMIT_SECONDS).stdout

    def wait_for_leases(n):
        """The lease of a program ends shortly after the program."""
        until = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < until:
            leases = json.loads(run("ps", "-o", "json").stdout or '{"items": []}')["items"]
            if len(leases) <= n:
                return
            time.sleep(.02)

    def one_run(name, n_others):
        """What is wrong with one run of a case ('' for nothing), and turns that were overdue."""
        wait_for_leases(n_others)
        before = count_overdue(folder)
        try:
            r = run("run", "--share", "0.4", "--memory", "64M", "--", program, name,
                    timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            return f"no end after {LIMIT_SECONDS} s", 0
        if r.returncode != 0:
            return r.stderr.strip() or f"exit code {r.returncode}", 0
        if r.stdout != without_gate(name):
            return f"{r.stdout.strip()}, not {without_gate(name).strip()}", 0
        wait_for_leases(n_others)
        return "", 0 if driver in WAITED_FOR else count_overdue(folder) - before

    def judge(number, name, where):
        """Returns whether the case failed."""
        for _ in range(RUNS):
            problem, n_late = one_run(name, 0 if where else 1)
            if problem or n_late <= 0:
                break
            problem = f"overdue turns in each of {RUNS} runs, {n_late} in the last"
        print(f"{'not ok' if problem else 'ok'} {number} - {name}{where}"
              + (f" # {problem}" if problem else ""), flush=True)
        return problem != ""

    print(f"1..{len(alone) + len(names)}", flush=True)
    for number, name in enumerate(alone, 1):
        failed += judge(number, name, ", alone")
    competitor = subprocess.Popen(
        [cleave, "run", "--share", "0.5", "--memory", "64M", "--name", "competitor", "--",
         program, "competitor"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        if competitor.stdout.readline() != "ready\n":
            sys.exit("the competitor did not start")
        for number, name in enumerate(names, len(alone) + 1):
            failed += judge(number, name, "")
    finally:
        competitor.terminate()
        competitor.wait()
        agent = json.loads(run("version", "-o", "json").stdout or "{}").get("agent")
        if agent:
            os.kill(agent["pid"], signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(failed > 0)


main()
