# SPDX-License-Identifier: Apache-2.0
"""Leases as devices of containers: real podman and runc, real kernels on PoCL.

usage: test_cdi.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import fcntl
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import container_cases
import guide
import podman as podman_here
from container_cases import CLEAVE, GATES, MIB, Machine

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "packaging"))
import root  # noqa: E402

SPECS = "/etc/cdi"
LOADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bypass", "loader.c")


class Specification(Machine):
    def test_what_it_says(self):
        chat = self.reserve("chat", "--share", "0.3")
        self.call("reserve", "--name", "not-this", "--share", "0.1")
        spec = self.spec()
        self.assertEqual((spec["cdiVersion"], spec["kind"]), ("0.3.0", "cleave.dev/gpu"))
        self.assertEqual([each["name"] for each in spec["devices"]], ["chat"])
        mounts = {each["containerPath"]: each["hostPath"]
                  for each in spec["devices"][0]["containerEdits"]["mounts"]}
        for place in ("/run/cleave", "/run/cleave-leases/chat"):
            self.assertEqual(mounts[place], os.path.dirname(chat["socket"]))
        self.assertIn("NVIDIA_VISIBLE_DEVICES=void", spec["containerEdits"]["env"])
        self.reserve("7b", "--share", "0.1")
        self.assertEqual(self.spec()["cdiVersion"], "0.5.0", "names that begin with a digit")

    def test_what_is_set_aside_is_reserved(self):
        layout = os.path.join(self.folder, "layout.yaml")
        with open(layout, "w", encoding="utf-8") as file:
            file.write("version: 1\ndevices:\n  - select: {vendor: cpu}\n"
                       "    partitions: [{profile: 'cores:1', count: 2}]\n")
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two processors to divide")
        self.call("apply", "--yes", layout)
        names = [each["name"] for each in self.spec("--reserve")["devices"]]
        self.assertEqual(len(names), 2, names)
        self.assertTrue(all(name.startswith("gpu0-cores-1-") for name in names), names)
        self.assertEqual([each["name"] for each in self.spec("--reserve")["devices"]], names)

    def path(self):
        return os.path.join(self.folder, "specs", "cleave.json")

    def watch(self, **env):
        watch = subprocess.Popen(
            [CLEAVE, "cdi", "watch", "--socket", self.socket, "--to", self.path()],
            env={**self.env, **env}, stderr=subprocess.PIPE, text=True)
        self.addCleanup(watch.stderr.close)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        return watch

    def shows(self, *names):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                with open(self.path(), encoding="utf-8") as file:
                    if [e["name"] for e in json.load(file)["devices"]] == list(names):
                        return True
            except FileNotFoundError:
                pass
            time.sleep(.02)
        return False

    def test_watch_keeps_it_true(self):
        watch = self.watch()
        self.assertTrue(self.shows())
        self.reserve("a", "--share", "0.1")
        self.assertTrue(self.shows("a"))
        self.stop_agent(signal.SIGKILL)
        self.start_agent()
        self.reserve("b", "--share", "0.1")
        self.assertTrue(self.shows("a", "b"))
        self.call("release", "a")
        self.assertTrue(self.shows("b"))
        watch.terminate()
        self.assertEqual(watch.wait(60), 0)

    def test_watch_writes_what_others_changed(self):
        self.watch()
        self.assertTrue(self.shows())
        with open(self.path(), encoding="utf-8") as file:
            empty = file.read()
        self.reserve("a", "--share", "0.1")
        self.assertTrue(self.shows("a"))
        with open(self.path(), "w", encoding="utf-8") as file:
            file.write(empty)
        self.call("reserve", "--name", "not-this", "--share", "0.1")  # the text stays the same
        self.assertTrue(self.shows("a"))

    def test_watch_that_waits_for_another_is_ended(self):
        watch = self.watch()
        self.assertTrue(self.shows())
        with open(self.path() + ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.reserve("a", "--share", "0.1")
            for _ in range(100):  # it opens the lock again for each try
                if f"{os.path.basename(self.path())}.lock" in open_files(watch.pid):
                    break
                time.sleep(.02)
            watch.terminate()
            self.assertEqual(watch.wait(60), 0)
        self.assertTrue(self.shows())

    def test_one_watch_of_a_file(self):
        self.watch()
        self.assertTrue(self.shows())
        second = self.watch()
        self.assertEqual(second.wait(60), 75)
        self.assertIn("another 'cleave cdi watch' keeps", second.stderr.read())

    def test_compose_leaves_the_file_to_watch(self):
        """That one may have other settings: here gates in another folder."""
        other = os.path.join(self.folder, "other")
        os.mkdir(other)
        for path in (*glob.glob(f"{GATES}/libcleave-*.so"), f"{GATES}/../bridge/cdi/cleave-cdi-hook"):
            shutil.copy(path, other)
        self.watch(CLEAVE_GATE_DIR=other)
        self.assertTrue(self.shows())
        for name in ("a", "b", "c"):
            self.call("compose", "--project-name=shop", "up", "--share=0.1",
                      f"--to={self.path()}", name)
            self.assertEqual(self.hosts("/usr/lib/cleave"), {other})
        self.call("compose", "--project-name=shop", "down", f"--to={self.path()}", "a")
        self.assertTrue(self.shows("shop-b", "shop-c"))
        self.assertEqual(self.hosts("/usr/lib/cleave"), {other})

    def hosts(self, place):
        """The folders of the machine that are mounted there."""
        with open(self.path(), encoding="utf-8") as file:
            spec = json.load(file)
        edits = [spec["containerEdits"], *(each["containerEdits"] for each in spec["devices"])]
        return {mount["hostPath"] for each in edits for mount in each.get("mounts", ())
                if mount["containerPath"] == place}


def open_files(pid):
    folder, names = f"/proc/{pid}/fd", set()
    for each in os.listdir(folder):
        try:
            names.add(os.path.basename(os.readlink(os.path.join(folder, each))))
        except FileNotFoundError:
            pass
    return names


WHY_NOT = podman_here.why_not()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class ContainerCase(container_cases.ContainerCase):
    """What is written for podman has a name of its own."""
    # In a chroot the mount namespace's own root is the machine's, and runc's exec ends up there.
    exec_works = podman_here.has_mounted_root()

    def make_engine(self):
        podman_here.hold_specs(self, SPECS)
        self.addCleanup(self.forget_specs)
        return podman_here.Podman()

    def file(self):
        return os.path.join(SPECS, f"cleave-test-{os.getpid()}.json")

    def forget_specs(self):
        if os.path.exists(self.file()):
            os.unlink(self.file())

    def describe(self):
        self.call("cdi", "generate", "--to", self.file())


class Containers(container_cases.Cases, ContainerCase):
    def image(self, **files):
        """A root of a few files and links."""
        root = tempfile.mkdtemp(prefix="cleave-image-")
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        for path, what in files.items():
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if isinstance(what, bytes):
                with open(path, "wb") as file:
                    file.write(what)
            else:
                os.symlink(what["to"], path)
        return root + ":O"

    def test_images_that_cannot_be_held(self):
        self.reserve("chat", "--share", "0.3")
        self.describe()
        current = b"\0GLIBC_2.2.5\0GLIBC_2.31\0"
        old = b"\0OCL_ICD_ASSUME_ICD_EXTENSION\0" b"2.2.12\0"
        for image, words in ((self.image(), "no GNU C library: the"),
                             (self.image(**{"lib/ld-musl-x86_64.so.1": b"musl"}),
                              "no GNU C library but musl"),
                             (self.image(**{"lib64/libc.so.6": current, "usr/lib/libOpenCL.so.1":
                                            old + b"\0/opt/etc/OpenCL/vendors\0"}),
                              "/usr/lib/libOpenCL.so.1 (ocl-icd 2.2.12) takes no layers, and reads "
                              "its drivers from elsewhere"),
                             (self.image(**{"lib64/libc.so.6": current, "usr/lib/libOpenCL.so.1":
                                            old + b"\0/etc/OpenCL/vendors\0"}),
                              "takes no layers, and there is no folder /etc/OpenCL/vendors"),
                             (self.image(**{"lib64/libc.so.6": b"\0GLIBC_2.2.5\0GLIBC_2.27\0"}),
                              "2.27")):
            answer = self.engine.run("true", devices=self.device("chat"), rootfs=image)
            self.assertNotEqual(answer.returncode, 0)
            self.assertIn(words, answer.stderr)

    def test_leases_of_several_vendors(self):
        """The container could have the gates of one of them only."""
        for name in ("chat", "other"):
            self.reserve(name, "--share", "0.3")
        self.describe()
        with open(self.file(), encoding="utf-8") as file:
            spec = json.load(file)
        (hook,) = spec["devices"][0]["containerEdits"]["hooks"]
        self.assertEqual(hook["args"], ["cleave-cdi-hook", "preload-opencl"])
        hook["args"][1] = "preload-hip"
        with open(self.file(), "w", encoding="utf-8") as file:
            json.dump(spec, file)
        for name in ("chat", "other"):
            self.assertEqual(self.engine.run("true", devices=self.device(name)).returncode, 0)
        answer = self.engine.run("true", devices=self.device("chat") + self.device("other"))
        self.assertNotEqual(answer.returncode, 0)
        self.assertIn("has leases whose programs load different gates (preload-hip and "
                      "preload-opencl)", answer.stderr)

    def build_old_loaders(self):
        """A folder of what an image would bring: a program that is a loader without layers itself,
        and libraries that are told to be such."""
        folder = tempfile.mkdtemp(prefix="cleave-image-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.chmod(folder, 0o755)
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-DCL_TARGET_OPENCL_VERSION=300", "-o",
                        os.path.join(folder, "program"), LOADER, "-ldl"], check=True)
        for name, words in (("ocl-icd", ("OCL_ICD_PLATFORM_SORT", "2.2.12")),
                            ("khronos", ("OCL_ICD_FILENAMES",))):
            os.mkdir(os.path.join(folder, name))
            words = *words, "OCL_ICD_VENDORS", "/etc/OpenCL/vendors"
            text = "".join(f'"{word}", ' for word in words)
            subprocess.run(["gcc", "-x", "c", "-", "-shared", "-o",
                            os.path.join(folder, name, "libOpenCL.so.1")],
                           input="const char *const all[] = {%s};" % text, text=True, check=True)
        return folder

    def test_loader_without_layers(self):
        """It meets the gate where it looks for the drivers, unless it is led elsewhere."""
        folder = self.build_old_loaders()
        program = os.path.join(folder, "program"), "own-loader"
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.describe()
        for name, more, led_by in (
                ("ocl-icd", {}, None), ("khronos", {}, None),
                ("ocl-icd", {"OCL_ICD_FILENAMES": "libpocl.so.2"}, None),
                ("khronos", {"OCL_ICD_FILENAMES": "libpocl.so.2"}, "OCL_ICD_FILENAMES"),
                ("khronos", {"OCL_ICD_FILENAMES": ""}, None),
                ("ocl-icd", {"OCL_ICD_VENDORS": "/usr/lib/cleave/vendors.real"},
                 "OCL_ICD_VENDORS"),
                ("ocl-icd", {"OCL_ICD_VENDORS": "/etc/OpenCL/vendors"}, None)):
            env = {"LD_LIBRARY_PATH": os.path.join(folder, name), **more}
            answer = self.engine.run(*program, devices=self.device("chat"), env=env)
            with self.subTest(name=name, more=more):
                if led_by:
                    self.assertNotEqual(answer.returncode, 0)
                    self.assertIn("takes no layers, and %s leads it to other drivers, so its "
                                  "programs would run without limits: unset %s" % (led_by, led_by),
                                  answer.stderr)
                else:
                    self.assertEqual(answer.stdout, f"got {200 * MIB} code -4\n", answer.stderr)
        answer = self.engine.run("env", "-i", *program, devices=self.device("chat"),
                                 env={"LD_LIBRARY_PATH": os.path.join(folder, "ocl-icd")})
        self.assertEqual(answer.stdout, f"got {200 * MIB} code -4\n", answer.stderr)

    def test_links_of_an_image_lead_nowhere(self):
        """Not out of it: the machine's own vendors stay as they are."""
        self.reserve("chat", "--share", "0.3")
        self.describe()
        before = sorted(os.listdir("/etc/OpenCL/vendors"))
        for link in ("/../../../../etc/OpenCL/vendors", "/proc/1/root/etc/OpenCL/vendors"):
            image = self.image(**{"lib64/libc.so.6": b"GLIBC_2.99",
                                  "etc/OpenCL/vendors": {"to": link}})
            self.engine.run("true", devices=self.device("chat"), rootfs=image)
            self.assertEqual(sorted(os.listdir("/etc/OpenCL/vendors")), before)
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            self.assertNotIn("OpenCL", mounts.read())


class Older(ContainerCase):
    """An image of Debian 11: glibc 2.31, and ocl-icd 2.2.14, which knows the first name of the
    variable for layers.  Made once, from the archive of packages."""

    def test_it_is_held(self):
        folder = os.environ.get("CLEAVE_OLDER_ROOT", os.path.join(GATES, "../../engines/bullseye"))
        root.make_base(os.path.abspath(folder), ["clinfo", "ocl-icd-libopencl1", "pocl-opencl-icd"],
                       "bullseye")
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.describe()
        for program in (("clinfo",), ("env", "CLEAVE_LEASE=", "OPENCL_LAYERS=", "clinfo")):
            answer = self.engine.run(*program, devices=self.device("chat"),
                                     rootfs=os.path.abspath(folder) + ":O")
            self.assertEqual(container_cases.memory_of(answer), 200 * MIB)


class Guide(ContainerCase):
    """docs/containers.md, line by line."""

    def test_each_command(self):
        path = "/var/run/cdi/cleave.json"
        if os.path.exists(path):
            self.skipTest(f"{path} is somebody's")
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        config = os.path.join(self.folder, "containers.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(podman_here.CONFIG)
        env = dict(self.env, CONTAINERS_CONF=config, CLEAVE_SOCKET=self.socket,
                   PATH=os.path.dirname(CLEAVE) + ":" + self.env["PATH"])
        wrapper = shlex.join(self.engine.command())
        told = guide.commands("containers.md")
        self.assertGreater(len(told), 7)
        for line in told:
            if " exec " in line and not self.exec_works:
                continue
            with self.subTest(line):
                done = subprocess.run(["sh", "-c", re.sub("^podman", lambda _: wrapper, line)], env=env,
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                if "clinfo" in line:
                    self.assertIn(str(200 * MIB), done.stdout)


class Shares(container_cases.MeasuredCases, ContainerCase):
    pass


if __name__ == "__main__":
    if WHY_NOT and sys.argv[4:5] != ["Specification"]:
        print(f"skipped: {WHY_NOT}")
        sys.exit(77)  # as meson knows it
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
