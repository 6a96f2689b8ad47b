# SPDX-License-Identifier: Apache-2.0
"""Starts the sysfs double in a folder of its own, for tests in Python.

    with Double(PROGRAM, {"devices": [{"bdf": "0000:05:00.0", "model": "MI300X"}]}) as double:
        double.write("bus/pci/devices/0000:05:00.0/current_compute_partition", "CPX")

Call start() from a thread that lives as long as the double: the kernel takes the end of
that thread for the end of the parent."""
import errno
import json
import os
import shutil
import signal
import subprocess
import tempfile

SKIP = 77
READY_S = 30


class Unavailable(Exception):
    """FUSE cannot be mounted here."""


def error_name(error):
    return errno.errorcode.get(error.errno, str(error.errno))


class Double:
    def __init__(self, program, description):
        self.program = os.path.abspath(program)
        self.folder = tempfile.mkdtemp(prefix="sysfs-double-")
        self.control = os.path.join(self.folder, "control")
        self.sys = os.path.join(self.folder, "sys")
        self.process = None
        os.mkdir(self.control)
        os.mkdir(self.sys)
        self.describe(description)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()

    # --- Start and end ---

    def describe(self, description):
        with open(os.path.join(self.folder, "description"), "w", encoding="utf-8") as file:
            json.dump(description, file)

    def start(self):
        self.process = subprocess.Popen(
            [self.program, os.path.join(self.folder, "description"), self.control, self.sys],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() == "ready\n":
            return self
        said = self.process.communicate(timeout=READY_S)[1]
        if self.process.returncode == SKIP:
            raise Unavailable(said.strip())
        raise RuntimeError(f"the double ended with {self.process.returncode}: {said}")

    def stop(self, how=signal.SIGTERM):
        """Returns its stderr."""
        if self.process is None:
            return ""
        self.process.send_signal(how)
        said = self.process.communicate(timeout=READY_S)[1]
        status, self.process = self.process.returncode, None
        if how == signal.SIGTERM and status != 0:
            said += f"ended with {status}"
        return said

    def close(self):
        try:
            self.stop()
        finally:
            # After a failure the folder may still be a mount point: do not remove files in it.
            subprocess.run(["umount", "--lazy", "--quiet", self.sys], check=False,
                           stderr=subprocess.DEVNULL)
            shutil.rmtree(self.folder, ignore_errors=True)

    # --- The tree ---

    def path(self, path):
        return os.path.join(self.sys, path)

    def read(self, path):
        with open(self.path(path), encoding="utf-8") as file:
            return file.read().removesuffix("\n")

    def write(self, path, value):
        """One write(2) with a newline, as echo does."""
        fd = os.open(self.path(path), os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(fd, f"{value}\n".encode())
        finally:
            os.close(fd)

    def try_write(self, path, value):
        """"ok", or the name of the error."""
        try:
            self.write(path, value)
        except OSError as error:
            return error_name(error)
        return "ok"

    def try_read(self, path):
        try:
            return self.read(path)
        except OSError as error:
            return error_name(error)

    def exists(self, path):
        return os.path.lexists(self.path(path))

    def names(self, path):
        return sorted(os.listdir(self.path(path)))

    def target(self, path):
        """The last part of where a link leads."""
        return os.path.basename(os.readlink(self.path(path)))

    # --- The control folder ---

    def put(self, name, lines):
        """Writes "faults", "holders" or "conditions" atomically."""
        path = os.path.join(self.control, name)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        os.rename(f"{path}.new", path)

    def log(self):
        with open(os.path.join(self.control, "log"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def state(self):
        """{(subject, field): value}"""
        with open(os.path.join(self.control, "state"), encoding="utf-8") as file:
            return {tuple(line.split(" ", 2)[:2]): line.rstrip("\n").split(" ", 2)[2]
                    for line in file}

    def run(self, *words):
        """Runs a program of the control folder; returns (exit status, output)."""
        done = subprocess.run([os.path.join(self.control, "bin", words[0]), *words[1:]],
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr
