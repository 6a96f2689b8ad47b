#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent as a process: beside another one, on demand, with faulty drivers, on a
full disk.
"""
import glob
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

import harness
from harness import (NOBODY, PROGRAMS, Agent, Case, Holder, SystemCase, UnixConnection, copy_for_others, main,
                     wait_until)
from ports import free_port



class Agents(Case):
    def test_second_agent_for_the_device(self):
        self.holder().lease(share=0.1)
        other = Agent()
        other.locks = self.agent.locks
        other.start()
        self.addCleanup(other.close)
        holder = Holder(other)
        self.addCleanup(holder.end)
        self.refused(holder.request("POST", "/v1/leases", {"share": 0.1}), 409, "in_use",
                     f"process {self.agent.process.pid} of user {os.getuid()}")
        self.holders[0].kill()
        self.assertTrue(wait_until(lambda: not self.leases()))
        self.assertEqual(holder.request("POST", "/v1/leases", {"share": 0.1})[0], 201)

    def test_second_agent_for_the_folder(self):
        second = subprocess.run([*self.agent.command(), "--foreground"],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(second.returncode, 75)
        self.assertIn(self.agent.api, second.stderr)
        self.agent.get("/v1/version")

    def test_garbage_on_the_api_socket(self):
        chance = random.Random(2)
        for n in (1, 100, 5000, 200000):
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(5)
            s.connect(self.agent.api)
            try:
                s.sendall(bytes(chance.randrange(256) for _ in range(n)))
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
            except OSError:
                pass
            s.close()
        open_ones = []
        for _ in range(200):
            s = socket.socket(socket.AF_UNIX)
            s.connect(self.agent.api)
            s.sendall(b"POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
            open_ones.append(s)
        for s in open_ones:
            self.addCleanup(s.close)
        self.assertEqual(self.agent.get("/v1/leases")["items"], [])

    def test_usage(self):
        for arguments, code in ((["--nonsense"], 64), (["word"], 64), (["--help"], 0),
                                (["--version"], 0), (["--idle-exit=x"], 64),
                                (["--idle-exit=0"], 64), (["--ready-fd=x"], 64),
                                (["--runtime-dir=" + "/x" * 60, "--foreground"], 125)):
            done = subprocess.run([PROGRAMS["cleaved"], *arguments], capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual(done.returncode, code, (arguments, done.stderr))
            if code:
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_foreign_folder(self):
        folder = tempfile.mkdtemp(prefix="cleave-agent-")
        os.chmod(folder, 0o777)
        done = subprocess.run([PROGRAMS["cleaved"], "--foreground", "--runtime-dir", folder],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 77)
        self.assertIn("others cannot write", done.stderr)
        os.rmdir(folder)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_another_user_is_refused(self):
        os.chmod(self.agent.folder, 0o755)
        os.chmod(self.agent.runtime, 0o755)
        os.chmod(self.agent.api, 0o666)
        script = copy_for_others()
        self.addCleanup(shutil.rmtree, os.path.dirname(script))
        other = Holder(self.agent, NOBODY, script)
        self.addCleanup(other.end)
        self.refused(other.request("GET", "/v1/leases"), 403, "not_permitted", "user")
        self.refused(other.request("POST", "/v1/leases", {"share": 0.1}), 403,
                     "not_permitted")


class System(SystemCase):
    def test_users_have_their_own(self):
        alice, bob = self.other(NOBODY), self.other(NOBODY - 1)
        lease = alice.lease(share=0.2, name="same")
        self.assertEqual(lease["uid"], NOBODY)
        self.assertEqual(bob.lease(share=0.2, name="same")["uid"], NOBODY - 1)
        folder = os.stat(os.path.dirname(lease["socket"]))
        self.assertEqual((folder.st_uid, folder.st_mode & 0o777), (0, 0o711))
        self.assertEqual(os.stat(lease["socket"]).st_uid, NOBODY)

        self.assertEqual(len(self.leases()), 2)
        self.assertEqual(len(bob.request("GET", "/v1/leases")[1]["items"]), 1)
        for method in ("GET", "DELETE"):
            self.refused(bob.request(method, f"/v1/leases/{lease['id']}"), 404,
                         "not_found")
        self.refused(bob.request("PATCH", f"/v1/leases/{lease['id']}", {"share": 0.1}),
                     404, "not_found")
        self.refused(self.agent.request("GET", "/v1/leases/same"), 400, "bad_request",
                     "several users")
        names = {e["uid"] for e in bob.request("GET", "/v1/events")[1]["items"]}
        self.assertEqual(names, {None, NOBODY - 1})
        self.refused(bob.request("POST", "/v1/leases", {"share": 1, "overcommit": True}),
                     403, "not_permitted", "overcommit")

    def test_attach_across_users(self):
        alice = self.other(NOBODY)
        lease = alice.lease(share=0.2)
        self.assertEqual(alice.do("attach", socket=lease["socket"])["status"], 0)
        # Root may open the socket, but is not in the lease's process tree.
        self.assertEqual(harness.attach(lease["socket"])[0]["status"], -1)
        # The folder belongs to the tenant: its actions there affect no other tenant.
        os.unlink(lease["socket"])
        os.symlink("/etc/passwd", lease["socket"])
        before = os.stat("/etc/passwd")
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.assertEqual(os.stat("/etc/passwd").st_uid, before.st_uid)
        self.assertEqual(os.stat("/etc/passwd").st_mode, before.st_mode)
        reply = alice.do("reattach", socket=lease["socket"])
        self.assertEqual(reply["status"], 0)

    def test_survey_and_probe_in_any_order(self):
        """Both start with an agent that has no state, and either may end first."""
        for _ in range(6):
            agent = Agent(arguments=["--system"])
            agent.locks = os.path.join(agent.folder, "own-locks")
            os.mkdir(agent.locks)
            agent.start()
            try:
                self.assertTrue(wait_until(lambda: agent.get("/v1/devices")["items"]))
                time.sleep(0.5)
                for device in agent.get("/v1/devices")["items"]:
                    self.assertEqual(device["executor"], "gate")
                    self.assertNotEqual(device["platform"], "")
            finally:
                agent.close()

    def test_one_user_cannot_take_all_connections(self):
        program = ("import socket, sys, time, resource;"
                   "resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000));"
                   "s = [socket.socket(socket.AF_UNIX) for _ in range(3000)];"
                   "[x.connect(sys.argv[1]) for x in s];"
                   "print('there', flush=True); time.sleep(600)")
        with subprocess.Popen(["/usr/bin/python3", "-c", program, self.agent.api],
                              stdout=subprocess.PIPE, text=True, user=NOBODY,
                              cwd="/") as greedy:
            try:
                self.assertEqual(greedy.stdout.readline(), "there\n")
                holder = self.other(NOBODY - 1)
                for _ in range(5):
                    self.assertEqual(holder.request("GET", "/v1/leases")[0], 200)
                # Those that came before the user was known are counted, and closed, later.
                held = f"/proc/{self.agent.process.pid}/fd"
                self.assertTrue(wait_until(lambda: len(os.listdir(held)) < 1200))
            finally:
                greedy.kill()


class OnDemand(unittest.TestCase):
    def setUp(self):
        self.agent = Agent(arguments=["--idle-exit=1"])
        self.addCleanup(self.agent.close)

    def start(self):
        """Starts the agent as a client does; returns when it is ready."""
        ready, write_end = os.pipe()
        done = subprocess.run([*self.agent.command(), f"--ready-fd={write_end}"],
                              capture_output=True, text=True, timeout=60,
                              pass_fds=[write_end])
        os.close(write_end)
        self.assertEqual(os.read(ready, 1), b"1")
        os.close(ready)
        return done

    def begin(self):
        """Starts the agent.  Returns how that went, a request that keeps the agent, and after how
        many seconds it leaves: more each time that it had left before the request, on a busy
        machine."""
        for seconds in (1, 10, 60):
            self.agent.arguments = [f"--idle-exit={seconds}"]
            done = self.start()
            keeper = socket.socket(socket.AF_UNIX)
            try:
                keeper.connect(self.agent.api)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                keeper.close()
        keeper.sendall(b"GET /v1/events?after=999999&wait_ms=600000 HTTP/1.1\r\nHost: x\r\n\r\n")
        return done, keeper, seconds

    def test_start_use_and_idle_exit(self):
        holder = Holder(self.agent)
        holder.ready()
        done, keeper, seconds = self.begin()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        holder.lease(share=0.1)
        keeper.close()
        pid = self.agent.get("/v1/version")["pid"]
        self.assertEqual(os.getsid(pid) == os.getsid(0), False)
        time.sleep(2 * seconds)
        self.assertEqual(self.agent.get("/v1/version")["pid"], pid)
        self.assertEqual(self.start().returncode, 75)
        holder.kill()
        self.assertTrue(wait_until(lambda: not os.path.exists(self.agent.api), 6))
        self.assertTrue(wait_until(lambda: not os.path.exists(f"/proc/{pid}")))

    def test_a_client_that_died_does_not_keep_it(self):
        _, keeper, seconds = self.begin()
        time.sleep(2 * seconds)
        self.assertTrue(os.path.exists(self.agent.api))
        keeper.close()
        self.assertTrue(wait_until(lambda: not os.path.exists(self.agent.api), 3 * seconds))

    def test_who_connects_as_it_leaves_is_served(self):
        """Or the caller finds no socket and starts another agent; no connection breaks."""
        results = []

        def call_at_the_end(moment):
            agent = Agent(arguments=["--idle-exit=1"])
            agent.start()
            time.sleep(moment)
            try:
                results.append(agent.request("GET", "/v1/version")[0])
            except (FileNotFoundError, ConnectionRefusedError):
                results.append("gone")
            except OSError as e:
                results.append(repr(e))
            agent.close()

        for _ in range(3):
            callers = [threading.Thread(target=call_at_the_end, args=(0.99 + 0.002 * i,))
                       for i in range(10)]
            for caller in callers:
                caller.start()
            for caller in callers:
                caller.join()
        self.assertEqual(len(results), 30)
        self.assertLessEqual(set(results), {200, "gone"})

    def test_second_start_asks_no_driver(self):
        _, keeper, seconds = self.begin()
        first = self.agent.get("/v1/devices")
        keeper.close()
        cache = os.path.join(self.agent.state, "devices.json")
        self.assertTrue(os.path.exists(cache))
        self.assertTrue(wait_until(lambda: not os.path.exists(self.agent.api), 3 * seconds))
        # The agent shows the content of the cache, so it queried no driver.
        with open(cache, encoding="utf-8") as f:
            text = f.read()
        model = first["items"][0]["model"]
        with open(cache, "w", encoding="utf-8") as f:
            f.write(text.replace(model, "from the cache"))
        _, keeper, seconds = self.begin()
        second = self.agent.get("/v1/devices")
        keeper.close()
        self.assertEqual(second["items"][0]["model"], "from the cache")
        self.assertTrue(wait_until(lambda: not os.path.exists(self.agent.api), 3 * seconds))

    def test_many_starts_at_once(self):
        starts = [subprocess.Popen(self.agent.command(), stderr=subprocess.PIPE)
                  for _ in range(8)]
        codes = sorted(start.wait(60) for start in starts)
        for start in starts:
            start.stderr.close()
        self.assertEqual(codes, [0] + [75] * 7)
        self.agent.get("/v1/version")
        self.assertTrue(wait_until(lambda: not os.path.exists(self.agent.api), 6))


class Drivers(unittest.TestCase):
    def start(self, fault=None):
        folder = tempfile.mkdtemp(prefix="cleave-agent-")
        self.addCleanup(shutil.rmtree, folder)
        if fault:
            with open(os.path.join(folder, "faulty.icd"), "w", encoding="utf-8") as f:
                f.write(PROGRAMS["driver"] + "\n")
        agent = Agent(env={"OCL_ICD_VENDORS": folder,
                                    "DRIVER_FAULT": fault or "none"})
        self.addCleanup(agent.close)
        agent.start()
        return agent

    def check(self, agent, *words):
        answer = agent.get("/v1/devices")
        self.assertEqual(answer["items"], [])
        self.assertEqual(len(answer["problems"]), 1)
        holder = Holder(agent)
        self.addCleanup(holder.end)
        status, problem = holder.request("POST", "/v1/leases", {"share": 0.1})
        self.assertEqual((status, problem["code"]), (404, "no_such_device"))
        for word in words:
            self.assertIn(word, answer["problems"][0])
            self.assertIn(word, problem["detail"])

    def test_none(self):
        self.check(self.start(), "pocl-opencl-icd")

    def test_crash(self):
        self.check(self.start("crash"), "crashed")

    def test_exit(self):
        self.check(self.start("exit"), "clinfo")

    def test_hang(self):
        agent = self.start("hang")
        pending = UnixConnection(agent.api)
        self.addCleanup(pending.close)
        pending.request("GET", "/v1/devices")
        agent.get("/v1/version")
        agent.get("/v1/leases")
        self.assertEqual(select.select([pending.sock], [], [], 0)[0], [], "it is waited for still")
        self.check(agent, "10 s")


class RemovedState(unittest.TestCase):
    """The state file is removed under the agent: what it granted then, no next agent would know."""

    def setUp(self):
        self.agent = Agent()
        self.addCleanup(self.agent.close)
        self.agent.start()
        self.addCleanup(self.end)
        self.file = os.path.join(self.agent.state, "cleaved.db")
        self.before = self.create(201)["id"]

    def end(self):
        if self.agent.process.poll() is None:
            self.agent.stop()

    def create(self, status):
        got, answer = self.agent.request("POST", "/v1/leases", {"share": 0.01, "keep": True})
        self.assertEqual(got, status, answer)
        return answer

    def check_refused(self):
        self.assertIn("removed or replaced", self.create(500)["detail"])
        self.assertEqual(self.agent.request("POST", "/v1/tokens",
                                            {"name": "x", "scope": "viewer"})[0], 500)
        self.assertTrue(wait_until(lambda: self.agent.request("GET", "/readyz")[0] == 503))
        event = self.agent.events("state_removed")[-1]
        self.assertIn("cleave restore", event["message"])

    def test_it_is_put_back(self):
        for ending in ("", "-wal"):
            os.rename(self.file + ending, self.file + ".away")
            self.check_refused()
            os.rename(self.file + ".away", self.file + ending)
            self.assertTrue(wait_until(lambda: self.agent.request("GET", "/readyz")[0] == 200))
            self.create(201)
        self.assertEqual(len(self.agent.events("state_removed")), 2)

    def test_another_file_is_in_its_place(self):
        shutil.copy(self.file, self.file + ".copy")
        os.rename(self.file + ".copy", self.file)
        self.check_refused()

    def test_its_state_is_saved(self):
        os.unlink(self.file)
        self.check_refused()
        status, backup = self.agent.request("POST", "/v1/backup")
        self.assertEqual(status, 201, backup)
        self.agent.stop()
        os.rename(backup["path"], self.file)
        self.agent.start()
        self.assertEqual([lease["id"] for lease in self.agent.get("/v1/leases")["items"]],
                         [self.before])


@unittest.skipUnless(os.geteuid() == 0, "needs root to mount a tmpfs")
class FullDisk(unittest.TestCase):
    def setUp(self):
        self.agent = Agent()
        os.makedirs(self.agent.state)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs",
                                  self.agent.state], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("cannot mount a tmpfs here")
        self.addCleanup(self.clean)
        self.agent.start()

    def clean(self):
        if self.agent.process.poll() is None:
            self.agent.stop()
        subprocess.run(["umount", self.agent.state], check=True)
        self.agent.close()

    def fill(self):
        with open(os.path.join(self.agent.state, "fill"), "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 4096)
            except OSError:
                pass

    def empty(self):
        os.unlink(os.path.join(self.agent.state, "fill"))

    def exhaust(self, holder):
        """Fills the disk and the space that SQLite has reserved."""
        self.fill()
        for i in range(2000):
            status, answer = holder.request("POST", "/v1/leases",
                                            {"share": 0.0001, "name": f"x{i}"})
            if status != 201:
                return status, answer
        self.fail("the disk never got full")

    def test_full_disk(self):
        holder = Holder(self.agent)
        self.addCleanup(holder.end)
        running = holder.lease(share=0.3, name="running")
        holder.lease(share=0.1, name="other")
        self.assertEqual(holder.do("attach", socket=running["socket"])["status"], 0)
        status, problem = self.exhaust(holder)
        self.assertEqual((status, problem["code"]), (507, "disk_full"))
        # Running programs continue: attach, resize, release, end.  A change of a lease that is
        # there may find room in the state's log, and is refused otherwise.
        self.assertEqual(holder.do("attach", socket=running["socket"])["status"], 0)
        status, problem = self.agent.request("PATCH", "/v1/leases/running",
                                             {"share": 0.2})
        self.assertIn((status, problem.get("code")), [(507, "disk_full"), (200, None)])
        shown = self.agent.get("/v1/leases/running")
        self.assertEqual((shown["share"], len(shown["processes"])),
                         (0.2 if status == 200 else 0.3, 2))
        self.assertEqual(self.agent.request("DELETE", "/v1/leases/other")[0], 204)
        self.agent.get("/v1/events")

        # When there is room again, everything is written, and the next agent has it.
        self.empty()
        self.assertTrue(wait_until(lambda: holder.request(
            "POST", "/v1/leases", {"share": 0.001, "name": "after"})[0] in (201, 409)))
        time.sleep(1.5)
        before = sorted(l["id"] for l in self.agent.get("/v1/leases")["items"])
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        after = self.agent.get("/v1/leases")["items"]
        self.assertEqual(sorted(l["id"] for l in after), before)
        running = [l for l in after if l["name"] == "running"][0]
        self.assertEqual(len(running["processes"]), 2)

    def test_a_small_disk_is_enough(self):
        """What ended leases have left in the state's log does not fill the disk."""
        for begin in range(2):
            for i in range(300):
                status, answer = self.agent.request("POST", "/v1/leases", {
                    "share": 0.1, "name": "brief", "keep": True})
                self.assertEqual(status, 201, (begin, i, answer))
                self.assertEqual(self.agent.request("DELETE", "/v1/leases/brief")[0], 204)
            self.agent.stop(signal.SIGKILL)
            self.agent.start()

    def test_the_log_is_used_again(self):
        """The disk was full for a moment: then the agent needs no more room than it has."""
        holder = Holder(self.agent)
        self.addCleanup(holder.end)
        self.fill()
        self.exhaust(holder)
        self.empty()
        self.assertTrue(wait_until(lambda: holder.request(
            "POST", "/v1/leases", {"share": 0.001, "name": "after"})[0] in (201, 409)))
        time.sleep(1.5)
        used = os.statvfs(self.agent.state)
        with open(os.path.join(self.agent.state, "fill"), "wb") as f:
            f.write(b"x" * max(0, used.f_bavail * used.f_frsize - (64 << 10)))
        for i in range(60):
            status, answer = self.agent.request("PATCH", "/v1/leases/after",
                                                {"share": .002 if i % 2 else .001})
            self.assertEqual(status, 200, (i, answer))

    def test_full_is_not_ready(self):
        def is_refused():
            """A change of usual size may find room once more, in the state's log."""
            return (self.agent.request("POST", "/v1/leases", {"share": 0.0001})[0] == 507 and
                    self.agent.request("GET", "/readyz")[0] == 503)

        self.fill()
        for _ in range(2):
            self.assertTrue(wait_until(is_refused))
            answer = self.agent.request("GET", "/readyz")[1]
            self.assertEqual((answer["ready"], answer["state"]), (False, False))
            self.assertIn("is full: free some space", answer["detail"])
            verdict, found = self.doctor_on_state()
            self.assertEqual((verdict, found), ("fail", answer["detail"]))
            self.agent.stop(signal.SIGKILL)
            self.agent.start()
        self.empty()
        self.assertTrue(wait_until(lambda: self.agent.request("GET", "/readyz")[0] == 200))
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.assertNotIn("probe", [each["id"] for each in self.agent.get("/v1/leases")["items"]])

    def remount(self, how):
        subprocess.run(["mount", "-o", "remount," + how, self.agent.state], check=True)

    def doctor_on_state(self):
        report = subprocess.run([PROGRAMS["cleave"], "doctor", "-o", "json", "--socket",
                                 self.agent.api], text=True, stdout=subprocess.PIPE).stdout
        return next((item["verdict"], item["found"]) for item in json.loads(report)["items"]
                    if item["check"] == "state")

    def test_read_only_state(self):
        holder = Holder(self.agent)
        self.addCleanup(holder.end)
        running = holder.lease(share=0.3, name="running")
        holder.do("attach", socket=running["socket"])
        # An open file for writing keeps the mount from going read-only.
        self.agent.stop(signal.SIGKILL)
        self.remount("ro")
        self.agent.start()
        status, problem = holder.request("POST", "/v1/leases", {"share": 0.1})
        self.assertEqual((status, problem["code"]), (500, "internal"), problem)
        self.assertIn("make its disk and folder writable", problem["detail"])
        self.assertEqual(self.doctor_on_state(), ("fail", problem["detail"]))
        self.assertEqual(self.agent.get("/v1/leases/running")["id"], running["id"])
        self.assertEqual(holder.do("reattach", socket=running["socket"])["status"], 0)
        # The agent uses the file again by itself, with the changes since then.
        self.remount("rw")
        self.assertTrue(wait_until(lambda: holder.request(
            "POST", "/v1/leases", {"share": 0.1, "name": "new"})[0] == 201, 15))
        ids = [e["id"] for e in self.agent.events()]
        self.assertEqual(ids, sorted(set(ids)))
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.assertEqual([(l["name"], len(l["processes"])) for l in
                          self.agent.get("/v1/leases")["items"]],
                         [("running", 1), ("new", 0)])

    def test_released_while_read_only(self):
        """A lease that this agent has ended is not taken over again from the file."""
        for name in ("ended", "stays"):
            self.assertEqual(self.agent.request("POST", "/v1/leases", {
                "share": 0.1, "name": name, "keep": True})[0], 201)
        self.agent.stop(signal.SIGKILL)
        self.remount("ro")
        self.agent.start()
        self.assertEqual(self.agent.request("DELETE", "/v1/leases/ended")[0], 204)
        self.remount("rw")
        self.assertTrue(wait_until(
            lambda: "the state is written again" in self.agent.log()), self.agent.log())
        for _ in range(2):
            self.assertEqual([each["name"] for each in self.agent.get("/v1/leases")["items"]],
                             ["stays"])
            self.agent.stop(signal.SIGKILL)
            self.agent.start()

    def test_read_only_shares_and_cordons(self):
        """They are read from a file that cannot be written, as leases are."""
        text = ("version: 1\ndevices:\n  - {select: {index: 0}, shares: "
                "[{name: train, share: 0.5}]}\n")
        operation = self.agent.request("POST", "/v1/apply?name=x.yaml", text)[1]
        self.assertTrue(wait_until(lambda: self.agent.get("/v1/shares")["items"]), operation)
        device, = self.agent.get("/v1/devices")["items"]
        self.assertEqual(self.agent.request("POST", f"/v1/devices/{device['name']}/cordon",
                                            {"reason": "it is hot"})[0], 200)
        self.agent.stop(signal.SIGKILL)
        self.remount("ro")
        self.agent.start()
        for how in ("ro", "rw"):
            self.assertEqual([each["name"] for each in self.agent.get("/v1/shares")["items"]],
                             ["gpu0/train"], how)
            self.assertEqual([each["cordon_reason"] for each in
                              self.agent.get("/v1/devices")["items"]], ["it is hot"], how)
            self.remount("rw")
            self.assertTrue(wait_until(
                lambda: "the state is written again" in self.agent.log()), self.agent.log())

    def test_read_only_tokens_and_layout(self):
        """They are read from such a file, too, and the cordon of a device that is listed later."""
        node = os.path.join(self.agent.folder, "node.yaml")
        with open(node, "w") as file:
            file.write("version: 1\nname: one\ndevices:\n  - {model: A100-40GB}\n")
        settings, port = os.path.join(self.agent.folder, "settings.yaml"), free_port()
        with open(settings, "w") as file:
            file.write(f"version: 1\nlisten: {{port: {port}}}\n")
        self.agent.stop()
        self.agent.arguments += ["--sim", node, "--config", settings]
        self.agent.start()
        status, token = self.agent.request("POST", "/v1/tokens", {"name": "ci", "scope": "viewer"})
        self.assertEqual(status, 201)
        text = "version: 1\ndevices:\n  - {select: {name: gpu0}, mig: on}\n"
        self.assertEqual(self.agent.request("POST", "/v1/apply", text)[0], 202)
        self.assertTrue(wait_until(self.kept))
        self.assertEqual(self.agent.request("POST", "/v1/devices/gpu0/cordon", {})[0], 200)
        before = len(self.agent.events())
        self.agent.stop(signal.SIGKILL)
        self.remount("ro")
        self.agent.start()
        url = f"http://127.0.0.1:{port}/v1/version"
        headers = {"Authorization": f"Bearer {token['secret']}"}
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            self.assertEqual(answer.status, 200)
        for how in ("ro", "rw"):
            self.assertEqual([(each["name"], bool(each["last_used_at"]))
                              for each in self.agent.get("/v1/tokens")["items"]],
                             [("ci", True)], how)
            self.assertTrue(wait_until(lambda: self.kept() == {"gpu0": "applied"}), (how, self.kept()))
            self.assertEqual([each["name"] for each in self.agent.get("/v1/devices")["items"]
                              if each["cordoned"]], ["gpu0"], how)
            self.assertGreater(len(self.agent.events()), before)
            self.remount("rw")
            self.assertTrue(wait_until(
                lambda: "the state is written again" in self.agent.log()), self.agent.log())
        self.assertEqual(glob.glob(os.path.join(self.agent.runtime, "cleaved-copy*")), [])

    def kept(self):
        answer = self.agent.request("GET", "/v1/layout?of=wanted")[1]
        return {each["name"]: each["state"] for each in answer.get("devices", [])}

    def test_restart_on_a_full_disk(self):
        holder = Holder(self.agent)
        self.addCleanup(holder.end)
        running = holder.lease(share=0.3, name="running")
        holder.do("attach", socket=running["socket"])
        holder.do("memory", value=5)
        self.exhaust(holder)
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.assertEqual(self.agent.get("/v1/leases/running")["id"], running["id"])
        self.assertEqual(holder.do("reattach", socket=running["socket"])["status"], 0)
        self.assertEqual(holder.do("memory"), 5)


if __name__ == "__main__":
    main()
