# SPDX-License-Identifier: Apache-2.0
"""Shares of a GPU that programs use through HIP, measured by the GPU itself.

usage: test_shares.py --build BUILD --rocm 5|6 [unittest arguments]
"""
import machine
import gpus


class Shares(gpus.Tenants, machine.Case):
    MACHINE = {"hip": "device-mb-s 1000"}

    @property
    def TENANT(self):  # pylint: disable=invalid-name
        return f"tests/hip/hip-tenant-{machine.ROCM}"

    def test_three_queues(self):
        self.assert_parts([(.1, "queue", 100_000), (.6, "queue", 100_000), (.3, "queue", 100_000)])

    def test_short_kernels(self):
        self.assert_parts([(.2, "stub", 20_000), (.8, "stub", 20_000)])

    def test_a_wait_for_each_kernel(self):
        self.assert_parts([(.3, "sync", 200_000), (.7, "queue", 200_000)], 4)

    def test_graph(self):
        self.assert_parts([(.25, "graph", 100_000), (.75, "queue", 100_000)], 3)

    def test_every_way_to_submit(self):
        """Beside a plain queue: none bypasses the share."""
        for style in ("stub", "legacy", "thread", "streams", "with-events", "cooperative", "extended",
                      "in-two-calls", "captures", "callback", "copy", "fill"):
            with self.subTest(style):
                self.assert_parts([(.25, style, 100_000), (.75, "queue", 100_000)], 3)
            self.doCleanups()


if __name__ == "__main__":
    machine.main()
