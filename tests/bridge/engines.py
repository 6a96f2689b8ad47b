# SPDX-License-Identifier: Apache-2.0
"""Docker and containerd, each in a root of its own (engine_root.py), set up as their guides say."""
import os
import re
import subprocess
import sys
import uuid
from concurrent import futures

import engine_root
import grpc
import guide

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kubernetes"))
import messages  # noqa: E402

# What this machine's root may not do, or has not got, is not asked for.
LIMITS = ("--ulimit=nofile=1024:1024",)
DOCKERD = ("dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none",
           "--exec-opt=native.cgroupdriver=cgroupfs")


class Engine:
    """kept: see engine_root.py.  folder: of the test, seen under this name in there, too, with the
    CDI files in specs; more: other such folders."""
    RELEASE, ENGINES = engine_root.RELEASE, engine_root.ENGINES

    def __init__(self, kept, folder, build, *more):
        self.folder, self.specs = folder, os.path.join(folder, "specs")
        os.makedirs(self.specs)
        base, self.image = engine_root.make(kept, self.RELEASE, self.ENGINES)
        self.root = engine_root.Root(base, self.specs, [build, folder, os.path.dirname(self.image), *more])
        self.group = f"cleave-test-{os.getpid()}"
        try:
            self.daemon = self.set_up()
        except BaseException:
            self.root.close()
            raise

    def close(self):
        self.root.close()
        self.daemon.wait()
        forget_groups(self.group)

    def call(self, *words):
        return self.root.call(*words)

    def must(self, *words):
        done = self.call(*words)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout


def forget_groups(name):
    """Control groups outlive the programs that made them."""
    for top in os.listdir("/sys/fs/cgroup"):
        for folder, _, _ in os.walk(os.path.join("/sys/fs/cgroup", top, name), topdown=False):
            os.rmdir(folder)


class Docker(Engine):
    def set_up(self):
        self.root.write("/etc/docker/daemon.json", guide.block("docker.md", "json"))
        daemon = self.root.start_daemon(*DOCKERD, f"--cgroup-parent=/{self.group}",
                                        answers=("docker", "version"))
        self.must("docker", "load", "--input", self.image)
        return daemon

    def options(self, devices):
        return ["--network=none", *LIMITS, *(f"--device={each}" for each in devices)]

    def run(self, *program, devices=(), user=0):
        return self.call("docker", "run", "--rm", f"--user={user}", *self.options(devices),
                         engine_root.IMAGE, *program)

    def spawn(self, *program, devices=()):
        return subprocess.Popen(
            self.root.command("docker", "run", "--rm", *self.options(devices), engine_root.IMAGE,
                              *program), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def start(self, name, *program, devices=()):
        return self.must("docker", "run", "--detach", "--name", name, *self.options(devices),
                         engine_root.IMAGE, *program)

    def inside(self, name, *program):
        return self.call("docker", "exec", name, *program)

    def kill(self, name):
        return self.must("docker", "kill", "--signal=KILL", name)


class Containerd(Engine):
    """Containers of pods, by the calls that kubelet makes."""
    IMAGE = f"docker.io/library/{engine_root.IMAGE}"
    # Beside what the guide says: what this machine has, and may do.
    OF_THIS_MACHINE = f"""  sandbox_image = "{IMAGE}"
  restrict_oom_score_adj = true
"""

    def set_up(self):
        socket = os.path.join(self.folder, "containerd.sock")
        self.root.write("/etc/containerd/config.toml", self.settings() + self.OF_THIS_MACHINE)
        # A root of Debian 12 has none, and pods get a copy.
        self.root.write("/etc/hosts", "127.0.0.1 localhost\n")
        daemon = self.root.start_daemon("containerd", f"--address={socket}",
                                        answers=("ctr", f"--address={socket}", "version"))
        self.must("ctr", f"--address={socket}", "--namespace=k8s.io", "images", "import",
                  self.image)
        self.channel = grpc.insecure_channel(f"unix://{socket}")
        modules = messages.compiled()
        self.cri = modules["cri_pb2"]
        self.stub = modules["cri_pb2_grpc"].RuntimeServiceStub(self.channel)
        self.containers, self.pods = {}, []
        return daemon

    def close(self):
        for pod in self.pods:
            self.stub.StopPodSandbox(pod)
            self.stub.RemovePodSandbox(pod)
        self.channel.close()
        super().close()

    def settings(self):
        return guide.block("containerd.md", "toml")

    def knows_cdi(self):
        """ctr itself: from 2.0 on."""
        return int(re.search(r"\bv?(\d+)\.", self.must("ctr", "--version"))[1]) >= 2

    def a_pod(self, name):
        cri = self.cri
        alone = cri.NamespaceOption(network=cri.NODE, pid=cri.CONTAINER)  # no network plugin
        config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name=name, uid=name, namespace="default"),
            log_directory=self.folder, linux=cri.LinuxPodSandboxConfig(
                cgroup_parent=f"/{self.group}", security_context=cri.LinuxSandboxSecurityContext(
                    namespace_options=alone)))
        made = self.stub.RunPodSandbox(cri.RunPodSandboxRequest(config=config))
        self.pods.append(cri.PodSandbox(pod_sandbox_id=made.pod_sandbox_id))
        return made.pod_sandbox_id, config

    def start(self, name, *program, devices=(), user=0, answer=({}, {}, {}, {})):
        """answer: of Allocate, as kubelet passes it on (Kubelet.answer)."""
        cri = self.cri
        envs, annotations, mounts, nodes = answer
        pod, of_pod = self.a_pod(name)
        context = cri.LinuxContainerSecurityContext(
            namespace_options=of_pod.linux.security_context.namespace_options)
        context.run_as_user.value = user
        config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name="c"), image=cri.ImageSpec(image=self.IMAGE),
            command=program, log_path=f"{name}.log",
            linux=cri.LinuxContainerConfig(security_context=context),
            CDI_devices=[cri.CDIDevice(name=each) for each in devices], annotations=annotations,
            envs=[cri.KeyValue(key=name, value=value) for name, value in envs.items()],
            mounts=[cri.Mount(container_path=each.container_path, host_path=each.host_path,
                              readonly=each.read_only) for each in mounts.values()],
            devices=[cri.Device(container_path=each.container_path, host_path=each.host_path,
                                permissions=each.permissions) for each in nodes.values()])
        made = self.stub.CreateContainer(cri.CreateContainerRequest(
            pod_sandbox_id=pod, config=config, sandbox_config=of_pod))
        self.containers[name] = made.container_id
        self.stub.StartContainer(cri.Container(container_id=made.container_id))

    def inside(self, name, *program):
        done = self.stub.ExecSync(self.cri.ExecSyncRequest(
            container_id=self.containers[name], cmd=program, timeout=60))
        return subprocess.CompletedProcess(program, done.exit_code, done.stdout.decode(),
                                           done.stderr.decode())

    def run(self, *program, devices=(), user=0):
        name = f"run-{uuid.uuid4()}"
        try:
            self.start(name, "sleep", "infinity", devices=devices, user=user)
        except grpc.RpcError as error:
            return subprocess.CompletedProcess(program, 1, "", error.details())
        return self.inside(name, *program)

    def spawn(self, *program, devices=()):
        return Later(self.run, *program, devices=devices)

    def kill(self, name):
        self.stub.StopContainer(self.cri.Container(container_id=self.containers[name]))


class WithoutCdi(Containerd):
    """Debian 12's own, 1.6."""
    RELEASE, ENGINES = "bookworm", ("containerd", "runc")

    def settings(self):
        return 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\n'


class Later:
    """A call that answers as a process does."""

    def __init__(self, call, *words, **more):
        self.thread = futures.ThreadPoolExecutor(1)
        self.said = self.thread.submit(call, *words, **more)

    def communicate(self, timeout):
        done = self.said.result(timeout)
        self.thread.shutdown()
        return done.stdout, done.stderr
