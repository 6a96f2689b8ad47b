# SPDX-License-Identifier: Apache-2.0
"""Engines that this release of Debian does not have yet, in a root of the next one, and an image
for them that is made of the same files: nothing is pulled.

The root is made once and kept in a folder; each run writes over a copy of its own, in mount and
process namespaces of their own, and all of it is gone with them."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "packaging"))
import root  # noqa: E402

RELEASE = os.environ.get("CLEAVE_ENGINES_FROM", "trixie")
ENGINES = ("docker.io", "docker-cli", "docker-compose", "containerd", "runc", "iptables")
PROGRAMS = ("clinfo", "ocl-icd-libopencl1", "pocl-opencl-icd", "python3-pyopencl")
NOT_IN_IMAGE = ("./usr/bin/*docker*", "./usr/sbin/*docker*", "./usr/bin/containerd*",
                "./usr/libexec/docker", "./usr/share/doc", "./var/cache", "./var/lib/apt",
                "./made-with")
IMAGE = "inference:1"
# PID 1 of the namespaces; what runs in there comes by nsenter.
ENTER = r"""
set -e
top=$1 base=$2 specs=$3
shift 3
mount -t tmpfs tmpfs "$top"
mkdir "$top/r" "$top/upper" "$top/work"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$top/upper,workdir=$top/work" "$top/r"
cd "$top/r"
for folder in run tmp var/lib; do mount -t tmpfs tmpfs "$folder"; done
mount -t proc proc proc
for folder in /sys /dev "$@"; do
	mkdir -p ".$folder"
	mount --rbind "$folder" ".$folder"
done
mkdir -p run/cdi
mount --bind "$specs" run/cdi
pivot_root . .
umount -l .
cd /
echo ready
exec cat
"""


def make(folder, release, engines):
    """The root and the image, if they are not there yet."""
    os.makedirs(folder, exist_ok=True)
    base, image = (os.path.join(folder, release + ending) for ending in ("", ".tar"))
    root.make_base(base, sorted({*engines, *PROGRAMS}), release)
    if not os.path.exists(image):
        make_image(base, image)
    return base, image


def make_image(base, path):
    """An archive as `docker save` writes it, of one layer."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        layer = os.path.join(folder, "layer.tar")
        subprocess.run(["tar", "-C", base, *(f"--exclude={each}" for each in NOT_IN_IMAGE), "-cf",
                        layer, "."], check=True)
        with open(layer, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        config = {"architecture": "amd64", "os": "linux",
                  "config": {"Cmd": ["sleep", "infinity"],
                             "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]},
                  "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}}
        manifest = [{"Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]
        for name, what in (("config.json", config), ("manifest.json", manifest)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(what, file)
        with tarfile.open(os.path.join(folder, "image"), "w") as archive:
            for name in ("manifest.json", "config.json", "layer.tar"):
                archive.add(os.path.join(folder, name), name)
        os.rename(os.path.join(folder, "image"), path)


class Root:
    """folders: of this machine, under the same names in there; specs: what is read as
    /var/run/cdi."""

    def __init__(self, base, specs, folders):
        self.top = tempfile.mkdtemp(prefix="cleave-engines-")
        self.init = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private",
             "sh", "-c", ENTER, "sh", self.top, base, specs, *folders],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.init.stdout.readline() == "ready\n"
        with open(f"/proc/{self.init.pid}/task/{self.init.pid}/children", encoding="ascii") as file:
            self.pid = file.read().split()[0]

    def close(self):
        self.init.kill()
        self.init.wait()
        self.init.stdin.close()
        self.init.stdout.close()
        shutil.rmtree(self.top, ignore_errors=True)

    def command(self, *words):
        return ["nsenter", "--target", self.pid, "--mount", "--pid", "--", "env", "-i",
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *words]

    def call(self, *words, **more):
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False,
                              timeout=120, **more)

    def write(self, path, text):
        done = self.call("sh", "-c", 'mkdir -p "$(dirname "$1")"; cat >"$1"', "sh", path,
                         input=text)
        assert done.returncode == 0, done.stderr

    def start_daemon(self, *words, answers):
        """Once these words succeed."""
        log = os.path.join(self.top, "log")
        with open(log, "w", encoding="utf-8") as file:
            daemon = subprocess.Popen(self.command(*words), stdin=subprocess.DEVNULL, stdout=file,
                                      stderr=file)
        until = time.monotonic() + 60
        while self.call(*answers).returncode != 0:
            if time.monotonic() > until or daemon.poll() is not None:
                with open(log, encoding="utf-8") as file:
                    raise AssertionError(file.read()[-3000:])
            time.sleep(.1)
        return daemon
