# SPDX-License-Identifier: Apache-2.0
"""Nodes that an agent divides: a simulated one, one on the double of libnvidia-ml, and one on the
double of sysfs. Each can be created again, returns its division without the agent, and can inject
faults."""
import os
import shutil
import sys
import subprocess
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "integration"))
sys.path.insert(0, os.path.join(TESTS, "doubles", "sysfs"))

from harness import PATIENCE_S, PROGRAMS, Agent, UnixConnection  # noqa: E402
from sysfs_double import Double, Unavailable  # noqa: E402,F401

BUILD = {}


def set_build(build):
    BUILD["path"] = os.path.abspath(build)
    PROGRAMS["cleaved"] = built("src/agent/cleaved")
    PROGRAMS["cleave"] = built("src/cli/cleave")


def built(path):
    return os.path.join(BUILD["path"], path)


def write_whole(path, text):
    """By renaming, because doubles restart their counts with a new file."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)


class Applier(Agent):
    """An agent, with the commands of a user who applies layouts."""

    def apply(self, layout, query="name=test.yaml"):
        status, answer = self.request("POST", f"/v1/apply?{query}", layout)
        assert status == 202, (status, answer)
        return answer

    def wait(self, operation, seconds=60):
        """The operation when it has ended."""
        while operation["ended_at"] is None:
            url = f"/v1/operations/{operation['id']}?wait_ms={seconds * 1000}"
            operation = self.get(f"{url}&after={operation['revision']}", seconds + 5)
        return operation

    def finish(self, layout, query="name=test.yaml"):
        return self.wait(self.apply(layout, query))

    def done(self, layout, query="name=test.yaml"):
        operation = self.finish(layout, query)
        assert operation["state"] == "done", operation
        return operation

    def plan(self, layout, query="name=test.yaml"):
        return self.request("POST", f"/v1/plan?{query}", layout)

    def node(self):
        return self.get("/v1/node")

    def export(self):
        return self.get("/v1/layout")["layout"]

    def last(self):
        return self.get("/v1/operations")["items"][-1]


def cleave(agent, *arguments):
    """The command line, on the agent."""
    return subprocess.run([PROGRAMS["cleave"], arguments[0], "--socket", agent.api, *arguments[1:]],
                          capture_output=True, text=True, env=agent.env, check=False)


def metrics(agent):
    connection = UnixConnection(agent.api, PATIENCE_S)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


class World:
    """A node in folders of its own; the agents on it come and go."""

    arguments = ()
    watch = "off"

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-apply-")
        self.empty = os.path.join(self.folder, "empty")
        os.mkdir(self.empty)

    def environment(self):
        # OpenCL is not needed and takes time.
        return {"OCL_ICD_VENDORS": self.empty}

    def settings(self):
        """Only the queries that the test needs are made, so that calls can be counted."""
        path = os.path.join(self.folder, "cleaved.yaml")
        write_whole(path, f"version: 1\nwatch: {{every: {self.watch}}}\n")
        return ("--config", path)

    def agent(self, folder=None, **more):
        env = {**self.environment(), **more}
        own = () if "--config" in self.arguments else self.settings()
        return Applier(folder, arguments=(*self.arguments, *own), env=env)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Sim(World):
    def __init__(self, node):
        super().__init__()
        self.arguments = ("--sim", os.path.abspath(node))

    @classmethod
    def of_text(cls, text):
        world = cls("/dev/null")
        path = os.path.join(world.folder, "node.yaml")
        write_whole(path, text)
        world.arguments = ("--sim", path)
        return world


class Nvml(World):
    def __init__(self, node, driver="r580"):
        super().__init__()
        self.driver = driver
        self.put("node", node)
        self.sysfs = os.path.join(self.folder, "sys")
        self.bound = os.path.join(self.sysfs, "bus", "pci", "drivers", "nvidia")

    def environment(self):
        libraries = built(f"tests/doubles/nvml/{self.driver}")
        own = {"CLEAVE_SYSFS": self.sysfs} if os.path.isdir(self.sysfs) else {}
        return {**super().environment(), "CLV_NVML_DOUBLE": self.folder,
                "LD_LIBRARY_PATH": libraries, **own}

    def show_bound(self, *addresses):
        """The driver's folder in sysfs: the files of the driver, and the GPUs that it has."""
        for name in ("module", *addresses):
            os.makedirs(os.path.join(self.bound, name))
        os.mkdir(os.path.join(self.sysfs, "bus", "pci", "devices"))

    def put(self, name, text):
        write_whole(os.path.join(self.folder, name), text + "\n")

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def control(self, *words):
        return subprocess.run([built("tests/doubles/nvml/double-nvml"), self.folder, *words],
                              check=True, capture_output=True, text=True).stdout

    def take(self, gpu, address):
        """Another driver takes the GPU. Returns the reason if it cannot."""
        done = subprocess.run([built("tests/doubles/nvml/double-nvml"), self.folder, "unbind", str(gpu)],
                              check=False, capture_output=True, text=True)
        if done.returncode == 0:
            os.rmdir(os.path.join(self.bound, address))
        return done.stderr

    def shape(self):
        """How the GPUs are divided, without the ids, which change."""
        shown, owner = [], ""
        for line in self.control("show").splitlines():
            words = line.split()
            if words[0] == "gpu":
                shown.append(" ".join(words[:5]))
            elif words[0] == "gi":
                owner = f"gi {words[1]} {words[3]} {words[4]}"
                shown.append(owner)
            else:
                shown.append(f"{owner} ci {words[4]} {words[5]}")
        return sorted(shown)

    def save(self):
        with open(os.path.join(self.folder, "state"), "rb") as file:
            return file.read()

    def restore(self, saved):
        """Restores the node's state; no agent may be running."""
        with open(os.path.join(self.folder, "state"), "wb") as file:
            file.write(saved)

    def faults(self, *lines):
        self.put("faults", "\n".join(lines))

    def calls(self, action):
        """(function, number of the call, result) of each call that the action makes."""
        path = os.path.join(self.folder, "calls")
        write_whole(path, "")
        action()
        with open(path, encoding="utf-8") as file:
            lines = [line.split() for line in file]
        os.unlink(path)
        return [(words[2], words[4]) for words in lines if len(words) == 5]


# Marks of the drivers, which are not part of a device's division.
PASSING = ("kfd_order", "generation", "group", "config_shown")


class Sysfs(World):
    def __init__(self, devices):
        super().__init__()
        self.double = Double(built("tests/doubles/sysfs/cleave-double-sysfs"),
                             {"devices": devices})
        self.double.__enter__()

    def environment(self):
        path = f"{self.double.control}/bin:{os.environ['PATH']}"
        return {**super().environment(), "CLEAVE_SYSFS": self.double.sys, "PATH": path}

    def close(self):
        self.double.close()
        super().close()

    def shape(self):
        return sorted(f"{subject} {field} {value}"
                      for (subject, field), value in self.double.state().items()
                      if field not in PASSING)

    def save(self):
        with open(os.path.join(self.double.control, "state"), encoding="utf-8") as file:
            return file.read()

    def restore(self, saved):
        self.double.stop()
        write_whole(os.path.join(self.double.control, "state"), saved)
        self.double.start()

    def faults(self, *lines):
        self.double.put("faults", lines)

    def calls(self, action):
        """Writes and commands, in order: (operation, path)."""
        before = len(self.double.log())
        action()
        return [(entry["op"], entry["path"]) for entry in self.double.log()[before:]]


class Host(Sysfs):
    """NVIDIA's driver for hosts: its library and its files in sysfs both have a part of the
    state."""

    def __init__(self, devices, node):
        super().__init__(devices)
        write_whole(os.path.join(self.folder, "node"), node + "\n")

    def environment(self):
        return {**super().environment(), "CLV_NVML_DOUBLE": self.folder,
                "LD_LIBRARY_PATH": built("tests/doubles/nvml/r580")}
