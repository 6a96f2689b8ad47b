/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libcleave: the agent's API from C.  The command line and the bridges are built on it.
 *
 * Shapes.  Results are JSON values of the jansson library (`json_t *`), the objects that
 * docs/api.md describes and `cleave ... -o json` prints; lists are {"items": [...]}.
 * Requests are the structures below, where zero or NULL means "not said".
 *
 * Units.  Shares are parts per million in requests (`share_ppm`) and fractions from 0 to
 * 1 in results; memory is in bytes; times to wait are in milliseconds; points in time are
 * RFC 3339 text in UTC.
 *
 * Ownership.  The caller owns each value stored through `ret` (json_decref() it); texts
 * in requests stay the caller's and are not needed after the call.
 *
 * Errors.  A call returns 0, or a negative errno with *err filled (err may be NULL); then
 * *ret is left alone.
 *
 * Threads.  A client is used by one thread at a time; two clients are independent.  No
 * call starts a thread or changes the process's signal handling.  A client's file
 * descriptors are close-on-exec; a forked child must not use its parent's client. */

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define CLEAVE_API_VERSION 1

struct json_t; /* jansson's json_t */
struct clv_client;

/* Codes are the API's ("does_not_fit", "not_found", ...) or the client's own:
 * "unreachable", "other_version", "not_permitted", "no_input", "interrupted",
 * "bad_reply", "internal". */
struct clv_client_error {
	int error;      /* negative errno, as returned */
	int status;     /* HTTP status, 0 when there was no answer */
	char code[32];  /* see above */
	char msg[1024]; /* one line: what, why, what would work */
};

struct clv_client_options {
	const char *
		socket_path; /* NULL: CLEAVE_SOCKET, then the system's, then the user's */
	bool start_agent;    /* none answers: start the user's own agent */
	int interrupt_fd;    /* calls end with -EINTR once it is readable; 0: none */
	/* A simulated node, described in this file.  It has an agent of its own, which is
	 * started when none serves it; no socket is looked for then. */
	const char *sim_path;
};

struct clv_client_lease_request {
	const char *name;
	const char *device;
	const char *profile;    /* of a partition: "1g.10gb" */
	const char *in;         /* a standing share */
	const char *isolation;  /* "hardware": in a partition of its own */
	const char *class_name; /* "latency", "normal", "batch" */
	const char *command;    /* for people to recognise it */
	uint32_t share_ppm;     /* of a range, the least */
	uint32_t cap_ppm;
	uint64_t memory_bytes;
	bool wait; /* queue when it does not fit now */
	bool overcommit;
	uint32_t count;          /* of devices, all of them whole; 0: a share of one */
	bool same_device;        /* with count: partitions of one device */
	uint64_t time_s;         /* until it is ended; 0: never */
	uint32_t share_most_ppm; /* of a range, between which the agent moves the share */
	uint64_t spill_bytes;    /* of the host's memory beyond memory_bytes; 0: none */
	const char *const *devices; /* those alone, all of them whole; NULL: not said */
	size_t n_devices;           /* 0, or from 2 on */
	uint32_t sm_ppm; /* of the multiprocessors or compute units at once; 0: all */
	/* No process holds it: it ends when it is released, or its time is over. */
	bool keep;
	const char *admit; /* with keep: "holders" (the default) or "socket" */
	bool has_user;     /* with keep, by admins: it is this user's */
	uint32_t user;
};

struct clv_client_lease_change {
	const char *class_name;
	uint32_t share_ppm;
	uint32_t cap_ppm;
	bool remove_cap;
	uint64_t memory_bytes;
	uint32_t share_most_ppm; /* of a range; share_ppm is the least then */
	uint64_t spill_bytes;
	bool remove_spill;
};

/* A layout, in YAML or JSON, and how messages call it. */
struct clv_client_layout {
	const char *text;
	size_t n_bytes;
	const char *name;    /* "layout.yaml" */
	const char *on_busy; /* "fail", "wait", "list"; NULL: as the layout says */
};

struct clv_client_partition_request {
	const char *device;
	const char *profile; /* "1g.10gb" */
	bool has_start;      /* without it the agent chooses the place */
	uint32_t start;
	uint32_t count;
};

/* Finds the agent, starts it if wanted, and compares API versions.  options may be NULL.
 */
int clv_client_new(const struct clv_client_options *options, struct clv_client **ret,
	struct clv_client_error *err);

/* For an agent that went away in the middle: connects to the one that listens there now,
 * or starts it where this client may start one.  It keeps to the socket that it has.
 * -ECONNREFUSED when nobody is there yet. */
int clv_client_reconnect(struct clv_client *client, struct clv_client_error *err);

/* Accepts NULL; returns NULL. */
struct clv_client *clv_client_free(struct clv_client *client);

/* The socket in use; borrowed. */
const char *clv_client_get_socket(const struct clv_client *client);

int clv_client_version(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);
int clv_client_devices(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);
int clv_client_leases(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);
/* Those that have a device, or a part of it, and do not wait. */
int clv_client_leases_on(struct clv_client *client, const char *device,
	struct json_t **ret, struct clv_client_error *err);

/* By id or by the caller's own name for it. */
int clv_client_lease(struct clv_client *client, const char *id_or_name,
	struct json_t **ret, struct clv_client_error *err);

/* The calling process becomes the lease's holder: when it is dead and no process is
 * attached, the lease ends.  Of a lease to keep nobody is the holder. */
int clv_client_lease_create(struct clv_client *client,
	const struct clv_client_lease_request *request, struct json_t **ret,
	struct clv_client_error *err);

/* Returns when the lease is no longer queued, when its place in the queue changed, or
 * after wait_ms. */
int clv_client_lease_wait(struct clv_client *client, const char *id_or_name,
	uint32_t wait_ms, struct json_t **ret, struct clv_client_error *err);

int clv_client_lease_update(struct clv_client *client, const char *id_or_name,
	const struct clv_client_lease_change *change, struct json_t **ret,
	struct clv_client_error *err);

/* One more process, by its number on the agent's machine, holds the lease: it and what it
 * starts may attach.  It is the lease's user's, unless an admin says so. */
int clv_client_lease_join(struct clv_client *client, const char *id_or_name, int pid,
	struct json_t **ret, struct clv_client_error *err);

/* force ends the attached processes first. */
int clv_client_lease_release(struct clv_client *client, const char *id_or_name,
	bool force, struct clv_client_error *err);

/* Events with an id above after_id, oldest first, at most limit (0: the agent's own
 * limit); waits up to wait_ms for the first. */
int clv_client_events(struct clv_client *client, uint64_t after_id, uint32_t wait_ms,
	uint32_t limit, struct json_t **ret, struct clv_client_error *err);

/* The node: its devices, how each can be divided and how it is, and who holds what. */
int clv_client_node(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);

/* The steps from what the node is to the layout, and what is in their way.  Changes
 * nothing; on_busy is not looked at. */
int clv_client_plan(struct clv_client *client, const struct clv_client_layout *layout,
	struct json_t **ret, struct clv_client_error *err);

/* Begins to carry the layout out; *ret is the operation, which goes on in the agent. */
int clv_client_apply(struct clv_client *client, const struct clv_client_layout *layout,
	struct json_t **ret, struct clv_client_error *err);

/* {"layout": "version: 1\n..."}: of the node as it is, or what was last applied
 * (-ENOENT: nothing was). */
int clv_client_layout_get(struct clv_client *client, bool wanted, struct json_t **ret,
	struct clv_client_error *err);

/* Standing shares of the layout, and the leases that are in them. */
int clv_client_shares(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);

/* What a device can be divided into, and how much more of it fits now.  device NULL: of
 * all. */
int clv_client_profiles(struct clv_client *client, const char *device,
	struct json_t **ret, struct clv_client_error *err);

/* Both return the operation. */
/* The plan of what creating it would change. */
int clv_client_partition_plan(struct clv_client *client,
	const struct clv_client_partition_request *request, struct json_t **ret,
	struct clv_client_error *err);
int clv_client_partition_create(struct clv_client *client,
	const struct clv_client_partition_request *request, struct json_t **ret,
	struct clv_client_error *err);
int clv_client_partition_destroy(struct clv_client *client, const char *name,
	struct json_t **ret, struct clv_client_error *err);

int clv_client_operations(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);
int clv_client_operation(struct clv_client *client, const char *id, struct json_t **ret,
	struct clv_client_error *err);

/* Returns when the operation's revision is above after_revision, or after wait_ms. */
int clv_client_operation_wait(struct clv_client *client, const char *id,
	uint64_t after_revision, uint32_t wait_ms, struct json_t **ret,
	struct clv_client_error *err);

/* Ends an operation that waits for others to end; one that runs cannot be ended. */
int clv_client_operation_end(
	struct clv_client *client, const char *id, struct clv_client_error *err);

/* Access.  For admins, but for the tenants. */
int clv_client_tokens(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);

struct clv_client_token_request {
	const char *name;
	const char *scope;     /* "admin", "tenant", "viewer" */
	const char *tenant;    /* of a tenant's: whose */
	uint64_t expires_in_s; /* 0: never */
};
/* The answer has the token's "secret", which is in no other. */
int clv_client_token_create(struct clv_client *client,
	const struct clv_client_token_request *request, struct json_t **ret,
	struct clv_client_error *err);
int clv_client_token_delete(
	struct clv_client *client, const char *id, struct clv_client_error *err);

int clv_client_tenants(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);

/* A page; its "next" is the after_id of the one behind, or null. */
int clv_client_audit(struct clv_client *client, uint64_t after_id, struct json_t **ret,
	struct clv_client_error *err);

/* What leases would do with: of one, by id or name, or (NULL) of all. */
int clv_client_advice(struct clv_client *client, const char *id_or_name,
	struct json_t **ret, struct clv_client_error *err);

/* A device out of service and back. */
struct clv_client_service {
	const char *action; /* "cordon", "drain", "uncordon" */
	const char *reason; /* for people, or NULL */
	bool force;         /* drain: end what runs there */
};
int clv_client_device_service(struct clv_client *client, const char *device,
	const struct clv_client_service *service, struct json_t **ret,
	struct clv_client_error *err);

/* Backs the agent's state up: {"path", "bytes"}, on the agent's machine. */
int clv_client_backup(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);

/* Where cleaved is, as a client that starts one finds it. */
#define CLV_CLIENT_PATH_MAX 4096
int clv_client_agent_program(char ret[CLV_CLIENT_PATH_MAX], struct clv_client_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
