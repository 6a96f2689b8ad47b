# SPDX-License-Identifier: Apache-2.0
"""Lists and watches of the API server's double, after Kubernetes' "API concepts" and the watch
cache (apiserver, storage/cacher): pages of a list show one version; a watch tells the changes behind
a version, an older version than the server keeps ends it with 410, and one that the server has not
reached waits; an object that begins or ceases to match the selector is added or deleted."""
import copy
import json
import threading
import time


class Collection(dict):
    """Objects by name, or by (namespace, name), that are watched. A change in place is followed by
    changed()."""

    def __init__(self, api, kind):
        super().__init__()
        self.api, self.kind = api, kind
        self.events = []  # (version, type, object as it was then, object before or None)
        self.oldest = 0  # versions below it are not kept
        self.moved = threading.Condition()
        self.generation = 0  # watches of an earlier one are over
        self.pages, self.n_lists, self.n_watches = {}, 0, 0
        self.n_bookmarks = 0  # sent
        self.loses_pages = 0  # so many lists lose their second page

    def __setitem__(self, key, value):
        with self.moved:
            old = self.get(key)
            super().__setitem__(key, value)
            self.record("MODIFIED" if old else "ADDED", value, old)

    def changed(self, key, before):
        with self.moved:
            self.record("MODIFIED", self[key], before)

    def pop(self, key, *default):
        with self.moved:
            old = super().pop(key, *default)
            if old:
                self.record("DELETED", old, old)
            return old

    def record(self, kind, value, before):
        self.api.version += 1
        value["metadata"]["resourceVersion"] = str(self.api.version)
        self.events.append((self.api.version, kind, copy.deepcopy(value), copy.deepcopy(before)))
        self.moved.notify_all()

    # --- What can go wrong ---

    def forget_history(self):
        """As a server that was away for longer than it keeps versions."""
        with self.moved:
            self.oldest, self.events = self.api.version + 1, []
            self.pages.clear()

    def restore(self, version):
        """The server's data are replaced by those of an earlier version."""
        with self.moved:
            self.oldest, self.events, self.api.version = 0, [], version

    def end_watches(self):
        with self.moved:
            self.generation += 1
            self.moved.notify_all()

    def bookmark(self):
        """Tells watches the version without a change."""
        with self.moved:
            self.api.version += 1
            self.events.append((self.api.version, "BOOKMARK", {
                "kind": self.kind, "metadata": {"resourceVersion": str(self.api.version)}}, None))
            self.moved.notify_all()

    # --- Requests ---

    def matches(self, obj, query):
        """metav1.FieldSelector, with the fields that are used."""
        fields = {"status.phase": (obj.get("status") or {}).get("phase", ""),
                  "spec.nodeName": (obj.get("spec") or {}).get("nodeName", "")}
        for term in filter(None, query.get("fieldSelector", [""])[0].split(",")):
            name, value = term.split("!=") if "!=" in term else term.split("=")
            if (fields[name] == value) == ("!=" in term):
                return False
        return True

    def shown(self, obj, accept):
        if "as=PartialObjectMetadata" not in (accept or ""):
            return obj
        return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": obj["metadata"]}

    def list(self, query, accept):
        """(status, answer)."""
        with self.moved:
            token = query.get("continue", [""])[0]
            self.n_lists += not token
            if token and self.loses_pages:
                self.loses_pages -= 1
                self.pages.clear()
            if token and token not in self.pages:
                return 410, {"kind": "Status", "code": 410, "reason": "Expired",
                             "message": "The provided continue parameter is too old"}
            items, version = self.pages.pop(token) if token else (
                [copy.deepcopy(o) for _, o in sorted(self.items()) if self.matches(o, query)],
                self.api.version)
            limit = int(query.get("limit", ["0"])[0]) or len(items)
            metadata = {"resourceVersion": str(version)}
            if len(items) > limit:
                metadata["continue"] = f"t{version}-{len(self.pages)}-{len(items)}"
                self.pages[metadata["continue"]] = items[limit:], version
            return 200, {"kind": f"{self.kind}List", "metadata": metadata,
                         "items": [self.shown(o, accept) for o in items[:limit]]}

    def change_for(self, event, query):
        """The type of the event for a watch with this selector, or None."""
        _, kind, obj, before = event
        if kind == "BOOKMARK":
            return kind if query.get("allowWatchBookmarks") == ["true"] else None
        was = kind != "ADDED" and before is not None and self.matches(before, query)
        is_now = kind != "DELETED" and self.matches(obj, query)
        return ("MODIFIED" if was else "ADDED") if is_now else ("DELETED" if was else None)

    def watch(self, query, accept, write):
        """Writes events until the watch is over."""
        version = int(query["resourceVersion"][0])
        until = time.monotonic() + int(query["timeoutSeconds"][0])
        with self.moved:
            generation = self.generation
            self.n_watches += 1
        while True:
            with self.moved:
                if version + 1 < self.oldest:
                    write({"type": "ERROR", "object": {
                        "kind": "Status", "code": 410, "reason": "Expired",
                        "message": f"too old resource version: {version} ({self.oldest})"}})
                    return
                ready = [e for e in self.events if e[0] > version]
                if not ready and not self.is_over(generation):
                    self.moved.wait(max(0, min(.2, until - time.monotonic())))
                if self.is_over(generation) or (not ready and time.monotonic() >= until):
                    return
            for event in ready:
                version, kind = event[0], self.change_for(event, query)
                if kind:
                    obj = dict(event[2], metadata=dict(
                        event[2]["metadata"], resourceVersion=str(event[0])))
                    write({"type": kind, "object": self.shown(obj, accept)})
                    self.n_bookmarks += kind == "BOOKMARK"

    def is_over(self, generation):
        return self.api.down or self.api.is_closed or generation != self.generation
