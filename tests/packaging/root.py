# SPDX-License-Identifier: Apache-2.0
"""A small Debian for installing packages, and the part of systemd that they need there.

The root is made once and kept; each run writes over a copy that is gone at its end."""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import confine
import manager

OWN = ("cleave", "cleave-agent", "cleave-gate-opencl", "cleave-gate-cuda",
       "cleave-gate-hip", "libcleave-dev", "libcleave0")
FOR_PROGRAMS = ("ocl-icd-libopencl1", "pocl-opencl-icd")
ELSEWHERE = ("proc", "sys", "dev")
# Not chroot: a process in one may not create namespaces, and cleave run does.
MOVE = 'cd "$1" && shift && pivot_root . . && umount -l . && cd / && exec "$@"'
JOURNAL = "run/systemd/journal/socket"


def enter_namespace():
    """Mounts made from here on end with this process."""
    if os.environ.get("CLEAVE_TEST_NAMESPACE") != str(os.getpid()):
        os.environ["CLEAVE_TEST_NAMESPACE"] = str(os.getpid())
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private",
                              sys.executable, *sys.argv])


def packages_in(folder):
    """{name: file} without debug packages."""
    found = {}
    for file in sorted(Path(folder).glob("*.deb")):
        name = file.name.split("_")[0]
        if name in OWN:
            found[name] = file
    return found


def depends(files):
    """The direct dependencies; of alternatives the first."""
    names = set()
    for file in files:
        done = subprocess.run(["dpkg-deb", "-f", file, "Depends"], capture_output=True,
                              text=True, check=True)
        for clause in done.stdout.split(","):
            names.add(re.match(r"\s*([\w.+-]*)", clause)[1])
    return sorted(names - set(OWN) - {""})


def make_base(folder, include, release=None):
    """A plain Debian, of this machine's release if none is given; created again when more packages
    are needed."""
    if not release:
        release = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.M)[1]
    marker = Path(folder) / "made-with"
    wanted = " ".join(include)
    if marker.exists() and marker.read_text() == wanted:
        return
    shutil.rmtree(folder, ignore_errors=True)
    more = [f"--include={','.join(include)}"] if include else []
    words = [release, folder]
    if not Path("/usr/share/debootstrap/scripts", release).exists():  # newer than debootstrap
        words += ["http://deb.debian.org/debian", "sid"]
    subprocess.run(["debootstrap", "--variant=minbase", *more, *words], check=True,
                   stdin=subprocess.DEVNULL)
    marker.write_text(wanted)


class Root:
    def __init__(self, base):
        self.top = Path(tempfile.mkdtemp(prefix="cleave-root-"))
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", self.top], check=True)
        self.path = self.top / "r"
        for name in ("r", "upper", "work"):
            (self.top / name).mkdir()
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={base},"
                        f"upperdir={self.top}/upper,workdir={self.top}/work", self.path],
                       check=True)
        for name in ELSEWHERE:
            subprocess.run(["mount", "--rbind", "--make-rslave", f"/{name}", self.path / name],
                           check=True)
        policy = self.path / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def close(self):
        subprocess.run(["umount", "--recursive", "--lazy", self.top], check=False)
        self.top.rmdir()

    def leave_host(self):
        """Nothing is run in it any more."""
        for name in ELSEWHERE:
            subprocess.run(["umount", "--recursive", "--lazy", self.path / name], check=True)
        (self.path / "usr/sbin/policy-rc.d").unlink()

    def run(self, *command, check=True):
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
               "LC_ALL": "C.UTF-8"}
        done = subprocess.run(["chroot", self.path, *command], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, env=env, timeout=300)
        assert not check or done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def start(self, user, *command):
        """A user's program, driven by lines on its input."""
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": f"/home/{user}"}
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        return subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", MOVE, "sh",
             self.path, *become, *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def install(self, files):
        inside = self.path / "tmp/packages"
        shutil.rmtree(inside, ignore_errors=True)
        inside.mkdir()
        for file in files:
            shutil.copy(file, inside)
        self.run("sh", "-c", "dpkg -i /tmp/packages/*.deb")

    def files(self):
        """All except for the files that programs and users have created."""
        found = set()
        for folder, folders, names in os.walk(self.path):
            inner = os.path.relpath(folder, self.path)
            if inner == ".":
                folders[:] = [f for f in folders if f not in (*ELSEWHERE, "home", "tmp")]
            found |= {os.path.normpath(os.path.join(inner, n)) for n in [*folders, *names]}
        return found


class Service:
    """cleaved.service and cleaved.socket as systemd would run them from the package."""

    def __init__(self, root):
        self.root = root
        self.unit = root.path / "lib/systemd/system/cleaved.service"
        self.api = str(root.path / "run/cleave/api.sock")
        self.notify = manager.Manager(str(root.path / "run/notify"))
        self.written = []  # to the journal
        self.is_read = threading.Event()
        self.is_read.set()
        self.journal = self.listen_for_journal()
        threading.Thread(target=self.read_journal, daemon=True).start()
        self.socket = manager.listen(self.api, 0o666)
        self.log = tempfile.TemporaryFile()
        self.process = None

    def listen_for_journal(self):
        path = self.root.path / JOURNAL
        path.parent.mkdir(parents=True, exist_ok=True)
        return manager.Manager(str(path))

    def read_journal(self):
        """Unless a test has the journal hang."""
        with contextlib.suppress(OSError):
            while self.is_read.wait():
                self.written.append(self.journal.notified.recv(65536).decode())

    def start(self):
        command = re.search(r"^ExecStart=(.*)$", self.unit.read_text(), re.M)[1].split()
        high = os.dup2(self.socket.fileno(), 100)
        shell, fds = manager.command_with(
            [sys.executable, confine.__file__, f"--root={self.root.path}", str(self.unit),
             *command], [high])
        stat = os.fstat(self.log.fileno())
        env = {**self.notify.environment(1, "api", 30000000), "NOTIFY_SOCKET": "/run/notify",
               "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
               "JOURNAL_STREAM": f"{stat.st_dev}:{stat.st_ino}"}
        self.process = subprocess.Popen(shell, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log, pass_fds=fds, env=env)
        os.close(high)
        self.notify.wait_for("READY", "1", 20)

    def stop(self):
        self.process.terminate()
        assert self.process.wait(20) == 0, self.said()

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def close(self):
        """Like the removal of both units."""
        if self.process.poll() is None:
            self.stop()
        self.socket.close()
        os.unlink(self.api)
        os.unlink(self.notify.path)
        shutil.rmtree(os.path.dirname(self.journal.path))
        self.notify.close()
        self.journal.close()
