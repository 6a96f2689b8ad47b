# SPDX-License-Identifier: Apache-2.0
"""Kubelet's gRPC messages, compiled from a separate text: nothing here is read from src. It
includes fields that cleave does not use, and some that do not exist yet, to test unknown fields.

Fields that cleave does not use are in it as well, and some that there are not yet, so that
what it does not know is met."""
import importlib
import os
import subprocess
import sys
import tempfile

DEVICE_PLUGIN = """
syntax = "proto3";
package v1beta1;
service Registration { rpc Register(RegisterRequest) returns (Empty) {} }
service DevicePlugin {
  rpc GetDevicePluginOptions(Empty) returns (DevicePluginOptions) {}
  rpc ListAndWatch(Empty) returns (stream ListAndWatchResponse) {}
  rpc GetPreferredAllocation(PreferredAllocationRequest) returns (PreferredAllocationResponse) {}
  rpc Allocate(AllocateRequest) returns (AllocateResponse) {}
  rpc PreStartContainer(PreStartContainerRequest) returns (Empty) {}
  rpc NotThere(Empty) returns (Empty) {}
}
message Empty {}
message DevicePluginOptions {
  bool pre_start_required = 1;
  bool get_preferred_allocation_available = 2;
}
message RegisterRequest {
  string version = 1;
  string endpoint = 2;
  string resource_name = 3;
  DevicePluginOptions options = 4;
}
message ListAndWatchResponse { repeated Device devices = 1; }
message TopologyInfo { repeated NUMANode nodes = 1; }
message NUMANode { int64 ID = 1; }
message Device { string ID = 1; string health = 2; TopologyInfo topology = 3; }
message PreStartContainerRequest { repeated string devices_ids = 1; string of_tomorrow = 99; }
message PreferredAllocationRequest {
  repeated ContainerPreferredAllocationRequest container_requests = 1;
}
message ContainerPreferredAllocationRequest {
  repeated string available_deviceIDs = 1;
  repeated string must_include_deviceIDs = 2;
  int32 allocation_size = 3;
}
message PreferredAllocationResponse {
  repeated ContainerPreferredAllocationResponse container_responses = 1;
}
message ContainerPreferredAllocationResponse { repeated string deviceIDs = 1; }
message AllocateRequest {
  repeated ContainerAllocateRequest container_requests = 1;
  bytes of_tomorrow = 77;
}
message ContainerAllocateRequest { repeated string devices_ids = 1; int64 of_tomorrow = 50; }
message CDIDevice { string name = 1; }
message AllocateResponse { repeated ContainerAllocateResponse container_responses = 1; }
message ContainerAllocateResponse {
  map<string, string> envs = 1;
  repeated Mount mounts = 2;
  repeated DeviceSpec devices = 3;
  map<string, string> annotations = 4;
  repeated CDIDevice cdi_devices = 5;
}
message Mount { string container_path = 1; string host_path = 2; bool read_only = 3; }
message DeviceSpec { string container_path = 1; string host_path = 2; string permissions = 3; }
"""

POD_RESOURCES = """
syntax = "proto3";
package v1;
service PodResourcesLister {
  rpc List(ListPodResourcesRequest) returns (ListPodResourcesResponse) {}
}
message ListPodResourcesRequest {}
message ListPodResourcesResponse { repeated PodResources pod_resources = 1; }
message PodResources {
  string name = 1;
  string namespace = 2;
  repeated ContainerResources containers = 3;
  repeated int64 cpu_ids = 4;
}
message ContainerResources {
  string name = 1;
  repeated ContainerDevices devices = 2;
  repeated int64 cpu_ids = 3;
}
message ContainerDevices {
  string resource_name = 1;
  repeated string device_ids = 2;
  TopologyInfo topology = 3;
}
message TopologyInfo { repeated NUMANode nodes = 1; }
message NUMANode { int64 ID = 1; }
"""

REGISTRATION = """
syntax = "proto3";
package pluginregistration;
service Registration {
  rpc GetInfo(InfoRequest) returns (PluginInfo) {}
  rpc NotifyRegistrationStatus(RegistrationStatus) returns (RegistrationStatusResponse) {}
}
message PluginInfo {
  string type = 1;
  string name = 2;
  string endpoint = 3;
  repeated string supported_versions = 4;
}
message RegistrationStatus { bool plugin_registered = 1; string error = 2; }
message RegistrationStatusResponse {}
message InfoRequest {}
"""

DRA = """
syntax = "proto3";
package k8s.io.kubelet.pkg.apis.dra.v1;
service DRAPlugin {
  rpc NodePrepareResources(NodePrepareResourcesRequest) returns (NodePrepareResourcesResponse) {}
  rpc NodeUnprepareResources(NodeUnprepareResourcesRequest)
      returns (NodeUnprepareResourcesResponse) {}
}
message NodePrepareResourcesRequest { repeated Claim claims = 1; }
message NodePrepareResourcesResponse { map<string, NodePrepareResourceResponse> claims = 1; }
message NodePrepareResourceResponse { repeated Device devices = 1; string error = 2; }
message Device {
  repeated string request_names = 1;
  string pool_name = 2;
  string device_name = 3;
  repeated string cdi_device_ids = 4;
  optional string share_id = 5;
}
message NodeUnprepareResourcesRequest { repeated Claim claims = 1; }
message NodeUnprepareResourcesResponse { map<string, NodeUnprepareResourceResponse> claims = 1; }
message NodeUnprepareResourceResponse { string error = 1; }
message Claim { string namespace = 1; string uid = 2; string name = 3; }
"""

# The fields for one pod's container, of kubelet's requests to a container runtime.
CRI = """
syntax = "proto3";
package runtime.v1;
service RuntimeService {
  rpc RunPodSandbox(RunPodSandboxRequest) returns (RunPodSandboxResponse) {}
  rpc StopPodSandbox(PodSandbox) returns (Empty) {}
  rpc RemovePodSandbox(PodSandbox) returns (Empty) {}
  rpc CreateContainer(CreateContainerRequest) returns (CreateContainerResponse) {}
  rpc StartContainer(Container) returns (Empty) {}
  rpc StopContainer(Container) returns (Empty) {}
  rpc ExecSync(ExecSyncRequest) returns (ExecSyncResponse) {}
}
message Empty {}
message PodSandbox { string pod_sandbox_id = 1; }
message Container { string container_id = 1; int64 timeout = 2; }
message RunPodSandboxRequest { PodSandboxConfig config = 1; }
message RunPodSandboxResponse { string pod_sandbox_id = 1; }
message PodSandboxMetadata { string name = 1; string uid = 2; string namespace = 3; }
message PodSandboxConfig {
  PodSandboxMetadata metadata = 1;
  string log_directory = 3;
  LinuxPodSandboxConfig linux = 8;
}
message LinuxPodSandboxConfig {
  string cgroup_parent = 1;
  LinuxSandboxSecurityContext security_context = 2;
}
message LinuxSandboxSecurityContext { NamespaceOption namespace_options = 1; }
enum NamespaceMode { POD = 0; CONTAINER = 1; NODE = 2; }
message NamespaceOption { NamespaceMode network = 1; NamespaceMode pid = 2; }
message CreateContainerRequest {
  string pod_sandbox_id = 1;
  ContainerConfig config = 2;
  PodSandboxConfig sandbox_config = 3;
}
message CreateContainerResponse { string container_id = 1; }
message ContainerMetadata { string name = 1; }
message ImageSpec { string image = 1; }
message ContainerConfig {
  ContainerMetadata metadata = 1;
  ImageSpec image = 2;
  repeated string command = 3;
  repeated KeyValue envs = 6;
  repeated Mount mounts = 7;
  repeated Device devices = 8;
  map<string, string> annotations = 10;
  string log_path = 11;
  LinuxContainerConfig linux = 15;
  repeated CDIDevice CDI_devices = 17;
}
message KeyValue { string key = 1; string value = 2; }
message Mount { string container_path = 1; string host_path = 2; bool readonly = 3; }
message Device { string container_path = 1; string host_path = 2; string permissions = 3; }
message CDIDevice { string name = 1; }
message LinuxContainerConfig { LinuxContainerSecurityContext security_context = 2; }
message Int64Value { int64 value = 1; }
message LinuxContainerSecurityContext {
  NamespaceOption namespace_options = 3;
  Int64Value run_as_user = 5;
}
message ExecSyncRequest { string container_id = 1; repeated string cmd = 2; int64 timeout = 3; }
message ExecSyncResponse { bytes stdout = 1; bytes stderr = 2; int32 exit_code = 3; }
"""

HEALTH = """
syntax = "proto3";
package v1;
service DRAResourceHealth {
  rpc NodeWatchResources(NodeWatchResourcesRequest) returns (stream NodeWatchResourcesResponse) {}
}
message NodeWatchResourcesRequest {}
enum HealthStatus { UNKNOWN = 0; HEALTHY = 1; UNHEALTHY = 2; }
message DeviceIdentifier { string pool_name = 1; string device_name = 2; }
message DeviceHealth {
  DeviceIdentifier device = 1;
  HealthStatus health = 2;
  int64 last_updated_time = 3;
  int64 health_check_timeout_seconds = 4;
  string message = 5;
}
message NodeWatchResourcesResponse { repeated DeviceHealth devices = 1; }
"""

TEXTS = {"device_plugin": DEVICE_PLUGIN, "pod_resources": POD_RESOURCES,
         "registration": REGISTRATION, "dra": DRA, "health": HEALTH,
         "cri": CRI}
folder = None


def compiled():
    """The modules by name, each with its messages, and with services as NAME_grpc."""
    global folder
    if not folder:
        folder = tempfile.TemporaryDirectory(prefix="cleave-proto-")
        for name, text in TEXTS.items():
            with open(os.path.join(folder.name, name + ".proto"), "w", encoding="utf-8") as file:
                file.write(text)
            subprocess.run(
                ["protoc", "-I", folder.name, "--python_out", folder.name, "--grpc_out",
                 folder.name, "--plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin",
                 name + ".proto"], check=True, cwd=folder.name)
        sys.path.insert(0, folder.name)
    return {name + ending: importlib.import_module(name + ending)
            for name in TEXTS for ending in ("_pb2", "_pb2_grpc")}
