# SPDX-License-Identifier: Apache-2.0
"""Real containers, by Debian's podman and runc, on the machine's own files: no image is
pulled.  What a container changes lies on an overlay and goes with it."""
import fcntl
import os
import shutil
import subprocess
import tempfile

# A container is not given limits that this machine's root may not set.
LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096")
CONFIG = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
netns = "none"
"""

def options_of(answer):
    """The options that give a container what kubelet gives it (Kubelet.answer), without CDI."""
    envs, _, mounts, devices = answer
    yield from (f"--env={name}={value}" for name, value in envs.items())
    for mount in mounts.values():
        yield f"--volume={mount.host_path}:{mount.container_path}:{'ro' if mount.read_only else 'rw'}"
    for device in devices.values():
        yield f"--device={device.host_path}:{device.container_path}:{device.permissions}"


# In a chroot the root is no mount point, which runc wants it to be: there each podman runs in
# a mount namespace where it is one.
AS_A_MOUNT = ('mount --rbind / "$0" && mount --make-rslave "$0" && exec chroot "$0" "$@"')


def has_mounted_root():
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return any(line.split()[4] == "/" for line in mounts)


def hold_specs(case, folder):
    """podman refuses a device that two files describe: one test at a time writes files there."""
    os.makedirs(folder, exist_ok=True)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    case.addCleanup(os.close, fd)
    fcntl.flock(fd, fcntl.LOCK_EX)


def why_not():
    """Why no container can be run here; None: it can."""
    if os.geteuid() != 0:
        return "needs root"
    for program in ("podman", "runc"):
        if not shutil.which(program):
            return f"{program} is not installed"
    with Podman() as podman:
        tried = podman.run("true")
        return f"podman cannot run here: {tried.stderr.strip()}" if tried.returncode else None


class Podman:
    """Its state in a folder of its own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-podman-")
        self.specs = os.path.join(self.folder, "cdi")
        os.mkdir(self.specs)
        self.started = []
        self.prefix, self.as_a_mount = [], None
        if not has_mounted_root():
            # Apart from what is removed with all that is in it, should the mount be seen here.
            self.as_a_mount = tempfile.mkdtemp(prefix="cleave-root-")
            self.prefix = ["unshare", "--mount", "--propagation=unchanged", "sh", "-c",
                           AS_A_MOUNT, self.as_a_mount]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for name in self.started:
            self.call("rm", "--force", "--time=0", name)
        # It removes networks, too: none of the machine's.
        self.call("--network-config-dir", self.folder, "system", "reset", "--force")
        subprocess.run(["umount", "--lazy", os.path.join(self.folder, "root", "overlay")],
                       stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.as_a_mount:
            subprocess.run(["umount", "--lazy", "--recursive", self.as_a_mount],
                           stderr=subprocess.DEVNULL, check=False)
            os.rmdir(self.as_a_mount)

    def call(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True,
                              check=False, timeout=120)

    def command(self, *arguments):
        return [*self.prefix, "podman", "--root", os.path.join(self.folder, "root"), "--runroot",
                os.path.join(self.folder, "run"), "--tmpdir", os.path.join(self.folder, "tmp"),
                "--runtime=runc", "--cgroup-manager=cgroupfs", "--events-backend=none",
                *arguments]

    def options(self, devices, rootfs):
        return ["--network=none", *LIMITS, *(f"--device={each}" for each in devices),
                "--rootfs", rootfs]

    def run(self, *program, devices=(), rootfs="/:O", user=0, env=None):
        variables = [f"--env={name}={value}" for name, value in (env or {}).items()]
        return self.call("run", "--rm", f"--user={user}", *variables,
                         *self.options(devices, rootfs), *program)

    def spawn(self, *program, devices=(), rootfs="/:O"):
        return subprocess.Popen(
            self.command("run", "--rm", *self.options(devices, rootfs), *program),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def start(self, name, *program, devices=(), rootfs="/:O"):
        self.started.append(name)
        answer = self.call("run", "--detach", "--name", name,
                           *self.options(devices, rootfs), *program)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()

    def inside(self, name, *program):
        return self.call("exec", name, *program)

    def kill(self, name):
        return self.call("kill", "--signal=KILL", name)
