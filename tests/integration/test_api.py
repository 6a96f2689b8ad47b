#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent's API: requests, leases, the queue, events."""
import os
import socket
import threading
import time

from harness import PROGRAMS, Case, UnixConnection, main, wait_until


class Basics(Case):
    def test_version_and_health(self):
        version = self.agent.get("/v1/version")
        self.assertEqual(version["api"], 1)
        self.assertEqual(version["pid"], self.agent.process.pid)
        self.assertEqual(self.agent.request("GET", "/healthz"), (200, None))

    def test_devices(self):
        answer = self.agent.get("/v1/devices")
        device = answer["items"][0]
        self.assertEqual(device["name"], "gpu0")
        self.assertEqual(answer["problems"], [])
        self.assertGreater(device["memory_bytes"], 0)
        self.assertGreater(device["compute_units"], 0)
        for key in ("uuid", "model", "vendor", "driver", "type", "platform"):
            self.assertTrue(device[key], key)
        self.assertEqual((device["leases"], device["share_promised"]), (0, 0))

    def test_paths_and_methods(self):
        self.refused(self.agent.request("GET", "/nothing"), 404, "no_such_path")
        self.refused(self.agent.request("PUT", "/v1/leases"), 405, "bad_request", "PUT")
        self.refused(self.agent.request("GET", "/v1/leases/a/b"), 404, "no_such_path")
        self.refused(self.agent.request("GET", "/v1/leases/no"), 404, "not_found")
        self.refused(self.agent.request("DELETE", "/v1/leases/no"), 404, "not_found")

    def test_bad_requests(self):
        for body, words in (
                ({"share": 0}, ["share", "more than 0"]),
                ({"share": 1.5}, ["at most 1"]),
                ({"share": -0.1}, ["more than 0"]),
                ({"share": 1e-9}, ["0.000001"]),
                ({"share": "0.3"}, ["number"]),
                ({"share": True}, ["number"]),
                ('{"share": NaN}', ["JSON"]),
                ('{"share": 1e999}', ["JSON"]),
                ('{"share": 0.1, "share": 0.2}', ["JSON"]),
                ("[1]", ["object"]),
                ("", ["JSON"]),
                ("{", ["JSON"]),
                ("[" * 60000, ["JSON"]),
                ({"memory_bytes": -1}, ["-1", "more than 0"]),
                ({"memory_bytes": 0}, ["more than 0"]),
                ({"memory_bytes": 1.5}, ["whole number"]),
                ({"memory_bytes": 1 << 50}, ["more than the device has"]),
                ('{"memory_bytes": 99999999999999999999}', ["JSON"]),
                ({"share": 0.5, "spill_bytes": -1}, ["spill_bytes", "whole number"]),
                ({"share": 0.5, "spill_bytes": "1G"}, ["spill_bytes", "whole number"]),
                ({"share": 0.5, "spill_bytes": 1}, ["cannot spill", "NVIDIA"]),
                ({"share": 0.5, "cap": 0.4}, ["cap", "below"]),
                ({"share": 0.5, "cap": 0}, ["cap"]),
                ({"share": 0.1, "class": "fast"}, ["class", "latency"]),
                ({"share": 0.1, "class": 3}, ["class"]),
                ({"share": 0.1, "shares": 2}, ["unknown field", "shares"]),
                ({"share": 0.1, "a\nb": 2}, ["unknown fields"]),
                ({"share": 0.1, "name": ""}, ["name"]),
                ({"share": 0.1, "name": "../etc"}, ["name"]),
                ({"share": 0.1, "name": "x" * 64}, ["name"]),
                ({"share": 0.1, "name": "l0123456789abcdef"}, ["looks like"]),
                ({"share": 0.1, "name": "a\0b"}, ["JSON"]),
                ({"share": 0.1, "wait": 1}, ["wait", "true or false"]),
                ({"share": 0.1, "overcommit": "no"}, ["overcommit"]),
                ({"share": 0.1, "device": 0}, ["device"]),
                ({}, ["no size"]),
        ):
            with self.subTest(body=body if len(str(body)) < 99 else "long"):
                self.refused(self.agent.request("POST", "/v1/leases", body), 400,
                             "bad_request", *words)
        self.refused(self.agent.request("POST", "/v1/leases",
                                        {"share": 0.1, "device": "gpu9"}),
                     404, "no_such_device", "gpu9")
        self.assertEqual(self.leases(), [])

    def test_too_large(self):
        body = '{"name": "' + "x" * 70000 + '"}'
        self.refused(self.agent.request("POST", "/v1/leases", body), 413, "too_large")
        self.refused(self.agent.request("POST", "/v1/leases", body * 10), 413,
                     "too_large")
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.agent.api)
        s.sendall(b"POST /v1/leases HTTP/1.1\r\nHost: x\r\n"
                  b"Content-Length: 99999999999\r\n\r\n")
        self.assertIn(b" 413 ", s.recv(65536))
        s.close()

        s = socket.socket(socket.AF_UNIX)
        s.connect(self.agent.api)
        s.sendall(b"POST /v1/leases HTTP/1.1\r\nHost: x\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
        answer = s.recv(65536)
        self.assertIn(b" 411 ", answer)
        self.assertIn(b"Content-Length", answer)
        s.close()

    def test_bad_queries(self):
        for url in ("/v1/events?after=-1", "/v1/events?limit=x", "/v1/events?limit=",
                    "/v1/events?limit=0", "/v1/leases?limit=0", "/v1/audit?limit=0",
                    "/v1/events?wait_ms=999999999", "/v1/events?after=1e3"):
            self.refused(self.agent.request("GET", url), 400, "bad_request")


class NewerLibrary(Case):
    """libmicrohttpd 1.0, of Debian 13, returns information about a connection in one place."""

    def setUp(self):
        self.env = {"LD_PRELOAD": os.path.join(os.path.dirname(PROGRAMS["driver"]),
                                               "libone-info.so"),
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        super().setUp()

    def test_the_caller_is_identified(self):
        holder = self.holder()
        self.assertEqual(holder.lease(share=0.3, name="train")["holder_pid"], holder.pid)


class Leases(Case):
    def test_life(self):
        holder = self.holder()
        lease = holder.lease(share=0.3, memory_bytes=256 << 20, name="train",
                             command="/usr/bin/python3", **{"class": "batch"})
        for key, value in {"name": "train", "share": 0.3, "cap": None, "class": "batch",
                           "memory_bytes": 256 << 20, "state": "active",
                           "queue_position": None, "holder_pid": holder.pid,
                           "uid": os.getuid(), "device": "gpu0",
                           "command": "/usr/bin/python3", "processes": [],
                           "overcommit": False, "held_seconds": 0}.items():
            self.assertEqual(lease[key], value, key)
        self.assertTrue(os.path.exists(lease["socket"]))
        self.assertEqual(os.stat(os.path.dirname(lease["socket"])).st_mode & 0o777, 0o700)
        self.assertEqual([l["id"] for l in self.leases()], [lease["id"]])
        self.assertEqual(self.lease("train")["id"], lease["id"])
        self.assertEqual(self.lease(lease["id"])["name"], "train")
        device = self.agent.get("/v1/devices")["items"][0]
        self.assertEqual((device["leases"], device["share_promised"],
                          device["memory_promised_bytes"]), (1, 0.3, 256 << 20))

        status, resized = self.agent.request(
            "PATCH", "/v1/leases/train", {"share": 0.4, "cap": 0.6, "class": "latency"})
        self.assertEqual(status, 200)
        self.assertEqual((resized["share"], resized["cap"], resized["class"],
                          resized["memory_bytes"]), (0.4, 0.6, "latency", 256 << 20))
        status, resized = self.agent.request("PATCH", "/v1/leases/train", {"cap": None})
        self.assertEqual((status, resized["cap"]), (200, None))
        for body, words in (({}, ["nothing to change"]), ({"name": "x"}, ["name"]),
                            ({"share": 0}, ["share"]),
                            ({"share": 0.4, "cap": 0.1}, ["cap"])):
            self.refused(self.agent.request("PATCH", "/v1/leases/train", body), 400,
                         "bad_request", *words)

        self.assertEqual(self.agent.request("DELETE", "/v1/leases/train"), (204, None))
        self.assertEqual(self.leases(), [])
        self.assertFalse(os.path.exists(os.path.dirname(lease["socket"])))
        kinds = [e["type"] for e in self.agent.events() if e["lease"] == lease["id"]]
        self.assertEqual(kinds, ["lease_created", "lease_resized", "lease_resized",
                                 "lease_ended"])

    def test_memory_from_share_and_back(self):
        memory = self.agent.get("/v1/devices")["items"][0]["memory_bytes"]
        holder = self.holder()
        self.assertEqual(holder.lease(share=0.25)["memory_bytes"], memory // 4)
        self.assertEqual(holder.lease(memory_bytes=memory // 2)["share"], 0.5)

    def test_names(self):
        holder = self.holder()
        names = [holder.lease(share=0.01, command=c)["name"] for c in
                 ("/usr/bin/python3", "python3", "", "a b/c d\x1b[31m", "ü")]
        self.assertEqual(names, ["python3", "python3-2", "lease", "c-d--31m", "lease-2"])
        self.refused(holder.request("POST", "/v1/leases",
                                    {"share": 0.1, "name": "python3"}),
                     409, "name_in_use", "python3")
        command = self.lease("c-d--31m")["command"]
        self.assertNotIn("\x1b", command)

    def test_does_not_fit(self):
        holder = self.holder()
        holder.lease(share=0.7, memory_bytes=1 << 20, name="a")
        self.refused(holder.request("POST", "/v1/leases", {"share": 0.4}), 409,
                     "does_not_fit", "0.4", "0.3", "--wait")
        holder.lease(share=0.3, memory_bytes=1 << 20, name="b")
        self.refused(self.agent.request("PATCH", "/v1/leases/b", {"share": 0.5}), 409,
                     "does_not_fit")
        self.assertEqual(self.lease("b")["share"], 0.3)
        over = holder.lease(share=0.5, memory_bytes=1 << 20, overcommit=True, name="c")
        self.assertEqual((over["state"], over["overcommit"]), ("active", True))
        # Shrinking works on a device with too many promises.
        status, _ = self.agent.request("PATCH", "/v1/leases/a", {"share": 0.6})
        self.assertEqual(status, 200)

    def test_thirds_and_tenths_fit(self):
        holder = self.holder()
        for i in range(3):
            holder.lease(share=1 / 3, memory_bytes=1 << 20, name=f"third{i}")
        for i in range(3):
            self.agent.request("DELETE", f"/v1/leases/third{i}")
        for i in range(10):
            holder.lease(share=0.1, memory_bytes=1 << 20, name=f"tenth{i}")

    def test_holder_death_frees(self):
        holder = self.holder()
        lease = holder.lease(share=0.9)
        holder.kill()
        self.assertTrue(wait_until(lambda: not self.leases()))
        self.assertFalse(os.path.exists(lease["socket"]))

    def test_queue(self):
        first, second, third = self.holder(), self.holder(), self.holder()
        first.lease(share=0.8, memory_bytes=1 << 20, name="first")
        answer = second.lease(share=0.5, memory_bytes=1 << 20, name="second", wait=True)
        self.assertEqual((answer["state"], answer["queue_position"]), ("queued", 1))
        # It would fit, but other requests wait before it.
        answer = third.lease(share=0.1, memory_bytes=1 << 20, name="third", wait=True)
        self.assertEqual((answer["state"], answer["queue_position"]), ("queued", 2))
        self.refused(self.holder().request("POST", "/v1/leases",
                                           {"share": 0.1, "memory_bytes": 1 << 20}),
                     409, "does_not_fit", "2 leases wait")
        self.assertEqual(self.agent.get("/v1/devices")["items"][0]["queued"], 2)

        begin = time.monotonic()
        answer = self.agent.get("/v1/leases/second?wait_ms=300&while=queued")
        self.assertEqual(answer["state"], "queued")
        self.assertGreaterEqual(time.monotonic() - begin, 0.29)  # load does not make it shorter

        # The request before it ends: the position changes, and the wait ends.
        third.send("request", method="GET", body=None,
                   url="/v1/leases/third?wait_ms=20000&while=queued")
        time.sleep(0.2)
        second.send("request", method="GET", body=None,
                    url="/v1/leases/second?wait_ms=20000&while=queued")
        first.kill()
        status, answer = second.receive()
        self.assertEqual((status, answer["state"]), (200, "active"))
        self.assertTrue(os.path.exists(answer["socket"]))
        status, answer = third.receive()
        self.assertEqual((status, answer["state"]), (200, "active"))

    def test_queue_position_moves(self):
        first, second, third = self.holder(), self.holder(), self.holder()
        first.lease(share=1, name="first")
        second.lease(share=1, name="second", wait=True)
        third.lease(share=1, name="third", wait=True)
        third.send("request", method="GET", body=None,
                   url="/v1/leases/third?wait_ms=20000&while=queued")
        time.sleep(0.1)
        second.kill()
        status, answer = third.receive()
        self.assertEqual((status, answer["state"], answer["queue_position"]),
                         (200, "queued", 1))
        # A queued lease may be resized so that it fits.
        self.agent.request("PATCH", "/v1/leases/first",
                           {"share": 0.5, "memory_bytes": 1 << 20})
        self.agent.request("PATCH", "/v1/leases/third",
                           {"share": 0.5, "memory_bytes": 1 << 20})
        self.assertEqual(self.lease("third")["state"], "active")

    def test_lease_that_ends_while_waited_for(self):
        first, second = self.holder(), self.holder()
        first.lease(share=1, name="first")
        second.lease(share=1, name="second", wait=True)
        second.send("request", method="GET", body=None,
                    url="/v1/leases/second?wait_ms=20000&while=queued")
        time.sleep(0.1)
        self.assertEqual(self.agent.request("DELETE", "/v1/leases/second")[0], 204)
        self.assertEqual(second.receive()[0], 404)

    def test_events(self):
        last = self.agent.events()[-1]["id"]
        got = []
        waiter = threading.Thread(target=lambda: got.append(
            self.agent.get(f"/v1/events?after={last}&wait_ms=60000", timeout=50)))
        waiter.start()
        time.sleep(0.2)
        self.holder().lease(share=0.1, name="x")
        waiter.join(60)
        event = got[0]["items"][0]
        self.assertEqual((event["type"], event["name"], event["device"], event["uid"]),
                         ("lease_created", "x", "gpu0", os.getuid()))
        self.assertEqual(self.agent.get("/v1/events?limit=1")["items"][0]["type"],
                         "agent_started")
        self.assertEqual(self.agent.get("/v1/events?after=999999&wait_ms=50"),
                         {"items": [], "next": None})

    def test_wait_ends_although_the_other_connection_closes(self):
        """Nothing but the request that ends the wait keeps the server awake."""
        last = self.agent.events()[-1]["id"]
        got = []
        waiter = threading.Thread(target=lambda: got.append(
            self.agent.get(f"/v1/events?after={last}&wait_ms=60000", timeout=20)))
        waiter.start()
        time.sleep(0.2)
        body = b'{"share": 0.1, "name": "once"}'
        with socket.socket(socket.AF_UNIX) as once:
            once.connect(self.agent.api)
            once.sendall(b"POST /v1/leases HTTP/1.0\r\nContent-Type: application/json\r\n"
                         b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            while once.recv(65536):
                pass
        waiter.join(30)
        self.assertEqual([item["name"] for item in got[0]["items"]], ["once"])

    def test_many_waiters_do_not_block(self):
        last = self.agent.events()[-1]["id"]
        waiters = [threading.Thread(target=self.agent.get, args=(
            f"/v1/events?after={last}&wait_ms={500000 + i}",), kwargs={"timeout": 300})
            for i in range(100)]
        for waiter in waiters:
            waiter.start()
        time.sleep(0.3)
        self.agent.get("/v1/version")
        self.assertTrue(all(waiter.is_alive() for waiter in waiters))
        self.holder().lease(share=0.1)
        for waiter in waiters:
            waiter.join(60)
            self.assertFalse(waiter.is_alive())


if __name__ == "__main__":
    main()
