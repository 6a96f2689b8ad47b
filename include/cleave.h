/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libcleave: the agent's API from C.  The command line and the bridges are built on it.
 *
 * Shapes.  Results are JSON values of the jansson library (`json_t *`), the objects that
 * docs/api.md describes and `cleave ... -o json` prints; lists are {"items": [...]}.
 * Requests are the structures below, where zero or NULL means "not given".
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
	bool start_agent;    /* if none answers, start the user's own */
	int interrupt_fd;    /* calls end with -EINTR once it is readable; 0: none */
	/* The file that describes a simulated node.  The node's own agent is used, and
	 * started if none runs; no other socket is tried. */
	const char *sim_path;
};

struct clv_client_lease_request {
	const char *name;
	const char *device;
	const char *profile;    /* of a partition: "1g.10gb" */
	const char *in;         /* name of a standing share */
	const char *isolation;  /* "hardware": in a partition of its own */
	const char *class_name; /* "latency", "normal", "batch" */
	const char *command;    /* shown to users to identify the lease */
	uint32_t share_ppm;     /* the share, or the lower bound of a range */
	uint32_t cap_ppm;
	uint64_t memory_bytes;
	bool wait; /* queue when it does not fit now */
	bool overcommit;
	uint32_t count;             /* of whole devices; 0: a share of one */
	bool same_device;           /* with count: partitions of one device only */
	uint64_t time_s;            /* until the agent ends the lease; 0: never */
	uint32_t share_most_ppm;    /* upper bound of a range, in which the share moves */
	uint64_t spill_bytes;       /* host memory beyond memory_bytes; 0: none */
	const char *const *devices; /* these whole devices; NULL: not given */
	size_t n_devices;           /* 0, or at least 2 */
	uint32_t sm_ppm;            /* multiprocessors or compute units at once; 0: all */
	/* A kept lease: no process holds it, and it ends on release or after time_s. */
	bool keep;
	const char *admit; /* with keep: "holders" (the default) or "socket" */
	bool has_user;     /* with keep, for admins: user owns the lease */
	uint32_t user;
	/* With keep, for admins: "vm:UUID", the virtual machine that gets a whole
	 * partition or device. */
	const char *holder;
};

struct clv_client_lease_change {
	const char *class_name;
	uint32_t share_ppm;
	uint32_t cap_ppm;
	bool remove_cap;
	uint64_t memory_bytes;
	uint32_t share_most_ppm; /* upper bound of a range; share_ppm is the lower */
	uint64_t spill_bytes;
	bool remove_spill;
};

/* A layout in YAML or JSON, and its name in messages. */
struct clv_client_layout {
	const char *text;
	size_t n_bytes;
	const char *name;    /* "layout.yaml" */
	const char *on_busy; /* "fail", "wait", "list"; NULL: as the layout says */
	bool only;           /* forget what earlier layouts say of other devices */
};

struct clv_client_partition_request {
	const char *device;
	const char *profile; /* "1g.10gb" */
	bool has_start;      /* without it the agent chooses the place */
	uint32_t start;
	uint32_t count;
};

/* Connects to the agent, or starts it if the options allow that, and compares API
 * versions. options may be NULL. */
int clv_client_new(const struct clv_client_options *options, struct clv_client **ret,
	struct clv_client_error *err);

/* Connects again after the agent went away: to the agent that listens on the same socket
 * now, or to one that is started if this client may start it.  -ECONNREFUSED if no agent
 * listens yet. */
int clv_client_reconnect(struct clv_client *client, struct clv_client_error *err);

/* Accepts NULL; returns NULL. */
struct clv_client *clv_client_free(struct clv_client *client);

/* The socket in use; borrowed. */
const char *clv_client_get_socket(const struct clv_client *client);

/* GET /readyz: whether the agent can grant leases now; if not, err says why (-EAGAIN). */
int clv_client_ready(struct clv_client *client, struct clv_client_error *err);
int clv_client_version(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);
int clv_client_devices(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);
int clv_client_leases(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);
/* The active leases on a device or its partitions, without the queued ones. */
int clv_client_leases_on(struct clv_client *client, const char *device,
	struct json_t **ret, struct clv_client_error *err);

/* One lease, by its id or by its name among the caller's own leases. */
int clv_client_lease(struct clv_client *client, const char *id_or_name,
	struct json_t **ret, struct clv_client_error *err);

/* The calling process becomes the lease's holder: when it is dead and no process is
 * attached, the lease ends.  A kept lease has no holder. */
int clv_client_lease_create(struct clv_client *client,
	const struct clv_client_lease_request *request, struct json_t **ret,
	struct clv_client_error *err);

/* A lease whose place is asked for; its name and whether it may wait have no effect. */
struct clv_client_placement {
	struct clv_client_lease_request lease; /* without isolation */
	/* A lease that ends once this one is there or, where that has no room, and with
	 * ends_first, before; NULL: none. */
	const char *instead_of;
	bool ends_first;
};

/* Where leases of the caller would go now, each as if those before it were there; at most
 * 256.  gone: leases that are taken to have ended, at most 256.  *ret is a list with the
 * object Placement for each.  Nothing is changed. */
int clv_client_placements(struct clv_client *client,
	const struct clv_client_placement *wanted, size_t n, const char *const *gone,
	size_t n_gone, struct json_t **ret, struct clv_client_error *err);

/* Returns when the lease is no longer queued, when its place in the queue changed, or
 * after wait_ms. */
int clv_client_lease_wait(struct clv_client *client, const char *id_or_name,
	uint32_t wait_ms, struct json_t **ret, struct clv_client_error *err);

int clv_client_lease_update(struct clv_client *client, const char *id_or_name,
	const struct clv_client_lease_change *change, struct json_t **ret,
	struct clv_client_error *err);

/* Adds a holder to the lease: process pid, on the agent's machine, and its children may
 * attach.  The process belongs to the lease's user, unless the caller is an admin. */
int clv_client_lease_join(struct clv_client *client, const char *id_or_name, int pid,
	struct json_t **ret, struct clv_client_error *err);

/* force ends the attached processes first. */
int clv_client_lease_release(struct clv_client *client, const char *id_or_name,
	bool force, struct clv_client_error *err);

/* Events with an id above after_id, oldest first, at most limit (0: the agent's own
 * limit); waits up to wait_ms for the first. */
int clv_client_events(struct clv_client *client, uint64_t after_id, uint32_t wait_ms,
	uint32_t limit, struct json_t **ret, struct clv_client_error *err);

/* The node: its devices, how each can be and is divided, and the holders. */
int clv_client_node(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);

/* The steps from the current node to the layout, and the obstacles.  Changes nothing;
 * on_busy and only are ignored. */
int clv_client_plan(struct clv_client *client, const struct clv_client_layout *layout,
	struct json_t **ret, struct clv_client_error *err);

/* Begins to carry the layout out; *ret is the operation, which runs in the agent. */
int clv_client_apply(struct clv_client *client, const struct clv_client_layout *layout,
	struct json_t **ret, struct clv_client_error *err);

/* {"layout": "version: 1\n..."}: of the current node, or if wanted the one that was last
 * applied (-ENOENT: none was). */
int clv_client_layout_get(struct clv_client *client, bool wanted, struct json_t **ret,
	struct clv_client_error *err);

/* The standing shares of the layout, and their leases. */
int clv_client_shares(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);

/* The profiles of a device, and how many more partitions of each fit now.  device NULL:
 * of all devices. */
int clv_client_profiles(struct clv_client *client, const char *device,
	struct json_t **ret, struct clv_client_error *err);

/* The plan of what clv_client_partition_create() would change. */
int clv_client_partition_plan(struct clv_client *client,
	const struct clv_client_partition_request *request, struct json_t **ret,
	struct clv_client_error *err);
/* Both return the operation. */
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

/* Ends an operation that waits for holders to end; a running one cannot be ended. */
int clv_client_operation_end(
	struct clv_client *client, const char *id, struct clv_client_error *err);

/* Access: for admins only, except clv_client_tenants(). */
int clv_client_tokens(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);

struct clv_client_token_request {
	const char *name;
	const char *scope;     /* "admin", "tenant", "viewer" */
	const char *tenant;    /* for scope "tenant": the tenant */
	uint64_t expires_in_s; /* 0: never */
};
/* Only this answer has the token's "secret". */
int clv_client_token_create(struct clv_client *client,
	const struct clv_client_token_request *request, struct json_t **ret,
	struct clv_client_error *err);
int clv_client_token_delete(
	struct clv_client *client, const char *id, struct clv_client_error *err);

int clv_client_tenants(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);

/* Publishes a project of services of the calling process, for programs with a loop of
 * their own: no call waits, and none starts an agent.  An agent shows the project until
 * that process ends. */
struct clv_client_publisher;
int clv_client_publisher_new(const struct clv_client_options *options,
	const char *project, struct clv_client_publisher **ret,
	struct clv_client_error *err);
/* Accepts NULL; returns NULL. */
struct clv_client_publisher *clv_client_publisher_free(
	struct clv_client_publisher *publisher);

/* Begins to send a report, the object ProjectReport of docs/api.md, and gives up what is
 * under way: its descriptor is closed here, and not before.  For wait_ms the agent keeps
 * its answer back until a user asks for an action. */
int clv_client_publisher_begin(struct clv_client_publisher *publisher,
	const struct json_t *report, uint32_t wait_ms, struct clv_client_error *err);
/* The descriptor to poll, and the events to poll for, of what was begun; both may be
 * others after each call. */
int clv_client_publisher_get_fd(
	const struct clv_client_publisher *publisher, short *ret_events);
/* Goes on.  0: *ret is the answer, {"items": [Action]}.  -EINPROGRESS, without *err: to
 * be called again when the descriptor has the events. */
int clv_client_publisher_continue(struct clv_client_publisher *publisher,
	struct json_t **ret, struct clv_client_error *err);

/* One page; its "next" is the after_id of the next page, or null. */
int clv_client_audit(struct clv_client *client, uint64_t after_id, struct json_t **ret,
	struct clv_client_error *err);

/* Advice on the sizes and classes of leases: of one, by id or name, or (NULL) of all. */
int clv_client_advice(struct clv_client *client, const char *id_or_name,
	struct json_t **ret, struct clv_client_error *err);

/* Takes a device out of service, or returns it; or has its driver close it, so that
 * another driver can take it, which waits for that driver and returns nothing. */
struct clv_client_service {
	const char *action; /* "cordon", "drain", "uncordon", "close" */
	const char *reason; /* for people, or NULL */
	bool force;         /* with drain: end the programs on it */
};
int clv_client_device_service(struct clv_client *client, const char *device,
	const struct clv_client_service *service, struct json_t **ret,
	struct clv_client_error *err);

/* Backs the agent's state up: {"path", "bytes"}, on the agent's machine. */
int clv_client_backup(
	struct clv_client *client, struct json_t **ret, struct clv_client_error *err);

/* Has the agent read its settings and its certificate again. */
int clv_client_reload(struct clv_client *client, struct clv_client_error *err);

/* The path of cleaved, as a client that starts an agent finds it. */
#define CLV_CLIENT_PATH_MAX 4096
int clv_client_agent_program(char ret[CLV_CLIENT_PATH_MAX], struct clv_client_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
