# SPDX-License-Identifier: Apache-2.0
"""A machine with NVIDIA GPUs: the doubles of libnvidia-ml and of libcuda on one folder, an agent,
and programs that cleave run starts there."""
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "apply"))

import worlds  # noqa: E402

MIB = 1 << 20


class Cuda(worlds.Nvml):
    """The GPUs compute: cuda-double-gpu plays them."""

    def __init__(self, node="gpu H100-80GB", cuda="tell-nvml 1", kernel=False, config=None,
                 driver="r580"):
        """kernel: with the resource manager of its kernel driver, which lets go of channels.
        config: the agent's settings.  driver: NVML's."""
        super().__init__(node, driver)
        if config:
            path = os.path.join(self.folder, "cleaved.yaml")
            worlds.write_whole(path, config)
            self.arguments = ("--config", path)
        self.kernel = kernel
        self.put("cuda", cuda)
        self.gpu = worlds.built("tests/doubles/cuda/cuda-double-gpu")
        self.player = subprocess.Popen([self.gpu, "--with-parent", self.folder],
                                       stdout=subprocess.PIPE, text=True)
        assert self.player.stdout.readline() == "ready\n"

    def environment(self):
        env = super().environment()
        libraries = worlds.built("tests/doubles/cuda/driver")
        env = {**env, "CLV_CUDA_DOUBLE": self.folder,
               "LD_LIBRARY_PATH": f"{env['LD_LIBRARY_PATH']}:{libraries}"}
        if self.kernel:
            env["LD_PRELOAD"] = worlds.built("tests/doubles/cuda/libnvidia-rm-double.so")
        return env

    def close(self):
        self.player.kill()
        self.player.wait()
        self.player.stdout.close()
        super().close()

    def stats(self):
        """(nanoseconds of the machine's clock, {pid: {word: value}})"""
        text = subprocess.run([self.gpu, "--ask", self.folder, "stats"], text=True,
                              capture_output=True, check=True).stdout
        now, processes = 0, {}
        for line in text.splitlines():
            kind, *words = line.split()
            if kind == "now":
                now = int(words[0])
            elif kind == "process":
                pairs = dict(zip(words[1::2], words[2::2]))
                processes[int(words[0])] = {
                    key: int(value) if re.fullmatch(r"\d+", value) else value
                    for key, value in pairs.items()}
        return now, processes


class Case(unittest.TestCase):
    def begin(self, **machine):
        self.world = Cuda(**machine)
        self.addCleanup(self.world.close)
        self.agent = self.world.agent()
        self.addCleanup(self.end)
        self.agent.start()
        self.started = []

    def end(self):
        for process in self.started:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                pipe.close()
        self.assertEqual(self.agent.close(), 0)

    def start(self, *command, options=("--share", "0.5"), env=None, device="gpu0"):
        """A program in a lease of its own."""
        place = ("--device", device) if device else ()
        process = subprocess.Popen(
            [worlds.built("src/cli/cleave"), "run", "--socket", self.agent.api, *options,
             *place, "--", *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**self.agent.env, **(env or {})})
        self.started.append(process)
        return process

    def static_program(self, name):
        if not os.path.exists(program(name)):
            self.skipTest("no static C library")
        return program(name)

    def run_in_lease(self, *command, **more):
        """What it printed; it must succeed."""
        process = self.start(*command, **more)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, (out, err, self.agent.log()[-1500:]))
        return out


def program(name):
    return worlds.built(f"tests/cuda/{name}")
