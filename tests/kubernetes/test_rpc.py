#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The gRPC server of a device plugin, tested with an independent gRPC library and with misbehaving
callers.

usage: test_rpc.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import glob
import os
import random
import struct
import threading

import bed
import grpc
import raw
from bed import Bed, wait_until
from kubelet import plugin_grpc, plugin_pb
from raw import DATA, END_HEADERS, GOAWAY, HEADERS, PING, RST, WINDOW, Connection, frame

SHARE = "cleave.dev/gpu-share"
SERVICE = "/v1beta1.DevicePlugin/"


class Rpc(Bed):
    def setUp(self):
        super().setUp()
        self.kubelet.start()
        self.start_bridge()
        self.plugin = self.kubelet.resource(SHARE)
        self.path = os.path.join(self.kubelet.plugins, self.plugin.request.endpoint)
        self.connections = []
        self.addCleanup(lambda: [c.close() for c in self.connections])

    def connect(self, **settings):
        self.connections.append(Connection(self.path, **settings))
        return self.connections[-1]

    def check_alive(self):
        options = self.plugin.stub.GetDevicePluginOptions(plugin_pb.Empty(), timeout=60)
        self.assertTrue(options.get_preferred_allocation_available)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def fails(self, code, call):
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        self.assertEqual(caught.exception.code(), code, caught.exception)
        return caught.exception.details()

    def test_unknown_method(self):
        self.fails(grpc.StatusCode.UNIMPLEMENTED,
                   lambda: self.plugin.stub.NotThere(plugin_pb.Empty(), timeout=60))

    def test_other_version_of_the_service(self):
        call = self.plugin.channel.unary_unary("/v1beta2.DevicePlugin/Allocate")
        self.fails(grpc.StatusCode.UNIMPLEMENTED, lambda: call(b"", timeout=60))

    def test_message_of_an_error_is_whole(self):
        words = self.fails(grpc.StatusCode.INVALID_ARGUMENT,
                           lambda: self.plugin.stub.Allocate(plugin_pb.AllocateRequest(
                               container_requests=[{"devices_ids": ["100% größer::x"]}])))
        self.assertIn("100% größer", words)

    def test_invalid_message(self):
        call = self.plugin.channel.unary_unary(SERVICE + "Allocate")
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: call(b"\xff" * 100, timeout=60))

    def test_request_too_large(self):
        call = self.plugin.channel.unary_unary(SERVICE + "Allocate")
        self.fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: call(bytes(5 << 20), timeout=60))
        self.check_alive()

    def test_large_request(self):
        ids = [f"nothing-{i:060}::{i}" for i in range(40000)]
        answer = self.plugin.stub.GetPreferredAllocation(plugin_pb.PreferredAllocationRequest(
            container_requests=[{"available_deviceIDs": ids, "allocation_size": 3}]), timeout=60)
        self.assertEqual(len(answer.container_responses[0].deviceIDs), 0)

    def test_compressed(self):
        channel = grpc.insecure_channel(f"unix://{self.path}",
                                        compression=grpc.Compression.Gzip)
        stub = plugin_grpc.DevicePluginStub(channel)
        ids = ["a" * 1000] * 100
        self.fails(grpc.StatusCode.UNIMPLEMENTED, lambda: stub.Allocate(
            plugin_pb.AllocateRequest(container_requests=[{"devices_ids": ids}]), timeout=60))
        channel.close()

    def test_deadline(self):
        connection = self.connect()
        connection.ask(1, SERVICE + "ListAndWatch", grpc_timeout="100m")
        frames = []
        while True:
            kind, flags, _, _ = connection.until(HEADERS, DATA, RST)
            frames.append(kind)
            if kind == HEADERS and flags & 1:
                break
        self.assertIn(DATA, frames)  # the list was sent, and then the end
        for text in ("", "1", "x", "123456789S", "-1S", "1d"):
            other = self.connect()
            other.ask(1, SERVICE + "GetDevicePluginOptions", grpc_timeout=text)
            kind, flags, _, _ = other.until(HEADERS, RST)
            self.assertTrue(kind == RST or flags & 1, text)
        self.check_alive()

    def test_many_streams(self):
        before = self.descriptors()
        streams = [self.plugin.stub.ListAndWatch(plugin_pb.Empty()) for _ in range(100)]
        for stream in streams:
            self.assertEqual(len(next(stream).devices), 100)
        for stream in streams:
            stream.cancel()
        self.check_alive()
        self.assertTrue(wait_until(lambda: self.descriptors() <= before))

    def test_streams_beyond_the_limit(self):
        connection = self.connect()
        for i in range(400):
            connection.send(frame(HEADERS, END_HEADERS, 2 * i + 1,
                                  raw.grpc_headers(SERVICE + "ListAndWatch")))
        self.assertIn(connection.until(RST, GOAWAY)[0], (RST, GOAWAY))
        self.check_alive()

    def test_opened_and_reset_without_end(self):
        connection = self.connect()
        try:
            for i in range(20000):
                stream = 2 * i + 1
                connection.send(frame(HEADERS, END_HEADERS, stream,
                                      raw.grpc_headers(SERVICE + "ListAndWatch")),
                                frame(RST, 0, stream, struct.pack(">I", 8)))
        except OSError:
            pass
        self.assertIsNone(connection.until(99))  # it was closed
        self.check_alive()

    def test_headers_without_end(self):
        connection = self.connect()
        block = raw.grpc_headers(SERVICE + "Allocate") + raw.headers(
            *((f"x-{i}", "y" * 100) for i in range(100)))
        connection.send(frame(HEADERS, 0, 1, block[:1000]))
        try:
            for _ in range(2000):
                connection.send(frame(raw.CONTINUATION, 0, 1, raw.headers(("x-a", "y" * 120)) * 50))
        except OSError:
            pass
        self.check_alive()
        self.assertLess(self.resident_mb(), 40)

    def resident_mb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) / 1000 for line in status if line.startswith("VmRSS"))

    def test_not_grpc(self):
        connection = self.connect()
        connection.send(frame(HEADERS, END_HEADERS | 1, 1, raw.headers(
            (":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "x"))))
        _, flags, _, _ = connection.until(HEADERS)
        self.assertTrue(flags & 1)  # the end of the answer
        self.check_alive()

    def test_socket_path_as_authority(self):
        """As kubelet up to 1.25 sends it, by the version of gRPC for Go in it."""
        connection = self.connect()
        connection.send(
            frame(HEADERS, END_HEADERS, 1, raw.grpc_headers(
                SERVICE + "GetDevicePluginOptions", **{":authority": self.path})),
            frame(DATA, raw.END_STREAM, 1, raw.message()))
        answer = connection.until(DATA, RST, GOAWAY)
        self.assertEqual(answer[0], DATA, answer)
        self.assertTrue(plugin_pb.DevicePluginOptions.FromString(answer[3][5:]).pre_start_required)

    def test_two_requests_in_a_call(self):
        connection = self.connect()
        connection.ask(1, SERVICE + "Allocate", raw.message() + raw.message())
        _, flags, _, _ = connection.until(HEADERS)
        self.assertTrue(flags & 1)
        self.check_alive()

    def test_half_a_request(self):
        connection = self.connect()
        connection.ask(1, SERVICE + "Allocate", b"\0\0\0\1")
        self.assertTrue(connection.until(HEADERS)[1] & 1)

    def test_reader_that_never_reads(self):
        """A stream with an empty window: a new message replaces an unsent one."""
        connection = self.connect(settings=struct.pack(">HI", 4, 0))
        connection.ask(1, SERVICE + "ListAndWatch")
        before = self.resident_mb()
        for i in range(50):
            verb = "cordon" if i % 2 == 0 else "uncordon"
            status, _ = self.agent.request("POST", f"/v1/devices/gpu0/{verb}")
            self.assertEqual(status, 200)
        self.plugin.wait(lambda p: len(p.healthy()) == 100)
        self.assertLess(self.resident_mb(), before + 4)
        connection.send(frame(WINDOW, 0, 1, struct.pack(">I", 1 << 20)))
        body = b""
        while len(body) < 5 or len(body) < 5 + struct.unpack(">I", body[1:5])[0]:
            body += connection.until(DATA)[3]
        lists = plugin_pb.ListAndWatchResponse.FromString(
            body[5:5 + struct.unpack(">I", body[1:5])[0]])
        self.assertEqual(len(lists.devices), 100)

    def test_dead_callers(self):
        """Connections that end at any point leave no state behind."""
        before = self.descriptors()
        for i in range(200):
            connection = Connection(self.path)
            connection.ask(1, SERVICE + "ListAndWatch")
            if i % 3 == 0:
                connection.until(DATA)
            if i % 2 == 0:
                connection.send(frame(HEADERS, END_HEADERS, 3,
                                      raw.grpc_headers(SERVICE + "Allocate")))
            connection.close()
        self.check_alive()
        self.assertTrue(wait_until(lambda: self.descriptors() <= before), self.descriptors())

    def test_noise(self):
        for seed in range(200):
            chance = random.Random(seed)
            connection = Connection(self.path)
            try:
                for _ in range(chance.randrange(20)):
                    connection.send(frame(chance.randrange(12), chance.randrange(256),
                                          chance.randrange(8),
                                          chance.randbytes(chance.randrange(60))))
            except OSError:
                pass
            connection.close()
        self.check_alive()

    def test_too_many_connections(self):
        held = [self.connect() for _ in range(80)]
        for connection in held:
            connection.close()
        wait_until(lambda: self.descriptors() < 40)
        self.check_alive()

    def test_ping(self):
        connection = self.connect()
        connection.send(frame(PING, 0, 0, b"12345678"))
        self.assertEqual(connection.until(PING)[3], b"12345678")

    def test_beside_each_other(self):
        """Many concurrent callers, each with its own connection."""
        wrong = []

        def act():
            with grpc.insecure_channel(f"unix://{self.path}",
                                       options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
                stub = plugin_grpc.DevicePluginStub(channel)
                for _ in range(50):
                    if not stub.GetDevicePluginOptions(plugin_pb.Empty()).pre_start_required:
                        wrong.append("options")

        threads = [threading.Thread(target=act) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_socket_is_for_root_alone(self):
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)
        self.assertEqual(len(glob.glob(self.kubelet.plugins + "/cleave-*.sock")), 1)


if __name__ == "__main__":
    bed.main()
