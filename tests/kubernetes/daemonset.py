# SPDX-License-Identifier: Apache-2.0
"""A container of the chart's DaemonSet under podman: with the mounts, the variables and the
privileges that Helm prints, and the programs of this build on the machine's own files."""
import os

import helm


class Container:
    """folders: where the folders of the host are here."""

    def __init__(self, values, name, folders):
        self.objects = helm.documents(values)
        self.folders = folders
        self.pod = next(each["spec"]["template"]["spec"] for each in self.objects
                        if each["metadata"]["name"] == "cleave-node"
                        and each["kind"] == "DaemonSet")
        self.spec = next(each for each in self.pod["initContainers"] + self.pod["containers"]
                         if each["name"] == name)

    def settings(self, name):
        return next(each["data"][name] for each in self.objects if each["kind"] == "ConfigMap")

    def source_of(self, volume):
        if "configMap" in volume:
            return self.folders["settings"]
        if "emptyDir" in volume:
            return self.folders["empty"]
        return self.folders[volume["hostPath"]["path"]]

    def mounts(self):
        volumes = {each["name"]: each for each in self.pod["volumes"]}
        for mount in self.spec["volumeMounts"]:
            source = self.source_of(volumes[mount["name"]])
            mode = "ro" if mount.get("readOnly") else "rw"
            if mount.get("mountPropagation") == "HostToContainer":
                mode += ",rslave"
            yield f"--volume={source}:{mount['mountPath']}:{mode}"

    def privileges(self):
        context = self.spec["securityContext"]
        if context.get("privileged"):
            yield "--privileged"
        if context.get("readOnlyRootFilesystem"):
            # A container of Kubernetes has no folders for scratch beside its volumes.
            yield from ("--read-only", "--read-only-tmpfs=false")
        if context.get("allowPrivilegeEscalation") is False:
            yield "--security-opt=no-new-privileges"
        for capability in context.get("capabilities", {}).get("drop", []):
            yield f"--cap-drop={capability.lower()}"
        for capability in context.get("capabilities", {}).get("add", []):
            yield f"--cap-add={capability.lower()}"

    def variables(self):
        for each in self.spec.get("env", []):
            yield f"--env={each['name']}={each.get('value', 'node1')}"

    def options(self):
        return [*self.mounts(), *self.privileges(), *self.variables()]
