# SPDX-License-Identifier: Apache-2.0
"""A double of kubelet, as far as plugins see it: its folder, its registration, its device manager
with the ids of each container, and its pod-resources API.

What it does follows kubelet's: sockets in its folder are removed when it starts, ids are
taken from what is healthy and free (as the plugin prefers), Allocate is called once for
each resource of a container, what containers have is kept over a restart and Allocate is
not called again, PreStartContainer is called before each start."""
import os
import random
import threading
import time
from concurrent import futures

import grpc
from messages import compiled

# The most that kubelet reads of a message: grpc-go's default (clientconn.go).
MESSAGE_MOST = 4 << 20
MODULES = compiled()
plugin_pb = MODULES["device_plugin_pb2"]
plugin_grpc = MODULES["device_plugin_pb2_grpc"]
pods_pb = MODULES["pod_resources_pb2"]
pods_grpc = MODULES["pod_resources_pb2_grpc"]


class Refused(Exception):
    """A pod that is not admitted, or a container that cannot start."""


class Plugin:
    """A resource whose plugin has registered."""

    def __init__(self, kubelet, request):
        self.kubelet, self.name, self.request = kubelet, request.resource_name, request
        path = os.path.join(kubelet.plugins, request.endpoint)
        self.channel = grpc.insecure_channel(f"unix://{path}", options=[
            ("grpc.max_receive_message_length", MESSAGE_MOST)])
        self.stub = plugin_grpc.DevicePluginStub(self.channel)
        self.devices, self.updates, self.is_over = {}, 0, False
        self.changed = threading.Condition()
        self.stream = self.stub.ListAndWatch(plugin_pb.Empty(), wait_for_ready=True)
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        try:
            for message in self.stream:
                with self.changed:
                    self.devices = {d.ID: d for d in message.devices}
                    self.updates += 1
                    self.changed_at = time.monotonic()
                    self.changed.notify_all()
                with self.kubelet.lock:
                    self.kubelet.lock.notify_all()
        except grpc.RpcError:
            pass
        with self.changed:
            self.is_over, self.devices = True, {}
            self.changed.notify_all()

    def healthy(self):
        return {name for name, d in self.devices.items() if d.health == "Healthy"}

    def wait(self, condition, seconds=60):
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self), seconds), self.devices
        return self

    def close(self):
        self.stream.cancel()
        self.channel.close()


class Services(plugin_grpc.RegistrationServicer, pods_grpc.PodResourcesListerServicer):
    def __init__(self, kubelet):
        self.kubelet = kubelet

    def Register(self, request, context):
        if request.version != "v1beta1" or self.kubelet.refuse:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "unsupported version")
        self.kubelet.register(request)
        return plugin_pb.Empty()

    def List(self, request, context):
        answer = self.kubelet.list()
        self.kubelet.n_lists += 1
        self.kubelet.may_answer.wait()
        return answer


class Kubelet:
    def __init__(self, folder):
        self.folder = folder
        self.plugins = os.path.join(folder, "device-plugins")
        for name in ("device-plugins", "pod-resources", "plugins", "plugins_registry"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        self.lock = threading.Condition()
        self.registered, self.registrations = {}, []
        self.pods = {}  # (namespace, name): {container: {resource: [ids]}}
        self.inits = {}  # (namespace, name): the names of its init containers
        self.starts = {}  # the CDI devices in the answers of Allocate
        self.answers = {}  # (resource, *ids): the answer of Allocate
        self.refuse, self.n_lists, self.servers = False, 0, []
        self.hidden = set()  # pods that it does not know yet
        self.may_answer = threading.Event()  # clear: the answers to List are late
        self.may_answer.set()

    # --- Start and end ---

    def serve(self, path, add):
        server = grpc.server(futures.ThreadPoolExecutor(8))
        add(Services(self), server)
        server.add_insecure_port(f"unix:{path}")
        server.start()
        self.servers.append(server)

    def start(self):
        for name in os.listdir(self.plugins):
            os.unlink(os.path.join(self.plugins, name))
        self.serve(os.path.join(self.folder, "pod-resources", "kubelet.sock"),
                   pods_grpc.add_PodResourcesListerServicer_to_server)
        self.serve(os.path.join(self.plugins, "kubelet.sock"),
                   plugin_grpc.add_RegistrationServicer_to_server)

    def stop(self):
        for server in self.servers:
            server.stop(None).wait()
        self.servers = []
        with self.lock:
            for plugin in self.registered.values():
                plugin.close()
            self.registered = {}

    def restart(self):
        self.stop()
        self.start()

    def lose_checkpoint(self):
        """It starts with a corrupt checkpoint (devicemanager/manager.go, Start: "Continue after
        failing to read checkpoint file"): containers go on running, and for kubelet they have no
        ids."""
        self.stop()
        with self.lock:
            self.pods, self.starts, self.inits = {}, {}, {}
        self.start()

    def register(self, request):
        plugin = Plugin(self, request)
        with self.lock:
            old = self.registered.get(request.resource_name)
            self.registered[request.resource_name] = plugin
            self.registrations.append(request)
            self.lock.notify_all()
        if old:
            old.close()

    def resource(self, name, seconds=60):
        """The plugin of a resource that has listed its devices."""
        with self.lock:
            assert self.lock.wait_for(
                lambda: name in self.registered and self.registered[name].updates and
                not self.registered[name].is_over, seconds), (name, list(self.registered))
            return self.registered[name]

    # --- Pods ---

    def used(self, resource):
        with self.lock:
            return {i for pod in self.pods.values() for c in pod.values()
                    for i in c.get(resource, ())}

    def list(self):
        answer = pods_pb.ListPodResourcesResponse()
        with self.lock:
            for (namespace, name), containers in self.pods.items():
                if (namespace, name) in self.hidden:
                    continue
                pod = answer.pod_resources.add(name=name, namespace=namespace)
                for container, resources in containers.items():
                    if container in self.inits.get((namespace, name), ()):
                        continue  # podresources/server_v1.go: only spec.containers
                    one = pod.containers.add(name=container)
                    for resource, ids in resources.items():
                        # In two parts, as for two NUMA nodes.
                        for piece in (ids[:1], ids[1:]):
                            if piece:
                                one.devices.add(resource_name=resource, device_ids=piece)
        return answer

    def choose(self, plugin, wanted, reusable):
        reused = [i for i in reusable if i in plugin.devices][:wanted]
        if len(reused) == wanted:
            return reused
        free = sorted(plugin.healthy() - self.used(plugin.name) | set(reused))
        if len(free) < wanted:
            raise Refused(f"{plugin.name}: {wanted} wanted, {len(free)} available")
        random.shuffle(free)
        answer = plugin.stub.GetPreferredAllocation(plugin_pb.PreferredAllocationRequest(
            container_requests=[{"available_deviceIDs": free,
                                 "must_include_deviceIDs": reused,
                                 "allocation_size": wanted}]), timeout=60)
        preferred = [i for i in answer.container_responses[0].deviceIDs if i in free]
        rest = [i for i in free if i not in set(preferred)]
        return (preferred + rest)[:wanted]

    def allocate(self, plugin, ids):
        try:
            answer = plugin.stub.Allocate(plugin_pb.AllocateRequest(
                container_requests=[{"devices_ids": ids, "of_tomorrow": 5}],
                of_tomorrow=b"unknown"), timeout=30)
        except grpc.RpcError as error:
            raise Refused(error.details()) from error
        (given,) = answer.container_responses
        self.answers[(plugin.name, *sorted(ids))] = given
        return [d.name for d in given.cdi_devices]

    def answer(self, name, container, namespace="default"):
        """All that the container gets by Allocate, of all its resources: what kubelet keeps in its
        checkpoint (devicemanager/pod_devices.go, deviceRunContainerOptions)."""
        envs, annotations, mounts, devices = {}, {}, {}, {}
        for resource, ids in self.pods[(namespace, name)][container].items():
            given = self.answers[(resource, *sorted(ids))]
            envs.update(given.envs)
            annotations.update(given.annotations)
            mounts.update((m.container_path, m) for m in given.mounts)
            devices.update((d.container_path, d) for d in given.devices)
        return envs, annotations, mounts, devices

    def admit(self, name, containers, namespace="default", reusable=None, order=None, init=None):
        """containers, init: {name: {resource: count}}. Returns the CDI devices of each container.
        The ids of init containers are used again, each by one container (devicemanager/manager.go,
        Allocate)."""
        key, given = (namespace, name), {}
        again = {resource: list(ids) for resource, ids in (reusable or {}).items()}
        self.inits[key] = set(init or ())
        try:
            for container, resources in {**(init or {}), **containers}.items():
                items = list(resources.items())
                if order is None:
                    random.shuffle(items)
                for resource, wanted in items:
                    plugin = self.resource(resource)
                    ids = self.choose(plugin, wanted, again.get(resource, ()))
                    names = self.allocate(plugin, ids)
                    with self.lock:
                        self.pods.setdefault(key, {}).setdefault(container, {})[resource] = ids
                    given.setdefault(container, []).extend(names)
                    rest = [i for i in again.get(resource, ()) if i not in set(ids)]
                    again[resource] = ids + rest if container in self.inits[key] else rest
        except Refused:
            self.delete(name, namespace)
            raise
        self.starts[key] = given
        return given

    def start_container(self, name, container, namespace="default"):
        for resource, ids in self.pods[(namespace, name)][container].items():
            try:
                self.resource(resource).stub.PreStartContainer(
                    plugin_pb.PreStartContainerRequest(devices_ids=ids, of_tomorrow="x"),
                    timeout=30)
            except grpc.RpcError as error:
                raise Refused(error.details()) from error
        return self.starts[(namespace, name)].get(container, [])

    def delete(self, name, namespace="default"):
        with self.lock:
            self.pods.pop((namespace, name), None)
            self.starts.pop((namespace, name), None)
            self.inits.pop((namespace, name), None)
