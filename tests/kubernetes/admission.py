# SPDX-License-Identifier: Apache-2.0
"""A double of the API server's side of admission webhooks, after k8s.io/api/admission/v1 (types.go),
k8s.io/apiserver (admission/plugin/webhook/mutating, dispatcher.go) and the checks of extended
resources (k8s.io/kubernetes, pkg/apis/core/validation, ValidateResourceRequirements). Its reviews are
one that a real kube-apiserver sent (recorded/README.md), with other pods."""
import base64
import copy
import http.client
import json
import re
import socket
import ssl
import uuid

import scheduler

RECORDED = scheduler.recorded("admission")
POD = RECORDED["request"]["object"]


class Denied(Exception):
    """The message that the author of a pod reads."""


def pod(name, *containers, **metadata):
    """containers: the resources of each, or whole containers."""
    made = copy.deepcopy(POD)
    made["metadata"].update(name=name, **metadata)
    del made["metadata"]["managedFields"]
    model = made["spec"]["containers"][0]
    made["spec"]["containers"] = [
        {**model, "name": f"c{i}", **(each if "resources" in each else {"resources": each})}
        for i, each in enumerate(containers)]
    return made


def review(new, **more):
    """An AdmissionReview of a pod."""
    request = {**RECORDED["request"], "uid": str(uuid.uuid4()), "name": new["metadata"]["name"],
               "object": new, **more}
    return {**RECORDED, "request": request}


def patched(new, operations):
    """RFC 6902, as github.com/evanphx/json-patch applies it: what holds a member must exist."""
    new = copy.deepcopy(new)
    for operation in operations:
        assert set(operation) == {"op", "path", "value"} and operation["op"] == "add", operation
        *way, last = [token.replace("~1", "/").replace("~0", "~")
                      for token in operation["path"].split("/")[1:]]
        at = new
        for token in way:
            at = at[int(token)] if isinstance(at, list) else at[token]
        assert isinstance(at, dict), operation
        at[last] = copy.deepcopy(operation["value"])
    return new


def containers_of(new):
    return new["spec"].get("initContainers", []) + new["spec"]["containers"]


def set_defaults(new):
    """SetDefaults_Pod: a limit without a request is one."""
    for container in containers_of(new):
        resources = container.setdefault("resources", {})
        if "limits" in resources:
            requests = resources.setdefault("requests", {})
            for name, amount in resources["limits"].items():
                requests.setdefault(name, amount)


def check(new):
    """What refuses a pod after its admission."""
    for container in containers_of(new):
        resources = container.get("resources", {})
        limits, requests = resources.get("limits", {}), resources.get("requests", {})
        for name in sorted({*limits, *requests}):
            if "/" not in name:
                continue
            if name not in limits:
                raise Denied(f"{name}: Limit must be set for non overcommitable resources")
            if limits[name] != requests.get(name):
                raise Denied(f"{name}: must be equal to {name} limit")
            if not re.fullmatch(r"\d+[kMGT]?i?", str(limits[name])):
                raise Denied(f"{name}: must be an integer")


class Webhook:
    """What a MutatingWebhookConfiguration says of a webhook that runs at a port here."""

    def __init__(self, port, configuration=None, context=None, host=None):
        self.port, self.configuration = port, configuration or {}
        self.context, self.host = context, host
        self.reviews = []

    def ask(self, body):
        """(status, answer)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        if self.context:
            connection = http.client.HTTPSConnection(self.host, self.port, timeout=60,
                                                     context=self.context)
            connection.sock = self.context.wrap_socket(
                socket.create_connection(("127.0.0.1", self.port), 60), server_hostname=self.host)
        try:
            connection.request("POST", "/mutate?timeout=2s",
                               body if isinstance(body, (bytes, str)) else json.dumps(body),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if answer.status == 200 else text
        finally:
            connection.close()

    def admit(self, new, **more):
        """The pod as the webhook leaves it."""
        asked = review(new, **more)
        status, answer = self.ask(asked)
        assert status == 200, answer
        self.reviews.append((asked, answer))
        assert answer["kind"] == "AdmissionReview"
        assert answer["apiVersion"] == "admission.k8s.io/v1"
        response = answer["response"]
        assert response["uid"] == asked["request"]["uid"]
        assert set(response) <= {"uid", "allowed", "status", "patch", "patchType", "warnings",
                                 "auditAnnotations"}
        if not response["allowed"]:
            assert set(response["status"]) <= {"status", "message", "reason", "code"}
            assert response["status"]["code"] >= 400
            raise Denied(response["status"]["message"])
        if "patch" not in response:
            assert "patchType" not in response
            return new
        assert response["patchType"] == "JSONPatch"
        return patched(new, json.loads(base64.b64decode(response["patch"], validate=True)))


def create(webhook, new, others=()):
    """The stored pod: with defaults, admitted, by the webhook once more where another one has
    changed it since (reinvocationPolicy: IfNeeded), and checked."""
    set_defaults(new)
    new = webhook.admit(new)
    set_defaults(new)
    for other in others:
        new = other(copy.deepcopy(new))
        new = webhook.admit(new)
    check(new)
    return new


def context_of(authority):
    """TLS as the API server checks it, with the caBundle alone."""
    return ssl.create_default_context(cadata=base64.b64decode(authority).decode())
