# SPDX-License-Identifier: Apache-2.0
"""Nodes in separate folders, and processes on them."""
import os
import pickle
import shutil
import subprocess
import tempfile
import time
import traceback
import unittest

import nvml

VARIABLE = "CLV_NVML_DOUBLE"


class Setup:
    """The locations of the programs under test; set by main."""
    folder = control = facts = None
    libraries = {}

    @classmethod
    def library(cls, driver=580):
        if driver not in cls.libraries:
            path = os.path.join(cls.folder, f"r{driver}", "libnvidia-ml.so.1")
            cls.libraries[driver] = nvml.Library(path)
        return cls.libraries[driver]


class Child:
    """A forked process that runs a function; `result` waits for what it returns."""

    def __init__(self, function, *arguments):
        read, write = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(read)
            self.run(write, function, arguments)
        os.close(write)
        self.pipe = read

    @staticmethod
    def run(write, function, arguments):
        status = 1
        try:
            data = pickle.dumps(function(*arguments))
            os.write(write, data)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def kill(self, signal):
        os.kill(self.pid, signal)

    def result(self):
        """The function's result, or the negative number of the signal that ended it."""
        with os.fdopen(self.pipe, "rb") as pipe:
            data = pipe.read()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if status < 0:
            return status
        if status:
            raise AssertionError(f"the child ended with {status}")
        return pickle.loads(data)


def in_child(function, *arguments):
    return Child(function, *arguments).result()


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


class Case(unittest.TestCase):
    """A test with a node; `start` describes it and loads the library."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="double-nvml-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.environ[VARIABLE] = self.folder
        self.lib = None

    def tearDown(self):
        if self.lib:
            self.lib.code("nvmlShutdown")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(text)
        os.replace(path + ".new", path)

    def start(self, *lines, driver=580):
        self.write("node", "\n".join(lines) + "\n")
        return self.load(driver)

    def load(self, driver=580):
        self.lib = Setup.library(driver)
        self.lib.do("nvmlInit_v2")
        return self.lib

    def restart(self, *lines, driver=580):
        """Another node, without state."""
        self.tearDown()
        self.lib = None
        if os.path.exists(os.path.join(self.folder, "state")):
            os.unlink(os.path.join(self.folder, "state"))
        lib = self.start(*lines, driver=driver)
        return lib, lib.device()

    def start_mig(self, line="gpu A100-40GB", *more, driver=580):
        """A GPU with MIG mode on, and its handle."""
        lib = self.start(f"{line} mig=on", *more, driver=driver)
        return lib, lib.device()

    def control(self, *words):
        return subprocess.run([Setup.control, self.folder, *map(str, words)], check=True,
                              capture_output=True, text=True).stdout

    def calls(self):
        """The log: (function, its number, result)."""
        with open(os.path.join(self.folder, "calls"), encoding="ascii") as file:
            return [(w[2], int(w[3]), w[4]) for w in map(str.split, file)]

    def assertCode(self, code, name, *arguments):
        self.assertEqual(self.lib.code(name, *arguments), code, name)

    def assertRaisesCode(self, code, function, *arguments):
        with self.assertRaises(nvml.NvmlError) as caught:
            function(*arguments)
        self.assertEqual(caught.exception.code, code)
