# SPDX-License-Identifier: Apache-2.0
"""Runs each deadlock case inside a share beside a saturating neighbour, on PoCL or on the
strict double, which runs nothing before a flush.

usage: run.py CLEAVE PROGRAM VENDORS|- [CASE...]

A case fails when it hangs, returns an error, or leaves a drain overdue: then the gate waited
for, or did not see, the wrong command."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

LIMIT_SECONDS = 30


def main():
    cleave, program, vendors, *wanted = sys.argv[1:]
    folder = tempfile.mkdtemp(prefix="cleave-deadlock-")
    environment = dict(os.environ, XDG_RUNTIME_DIR=folder, XDG_STATE_HOME=folder,
                       CLEAVE_LOCK_DIR=folder)
    if vendors != "-":
        environment["OCL_ICD_VENDORS"] = vendors

    def run(*arguments, **options):
        return subprocess.run([cleave, *arguments], env=environment, text=True,
                              capture_output=True, **options)

    names = wanted or subprocess.run([program, "list"], text=True, check=True,
                                     capture_output=True).stdout.split()
    neighbour = subprocess.Popen(
        [cleave, "run", "--share", "0.5", "--memory", "64M", "--name", "neighbour", "--",
         program, "neighbour"], env=environment, stdout=subprocess.PIPE, text=True)
    failed = 0
    try:
        if neighbour.stdout.readline() != "ready\n":
            sys.exit("the neighbour did not start")
        print(f"1..{len(names)}", flush=True)
        for number, name in enumerate(names, 1):
            try:
                r = run("run", "--share", "0.4", "--memory", "64M", "--", program, name,
                        timeout=LIMIT_SECONDS)
                problem = r.stderr.strip() or f"exit code {r.returncode}"
                good = r.returncode == 0
            except subprocess.TimeoutExpired:
                good, problem = False, f"no end after {LIMIT_SECONDS} s"
            events = json.loads(run("events", "-o", "json").stdout)["items"]
            overdue = [e for e in events if e["type"] == "drain_overdue"]
            if good and overdue:
                good, problem = False, overdue[-1]["message"]
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} - {name}"
                  + ("" if good else f" # {problem}"), flush=True)
    finally:
        neighbour.terminate()
        neighbour.wait()
        agent = json.loads(run("version", "-o", "json").stdout or "{}").get("agent")
        if agent:
            os.kill(agent["pid"], signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(failed > 0)


main()
