# SPDX-License-Identifier: Apache-2.0
"""A node on a double of libnvidia-ml, and the NVIDIA backend on it."""
import contextlib
import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# The errors that the vtable allows.
ERRORS = {-e for e in (errno.EBUSY, errno.EPERM, errno.ENODEV, errno.ENOSPC, errno.ENOTSUP,
                       errno.ETIMEDOUT, errno.EIO)}
DRIVE, DOUBLES, CONTROL = (Path(a) for a in sys.argv[1:4])


class Failure(Exception):
    pass


def expect(condition, *what):
    if not condition:
        raise Failure(" ".join(str(w) for w in what))


class Node:
    """A folder for the double, and a backend on it."""

    def __init__(self, folder, text, driver="r580", **environment):
        self.folder = Path(folder)
        self.driver = driver
        self.environment = environment
        self.write("node", text)
        self.process = None
        self.probe = self.start()

    def write(self, name, text):
        # Renamed into place: the double restarts the counts with a new file.
        (self.folder / "new").write_text(text + "\n")
        os.replace(self.folder / "new", self.folder / name)

    def start(self):
        self.stop()
        environment = dict(os.environ, CLV_NVML_DOUBLE=str(self.folder),
                           LD_LIBRARY_PATH=str(DOUBLES / self.driver), **self.environment)
        self.process = subprocess.Popen(
            [DRIVE, "nvidia"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment)
        return json.loads(self.process.stdout.readline())

    def stop(self):
        if not self.process:
            return
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        self.process = None
        expect(code == 0, "the backend ended with", code)

    def ask(self, *words):
        """The answer, whose result and error agree."""
        self.process.stdin.write(" ".join(str(w) for w in words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        expect(line, "the backend died of", words)
        answer = json.loads(line)
        if answer["result"] < 0:
            expect(answer["code"] == answer["result"] and answer["error"], words, answer)
        else:
            expect(answer["error"] == "", words, "succeeds and says", answer["error"])
        return answer

    def do(self, *words):
        answer = self.ask(*words)
        expect(answer["result"] == 0, words, answer)
        return answer

    def refuse(self, code, text, *words):
        answer = self.ask(*words)
        expect(answer["result"] == -code and text in answer["error"],
               f"{words}: not {errno.errorcode[code]} with '{text}':", answer)
        return answer["error"]

    def survey(self):
        return self.do("survey")["devices"]

    def read(self, name="gpu0"):
        return self.do("read", name)["device"]

    def control(self, *words):
        subprocess.run([CONTROL, self.folder, *words], check=True)

    def calls(self, action):
        """The functions that the action calls, with what each returned."""
        self.write("calls", "")
        action()
        lines = (self.folder / "calls").read_text().splitlines()
        (self.folder / "calls").unlink()
        return [(w[2], w[4]) for w in (line.split() for line in lines) if len(w) == 5]


@contextlib.contextmanager
def node(text, **options):
    with tempfile.TemporaryDirectory() as folder:
        it = Node(folder, text, **options)
        try:
            yield it
        except BaseException:
            it.process.kill()
            it.process.wait()
            it.process = None
            raise
        finally:
            it.stop()


def brief(partition):
    return partition["name"], partition["start"], partition["size"]


def names(device):
    return [p["name"] for p in device["partitions"]]


@contextlib.contextmanager
def other_process(first):
    second = Node(first.folder, (first.folder / "node").read_text(), first.driver)
    second.survey()
    try:
        yield second
    finally:
        second.stop()


def run(cases, wanted):
    """Runs the named cases, or all; ends the program."""
    failed = 0
    for case in cases:
        if wanted and case.__name__ not in wanted:
            continue
        try:
            more = case()
            print("ok", case.__name__, f"({more})" if more else "", flush=True)
        except Failure as failure:
            failed += 1
            print("FAILED", case.__name__, str(failure)[:2000], flush=True)
    sys.exit(f"{failed} failed" if failed else 0)
