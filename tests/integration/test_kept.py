# SPDX-License-Identifier: Apache-2.0
"""Leases that no process holds: they stay until they are released, and define which processes
may attach.

usage: as harness.py says
"""
import contextlib
import json
import os
import signal
import sqlite3
import time

from harness import NOBODY, Case, SystemCase, attach, main, wait_until


def attach_as(uid, folder_fd):
    """The reply to another user that can reach only this folder."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        try:
            reply, _socket, _ = attach(f"/proc/self/fd/{folder_fd}/lease.sock")
        except OSError as error:
            reply = {"error": str(error)}
        os.write(w, json.dumps(reply).encode())
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as pipe:
        reply = json.loads(pipe.read())
    os.waitpid(pid, 0)
    return reply


class Kept(Case):
    def keep(self, **wanted):
        status, lease = self.agent.request("POST", "/v1/leases", {
            "name": "a", "share": .3, "keep": True, **wanted})
        self.assertEqual(status, 201, lease)
        return lease

    def join(self, pid, name="a"):
        return self.agent.request("POST", f"/v1/leases/{name}/holders", {"pid": pid})

    def test_it_stays_until_released(self):
        lease = self.keep()
        self.assertEqual((lease["kept"], lease["admit"], lease["holder_pid"]),
                         (True, "holders", None))
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.assertEqual([each["id"] for each in self.leases()], [lease["id"]])
        self.assertEqual(self.agent.request("DELETE", "/v1/leases/a")[0], 204)
        self.assertEqual(self.leases(), [])
        self.assertFalse(os.path.exists(os.path.dirname(lease["socket"])))

    def test_its_time(self):
        self.keep(time=1)
        self.assertTrue(wait_until(lambda: not self.leases(), 5))

    def test_it_may_queue(self):
        holder = self.holder()
        holder.lease(share=.9)
        self.assertEqual(self.keep(share=.5, wait=True)["state"], "queued")
        holder.kill()
        self.assertTrue(wait_until(lambda: self.lease("a")["state"] == "active"))

    def test_who_joined_may_attach(self):
        lease = self.keep()
        stranger, member = self.holder(), self.holder()
        self.assertEqual(stranger.do("attach", socket=lease["socket"])["status"], -1)
        self.assertEqual(self.join(member.pid)[0], 200)
        self.assertEqual(self.join(member.pid)[0], 200, "twice is once")
        self.assertEqual(member.do("attach", socket=lease["socket"])["status"], 0)
        self.assertEqual(member.do("attach_in_child", socket=lease["socket"])[1]["status"], 0)
        self.assertEqual(stranger.do("attach", socket=lease["socket"])["status"], -1)
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.assertEqual(member.do("attach_in_child", socket=lease["socket"])[1]["status"], 0,
                         "an agent knows who joined at the one before it")
        member.end()
        self.assertTrue(wait_until(lambda: not self.lease("a")["processes"]))
        self.assertEqual(self.lease("a")["state"], "active")

    def test_who_joined_holds_it(self):
        """A lease that is not kept ends with the last of its holders."""
        first, second = self.holder(), self.holder()
        first.lease(share=.3, name="b")
        self.assertEqual(self.join(second.pid, "b")[0], 200)
        first.kill()
        time.sleep(.3)
        self.assertEqual(len(self.leases()), 1)
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.assertEqual(len(self.leases()), 1)
        second.kill()
        self.assertTrue(wait_until(lambda: not self.leases()))

    def test_wrong_requests(self):
        post = lambda **body: self.agent.request("POST", "/v1/leases", {"share": .1, **body})
        self.refused(post(admit="socket"), 400, "bad_request", "keep")
        self.refused(post(user=0), 400, "bad_request", "keep")
        self.refused(post(keep=True, admit="all"), 400, "bad_request", "holders", "socket")
        self.refused(post(keep=1), 400, "bad_request", "keep")
        for user in (-1, 1.5, "root", 0xFFFFFFFF):
            self.refused(post(keep=True, user=user), 400, "bad_request", "user")
        self.keep()
        for body in ({}, {"pid": 0}, {"pid": "1"}, {"pid": 1 << 40}, [], {"pid": 1, "x": 1}):
            self.refused(self.agent.request("POST", "/v1/leases/a/holders", body), 400,
                         "bad_request", "pid")
        self.refused(self.join(0x7FFFFFFF), 404, "not_found", "process")
        self.refused(self.join(os.getpid(), "none"), 404, "not_found")
        self.assertEqual(len(self.leases()), 1)


MACHINE = "vm:6d5f8a2c-9b1e-4c38-8f57-0a1b2c3d4e5f"


class Machines(Case):
    """Leases of virtual machines."""

    def keep(self, **wanted):
        status, lease = self.agent.request("POST", "/v1/leases", {
            "holder": MACHINE, "keep": True, "command": "B\u00fcro 1", **wanted})
        self.assertEqual(status, 201, lease)
        return lease

    def test_it_has_all(self):
        lease = self.keep()
        self.assertEqual((lease["holder"], lease["share"], lease["kept"], lease["expires_at"]),
                         (MACHINE, 1, True, None))
        device, = [each for each in self.agent.get("/v1/node")["devices"]
                   if each["name"] == lease["device"]]
        self.assertIn("virtual machine B\u00fcro 1", [each["text"] for each in device["holders"]])
        for more in ({}, {"overcommit": True}, {"wait": False, "overcommit": True}):
            self.refused(self.agent.request("POST", "/v1/leases", {"share": .1, **more}), 409,
                         "does_not_fit", "virtual machine B\u00fcro 1", "cleave unassign")
        self.refused(self.agent.request("POST", "/v1/leases", {"holder": MACHINE, "keep": True}),
                     409, "does_not_fit", "virtual machine")

    def test_only_its_release_ends_it(self):
        lease = self.keep(name="a")
        url = f"/v1/leases/{lease['id']}"
        self.refused(self.agent.request("DELETE", url), 409, "in_use", "cleave unassign")
        self.refused(self.agent.request("PATCH", url, {"share": .5}), 400, "bad_request", "whole")
        self.refused(self.agent.request("POST", f"{url}/holders", {"pid": os.getpid()}), 403,
                     "not_permitted", "virtual machine")
        drain = f"/v1/devices/{lease['device']}/drain?force=true"
        self.assertEqual(self.agent.request("POST", drain, {})[0], 202)
        self.assertEqual(self.lease("a")["id"], lease["id"])
        self.assertEqual(self.agent.request("DELETE", f"{url}?force=true")[0], 204)
        self.assertEqual(self.leases(), [])

    def test_no_overcommitted_device(self):
        """Where a lease is, no machine comes."""
        status, _ = self.agent.request("POST", "/v1/leases", {"share": .1, "keep": True})
        self.assertEqual(status, 201)
        self.refused(self.agent.request("POST", "/v1/leases", {"holder": MACHINE, "keep": True}),
                     409, "does_not_fit")

    def test_it_outlives_the_boot(self):
        lease = self.keep(name="a")
        self.agent.stop()
        with contextlib.closing(sqlite3.connect(
                os.path.join(self.agent.state, "cleaved.db"))) as state, state:
            self.assertEqual(state.execute("UPDATE leases SET boot_id='before'").rowcount, 1)
        self.agent.start()
        self.assertEqual((self.lease("a")["id"], self.lease("a")["holder"]),
                         (lease["id"], MACHINE))

    def test_wrong_requests(self):
        post = lambda **body: self.agent.request("POST", "/v1/leases", body)
        for holder in ("", "vm:", "vm:x", MACHINE.upper(), MACHINE[3:], MACHINE + "0", 1, "pod:x"):
            self.refused(post(holder=holder, keep=True), 400, "bad_request", "holder")
        self.refused(post(holder=MACHINE), 400, "bad_request", "keep")
        for more in ({"share": .5}, {"memory_bytes": 1 << 30}, {"time": 60}, {"wait": True},
                     {"overcommit": True}, {"cap": .5}, {"sm": .5}, {"class": "batch"}):
            self.refused(post(holder=MACHINE, keep=True, **more), 400, "bad_request", "whole")
        self.assertEqual(self.leases(), [])


class Others(SystemCase):
    """Other users, and actions that only an admin may do."""

    def keep(self, **wanted):
        status, lease = self.agent.request("POST", "/v1/leases", {
            "name": "a", "share": .3, "keep": True, **wanted})
        self.assertEqual(status, 201, lease)
        return lease

    def test_for_a_user(self):
        user, other = self.other(), self.other(NOBODY - 1)
        lease = self.keep(user=NOBODY)
        self.assertEqual((lease["uid"], lease["tenant"]), (NOBODY, "nobody"))
        join = lambda who, pid: who.request("POST", "/v1/leases/a/holders", {"pid": pid})
        self.refused(join(other, other.pid), 404, "not_found")
        self.refused(join(user, other.pid), 403, "not_permitted", str(other.pid))
        self.assertEqual(join(user, user.pid)[0], 200)
        self.assertEqual(user.do("attach", socket=lease["socket"])["status"], 0)
        for more in ({"user": 0}, {"admit": "socket"}, {"holder": MACHINE, "share": 1}):
            self.refused(user.request("POST", "/v1/leases", {
                "share": .1, "keep": True, **more}), 403, "not_permitted", "admin")
        self.assertEqual(other.request("DELETE", "/v1/leases/a?force=true")[0], 404)
        self.assertEqual(self.agent.request("DELETE", "/v1/leases/a?force=true")[0], 204)

    def test_whoever_reaches_the_socket(self):
        lease = self.keep(admit="socket")
        door = os.path.dirname(lease["socket"])
        self.assertEqual((os.stat(os.path.dirname(door)).st_mode & 0o777, os.path.basename(door)),
                         (0o700, "door"))
        with self.assertRaises(AssertionError):  # the file system refuses, and the child ends
            self.other().do("attach", socket=lease["socket"])
        folder = os.open(door, os.O_PATH | os.O_DIRECTORY)
        self.addCleanup(os.close, folder)
        self.assertEqual(attach_as(NOBODY, folder)["status"], 0)
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        # Leases without an attached process are served one after the other.
        self.assertTrue(wait_until(lambda: attach_as(NOBODY, folder).get("status") == 0),
                        "the folder that was mounted is the one that is served")
        self.assertEqual(self.agent.request("DELETE", "/v1/leases/a?force=true")[0], 204)
        self.assertIn("error", attach_as(NOBODY, folder))
        self.assertFalse(os.path.exists(os.path.dirname(door)))


if __name__ == "__main__":
    main()
