#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An install puts each file in its place, and the installed programs run.

Arguments: the build folder, its prefix, its libdir."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tree

ALWAYS = ("bin/cleave", "bin/cleaved", "include/cleave.h", "lib/systemd/system/cleaved.service",
          "lib/systemd/system/cleaved.socket", "lib/systemd/system/cleave-up@.service", "bin/cleave-services",
          "lib/systemd/user/cleaved.service",
          "lib/systemd/user/cleaved.socket", "lib/sysusers.d/cleave.conf",
          "lib/tmpfiles.d/cleave.conf", "lib/ocf/resource.d/cleave/gpu",
          "lib/ocf/resource.d/cleave/pool", "lib/ocf/lib/cleave/functions",
          "{libdir}/libcleave.so.0", "{libdir}/cleave/libcleave-opencl.so",
          "{libdir}/pkgconfig/libcleave.pc",
          "share/man/man1/cleave.1", "share/man/man1/cleave-run.1", "share/man/man8/cleaved.8",
          "bin/cleave-kubelet", "share/man/man8/cleave-kubelet.8",
          "share/bash-completion/completions/cleave", "share/zsh/site-functions/_cleave",
          "share/fish/vendor_completions.d/cleave.fish", "share/cleave/cleave.json",
          "share/cleave/cleave.rules.yml")


def main():
    build, prefix, libdir = sys.argv[1:]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet",
                        "--destdir", folder], check=True, stdout=subprocess.DEVNULL)
        root = Path(folder + prefix)
        for name in ALWAYS:
            if not (root / name.format(libdir=libdir)).exists():
                wrong.append(f"{name.format(libdir=libdir)} is not installed")
        environment = dict(os.environ, LD_LIBRARY_PATH=str(root / libdir))
        for program in ("bin/cleave", "bin/cleaved", "bin/cleave-kubelet"):
            done = subprocess.run([root / program, "--version"], env=environment,
                                  capture_output=True, text=True)
            if done.returncode or not done.stdout.startswith("cleave"):
                wrong.append(f"{program} --version: {done.stdout}{done.stderr}".strip())
    tree.finish(wrong, len(ALWAYS) + 3)


if __name__ == "__main__":
    sys.exit(main())
