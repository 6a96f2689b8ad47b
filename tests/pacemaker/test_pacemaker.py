#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pools with Pacemaker: two nodes with a GPU each, corosync and Pacemaker as they are in Debian.

usage: test_pacemaker.py BUILD [TEST...]"""
import signal
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import node as nodes
from node import wait_until

SKIP = 77
POOL = "a40"
OCF = "/usr/lib/ocf/resource.d/cleave"
SWITCH = ("primitive switch stonith:fence_test params pcmk_host_list='n1 n2' "
          "pcmk_host_check=static-list\nproperty stonith-enabled=true stonith-action=off\n"
          "rsc_defaults resource-stickiness=10\n")
ENVIRONMENT = ("OCF_ROOT=/usr/lib/ocf", "OCF_RESOURCE_INSTANCE=by-hand",
               f"OCF_RESKEY_pool={POOL}")


# As it is without a GPU.
TEMPLATE = """<domain type='test'>
  <name>vm1</name>
  <memory unit='MiB'>32</memory>
  <os><type arch='x86_64'>hvm</type></os>
  <devices>
  </devices>
</domain>
"""


class Case(unittest.TestCase):
    BUILD = None
    OPTIONS = {}  # of the cluster
    # The tests follow each other: the last one turns a node off.

    @classmethod
    def setUpClass(cls):
        cls.cluster = nodes.Cluster(cls.BUILD, **cls.OPTIONS)
        cls.addClassCleanup(cls.cluster.close)
        cls.first, cls.second = cls.cluster.nodes
        cls.cluster.boot()
        for node in cls.cluster.nodes:
            node.run("cleave", "pool", "create", POOL, "gpu0")
            node.start_cluster()
        wait_until(lambda: cls.online() == ["n1", "n2"])
        cls.crm(SWITCH)
        cls.add_machine("vm1")

    # --- What the cluster shows ---

    @classmethod
    def online(cls):
        """As the first one that runs sees it."""
        node = next(node for node in cls.cluster.nodes if node.init)
        return sorted(node.call("crm_node", "--partition").stdout.split())

    @classmethod
    def crm(cls, text):
        return cls.first.run("crm", "configure", "load", "update", "-", input=text)

    @classmethod
    def add_machine(cls, name, *options):
        """The commands that cleave prints, but those for libvirt's domain."""
        printed = cls.first.run("cleave", "pool", "pacemaker", POOL, name, *options)
        for line in printed.splitlines():
            if line.startswith("crm ") and "VirtualDomain" not in line and "group" not in line:
                line = line.replace(f" template=/etc/libvirt/qemu/{name}.xml", "")
                line = line.replace(f" config=/run/cleave/pacemaker/{name}.xml", "")
                cls.first.call("sh", "-c", line)

    def where(self, resource):
        """The nodes on which it runs."""
        for node in self.cluster.nodes:
            if node.init and (done := node.call("crm_resource", "--locate", "--quiet", "--resource",
                                                resource)).returncode == 0:
                return sorted(done.stdout.split())
        return []

    def settle(self):
        self.alive()[0].run("crm_resource", "--wait", "--timeout=240s")

    def alive(self):
        return [node for node in self.cluster.nodes if node.init]

    def leases(self):
        return {node.name: [name for name, _ in node.leases()] for node in self.alive()}

    def capacity(self, name):
        done = self.alive()[0].call("crm_attribute", "--node", name, "--utilization", "--name",
                                    f"gpu-{POOL}", "--query", "--quiet")
        return done.stdout.strip()

    def standby(self, name, value):
        self.first.run("crm_standby", "--node", name, "--update", value)

    def assert_only_on(self, resource, name):
        """In the end; Pacemaker also locates what it is about to start there."""
        wanted = {node.name: [resource] if node.name == name else [] for node in self.alive()}
        wait_until(lambda: self.where(f"{resource}-gpu") == [name] and wanted == {
            node: [each for each in leases if each == resource]
            for node, leases in self.leases().items()})

    def by_name(self, name):
        return next(node for node in self.cluster.nodes if node.name == name)


class Pacemaker(Case):
    def test_1_placed_where_there_is_room(self):
        wait_until(lambda: [self.capacity(each) for each in ("n1", "n2")] == ["1", "1"])
        here, = wait_until(lambda: self.where("vm1-gpu"))
        self.assert_only_on("vm1", here)
        self.add_machine("vm2")
        self.assert_only_on("vm2", "n2" if here == "n1" else "n1")
        self.add_machine("vm3")
        self.settle()
        self.assertEqual(self.where("vm3-gpu"), [])
        self.assertEqual(len(self.where("vm1-gpu") + self.where("vm2-gpu")), 2)
        failed = self.first.run("crm_mon", "--one-shot", "--output-as=xml", "--include=failures")
        self.assertNotIn("<failure ", failed)
        self.assertEqual(sorted(sum(self.leases().values(), [])), ["vm1", "vm2"])

    def test_2_room_that_comes_free_is_used(self):
        self.first.run("crm", "resource", "stop", "vm2-gpu")
        here, = wait_until(lambda: self.where("vm3-gpu"))
        self.assert_only_on("vm3", here)
        self.assertEqual(sorted(sum(self.leases().values(), [])), ["vm1", "vm3"])
        self.first.run("crm", "configure", "delete", "--force", "vm2-gpu", "vm3-gpu")
        wait_until(lambda: sum(self.leases().values(), []) == ["vm1"])

    def test_3_moves_with_standby(self):
        before, = self.where("vm1-gpu")
        after = "n2" if before == "n1" else "n1"
        self.standby(before, "on")
        self.settle()
        self.assert_only_on("vm1", after)
        self.standby(before, "off")
        self.settle()
        self.assert_only_on("vm1", after)

    def test_4_devices_that_others_hold_are_not_counted(self):
        """Taken by hand, or cordoned: the node has no room."""
        here, = self.where("vm1-gpu")
        other = self.second if here == "n1" else self.first
        other.run("cleave", "pool", "assign", POOL, "by-hand")
        wait_until(lambda: self.capacity(other.name) == "0")
        self.assertEqual(self.capacity(here), "1")
        self.standby(here, "on")
        wait_until(lambda: self.where("vm1-gpu") == [])
        self.settle()
        self.assertEqual(self.where("vm1-gpu"), [])
        other.run("cleave", "pool", "unassign", POOL, "by-hand")
        self.assert_only_on("vm1", other.name)
        self.standby(here, "off")
        self.settle()
        self.assert_only_on("vm1", other.name)
        self.by_name(here).run("cleave", "cordon", "gpu0")
        wait_until(lambda: self.capacity(here) == "0")
        self.by_name(here).run("cleave", "uncordon", "gpu0")
        wait_until(lambda: self.capacity(here) == "1")

    def agent(self, node, action, *options, agent="gpu"):
        """An action by hand: (exit code, what it prints)."""
        done = node.call("env", *ENVIRONMENT, *options, f"{OCF}/{agent}", action)
        return done.returncode, done.stdout + done.stderr

    def test_5_exit_codes(self):
        here, = self.where("vm1-gpu")
        free, full = self.second, self.first
        if here == "n2":
            free, full = full, free
        self.assertEqual(self.agent(free, "monitor")[0], 7)
        self.assertEqual(self.agent(free, "start")[0], 0)
        self.assertEqual(self.agent(free, "start")[0], 0)
        self.assertEqual(self.agent(free, "monitor")[0], 0)
        code, text = self.agent(full, "start")
        self.assertEqual((code, "is taken by another lease" in text), (1, True), text)
        self.assertEqual(self.agent(full, "monitor")[0], 7)
        self.assertEqual(self.agent(free, "stop")[0], 0)
        self.assertEqual(self.agent(free, "stop")[0], 0)
        self.assertEqual(free.leases(), [])
        for options, action, wanted, words in (
                (("OCF_RESKEY_pool=none",), "start", 5, "no device in the pool none"),
                (("OCF_RESKEY_pool=a b",), "validate-all", 6, "not the name of a pool"),
                (("OCF_RESKEY_model=NVIDIA L40S",), "validate-all", 0, ""),
                (("OCF_RESKEY_model=NVIDIA L4",), "start", 5, "is of NVIDIA L40S, not NVIDIA L4"),
                (("OCF_RESKEY_template=/x.xml",), "start", 6, "config is missing"),
                (("OCF_RESKEY_template=/x.xml", "OCF_RESKEY_config=/y.xml"), "start", 5,
                 "/x.xml cannot be read"),
                ((), "promote", 3, "usage")):
            with self.subTest(options=options, action=action):
                code, text = self.agent(free, action, *options)
                self.assertEqual((code, words in text), (wanted, True), text)
        self.assertEqual(free.leases(), [])
        free.write("/tmp/lost/cleave", "#!/bin/sh\necho '- state: assigned'\necho '  note: lost'\n")
        code, text = self.agent(free, "monitor", "PATH=/tmp/lost:/usr/sbin:/usr/bin:/sbin:/bin")
        self.assertEqual((code, "does not show" in text), (1, True), text)

    def test_5_restart_of_the_agent(self):
        """The monitor waits for it; where none runs a probe says that nothing is there."""
        here, = self.where("vm1-gpu")
        node = self.by_name(here)
        node.kill("cleaved", signal.SIGKILL)
        node.daemons["cleaved"].wait()
        probe = ("OCF_RESKEY_CRM_meta_interval=0", "OCF_RESKEY_CRM_meta_timeout=6000")
        self.assertEqual(self.agent(node, "monitor", *probe)[0], 5)
        self.assertEqual(self.agent(node, "monitor", "OCF_RESKEY_CRM_meta_interval=10000",
                                    "OCF_RESKEY_CRM_meta_timeout=6000")[0], 1)
        monitor = subprocess.Popen(
            node.command("env", *ENVIRONMENT, "OCF_RESKEY_lease=vm1",
                         "OCF_RESKEY_CRM_meta_timeout=100000", f"{OCF}/gpu", "monitor"))
        node.start_agent()
        self.assertEqual(monitor.wait(nodes.PATIENCE_S), 0)
        self.settle()
        failed = self.first.run("crm_mon", "--one-shot", "--output-as=xml", "--include=failures")
        self.assertNotIn("<failure ", failed)
        self.assert_only_on("vm1", here)

    def test_6_definition_of_the_machine(self):
        here, = self.where("vm1-gpu")
        free = self.second if here == "n1" else self.first
        config = "/run/cleave/pacemaker/vm.xml"
        options = ("OCF_RESKEY_template=/etc/vm.xml", f"OCF_RESKEY_config={config}")
        free.write("/etc/vm.xml", "<domain type='qemu'>\n  <name>vm</name>\n  <devices>\n"
                   "  </devices>\n</domain>\n")
        code, text = self.agent(free, "start", *options)
        self.assertEqual((code, "INFO: by-hand has gpu0 of a40" in text), (0, True), text)
        address = free.run("xmllint", "--xpath", "/domain/devices/hostdev/source/address", config)
        for part in ('domain="0x0000"', 'bus="0x3b"', 'slot="0x00"', 'function="0x0"'):
            self.assertIn(part, address)
        free.run("rm", config)
        self.assertEqual(self.agent(free, "monitor", *options)[0], 1)
        self.assertEqual(self.agent(free, "stop", *options)[0], 0)
        free.write("/etc/vm.xml", "<domain/>\n")
        code, text = self.agent(free, "start", *options)
        self.assertEqual((code, "has no line </devices>" in text), (1, True), text)
        self.assertEqual(free.leases(), [])

    def test_7_clean_for_ocf_tester(self):
        here, = self.where("vm1-gpu")
        free = self.second if here == "n1" else self.first
        for agent in ("gpu", "pool"):
            with self.subTest(agent):
                done = free.call("ocf-tester", "-n", "tested", "-o", f"pool={POOL}",
                                 f"{OCF}/{agent}")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("passed all tests", done.stdout)

    def test_7_without_fencing(self):
        """The agent says what can happen."""
        free = self.second if self.where("vm1-gpu") == ["n1"] else self.first
        self.assertNotIn("fencing", self.agent(free, "validate-all")[1])
        self.first.run("crm_attribute", "--name", "stonith-enabled", "--update", "false")
        code, text = self.agent(free, "validate-all")
        self.first.run("crm_attribute", "--name", "stonith-enabled", "--update", "true")
        self.assertEqual((code, "the cluster has no fencing" in text), (0, True), text)

    def test_8_both_tools_make_the_same(self):
        """crm and pcs, on files: the same resources."""
        found = []
        for tool in ("crm", "pcs"):
            self.first.run("env", f"CIB_file=/tmp/{tool}.xml", "sh", "-c", "cibadmin --empty "
                           f">/tmp/{tool}.xml; crm_attribute --name stonith-enabled --update false")
            printed = self.first.run("cleave", "pool", "pacemaker", POOL, "web", "--tool", tool,
                                     "--template", "/srv/web.xml")
            self.first.run("env", f"CIB_file=/tmp/{tool}.xml", "sh", "-ec",
                           printed.replace("\npcs ", "\npcs -f /tmp/pcs.xml "))
            found.append(self.resources(f"/tmp/{tool}.xml"))
        self.assertEqual(*found)
        self.assertEqual(found[0], {
            "primitive": ["pool-a40", "web", "web-gpu"], "clone": ["pool-a40-clone"],
            "group": ["web-with-gpu"], "utilization": [("gpu-a40", "1")],
            "parameters": [("autoset_utilization_cpu", "false"),
                           ("autoset_utilization_host_memory", "false"),
                           ("autoset_utilization_hv_memory", "false"),
                           ("config", "/run/cleave/pacemaker/web.xml"),
                           ("config", "/run/cleave/pacemaker/web.xml"),
                           ("hypervisor", "qemu:///system"), ("lease", "web"),
                           ("model", "NVIDIA L40S"), ("pool", "a40"), ("pool", "a40"),
                           ("template", "/srv/web.xml")]})

    def resources(self, path):
        tree = xml.etree.ElementTree.fromstring(self.first.run("cat", path))
        found = {kind: sorted(each.get("id") for each in tree.iter(kind))
                 for kind in ("primitive", "clone", "group")}
        for kind, element in (("utilization", "utilization"), ("parameters", "instance_attributes")):
            found[kind] = sorted((each.get("name"), each.get("value"))
                                 for each in tree.findall(f".//primitive/{element}/nvpair"))
        return found

    def test_9_a_node_dies(self):
        """corosync is killed: the node is fenced, and the resource runs on the other one."""
        before, = self.where("vm1-gpu")
        dead = self.by_name(before)
        other, = (node for node in self.cluster.nodes if node != dead)
        dead.kill("corosync", signal.SIGKILL)
        wait_until(lambda: not dead.init)
        self.assert_only_on("vm1", other.name)
        # It comes back: its leases ended with its restart, its pool did not.
        self.cluster.bring_back(dead)
        wait_until(lambda: self.online() == ["n1", "n2"])
        self.settle()
        self.assert_only_on("vm1", other.name)
        wait_until(lambda: self.capacity(before) == "1")


class VirtualDomain(Case):
    """A virtual machine behind its GPU, as in the printed commands."""
    OPTIONS = {"has_libvirt": True}

    @classmethod
    def add_machine(cls, name, *options):
        for node in cls.cluster.nodes:
            node.write(f"/etc/libvirt/qemu/{name}.xml", TEMPLATE)
        printed = cls.first.run("cleave", "pool", "pacemaker", POOL, name, *options)
        for line in printed.replace("qemu:///system", f"'{nodes.LIBVIRT}'").splitlines():
            if line.startswith("crm "):
                cls.first.run("sh", "-c", line)

    def machine(self, node):
        """The bus of the GPU of vm1 where it runs; None: it does not run there."""
        done = node.call("virsh", "-c", nodes.LIBVIRT, "-q", "dumpxml", "vm1")
        if done.returncode:
            return None
        domain = xml.etree.ElementTree.fromstring(done.stdout)
        return domain.get("id") and domain.find("devices/hostdev/source/address").get("bus")

    def assert_runs_only_on(self, name):
        wanted = {node.name: "0x3b" if node.name == name else None for node in self.alive()}
        wait_until(lambda: {node.name: self.machine(node) for node in self.alive()} == wanted)
        self.assert_only_on("vm1", name)

    def test_1_runs_with_a_gpu(self):
        here, = wait_until(lambda: self.where("vm1"))
        self.assert_runs_only_on(here)

    def test_2_moves_with_standby(self):
        before, = self.where("vm1")
        self.standby(before, "on")
        self.assert_runs_only_on("n2" if before == "n1" else "n1")
        self.standby(before, "off")

    def test_3_a_node_dies(self):
        """The other one has the machine and a GPU of its own, also when the first is back."""
        self.settle()
        before, = self.where("vm1")
        dead = self.by_name(before)
        other, = (node for node in self.cluster.nodes if node != dead)
        dead.kill("corosync", signal.SIGKILL)
        wait_until(lambda: not dead.init)
        self.assert_runs_only_on(other.name)
        self.cluster.bring_back(dead)
        wait_until(lambda: self.online() == ["n1", "n2"])
        self.settle()
        self.assert_runs_only_on(other.name)


def main():
    Case.BUILD = sys.argv.pop(1)
    reason = nodes.why_not()
    if reason:
        print(reason)
        sys.exit(SKIP)
    nodes.make_base()
    unittest.main()


if __name__ == "__main__":
    main()
