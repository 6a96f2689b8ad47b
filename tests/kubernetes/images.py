# SPDX-License-Identifier: Apache-2.0
"""Images for a cluster, of layers that are made here: nothing is pulled.  All have a small Debian
with PoCL as their first layer, which is kept."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile

import bed
import cluster

sys.path.insert(0, os.path.join(bed.ROOT, "tests/bridge"))
import engine_root  # noqa: E402

sys.path.insert(0, os.path.join(bed.ROOT, "tests/packaging"))
import root as roots  # noqa: E402

FOLDER = os.path.join(cluster.CACHE, "cleave/kubernetes/node")
LIBDIR = "lib/x86_64-linux-gnu"
# Of the node; images do not have them.
FOR_NODES = ("etcd-server", "containerd", "runc", "containernetworking-plugins", "iproute2",
             "iptables", "tini", "procps")
# What packages of cleave depend on, and drivers and programs for OpenCL.
FOR_IMAGES = ("ocl-icd-libopencl1", "pocl-opencl-icd", "clinfo", "libcurl4", "libfuse3-3",
              "libjansson4", "libmicrohttpd12", "libncurses6", "libnettle8", "libnghttp2-14",
              "libprotobuf-c1", "libsmartcols1", "libsqlite3-0", "libsystemd0", "libyaml-0-2")
LEFT_OUT = (*engine_root.NOT_IN_IMAGE, "./usr/bin/etcd*", "./usr/lib/cni", "./usr/bin/ctr",
            "./var/lib/dpkg", "./usr/share/locale")


def make_base(release):
    """The root of a node, of this release of Debian, and the first layer of images, of Debian 12, if
    they are not there yet."""
    os.makedirs(FOLDER, exist_ok=True)
    base, layer = os.path.join(FOLDER, "bookworm"), os.path.join(FOLDER, "bookworm.tar")
    roots.make_base(base, sorted({*FOR_NODES, *FOR_IMAGES}), "bookworm")
    if not os.path.exists(layer):
        pack(base, layer + ".new", *(f"--exclude={each}" for each in LEFT_OUT))
        os.rename(layer + ".new", layer)
    if release == "bookworm":
        return base, layer
    newer = os.path.join(FOLDER, release)
    roots.make_base(newer, sorted(FOR_NODES), release)
    return newer, layer


def pack(folder, path, *options):
    subprocess.run(["tar", "-C", folder, "--owner=0", "--group=0", *options, "-cf", path, "."],
                   check=True)
    return path


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def installed(build, folder):
    """What the packages install, as a layer: the files are where those of Debian's packages are."""
    top = os.path.join(folder, "installed")
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", top],
                   check=True, stdout=subprocess.DEVNULL)
    local = os.path.join(top, "usr/local")
    if os.path.isdir(local):
        subprocess.run(["cp", "-a", f"{local}/.", os.path.join(top, "usr")], check=True)
        shutil.rmtree(local)
        # Where programs of this build look for their own files.
        for name in (LIBDIR, "libexec"):
            os.makedirs(os.path.join(local, name))
            os.symlink(f"/usr/{name}/cleave", os.path.join(local, name, "cleave"))
    return pack(top, os.path.join(folder, "installed.tar"))


def with_files(folder, name, files):
    """A layer of these files; files: {path: source}."""
    top = os.path.join(folder, name)
    for path, source in files.items():
        where = os.path.join(top, path.lstrip("/"))
        os.makedirs(os.path.dirname(where), exist_ok=True)
        shutil.copy(source, where)
    return pack(top, os.path.join(folder, name + ".tar"))


def archive(path, images):
    """As `docker save` writes it; images: {tag: the paths of its layers}."""
    digests, manifest = {}, []
    with tarfile.open(path, "w") as tar:
        for number, (tag, layers) in enumerate(images.items()):
            for layer in layers:
                if layer not in digests:
                    digests[layer] = digest(layer)
                    tar.add(layer, digests[layer] + ".tar")
            config = {"architecture": "amd64", "os": "linux",
                      "config": {"Cmd": ["sleep", "infinity"],
                                 "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]},
                      "rootfs": {"type": "layers",
                                 "diff_ids": ["sha256:" + digests[each] for each in layers]}}
            add_text(tar, path, f"{number}.json", config)
            manifest.append({"Config": f"{number}.json", "RepoTags": [tag],
                             "Layers": [digests[each] + ".tar" for each in layers]})
        add_text(tar, path, "manifest.json", manifest)
    return path


def add_text(tar, path, name, what):
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(what, file)
    tar.add(path + ".part", name)
    os.unlink(path + ".part")
