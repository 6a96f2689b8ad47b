#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent under a service manager: its notifications, and the sockets that it is given.

usage: test_service.py CLEAVED [unittest arguments]
"""
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))
import harness  # noqa: E402
import manager  # noqa: E402
from harness import Agent, Holder, wait_until  # noqa: E402


def is_listening(path):
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


class Service(Agent):
    """An agent whose service manager is the test."""

    def __init__(self, names="api", watchdog_us=None):
        super().__init__()
        self.names, self.watchdog_us = names, watchdog_us
        self.manager = manager.Manager(os.path.join(self.folder, "notify"))

    def start(self, sockets=()):
        env = self.manager.environment(len(sockets), self.names, self.watchdog_us)
        # Away from 3 and up, which the sockets become.
        high = [os.dup2(s.fileno(), 100 + at) for at, s in enumerate(sockets)]
        command, fds = manager.command_with([*self.command(), "--foreground"], high)
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, pass_fds=fds, env={**self.env, **env})
        for fd in high:
            os.close(fd)
        self.manager.wait_for("READY", "1", 20)

    def close(self):
        super().close()
        self.manager.close()


class Cases(unittest.TestCase):
    def service(self, **options):
        service = Service(**options)
        self.addCleanup(service.close)
        return service

    def holder(self, service):
        holder = Holder(service)
        self.addCleanup(holder.end)
        return holder

    def later(self, call):
        """Runs it in a thread; the result is in the list at the end."""
        results = []
        thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
        thread.start()
        return thread, results


class Notify(Cases):
    def test_states(self):
        service = self.service()
        service.start()
        service.manager.wait_for("STATUS", "Devices: 1. Leases: 0")
        holder = self.holder(service)
        lease = holder.lease(share=0.2)
        holder.do("attach", socket=lease["socket"])
        service.manager.wait_for("STATUS", "Leases: 1, and 0 queued. Processes: 1.")
        holder.kill()
        service.manager.wait_for("STATUS", "Leases: 0, and 0 queued. Processes: 0.")
        self.assertEqual(service.stop(), 0)
        service.manager.wait_for("STOPPING", "1")

    def test_a_burst_is_one_message(self):
        service = self.service()
        service.start()
        holder = self.holder(service)
        for _ in range(20):
            lease = holder.lease(share=0.01)
            self.assertEqual(holder.request("DELETE", "/v1/leases/" + lease["id"])[0], 204)
        while service.manager.receive(1.5):
            pass
        told = [m for m in service.manager.messages if "STATUS" in m]
        self.assertLess(len(told), 10, told)

    def test_watchdog(self):
        service = self.service(watchdog_us=400000)
        service.start()
        for _ in range(5):
            service.manager.wait_for("WATCHDOG", "1", 60)
        service.process.send_signal(19)  # SIGSTOP: a loop that hangs sends nothing
        while service.manager.receive(0.1):
            pass
        self.assertIsNone(service.manager.receive(1))
        service.process.send_signal(18)
        service.manager.wait_for("WATCHDOG", "1", 2)

    def test_an_agent_on_demand_is_silent(self):
        """The process that started it may be a service, for which the agent must not send
        notifications."""
        service = self.service()
        done = subprocess.run([*service.command(), "--idle-exit=1"], timeout=30,
                              env={**service.env, **service.manager.environment()})
        self.assertEqual(done.returncode, 0)
        self.assertTrue(wait_until(lambda: not os.path.exists(service.api)))
        self.assertIsNone(service.manager.receive(0.5))


class Sockets(Cases):
    def given(self, service):
        listening = manager.listen(service.api)
        self.addCleanup(listening.close)
        return listening

    def test_a_caller_between_two_agents_waits(self):
        service = self.service()
        listening = self.given(service)
        service.start([listening])
        first = service.get("/v1/version")["pid"]
        self.assertEqual(service.stop(), 0)
        self.assertTrue(os.path.exists(service.api))
        thread, results = self.later(lambda: service.get("/v1/version")["pid"])
        time.sleep(0.3)
        self.assertEqual(results, [])
        service.start([listening])
        thread.join(60)
        self.assertEqual(results, [service.process.pid])
        self.assertNotEqual(first, service.process.pid)

    def test_a_crash_keeps_leases_and_callers(self):
        service = self.service()
        listening = self.given(service)
        service.start([listening])
        holder = self.holder(service)
        lease = holder.lease(share=0.3)
        service.stop(9)
        thread, results = self.later(lambda: service.get("/v1/leases")["items"])
        service.start([listening])
        thread.join(60)
        self.assertEqual([item["id"] for item in results[0]], [lease["id"]])

    def test_stored_socket(self):
        """Without a socket unit the manager holds the agent's own socket for it."""
        service = self.service()
        service.start()
        stored = service.manager.stored["api"]
        self.assertEqual(service.stop(), 0)
        thread, results = self.later(lambda: service.get("/v1/version")["pid"])
        service.start([stored])
        thread.join(60)
        self.assertEqual(results, [service.process.pid])

    def test_other_names_are_not_taken(self):
        service = self.service(names="other")
        elsewhere = manager.listen(os.path.join(service.folder, "other.sock"))
        self.addCleanup(elsewhere.close)
        service.start([elsewhere])
        service.get("/v1/version")
        self.assertIn("socket other from the service manager is ignored", service.log())

    def test_idle_agents_come_back(self):
        """An agent that ended for idleness leaves the socket to the next."""
        service = self.service()
        service.arguments = ["--idle-exit=1"]
        listening = self.given(service)
        service.start([listening])
        self.assertEqual(service.process.wait(60), 0)
        self.assertTrue(os.path.exists(service.api))
        service.start([listening])
        service.get("/v1/version")

    @unittest.skipUnless(shutil.which("systemd-socket-activate"), "no systemd")
    def test_systemd_socket_activate(self):
        service = self.service()
        os.makedirs(service.runtime, mode=0o700)
        with open(service.log_path, "ab") as log:
            service.process = subprocess.Popen(
                ["systemd-socket-activate", "--fdname=api", f"--listen={service.api}",
                 *service.command(), "--foreground"], stdout=log, stderr=log)
        # A name that bind has made refuses callers until listen.
        self.assertTrue(wait_until(lambda: is_listening(service.api)))
        # It has become the agent, with the same PID.
        self.assertEqual(service.get("/v1/version")["pid"], service.process.pid)


if __name__ == "__main__":
    harness.PROGRAMS["cleaved"] = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
