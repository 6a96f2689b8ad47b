# SPDX-License-Identifier: Apache-2.0
"""A machine with NVIDIA GPUs: the doubles of libnvidia-ml and of libcuda on one folder, an agent,
and programs that cleave run starts there."""
import os
import subprocess  # noqa: F401
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "apply"))

import gpus  # noqa: E402
import worlds  # noqa: E402

MIB = gpus.MIB


class Cuda(worlds.Nvml):
    """Simulated GPUs (cuda-double-gpu)."""

    def __init__(self, node="gpu H100-80GB", cuda="tell-nvml 1", kernel=False, config=None,
                 driver="r580"):
        """kernel: with the resource manager of its kernel driver, which can stop channels. config:
        the agent's settings. driver: NVML's."""
        super().__init__(node, driver)
        if config:
            path = os.path.join(self.folder, "cleaved.yaml")
            worlds.write_whole(path, config)
            self.arguments = ("--config", path)
        self.kernel = kernel
        self.put("cuda", cuda)
        self.player = gpus.Player(worlds.built("tests/doubles/cuda/cuda-double-gpu"), self.folder)
        self.gpu = self.player.program

    def environment(self):
        env = super().environment()
        libraries = worlds.built("tests/doubles/cuda/driver")
        env = {**env, "CLV_CUDA_DOUBLE": self.folder,
               "LD_LIBRARY_PATH": f"{env['LD_LIBRARY_PATH']}:{libraries}"}
        if self.kernel:
            env["LD_PRELOAD"] = worlds.built("tests/doubles/cuda/libnvidia-rm-double.so")
        return env

    def stats(self):
        return self.player.stats()

    def close(self):
        self.player.close()
        super().close()


class Case(gpus.Case):
    WORLD = Cuda

    def static_program(self, name):
        if not os.path.exists(program(name)):
            self.skipTest("no static C library")
        return program(name)


def knows(word):
    """Whether lines of the double's file `cuda` may have the word."""
    with open(os.path.join(HERE, "..", "doubles", "README.md"), encoding="utf-8") as readme:
        return f"| `{word}`" in readme.read()


def program(name):
    return worlds.built(f"tests/cuda/{name}")
