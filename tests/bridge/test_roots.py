# SPDX-License-Identifier: Apache-2.0
"""Another root file system inside a lease, by the programs that make such: what lies over the
machine's drivers is not in it.  Each is held, or refused, or reported within two looks of the agent, which
looks once a second.

usage: test_roots.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

import podman as podman_here
from container_cases import CLEAVE, MIB, Machine

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from cli_sandbox import wait_until  # noqa: E402
from looks import RULER, Ruler  # noqa: E402

PYTHON = "/usr/bin/python3"
# Says how much memory the devices have that it finds, and stays for as long as it is looked at.
PROBE = """
import sys
import pyopencl
try:
    print([device.global_mem_size for platform in pyopencl.get_platforms()
           for device in platform.get_devices()], flush=True)
except pyopencl.Error as error:
    print([], flush=True)
sys.stdin.read()
"""
# As `cleave run` does, what a program mounts is its own.
CHROOT = """
for folder in proc dev sys; do mount --rbind "/$folder" "$0/$folder"; done
exec chroot "$0" "$@"
"""
SANDBOX = ("--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",
           "/lib64", "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev",
           "--tmpfs", "/tmp")


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class RootCase(Machine):
    def setUp(self):
        super().setUp()
        top = tempfile.mkdtemp(prefix="cleave-roots-")
        self.addCleanup(os.rmdir, top)
        subprocess.run(["mount", "-t", "tmpfs", "cleave-test", top], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", top], check=True)
        # The machine's own files, without what is mounted over them.
        self.root = os.path.join(top, "root")
        for name in ("root", "upper", "work"):
            os.mkdir(os.path.join(top, name))
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                        f"lowerdir=/,upperdir={top}/upper,workdir={top}/work", self.root],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.root], check=True)

    def start(self, *way, name="one", options=()):
        """What it finds, with all that was started still there."""
        program = subprocess.Popen(
            [*self.as_user, CLEAVE, "run", "--socket", self.socket, "--share", ".1", "--memory",
             "200M", "--name", name, *options, "--", *way, PYTHON, "-c", PROBE],
            env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.wait, 60)
        self.addCleanup(self.end, name)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stdin.close)
        found = program.stdout.readline()
        self.assertTrue(found, f"{way} ended at once")
        return json.loads(found)

    def end(self, name):
        """It ends by itself, as there is nothing more to read."""

    def uses_ungated(self, name="one"):
        return self.leases()[name]["uses_ungated"]

    def is_held(self, *way):
        self.assertEqual(self.start(*way), [200 * MIB])
        time.sleep(3)
        self.assertEqual(self.uses_ungated(), [])

    def start_ungated(self, *way, options=()):
        # In an image there is no gate where the machine's is.
        memory_bytes, = self.start("env", "-u", "OPENCL_LAYERS", "-u", "OCL_ICD_LAYERS", *way,
                                   options=options)
        self.assertGreater(memory_bytes, 200 * MIB)

    def is_reported(self, *way, options=()):
        """Within two looks."""
        ruler = self.start_ruler()
        self.start_ungated(*way, options=options)
        ids = {name: lease["id"] for name, lease in self.leases().items()}
        self.assertTrue(ruler.is_within("opencl", ids["one"], ids["ruler"], 2), self.events())
        self.assertEqual(self.uses_ungated(), ["opencl"])
        event, = (each for each in self.events()
                  if each["type"] == "ungated_api" and each["lease"] == ids["one"])
        self.assertIn("uses opencl, in another root file system, without its gate",
                      event["message"])

    def events(self):
        return json.loads(self.call("events", "-o", "json").stdout)["items"]

    def start_ruler(self):
        """Counts the agent's looks."""
        program = subprocess.Popen(
            [*self.as_user, CLEAVE, "run", "--socket", self.socket, "--share", ".1", "--name",
             "ruler", "--", PYTHON, "-c", RULER, self.folder],
            env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.wait, 60)
        self.addCleanup(program.terminate)
        self.addCleanup(program.stdout.close)
        self.assertEqual(program.stdout.readline(), "ready\n")
        return Ruler(self.folder, self.events, wait_until)


@unittest.skipUnless(os.geteuid() == 0, "needs root to make a root file system")
class Roots(RootCase):
    def test_chroot(self):
        self.is_reported("unshare", "--mount", "sh", "-c", CHROOT, self.root)

    def test_unshare(self):
        ways = {"mounts": ["--mount"], "users": ["--user", "--map-root-user", "--mount"],
                "processes": ["--mount", "--pid", "--fork", "--mount-proc"]}
        for name, options in ways.items():
            self.assertEqual(self.start("unshare", *options, name=name), [200 * MIB])
        time.sleep(3)
        for name in ways:
            self.assertEqual(self.uses_ungated(name), [])

    @needs("bwrap")
    def test_bubblewrap_with_a_root_of_its_own(self):
        self.is_reported("bwrap", "--bind", self.root, "/", "--proc", "/proc", "--dev", "/dev",
                         "--ro-bind", "/sys", "/sys")

    @needs("bwrap")
    def test_bubblewrap_with_the_machines_root(self):
        self.is_held("bwrap", "--dev-bind", "/", "/")

    @needs("bwrap")
    def test_bubblewrap_without_the_leases_folder(self):
        """The gate cannot be loaded, and lies in the drivers' place."""
        self.assertEqual(self.start("bwrap", *SANDBOX, "--unshare-pid"), [])


CANNOT = podman_here.why_not()


def make_image(path):
    """Folders to mount the machine's files in, and nothing else."""
    with tarfile.open(path, "w") as image:
        for name in ("usr", "etc", "tmp", "proc", "dev", "sys"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            image.addfile(folder)
        for name in ("bin", "lib", "lib64", "sbin"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            image.addfile(link)


@unittest.skipIf(CANNOT, CANNOT)
class Podman(RootCase):
    """A container of a lease is `--device cleave.dev/gpu=NAME`."""

    def setUp(self):
        super().setUp()
        self.podman = podman_here.Podman()
        self.addCleanup(self.podman.close)

    def command(self, *options):
        return self.podman.command("run", "--rm", "--interactive", "--network=none",
                                   *podman_here.LIMITS, *options)

    def test_rootfs(self):
        self.is_reported(*self.command("--rootfs", self.root))

    def test_rootfs_overlaid(self):
        self.is_reported(*self.command("--rootfs", "/:O"))

    def test_image(self):
        archive = os.path.join(self.folder, "image.tar")
        make_image(archive)
        answer = self.podman.call("import", archive, "empty")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.is_reported(*self.command(f"--volume={self.root}/usr:/usr",
                                       f"--volume={self.root}/etc:/etc", "empty"))


USER, SUBORDINATES = 54321, "600000:65536"
# In mount namespaces of their own the machine's files know a user that it has not got.
KNOWN = """
for name in passwd group subuid subgid; do mount --bind "$0/$name" "/etc/$name"; done
exec "$@"
"""


def why_not_rootless():
    if CANNOT or not shutil.which("newuidmap"):
        return CANNOT or "newuidmap (uidmap) is not installed"
    readable = subprocess.run(["setpriv", f"--reuid={USER}", "--clear-groups", "test", "-x", CLEAVE],
                              check=False)
    return "other users cannot read the build" if readable.returncode else None


CANNOT_ROOTLESS = why_not_rootless()


@unittest.skipIf(CANNOT_ROOTLESS, CANNOT_ROOTLESS)
class Rootless(RootCase):
    """All of it another user's than root."""

    def set_apart(self):
        os.chown(self.folder, USER, USER)
        known = tempfile.mkdtemp(prefix="cleave-user-")
        self.addCleanup(shutil.rmtree, known)
        for name, line in (("passwd", f"cleave-test:x:{USER}:{USER}::{self.folder}:/bin/sh\n"),
                           ("group", f"cleave-test:x:{USER}:\n"),
                           ("subuid", f"cleave-test:{SUBORDINATES}\n"),
                           ("subgid", f"cleave-test:{SUBORDINATES}\n")):
            with open(f"/etc/{name}", encoding="utf-8") as file, \
                    open(os.path.join(known, name), "w", encoding="utf-8") as copy:
                copy.write(file.read() + line)
        self.as_user = ("unshare", "--mount", "sh", "-c", KNOWN, known, "setpriv",
                        f"--reuid={USER}", f"--regid={USER}", "--clear-groups",
                        "env", f"HOME={self.folder}")

    def setUp(self):
        super().setUp()
        for name in ("", "run", "etc", "proc", "dev", "sys", "tmp"):
            os.chown(os.path.join(self.root, name), USER, USER)
        os.chmod(os.path.dirname(self.root), 0o755)

    def command(self):
        return ["podman", "--root", os.path.join(self.folder, "root"), "--runroot",
                os.path.join(self.folder, "containers"), "--tmpdir",
                os.path.join(self.folder, "podman"), "--storage-driver=vfs", "--runtime=runc",
                "--cgroup-manager=cgroupfs", "--events-backend=none", "run", "--rm",
                "--interactive", "--network=none", "--env=HOME=/tmp", *podman_here.LIMITS,
                "--rootfs", self.root]

    def end(self, name):
        """Podman leaves a process behind that has its namespaces, which `cleave run` waits for."""
        until = time.monotonic() + 60
        while self.leases()[name]["processes"] and time.monotonic() < until:
            time.sleep(.1)
        with open(os.path.join(self.folder, "podman/pause.pid"), encoding="utf-8") as file:
            os.kill(int(file.read()), signal.SIGTERM)

    def test_refused_in_the_leases_namespace(self):
        answer = subprocess.run(
            [*self.as_user, CLEAVE, "run", "--socket", self.socket, "--share", ".1", "--",
             *self.command(), "echo", "inside"], env=self.env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(answer.returncode, 0)
        self.assertEqual(answer.stdout, "")
        self.assertNotIn("cleave:", answer.stderr)

    def test_reported_without_the_namespace(self):
        self.is_reported(*self.command(), options=["--no-namespace"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
