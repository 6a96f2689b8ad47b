# SPDX-License-Identifier: Apache-2.0
"""Runs tests of the build within a time: as many at once as there are processors, the longest
first.  No test starts that the time does not last for by its expected duration, and what still
runs when the time is over is ended.  What a test took is logged as meson logs it."""
import json
import os
import signal
import subprocess
import sys
import time

SKIPPED = 77  # the exit status
PASSED, FAILED, LEFT = "OK", "FAIL", "LEFT"
EXPECTED = "# TO" + "DO"  # of TAP: a failure that is known
GRACE = 2  # seconds between the two signals that end a test
INTERVAL = .02


def span(tests, jobs):
    """The seconds of [(seconds, may run beside others)] in the order of start(): those that run
    alone after all others."""
    busy = [0.0] * jobs
    for seconds in sorted((s for s, beside in tests if beside), reverse=True):
        busy[busy.index(min(busy))] += seconds
    return max(busy) + sum(s for s, beside in tests if not beside)


class Running:
    def __init__(self, test, log):
        self.test, self.log = test, log
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            test["cmd"], env={**os.environ, **test["env"]}, cwd=test["workdir"], stdout=log,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)

    def seconds(self):
        return time.monotonic() - self.began

    def outcome(self):
        """None: still running.  A test that prints TAP fails by a line too."""
        if self.process.poll() is None:
            return None
        self.log.seek(0)
        text = self.log.read()
        has_failed = self.process.returncode not in (0, SKIPPED) or (
            self.test["protocol"] == "tap" and
            any(EXPECTED not in line and line.startswith(("not ok", "Bail out!"))
                for line in text.splitlines()))
        return FAILED if has_failed else PASSED

    def end(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(GRACE)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


class Budget:
    """tests: rows of meson introspect --tests, with the folder of the build as their own."""

    def __init__(self, tests, seconds_of, seconds, jobs, folder):
        self.waiting = sorted(tests, key=lambda t: (not t["is_parallel"], -seconds_of[t["name"]]))
        self.seconds_of, self.jobs, self.folder = seconds_of, jobs, folder
        self.until = time.monotonic() + seconds
        self.running, self.outcomes, self.lines = [], {}, []

    def may_start(self, test):
        if not self.running:
            return True
        return (len(self.running) < self.jobs and test["is_parallel"] and
                all(r.test["is_parallel"] for r in self.running))

    def start(self):
        """Whether one was started, or left."""
        if not self.waiting or not self.may_start(self.waiting[0]):
            return False
        test = self.waiting.pop(0)
        if time.monotonic() + self.seconds_of[test["name"]] > self.until:
            self.outcomes[test["name"]] = LEFT
        else:
            log = (self.folder / f"{test['name']}.txt").open("w+", errors="replace")
            self.running.append(Running(test, log))
        return True

    def look(self, running):
        outcome = running.outcome()
        if outcome is None and time.monotonic() < self.until:
            return
        if outcome is None:
            running.end()
        self.running.remove(running)
        running.log.close()
        name = running.test["name"]
        self.outcomes[name] = outcome or LEFT
        # Ended before its time, a test took at least this long.
        self.lines.append({"name": name, "result": self.outcomes[name],
                           "duration": running.seconds()})
        print(f"{self.outcomes[name]:4} {running.seconds():6.1f} s  {name}", flush=True)

    def run(self):
        """{name: outcome}."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            while self.waiting or self.running:
                while self.start():
                    pass
                for running in list(self.running):
                    self.look(running)
                time.sleep(INTERVAL)
        finally:
            for running in self.running:
                running.end()
        return self.outcomes

    def write_log(self, path):
        """Adds to the durations of earlier runs."""
        with open(path, "a") as to:
            for line in self.lines:
                to.write(json.dumps(line) + "\n")

    def report(self):
        """Returns the exit status."""
        named = {o: sorted(n for n, each in self.outcomes.items() if each == o)
                 for o in (PASSED, FAILED, LEFT)}
        for name in named[FAILED]:
            print(f"--- {name}")
            print((self.folder / f"{name}.txt").read_text(errors="replace")[-4000:])
        print(f"{len(named[PASSED])} passed, {len(named[FAILED])} failed")
        if named[LEFT]:
            print(f"{len(named[LEFT])} are left to ./dev check, because the time was over: "
                  + " ".join(named[LEFT]), file=sys.stderr)
        return 1 if named[FAILED] else 0
