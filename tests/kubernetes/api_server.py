# SPDX-License-Identifier: Apache-2.0
"""A double of the API server, for ResourceSlices and ResourceClaims, by HTTP or HTTPS. It enforces
Kubernetes' rules for slices, as far as they are known here."""
import copy
import json
import re
import ssl
import subprocess
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from watches import Collection

SLICES = re.compile(r"/apis/resource\.k8s\.io/(v1|v1beta1|v1beta2)/resourceslices(?:/(.*))?")
MOST_DEVICES, MOST_SETS, MOST_COUNTERS = 64, 8, 32
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
NAME = re.compile(r"([a-z0-9.-]{1,63}/)?[A-Za-z_][A-Za-z0-9_]{0,31}")  # of an attribute, a capacity
# resource/validation, semverRe.
NUMBER, BUILD = r"(0|[1-9]\d*)", "[0-9a-zA-Z-]+"
PRE = rf"({NUMBER}|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
VERSION = re.compile(rf"{NUMBER}(\.{NUMBER}){{2}}(-{PRE}(\.{PRE})*)?(\+{BUILD}(\.{BUILD})*)?")
# apimachinery: IsQualifiedName of a label, IsValidLabelValue, ValidateConditions.
LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")
LABEL_NAME = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?"
                        r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)")
APART = 35  # the minor version whose counters are in slices of their own


def check_attribute(value):
    (kind,) = value.keys()
    if kind not in ("bool", "int", "string", "version"):
        return f"an attribute of type {kind}"
    if kind in ("string", "version") and len(value[kind].encode()) > 64:
        return f"{value[kind]} is too long"
    if kind == "version" and not VERSION.fullmatch(value[kind]):
        return f"{value[kind]} is no semantic version"
    return None


def check_policy(capacity, is_shared):
    """resource/validation: validateRequestPolicy."""
    policy = capacity.get("requestPolicy")
    if not policy:
        return None
    if not is_shared:
        return "a policy without allowMultipleAllocations"
    most, default = amount(capacity["value"]), amount(policy["default"])
    if "validValues" in policy:
        values = [amount(v) for v in policy["validValues"]]
        if "validRange" in policy or len(values) > 10 or sorted(set(values)) != values or \
                default not in values or values[-1] > most:
            return f"the valid values {values}"
    if "validRange" in policy:
        range_ = {key: amount(value) for key, value in policy["validRange"].items()}
        least, end, step = range_["min"], range_.get("max", most), range_.get("step", 1)
        if not least <= default <= end <= most or least + step > end or \
                (default - least) % step or (end - least) % step:
            return f"the range {range_}"
    return None


# resource/v1/types.go and v1beta2: the JSON names of the fields.
SPEC = {"driver", "pool", "nodeName", "nodeSelector", "allNodes", "devices",
        "perDeviceNodeSelection", "sharedCounters"}
DEVICE = {"name", "attributes", "capacity", "consumesCounters", "nodeName", "nodeSelector",
          "allNodes", "taints", "bindsToNode", "bindingConditions", "bindingFailureConditions",
          "allowMultipleAllocations"}
CAPACITY, POLICY = {"value", "requestPolicy"}, {"default", "validValues", "validRange"}
RANGE = {"min", "max", "step"}


def unknown_field(spec):
    """A field that no version has: the API server would drop it and only warn."""
    capacities = [c for d in spec.get("devices", []) for c in d.get("capacity", {}).values()]
    policies = [c["requestPolicy"] for c in capacities if "requestPolicy" in c]
    ranges = [p["validRange"] for p in policies if "validRange" in p]
    for objects, known in (([spec], SPEC), (spec.get("devices", []), DEVICE),
                           (capacities, CAPACITY), (policies, POLICY), (ranges, RANGE)):
        for each in objects:
            if set(each) - known:
                return f"unknown fields: {sorted(set(each) - known)}"
    return None


def check_taint(taint, minor):
    """resource/validation: validateDeviceTaint; None is an effect since 1.35."""
    effects = {"NoSchedule", "NoExecute"} | ({"None"} if minor >= APART else set())
    if set(taint) - {"key", "value", "effect", "timeAdded"}:
        return f"a field of a taint that is unknown: {sorted(taint)}"
    if not LABEL_NAME.fullmatch(taint["key"]) or not LABEL_VALUE.fullmatch(taint.get("value", "")):
        return f"the taint {taint}"
    return None if taint["effect"] in effects else f"the effect {taint['effect']} of a taint"


def check_device(device, minor=APART):
    attributes, capacities = device.get("attributes", {}), device.get("capacity", {})
    if len(attributes) + len(capacities) > 32:
        return "more than 32 attributes and capacities"
    if not all(NAME.fullmatch(name) for name in (*attributes, *capacities)):
        return "an attribute or capacity that is no identifier"
    sets = [used["counterSet"] for used in device.get("consumesCounters", [])]
    if len(sets) > 2 or len(set(sets)) != len(sets):
        return "more than two counter sets of a device"
    if any(not 0 < len(used["counters"]) <= MOST_COUNTERS
           for used in device.get("consumesCounters", [])):
        return "too many counters of a device, or none"
    taints = device.get("taints", [])
    if len(taints) > (16 if minor >= APART else 4):  # DeviceTaintsMaxLength
        return "too many taints of a device"
    found = [check_attribute(value) for value in attributes.values()] + [
        check_taint(taint, minor) for taint in taints] + [
        check_policy(capacity, device.get("allowMultipleAllocations"))
        for capacity in capacities.values()]
    return next(filter(None, found), None)


def check_slice(slice_, minor):
    """None, or the reason why Kubernetes 1.minor would refuse it."""
    is_apart = minor >= APART
    spec = slice_["spec"]
    devices, sets = spec.get("devices", []), spec.get("sharedCounters", [])
    if unknown_field(spec):
        return unknown_field(spec)
    is_large = any({"taints", "consumesCounters"} & set(d) for d in devices)
    if len(devices) > (MOST_DEVICES if is_large else 2 * MOST_DEVICES) or len(sets) > MOST_SETS:
        return "too many devices or counter sets"
    if is_apart and devices and sets:
        return "devices and counters in one slice"
    if not devices and not sets:
        return "neither devices nor counters"
    sizes = [len(s["counters"]) for s in sets]
    if (max(sizes, default=0) if is_apart else sum(sizes)) > MOST_COUNTERS:
        return "too many counters"
    if any(not s["counters"] for s in sets):
        return "a counter set without counters"
    names = [d["name"] for d in devices]
    if len(set(names)) != len(names):
        return "a name is there twice"
    for name in names + [s["name"] for s in sets]:
        if not LABEL.fullmatch(name):
            return f"{name} is no DNS label"
    for device in devices:
        why = check_device(device, minor)
        if why:
            return f"{device['name']}: {why}"
    if sum(len(used["counters"]) for d in devices
           for used in d.get("consumesCounters", [])) > 1024:
        return "too many counters of all devices"
    known = {s["name"]: s["counters"] for s in sets}
    for device in devices:
        for used in device.get("consumesCounters", []):
            if not is_apart and used["counterSet"] not in known:
                return "an unknown counter set"
            for counter in used["counters"]:
                if not is_apart and counter not in known[used["counterSet"]]:
                    return f"an unknown counter {counter}"
    return None


def unwrapped(device):
    """A device of v1beta1, whose fields but the name are in `basic` (resource/v1beta1/types.go)."""
    assert set(device) == {"name", "basic"}, device
    return {"name": device["name"], **device["basic"]}


def wrapped(slice_):
    """The slice as v1beta1 has it."""
    devices = [{"name": d["name"], "basic": {k: v for k, v in d.items() if k != "name"}}
               for d in slice_["spec"].get("devices", [])]
    return {**slice_, "spec": {**slice_["spec"], **({"devices": devices} if devices else {})}}


def check_condition(condition):
    """apimachinery, meta/v1/validation: ValidateCondition."""
    if set(condition) - {"type", "status", "reason", "message", "lastTransitionTime",
                         "observedGeneration"}:
        return f"unknown fields of a condition: {sorted(condition)}"
    if not LABEL_NAME.fullmatch(condition["type"]) or \
            condition["status"] not in ("True", "False", "Unknown"):
        return f"the condition {condition}"
    if not TIME.fullmatch(condition["lastTransitionTime"]):
        return f"the time {condition['lastTransitionTime']}"
    if not REASON.fullmatch(condition["reason"]) or len(condition["message"]) > 32768:
        return f"the reason {condition['reason']}"
    return None


def device_of(entry):
    return tuple(entry.get(key) for key in ("driver", "pool", "device", "shareID"))


def check_claim_status(claim, old):
    """resource/validation: ValidateResourceClaimStatusUpdate and validateDeviceStatus."""
    status = claim["status"]
    if status.get("allocation") != old["status"].get("allocation"):
        return "the allocation is immutable"
    allocated = {device_of(r) for r in status["allocation"]["devices"]["results"]}
    entries = status.get("devices", [])
    if len({device_of(entry) for entry in entries}) != len(entries):
        return "a device is there twice"
    for entry in entries:
        conditions = entry.get("conditions", [])
        if set(entry) - {"driver", "pool", "device", "shareID", "conditions", "data",
                         "networkData"}:
            return f"unknown fields of a device: {sorted(entry)}"
        if device_of(entry) not in allocated:
            return "must be an allocated device in the claim"
        if len(conditions) > 8 or len({c["type"] for c in conditions}) != len(conditions):
            return "too many conditions, or one twice"
        why = next(filter(None, map(check_condition, conditions)), None)
        if why:
            return why
    return None


def amount(quantity):
    """The number of a quantity, as far as claims and slices of the tests have them."""
    for suffix, factor in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if quantity.endswith(suffix):
            return int(quantity.removesuffix(suffix)) * factor
    return int(quantity)


def canonical(number):
    """As the scheduler writes a consumed capacity."""
    for suffix, factor in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if number and number % factor == 0:
            return f"{number // factor}{suffix}"
    return str(number)


def consumed(capacity, wanted):
    """What a request consumes of a capacity, None where its policy forbids the request: after
    KEP-5075 and k8s.io/dynamic-resource-allocation, structured/internal, consumed_capacity.go."""
    policy = capacity.get("requestPolicy", {})
    if wanted is None:
        return amount(policy.get("default", capacity["value"]))
    if "validValues" in policy:
        return next((v for v in map(amount, policy["validValues"]) if v >= wanted), None)
    if "validRange" in policy:
        least = amount(policy["validRange"]["min"])
        step = amount(policy["validRange"].get("step", "1"))
        wanted = least + -(-max(wanted - least, 0) // step) * step
        return wanted if wanted <= amount(policy["validRange"]["max"]) else None
    return wanted


IMMUTABLE = (lambda s: s["nodeName"], lambda s: s["driver"], lambda s: s["pool"]["name"])
# What the server drops silently where a feature gate is off (registry/resource/resourceslice,
# strategy.go, dropDisabledFields): of the slice and of its devices.
GATED = {"DRAPartitionableDevices": ({"sharedCounters"}, {"consumesCounters"}),
         "DRAConsumableCapacity": (set(), {"allowMultipleAllocations"}),
         "DRADeviceTaints": (set(), {"taints"}),
         "DRAResourceClaimDeviceStatus": (set(), set())}  # status.devices of claims


def drop_disabled(slice_, gates):
    for gate, (of_slice, of_device) in GATED.items():
        if gate in gates:
            continue
        for key in of_slice:
            slice_["spec"].pop(key, None)
        for device in slice_["spec"].get("devices", []):
            for key in of_device:
                device.pop(key, None)
            if gate == "DRAConsumableCapacity":
                for capacity in device.get("capacity", {}).values():
                    capacity.pop("requestPolicy", None)


def share_id(name, i):
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{name}-{i}"))


class ApiServer:
    def __init__(self, folder=None, minor="34", gates=frozenset(GATED)):
        self.gates = set(gates)
        self.slices, self.claims, self.minor = {}, {}, minor
        self.bound = {}  # pods to nodes
        self.requests, self.version, self.token, self.down = [], 0, "t0ken", False
        self.is_closed, self.on_bind = False, lambda body: None
        self.nodes, self.pods = Collection(self, "Node"), Collection(self, "Pod")
        self.is_without_claims = False
        self.versions = ("v1",)  # of resource.k8s.io
        self.denied = set()  # resources that the role may not change
        self.full = None  # the status of each write, as 500 where etcd has no space
        self.lock = threading.Lock()
        handler = type("Handler", (Handler,), {"api": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.scheme, self.ca = "http", None
        if folder:
            self.scheme, self.ca = "https", f"{folder}/api.crt"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                            "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                            "-keyout", f"{folder}/api.key", "-out", self.ca],
                           check=True, capture_output=True)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.ca, f"{folder}/api.key")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server.server_address[1]}"

    def kubeconfig(self, path, inline=False):
        cluster = {"server": self.url()}
        if self.ca and inline:
            import base64
            with open(self.ca, "rb") as file:
                cluster["certificate-authority-data"] = base64.b64encode(file.read()).decode()
        elif self.ca:
            cluster["certificate-authority"] = self.ca
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "here",
                       "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
                       "clusters": [{"name": "c", "cluster": cluster}],
                       "users": [{"name": "u", "user": {"token": self.token}}]}, file)

    def close(self):
        self.is_closed = True
        self.server.shutdown()
        self.server.server_close()

    # --- State ---

    def devices(self):
        with self.lock:
            return {d["name"]: d for s in self.slices.values()
                    for d in s["spec"].get("devices", [])}

    def is_whole(self):
        """There are as many slices as each of them says."""
        with self.lock:
            return self.slices and all(
                s["spec"]["pool"]["resourceSliceCount"] == len(self.slices)
                for s in self.slices.values())

    def fault_of_pool(self):
        """Why the scheduler would leave the pool out (resourceslice/validation.go, validatePool)."""
        sets = [c["name"] for s in self.slices.values() for c in s["spec"].get("sharedCounters", [])]
        if len(sets) != len(set(sets)):
            return "a counter set is there twice"
        known = self.counters()
        return next((f"{name}: an unknown counter" for name, device in self.devices().items()
                     for used in device.get("consumesCounters", [])
                     if not set(used["counters"]) <= set(known.get(used["counterSet"], ()))), None)

    def counters(self):
        with self.lock:
            return {c["name"]: c["counters"] for s in self.slices.values()
                    for c in s["spec"].get("sharedCounters", [])}

    def claim(self, name, *results, namespace="default", driver="gpu.cleave.dev", pool="node1",
              config=(), admin=False):
        """An allocated claim; results: (device, consumed capacity or None); config: of its
        allocation; admin: with adminAccess."""
        uid = f"{abs(hash((name, namespace))) % (1 << 32):08x}-1234-4567-89ab-0123456789ab"
        made = []
        for i, (device, consumed) in enumerate(results):
            result = {"request": f"r{i}", "driver": driver, "pool": pool, "device": device}
            if consumed:
                result.update(consumedCapacity=consumed, shareID=share_id(name, i))
            if admin:
                result["adminAccess"] = True
            made.append(result)
        self.claims[(namespace, name)] = {
            "metadata": {"name": name, "namespace": namespace, "uid": uid,
                         "resourceVersion": str(len(self.claims)),
                         "finalizers": ["resource.kubernetes.io/delete-protection"]},
            "spec": {"devices": {"requests": [{"name": result["request"]} for result in made]}},
            "status": {"reservedFor": [{"resource": "pods", "name": name, "uid": uid}],
                       "allocation": {"devices": {"results": made, "config": list(config)}}}}
        return {"namespace": namespace, "name": name, "uid": uid}


    def allocate(self, name, device, **requests):
        """A claim with what the scheduler would give it of a device that claims share; None: it
        does not fit."""
        capacities = self.devices()[device]["capacity"]
        if not set(requests) <= set(capacities):
            return None
        got = {key: consumed(capacity, amount(requests[key]) if key in requests else None)
               for key, capacity in capacities.items()}
        if None in got.values():
            return None
        others = [result["consumedCapacity"] for claim in self.claims.values() for result in
                  claim["status"]["allocation"]["devices"]["results"]
                  if result["device"] == device]
        for key, capacity in capacities.items():
            if got[key] + sum(amount(other[key]) for other in others) > amount(capacity["value"]):
                return None
        return self.claim(name, (device, {key: canonical(value) for key, value in got.items()}))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api = None
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, message):
        self.answer(status, {"kind": "Status", "message": message, "code": status})

    def handle_one(self, method):
        api = self.api
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        url = urlsplit(self.path)
        api.requests.append((method, url.path))
        slices = SLICES.fullmatch(url.path)
        if api.full and method != "GET" and "dryRun" not in url.query:
            self.refuse(api.full, "etcdserver: mvcc: database space exceeded")
        elif api.down:
            self.refuse(503, "not now")
        elif self.headers.get("Authorization") != f"Bearer {api.token}":
            self.refuse(401, "who are you")
        elif url.path == "/version":
            self.answer(200, {"major": "1", "minor": api.minor})
        elif url.path.startswith("/apis/resource.k8s.io/") and \
                url.path.split("/")[3] not in api.versions:
            self.send_error(404, "404 page not found")  # not JSON, as for any unknown path
        elif slices:
            with api.lock:
                self.slices(method, slices[2] or "", parse_qs(url.query), body, slices[1])
        elif url.path in ("/api/v1/nodes", "/api/v1/pods") and method == "GET":
            self.collect(getattr(api, url.path.rpartition("/")[2]), parse_qs(url.query))
        elif url.path.startswith("/api/v1/nodes/"):
            with api.lock:
                self.node(method, url.path.rpartition("/")[2], body)
        elif method == "GET" and "/pods/" in url.path:
            parts = url.path.split("/")
            pod = api.pods.get((parts[4], parts[6]))
            self.answer(200, pod) if pod else self.refuse(404, "no such pod")
        elif url.path.endswith("/binding"):
            with api.lock:
                self.bind(url.path.split("/"), body)
        elif "/resourceclaims/" in url.path and api.is_without_claims:
            self.send_error(404, "404 page not found")  # not JSON, as for any unknown path
        elif "/resourceclaims/" in url.path:
            with api.lock:
                self.claim(method, url.path.split("/"), body)
        else:
            self.refuse(404, "no such path")

    def node(self, method, name, patch):
        node = self.api.nodes.get(name)
        if not node:
            self.refuse(404, f'nodes "{name}" not found')
        elif method != "PATCH":
            self.answer(200, node)
        elif self.headers.get("Content-Type") != "application/merge-patch+json":
            self.refuse(415, "what kind of patch is this")
        else:
            before = copy.deepcopy(node)
            for kind, values in patch["metadata"].items():
                node["metadata"].setdefault(kind, {}).update(values)
            self.api.nodes.changed(name, before)
            self.answer(200, node)

    def collect(self, collection, query):
        if query.get("watch") != ["1"]:
            self.answer(*collection.list(query, self.headers.get("Accept")))
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        try:
            collection.watch(query, self.headers.get("Accept"), self.write_event)
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True

    def write_event(self, event):
        line = json.dumps(event).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()

    def bind(self, parts, body):
        pod = (parts[4], parts[6])
        if (body["kind"], body["target"]["kind"], body["metadata"]["name"]) != (
                "Binding", "Node", pod[1]):
            self.refuse(422, "no binding")
        elif pod in self.api.bound:
            self.refuse(409, f"pod {pod[1]} is already assigned to {self.api.bound[pod]}")
        else:
            self.api.bound[pod] = body["target"]["name"]
            self.assign(pod, body)
            self.api.on_bind(body)
            self.answer(201, {"kind": "Status", "status": "Success"})

    def assign(self, pod, body):
        """Registry/core/pod/storage, setPodHostAndAnnotations."""
        made = self.api.pods.get(pod)
        if made:
            before = copy.deepcopy(made)
            made["spec"]["nodeName"] = body["target"]["name"]
            made["metadata"].setdefault("annotations", {}).update(
                body["metadata"].get("annotations", {}))
            self.api.pods.changed(pod, before)

    def claim(self, method, parts, body):
        """resourceclaim/strategy.go: the status is written alone, the rest stays."""
        api = self.api
        claim = api.claims.get((parts[5], parts[7]))
        if not claim:
            self.refuse(404, "no such claim")
        elif method == "GET":
            self.answer(200, claim)
        elif parts[8:] != ["status"] or method != "PUT":
            self.refuse(405, "the server does not allow this method on the requested resource")
        elif "resourceclaims/status" in api.denied:
            self.refuse(403, 'cannot update resource "resourceclaims/status"')
        elif (body["apiVersion"], body["kind"]) != (f"resource.k8s.io/{parts[3]}", "ResourceClaim"):
            self.refuse(400, "the object provided is unrecognized")
        elif body["metadata"].get("resourceVersion") != claim["metadata"]["resourceVersion"]:
            self.refuse(409, "the object has been modified")
        else:
            self.store_status(claim, body)

    def store_status(self, claim, body):
        api = self.api
        if "DRAResourceClaimDeviceStatus" not in api.gates and not claim["status"].get("devices"):
            body["status"].pop("devices", None)
        why = check_claim_status(body, claim)
        if why:
            self.refuse(422, why)
            return
        api.version += 1
        claim["status"] = body["status"]
        claim["metadata"]["resourceVersion"] = f"s{api.version}"
        self.answer(200, claim)

    def slices(self, method, name, query, body, version):
        """Slices are stored as v1 has them."""
        api = self.api
        shown = wrapped if version == "v1beta1" else lambda slice_: slice_
        if method == "GET":
            wanted = dict(part.split("=") for part in query["fieldSelector"][0].split(","))
            self.answer(200, {"items": [
                shown(s) for s in api.slices.values() if s["spec"]["driver"] == wanted["spec.driver"]
                and s["spec"]["nodeName"] == wanted["spec.nodeName"]]})
            return
        if method == "DELETE":
            if api.slices.pop(name, None):
                self.answer(200, {})
            else:
                self.refuse(404, "no such slice")
            return
        if version == "v1beta1":
            body["spec"]["devices"] = [unwrapped(d) for d in body["spec"].get("devices", [])]
        drop_disabled(body, api.gates)
        why = check_slice(body, int(api.minor.rstrip("+")))
        old = api.slices.get(body["metadata"]["name"])
        if why:
            self.refuse(422, why)
        elif method == "POST" and old:
            self.refuse(409, "it exists")
        elif method == "PUT" and (not old or old["metadata"]["resourceVersion"] !=
                                  body["metadata"].get("resourceVersion")):
            self.refuse(409, "it has changed")
        elif old and any(part(old["spec"]) != part(body["spec"]) for part in IMMUTABLE):
            self.refuse(422, "nodeName, driver and pool.name are immutable")
        elif "All" in query.get("dryRun", ()):
            self.answer(200, shown(body))
        else:
            api.version += 1
            body["metadata"]["resourceVersion"] = str(api.version)
            for device in body["spec"].get("devices", []):
                for taint in device.get("taints", []):  # SetDefaults_DeviceTaint
                    taint.setdefault("timeAdded", "2026-01-02T03:04:05Z")
            api.slices[body["metadata"]["name"]] = body
            self.answer(200, shown(body))

    def do_GET(self):
        self.handle_one("GET")

    def do_POST(self):
        self.handle_one("POST")

    def do_PUT(self):
        self.handle_one("PUT")

    def do_PATCH(self):
        self.handle_one("PATCH")

    def do_DELETE(self):
        self.handle_one("DELETE")
