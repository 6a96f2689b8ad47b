# SPDX-License-Identifier: Apache-2.0
"""Attempts to bypass a limit in space: by which factor a kernel takes longer if a program has a
quarter of the GPU, as tests/cuda/units.c and tests/hip/units.c measure it by the GPU's own
clock."""
import os
import socket

import worlds
from harness import wait_until

OPTIONS = ("--share", "0.5", "--sm", "25%")
HELD = 3.6  # times longer, at least


def verdict(said, agent):
    """For the output of a program of units."""
    slower = min(map(float, said.split()[1:]))
    if slower >= HELD:
        return "held", f"{slower} times longer"
    told = wait_until(lambda: agent.events("sm_not_held"), 5)
    return "detected" if told else "open", f"{slower} times longer"


def cuda(word, before=(), daemon=False):
    """daemon: of MPS."""
    def check(referee, name):
        referee.close()
        session = referee.have_session()
        env = {}
        with socket.socket(socket.AF_UNIX) as control:
            if daemon:
                env["CUDA_MPS_PIPE_DIRECTORY"] = session.world.folder
                control.bind(os.path.join(session.world.folder, "control"))
                control.listen()
            program = session.start(OPTIONS, [*before, worlds.built("tests/cuda/cuda-units"), word],
                                    name, env)
            said = program.line(60)
            found = verdict(said, session.agent)
            session.end(program)
        referee.close()
        return found
    check.order = 2
    return check


def hip(*words, before=()):
    def check(session, _):
        program = session.start(*(before(session) if callable(before) else before),
                                worlds.built("tests/hip/hip-units-6"), *words, options=OPTIONS)
        return verdict(program.stdout.readline(), session.agent)
    return check
