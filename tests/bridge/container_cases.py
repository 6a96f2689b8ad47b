# SPDX-License-Identifier: Apache-2.0
"""What holds of a lease in a container, under whatever engine: real kernels on PoCL.

Of an engine is asked: run(*program, devices, user), start(NAME, ...), spawn(...),
inside(NAME, *program), kill(NAME), close()."""
import bisect
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CLEAVE, CLEAVED, GATES = map(os.path.abspath, sys.argv[1:4])
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
n, until, said = 0, float(sys.argv[1]), 0
while time.time() < until:
    for _ in range(8):
        work(queue, (1,), (1,), x)
    queue.finish()
    n += 8
    if time.time() > said + .05:
        said = time.time()
        print(said, n)
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


def work_until(samples, moment):
    """Of (time, work until then), evenly spread between two of them."""
    i = max(1, bisect.bisect_left(samples, (moment,)))
    (t0, n0), (t1, n1) = samples[i - 1:i + 1]
    return n0 + (n1 - n0) * (moment - t0) / (t1 - t0)


def memory_of(answer):
    """What clinfo says that the device has, in bytes."""
    lines = [line for line in answer.stdout.splitlines() if "Global memory size" in line]
    return int(lines[0].split()[3]) if lines else answer.stdout + answer.stderr


class Machine(unittest.TestCase):
    """An agent of its own; what it writes for podman has a name of its own."""
    as_user = ()  # what starts it and programs, if another user should

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
            [*self.as_user, CLEAVED, "--runtime-dir", os.path.dirname(self.socket), "--state-dir",
             os.path.join(self.folder, "state"), "--lock-dir", self.folder, "--foreground",
             f"--ready-fd={write_end}"], pass_fds=[write_end], env=self.env,
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write_end)
        self.assertEqual(os.read(ready, 1), b"1")
        os.close(ready)

    def stop_agent(self, number=signal.SIGTERM):
        if self.agent.poll() is None:
            self.agent.send_signal(number)
            self.agent.wait(60)

    def call(self, *arguments, code=0):
        answer = subprocess.run([*self.as_user, CLEAVE, *arguments[:1], "--socket", self.socket,
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


class ContainerCase(Machine):
    """Of who derives from it: make_engine(), and describe(), which writes the file that the engine
    reads."""
    exec_works = True

    def setUp(self):
        super().setUp()
        self.engine = self.make_engine()
        self.addCleanup(self.engine.close)

    def set_apart(self):
        """A mount of its own, as /run is: containers may have the machine's root folder as theirs,
        in which they would find the agent's files otherwise."""
        subprocess.run(["mount", "-t", "tmpfs", "cleave-test", self.folder], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.folder], check=True)

    def device(self, name):
        return (f"cleave.dev/gpu={name}",)

    def needs_exec(self):
        if not self.exec_works:
            self.skipTest("in a chroot podman exec enters the machine's root")


class Cases:
    """What holds under every engine."""

    def test_quota_whatever_the_environment(self):
        self.needs_exec()
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.reserve("other", "--share", "0.3", "--memory", "300M")
        self.describe()
        self.engine.start("one", "sleep", "60", devices=self.device("chat"))
        for program in (["clinfo"], ["env", "-i", "clinfo"],
                        ["env", "-i", "OCL_ICD_VENDORS=/usr/lib/cleave/vendors.real", "clinfo"],
                        ["env", "CLEAVE_LEASE=", "OPENCL_LAYERS=", "clinfo"]):
            with self.subTest(" ".join(program)):
                self.assertEqual(memory_of(self.engine.inside("one", *program)), 200 * MIB)
        answer = self.engine.run("clinfo", devices=self.device("other"))
        self.assertEqual(memory_of(answer), 300 * MIB)
        tried = self.engine.inside("one", "python3", "-c", ALLOCATE, str(250 * MIB))
        self.assertIn("INVALID_BUFFER_SIZE", tried.stdout, tried.stderr)
        self.assertEqual(self.engine.inside("one", "python3", "-c", ALLOCATE,
                                            str(150 * MIB)).stdout, "has it\n")

    def test_nobody_sees_anothers_lease(self):
        self.reserve("mine", "--share", "0.3", "--memory", "100M")
        self.reserve("others", "--share", "0.6", "--memory", "500M")
        self.describe()
        listing = self.engine.run("find", "/run/cleave", self.folder,
                                  devices=self.device("mine"))
        self.assertEqual(sorted(path for path in listing.stdout.split() if path != self.folder),
                         ["/run/cleave", "/run/cleave/devices", "/run/cleave/lease.sock"])
        away = self.leases()["others"]["socket"]
        answer = self.engine.run("env", f"CLEAVE_LEASE={away}", "clinfo",
                                 devices=self.device("mine"))
        self.assertIn("CLEAVE_LEASE names", str(memory_of(answer)))

    def test_the_program_does_not_choose_to_run_without_a_lease(self):
        """Nor once its lease is gone."""
        self.needs_exec()
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.describe()
        self.engine.start("one", "sleep", "60", devices=self.device("chat"))
        tries = [("env", *empty, *lease, "CLEAVE_IF_NO_AGENT=open", "clinfo")
                 for empty in ((), ("-i",)) for lease in (("CLEAVE_LEASE=/nonexistent",), ())]
        sizes = [memory_of(self.engine.inside("one", *each)) for each in tries]
        self.assertEqual([size for size in sizes if isinstance(size, int)], [200 * MIB] * 2)
        self.call("release", "chat")
        for each in tries:
            with self.subTest(each):
                answer = self.engine.inside("one", *each)
                self.assertNotIn("Global memory size", answer.stdout)
                self.assertIn("cleave: no device for process", answer.stderr)

    def test_two_leases(self):
        """A program uses one of them: the first by name, or the one that it names."""
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.reserve("other", "--share", "0.3", "--memory", "300M")
        self.describe()
        names = self.device("chat") + self.device("other")
        of_other = "CLEAVE_LEASE=/run/cleave-leases/other/lease.sock"
        for devices in (names, names[::-1]):
            for program, quota in ((["clinfo"], 200), (["env", "-i", "clinfo"], 200),
                                   (["env", of_other, "clinfo"], 300)):
                with self.subTest(devices=devices, program=program):
                    answer = self.engine.run(*program, devices=devices)
                    self.assertEqual(memory_of(answer), quota * MIB)
        of_its_own = ("mkdir /run/cleave-leases/a; touch /run/cleave-leases/a/lease.sock; "
                      "exec clinfo")
        answer = self.engine.run("sh", "-c", of_its_own, devices=names)
        self.assertEqual(memory_of(answer), 200 * MIB)
        tried = self.engine.run("env", of_other, "python3", "-c", ALLOCATE, str(350 * MIB),
                                devices=names)
        self.assertIn("INVALID_BUFFER_SIZE", tried.stdout, tried.stderr)

    def test_death_gives_memory_back(self):
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.describe()
        hold = ALLOCATE.replace("print('has it')", "print('has it'); import time; time.sleep(600)")
        name = "holder"
        self.engine.start(name, "python3", "-uc", hold, str(150 * MIB),
                          devices=self.device("chat"))
        until = time.monotonic() + 60
        while self.leases()["chat"]["memory_used_bytes"] < 150 * MIB:
            self.assertLess(time.monotonic(), until)
            time.sleep(.05)
        self.engine.kill(name)
        while self.leases()["chat"]["memory_used_bytes"] > 0:
            self.assertLess(time.monotonic(), until)
            time.sleep(.05)
        self.assertEqual(self.leases()["chat"]["state"], "active", "the lease stays")

    def test_another_user_inside(self):
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.describe()
        answer = self.engine.run("env", "HOME=/tmp", "clinfo", devices=self.device("chat"),
                                 user=65534)
        self.assertEqual(memory_of(answer), 200 * MIB)

    def test_a_released_lease_holds_nobody_up(self):
        self.needs_exec()
        self.reserve("chat", "--share", "0.3", "--memory", "200M")
        self.describe()
        self.engine.start("one", "sleep", "60", devices=self.device("chat"))
        self.call("release", "chat")
        answer = self.engine.inside("one", "clinfo")
        self.assertNotIn("Global memory size", answer.stdout, "without a lease, no device")
        self.describe()
        refused = self.engine.run("true", devices=self.device("chat"))
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("cleave.dev/gpu=chat", refused.stderr)


class MeasuredCases:
    """Two containers at once."""

    SECONDS = 9  # of these the first few until both have begun, which may take long

    def counts(self, said):
        """{name: commands} in the time in which both computed."""
        samples = {name: [tuple(map(float, line.split())) for line in out.splitlines()]
                   for name, (out, err) in said.items()}
        for name, found in samples.items():
            self.assertGreater(len(found), 1, said[name])
        begin = max(found[0][0] for found in samples.values())
        end = min(found[-1][0] for found in samples.values())
        self.assertGreater(end - begin, 2, "they were hardly ever at work together")
        return {name: work_until(found, end) - work_until(found, begin)
                for name, found in samples.items()}

    def test_shares(self):
        self.reserve("small", "--share", "0.25", "--memory", "100M")
        self.reserve("large", "--share", "0.75", "--memory", "100M")
        self.describe()
        until = time.time() + self.SECONDS
        runs = {name: self.engine.spawn("python3", "-c", COUNT, str(until),
                                        devices=self.device(name))
                for name in ("small", "large")}
        counts = self.counts({name: run.communicate(timeout=60) for name, run in runs.items()})
        self.assertGreater(min(counts.values()), 100, counts)
        self.assertAlmostEqual(counts["small"] / sum(counts.values()), .25, delta=.04,
                               msg=counts)
