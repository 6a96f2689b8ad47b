# SPDX-License-Identifier: Apache-2.0
"""Cleave's answers: its tables, its names of GPUs, and a private agent in temporary folders, which
gets only GET requests."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

from harness import PROGRAMS, Agent  # noqa: E402


class Cleave:
    """The programs of one build. A packed one has a folder of libraries, which its own programs
    find by themselves, and others do not."""

    def __init__(self, build, nvml=None):
        self.build = os.path.abspath(build)
        self.env = dict(os.environ)
        if nvml:
            folders = [os.path.dirname(os.path.abspath(nvml)), self.env.get("LD_LIBRARY_PATH")]
            self.env["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))

    def path(self, name):
        return os.path.join(self.build, name)

    def output(self, *command, **options):
        return subprocess.run([self.path(command[0]), *command[1:]], text=True, check=True,
                              stdout=subprocess.PIPE, env=self.env, timeout=120,
                              **options).stdout

    def tables(self):
        """{name of the table: table}"""
        return {table["name"]: table
                for table in json.loads(self.output("tests/core/mig-solve", "tables"))}

    def kinds(self, gpus):
        """The known facts of each (architecture or 0, bytes, name)."""
        lines = "".join(f"{arch} {n} {name}\n" for arch, n, name in gpus)
        answers = self.output("tests/gpu/gpu-types", input=lines).splitlines()
        return [json.loads(line) for line in answers]

    def ask_agent(self):
        """(the node, the rows of `cleave profiles`)"""
        PROGRAMS["cleaved"] = self.path("src/agent/cleaved")
        with tempfile.TemporaryDirectory(prefix="cleave-gpu-") as folder:
            # OpenCL is not needed, and some drivers take long to start it.
            agent = Agent(folder, env={**self.env, "OCL_ICD_VENDORS": folder})
            agent.start()
            try:
                self.env["CLEAVE_SOCKET"] = agent.api
                rows = json.loads(self.output("src/cli/cleave", "profiles", "-o", "json"))["items"]
                return agent.get("/v1/node", timeout=120), rows
            finally:
                self.env.pop("CLEAVE_SOCKET", None)
                agent.close()
