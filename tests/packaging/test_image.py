# SPDX-License-Identifier: Apache-2.0
"""The image for Kubernetes, built as in its guide, but on a Debian created here in place of the
published one; and the commands that the chart runs in it.

usage: test_image.py PACKAGES BASE"""
import os
import re
import subprocess
import sys

import root as roots

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bridge"))
import podman as podman_here  # noqa: E402

SOURCES = os.path.join(HERE, "..", "..")
BASE_IMAGE = "docker.io/library/debian:bookworm-slim"
IMAGE = "localhost/cleave:0.1.0"
SKIP = 77


def must(done):
    assert done.returncode == 0, (done.args, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def import_base(podman, folder):
    with subprocess.Popen(["tar", "-C", folder, "-c", "."], stdout=subprocess.PIPE) as tar:
        must(subprocess.run(podman.command("import", "-", BASE_IMAGE), stdin=tar.stdout,
                            capture_output=True, text=True, check=False))


def build(podman, packages):
    must(podman.call("build", "--isolation=chroot", "--network=host", *podman_here.LIMITS,
                     "-t", IMAGE, "-f",
                     os.path.join(SOURCES, "packaging/kubernetes/Containerfile"), packages))


def run(podman, *program):
    return must(podman.call("run", "--rm", "--network=none", *podman_here.LIMITS, IMAGE, *program))


def commands_of_the_chart():
    templates = os.path.join(SOURCES, "packaging/kubernetes/chart/templates")
    commands = set()
    for name in os.listdir(templates):
        with open(os.path.join(templates, name), encoding="utf-8") as file:
            commands |= set(re.findall(r"command: \[([^],]*)", file.read()))
    return commands


def check(podman):
    for program in sorted(commands_of_the_chart() - {"sh"}):
        assert "0.1.0" in run(podman, program, "--version"), program
    gates = run(podman, "sh", "-c", "cp -r --remove-destination /usr/lib/*/cleave/. /opt && ls /opt")
    for name in ("libcleave-opencl.so", "libcleave-cuda.so", "libcleave-hip.so",
                 "libcleave-preload.so", "cleave-cdi-hook", "vendors"):
        assert name in gates.split(), (name, gates)
    assert run(podman, "sh", "-c", "dpkg -l | grep -c -e slurm -e dbgsym || true").strip() == "0"


def main():
    packages, base = map(os.path.abspath, sys.argv[1:3])
    why_not = podman_here.why_not()
    if why_not or not os.path.isdir(packages):
        print(why_not or "there are no packages: ./dev package --test")
        return SKIP
    roots.make_base(base, [], "bookworm")
    with podman_here.Podman() as podman:
        import_base(podman, base)
        build(podman, packages)
        check(podman)
    return 0


if __name__ == "__main__":
    sys.exit(main())
