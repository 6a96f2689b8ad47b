# SPDX-License-Identifier: Apache-2.0
"""Leases as devices of containers: real podman and runc, real kernels on PoCL.

usage: test_cdi.py CLEAVE CLEAVED GATES [unittest arguments]
"""
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

import guide
import podman as podman_here

CLEAVE, CLEAVED, GATES = map(os.path.abspath, sys.argv[1:4])
SPECS = "/etc/cdi"
MIB = 1 << 20
# Kernels of one group, so that all of them take one processor, for some seconds.
COUNT = r"""
import sys, time
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
work = cl.Program(context, '''__kernel void work(__global float *x) {
    float y = x[get_global_id(0)];
    for (int i = 0; i < 200000; i++) y = y * 0.999f + 1.0f;
    x[get_global_id(0)] = y; }''').build().work
x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 256)
n, until = 0, float(sys.argv[1])
while time.time() < until:
    for _ in range(8):
        work(queue, (1,), (1,), x)
    queue.finish()
    n += 8 if time.time() > float(sys.argv[2]) else 0
print(n)
"""
ALLOCATE = r"""
import sys
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
try:
    one = cl.Buffer(context, cl.mem_flags.READ_WRITE, int(sys.argv[1]))
    cl.enqueue_fill_buffer(queue, one, b'x', 0, 4096).wait()
    print('has it')
except (cl.MemoryError, cl.RuntimeError, cl.LogicError) as error:
    print(error)
"""


def memory_of(answer):
    """What clinfo says that the device has, in bytes."""
    lines = [line for line in answer.stdout.splitlines() if "Global memory size" in line]
    return int(lines[0].split()[3]) if lines else answer.stdout + answer.stderr


class Machine(unittest.TestCase):
    """An agent of its own; what it writes for podman has a name of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-cdi-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.set_apart()
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.folder, XDG_STATE_HOME=self.folder,
                        CLEAVE_GATE_DIR=GATES)
        self.env.pop("CLEAVE_SOCKET", None)
        self.socket = os.path.join(self.folder, "cleave", "api.sock")
        self.start_agent()
        self.addCleanup(self.stop_agent)

    def set_apart(self):
        pass

    def start_agent(self):
        ready, write_end = os.pipe()
        self.agent = subprocess.Popen(
            [CLEAVED, "--runtime-dir", os.path.dirname(self.socket), "--state-dir",
             os.path.join(self.folder, "state"), "--lock-dir", self.folder, "--foreground",
             f"--ready-fd={write_end}"], pass_fds=[write_end], env=self.env,
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write_end)
        self.assertEqual(os.read(ready, 1), b"1")
        os.close(ready)

    def stop_agent(self, number=signal.SIGTERM):
        if self.agent.poll() is None:
            self.agent.send_signal(number)
            self.agent.wait(20)

    def call(self, *arguments, code=0):
        answer = subprocess.run([CLEAVE, *arguments[:1], "--socket", self.socket,
                                 *arguments[1:]], env=self.env, capture_output=True,
                                text=True, timeout=60, check=False)
        self.assertEqual(answer.returncode, code, answer.stderr)
        return answer

    def reserve(self, name, *options):
        return json.loads(self.call("reserve", "--name", name, "--admit", "socket", "-o", "json",
                                    *options).stdout)

    def leases(self):
        listed = json.loads(self.call("ps", "-o", "json").stdout)["items"]
        return {each["name"]: each for each in listed}

    def spec(self, *options):
        return json.loads(self.call("cdi", "generate", *options).stdout)


class Specification(Machine):
    def test_what_it_says(self):
        chat = self.reserve("chat", "--share", "0.3")
        self.call("reserve", "--name", "not-this", "--share", "0.1")
        spec = self.spec()
        self.assertEqual((spec["cdiVersion"], spec["kind"]), ("0.3.0", "cleave.dev/gpu"))
        self.assertEqual([each["name"] for each in spec["devices"]], ["chat"])
        mounts = {each["containerPath"]: each["hostPath"]
                  for each in spec["devices"][0]["containerEdits"]["mounts"]}
        self.assertEqual(mounts["/run/cleave"], os.path.dirname(chat["socket"]))
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

    def test_watch_keeps_it_true(self):
        path = os.path.join(self.folder, "specs", "cleave.json")
        watch = subprocess.Popen([CLEAVE, "cdi", "watch", "--socket", self.socket, "--to", path],
                                 env=self.env, stderr=subprocess.PIPE, text=True)
        self.addCleanup(watch.stderr.close)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.terminate)

        def shows(*names):
            until = time.monotonic() + 10
            while time.monotonic() < until:
                try:
                    with open(path, encoding="utf-8") as file:
                        if [e["name"] for e in json.load(file)["devices"]] == list(names):
                            return True
                except FileNotFoundError:
                    pass
                time.sleep(.02)
            return False
        self.assertTrue(shows())
        self.reserve("a", "--share", "0.1")
        self.assertTrue(shows("a"))
        self.stop_agent(signal.SIGKILL)
        self.start_agent()
        self.reserve("b", "--share", "0.1")
        self.assertTrue(shows("a", "b"))
        self.call("release", "a")
        self.assertTrue(shows("b"))
        watch.terminate()
        self.assertEqual(watch.wait(10), 0)


WHY_NOT = podman_here.why_not()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class ContainerCase(Machine):
    def setUp(self):
        super().setUp()
        self.podman = podman_here.Podman()
        self.addCleanup(self.podman.close)
        self.addCleanup(self.forget_specs)

    def set_apart(self):
        """A mount of its own, as /run is: containers here have the machine's root folder as
        theirs, in which they would find the agent's files otherwise."""
        subprocess.run(["mount", "-t", "tmpfs", "cleave-test", self.folder], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.folder], check=True)

    def file(self):
        return os.path.join(SPECS, f"cleave-test-{os.getpid()}.json")

    def forget_specs(self):
        if os.path.exists(self.file()):
            os.unlink(self.file())

    def describe(self):
        self.call("cdi", "generate", "--to", self.file())

    def device(self, name):
        return (f"cleave.dev/gpu={name}",)

# In a chroot the mount namespace's own root is the machine's, and runc's exec ends up there.
EXEC_WORKS = podman_here.has_mounted_root()


class Containers(ContainerCase):
    @unittest.skipUnless(EXEC_WORKS, "in a chroot podman exec enters the machine's root")
    def test_quota_whatever_the_environment(self):
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.reserve("other", "--share", "0.3", "--memory", "300M")
        self.describe()
        self.podman.start("one", "sleep", "60", devices=self.device("chat"))
        for program in (["clinfo"], ["env", "-i", "clinfo"],
                        ["env", "-i", "OCL_ICD_VENDORS=/usr/lib/cleave/vendors.real", "clinfo"],
                        ["env", "CLEAVE_LEASE=", "OPENCL_LAYERS=", "clinfo"]):
            with self.subTest(" ".join(program)):
                self.assertEqual(memory_of(self.podman.inside("one", *program)), 200 * MIB)
        answer = self.podman.run("clinfo", devices=self.device("other"))
        self.assertEqual(memory_of(answer), 300 * MIB)
        tried = self.podman.inside("one", "python3", "-c", ALLOCATE, str(250 * MIB))
        self.assertIn("MEM_OBJECT_ALLOCATION_FAILURE", tried.stdout, tried.stderr)
        self.assertEqual(self.podman.inside("one", "python3", "-c", ALLOCATE,
                                            str(150 * MIB)).stdout, "has it\n")

    def test_nobody_sees_anothers_lease(self):
        self.reserve("mine", "--share", "0.3", "--memory", "100M")
        self.reserve("others", "--share", "0.6", "--memory", "500M")
        self.describe()
        listing = self.podman.run("find", "/run/cleave", self.folder,
                                  devices=self.device("mine"))
        self.assertEqual(listing.stdout.split(),
                         ["/run/cleave", "/run/cleave/lease.sock", self.folder])
        away = self.leases()["others"]["socket"]
        answer = self.podman.run("env", f"CLEAVE_LEASE={away}", "clinfo",
                                 devices=self.device("mine"))
        self.assertIn("cannot connect", str(memory_of(answer)))

    def test_death_gives_memory_back(self):
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.describe()
        hold = ALLOCATE.replace("print('has it')", "print('has it'); import time; time.sleep(60)")
        name = "holder"
        self.podman.start(name, "python3", "-uc", hold, str(150 * MIB),
                          devices=self.device("chat"))
        until = time.monotonic() + 20
        while self.leases()["chat"]["memory_used_bytes"] < 150 * MIB:
            self.assertLess(time.monotonic(), until)
            time.sleep(.05)
        self.podman.call("kill", "--signal=KILL", name)
        while self.leases()["chat"]["memory_used_bytes"] > 0:
            self.assertLess(time.monotonic(), until)
            time.sleep(.05)
        self.assertEqual(self.leases()["chat"]["state"], "active", "the lease stays")

    def test_another_user_inside(self):
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.describe()
        answer = self.podman.run("clinfo", devices=self.device("chat"),
                                 options=("--user=65534:65534", "--env=HOME=/tmp"))
        self.assertEqual(memory_of(answer), 200 * MIB)

    @unittest.skipUnless(EXEC_WORKS, "in a chroot podman exec enters the machine's root")
    def test_a_released_lease_holds_nobody_up(self):
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.describe()
        self.podman.start("one", "sleep", "60", devices=self.device("chat"))
        self.call("release", "chat")
        answer = self.podman.inside("one", "clinfo")
        self.assertNotIn("Global memory size", answer.stdout, "without a lease, no device")
        self.describe()
        self.assertEqual(self.podman.run("true", devices=self.device("chat")).returncode, 126)

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
        for image, words in ((self.image(), "no GNU C library"),
                             (self.image(**{"lib64/libc.so.6": b"\0GLIBC_2.2.5\0GLIBC_2.31\0"}),
                              "2.31")):
            answer = self.podman.run("true", devices=self.device("chat"), rootfs=image)
            self.assertNotEqual(answer.returncode, 0)
            self.assertIn(words, answer.stderr)

    def test_links_of_an_image_lead_nowhere(self):
        """Not out of it: the machine's own vendors stay as they are."""
        self.reserve("chat", "--share", "0.3")
        self.describe()
        before = sorted(os.listdir("/etc/OpenCL/vendors"))
        for link in ("/../../../../etc/OpenCL/vendors", "/proc/1/root/etc/OpenCL/vendors"):
            image = self.image(**{"lib64/libc.so.6": b"GLIBC_2.99",
                                  "etc/OpenCL/vendors": {"to": link}})
            self.podman.run("true", devices=self.device("chat"), rootfs=image)
            self.assertEqual(sorted(os.listdir("/etc/OpenCL/vendors")), before)
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            self.assertNotIn("OpenCL", mounts.read())


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
        wrapper = shlex.join(self.podman.command())
        told = guide.commands("containers.md")
        self.assertGreater(len(told), 7)
        for line in told:
            if " exec " in line and not EXEC_WORKS:
                continue
            with self.subTest(line):
                done = subprocess.run(["sh", "-c", re.sub("^podman", lambda _: wrapper, line)], env=env,
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                if "clinfo" in line:
                    self.assertIn(str(200 * MIB), done.stdout)


class Shares(ContainerCase):
    """Two containers at once."""

    def test_shares(self):
        self.reserve("small", "--share", "0.25", "--memory", "100M")
        self.reserve("large", "--share", "0.75", "--memory", "100M")
        self.describe()
        until = time.time() + 7
        runs = {name: self.podman.spawn("python3", "-c", COUNT, str(until), str(until - 4),
                                        devices=self.device(name))
                for name in ("small", "large")}
        said = {name: run.communicate(timeout=60) for name, run in runs.items()}
        counts = {name: int(out) if out.strip().isdigit() else self.fail(err)
                  for name, (out, err) in said.items()}
        self.assertGreater(min(counts.values()), 100, counts)
        self.assertAlmostEqual(counts["small"] / sum(counts.values()), .25, delta=.04,
                               msg=counts)


if __name__ == "__main__":
    if WHY_NOT and sys.argv[4:5] != ["Specification"]:
        print(f"skipped: {WHY_NOT}")
        sys.exit(77)  # as meson knows it
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
