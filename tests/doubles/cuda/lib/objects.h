/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/client/queue.h"
#include "process.h"

/* The objects behind programs' handles. A destroyed handle stays readable, so that its
 * use is an error and not a crash. */

enum magic {
	DCU_DEAD = 0,
	DCU_IS_CTX = 0x637478,
	DCU_IS_STREAM,
	DCU_IS_EVENT,
	DCU_IS_MODULE,
	DCU_IS_FUNC,
	DCU_IS_POOL,
	DCU_IS_PHYS,
	DCU_IS_ARRAY,
	DCU_IS_MIPMAP,
	DCU_IS_EXTERNAL,
	DCU_IS_SEMAPHORE,
	DCU_IS_GRAPH,
	DCU_IS_NODE,
	DCU_IS_EXEC,
	DCU_IS_GREEN,
	DCU_IS_CONDITION,
	DCU_IS_DESC,
	DCU_IS_OBJECT,
};

struct stream {
	uint32_t magic;
	struct ctx *ctx;
	int slot, priority;
	unsigned flags;
	uint64_t id;
	struct capture *capture;
	struct node **tips; /* of the capture: the next node comes after these */
	size_t n_tips;
	struct green *green;
	struct stream *next;
};

struct ctx {
	uint32_t magic;
	struct device *device;
	uint32_t number, flags, version, rm_object;
	bool is_primary;
	struct ctx *primary; /* of a green context, which uses its memory and events */
	uint32_t units;
	uint64_t id;
	size_t limits[8];
	struct order order;
	pthread_mutex_t lock; /* of the list */
	struct stream legacy, *streams;
};

/* A command of a stream. */
struct place {
	int slot;
	uint64_t seq;
};

struct event {
	uint32_t magic;
	struct ctx *ctx;
	unsigned flags;
	uint16_t number; /* where the machine puts its time */
	bool recorded;
	/* The work before its last record: of one stream, or of all of a context. */
	struct place *places;
	size_t n_places;
	pthread_mutex_t lock;
	struct capture *capture; /* the capture of its last record */
	struct node **tips;
	size_t n_tips;
	struct shared_event *shared; /* with other processes */
};

enum func_kind {
	DCU_FIXED,
	DCU_PARAM,
	DCU_SCALED,
	DCU_STORE,
	DCU_AWAIT,
	DCU_RELAY,
	DCU_SERVE,
};

struct func {
	uint32_t magic;
	struct module *module;
	char name[DGP_NAME_BYTES];
	uint16_t name_number;
	enum func_kind kind;
	uint64_t ns, bytes, relaunches;
	uint32_t units; /* 0: all of the context's */
	_Atomic bool loaded;
	/* The parameters set by the oldest launch API. */
	unsigned block[3], shared_bytes;
	size_t param_bytes;
	char params[256];
	struct func *next;
};

struct module {
	uint32_t magic;
	struct ctx *ctx; /* NULL: a library, whose device is that of its first launch */
	struct device *device;
	struct func *funcs;
	uint64_t bytes; /* taken from the device */
	pthread_mutex_t lock;
};

/* The thread's contexts, the current one last. */
struct thread {
	struct ctx *stack[64];
	int n;
	bool per_thread; /* the call's NULL stream is the per-thread one */
	int capture_mode;
};
extern __thread struct thread dcu_thread __attribute__((tls_model("initial-exec")));

struct ctx *dcu_current(void);
/* Returns the stream of a handle in the current context, or NULL and a CUresult. */
struct stream *dcu_stream(struct stream *handle, int *ret);
/* A context with this many multiprocessors; 0: all that the process has. */
int dcu_ctx_new(struct device *device, uint32_t units, struct ctx **ret);
/* The same context, or one is the other's green context. */
bool dcu_ctx_is_related(struct ctx *a, struct ctx *b);
/* The primary one of a green context; any other one itself. */
struct ctx *dcu_ctx_whole(struct ctx *ctx);
void dcu_ctx_end(struct ctx *ctx);
int dcu_ctx_await(struct ctx *ctx);
/* The same, and for the green contexts of a primary one. */
int dcu_ctx_await_whole(struct ctx *ctx);
/* Adds the last commands of its streams to n others; returns the new number. */
size_t dcu_ctx_tails(struct ctx *ctx, struct place ret[DGP_SLOTS], size_t n);
int dcu_primary(struct device *device, struct ctx **ret);
/* For the green contexts of the device. */
int dcu_green_await(const struct device *device);
size_t dcu_green_tails(
	const struct device *device, struct place ret[DGP_SLOTS], size_t n);
int dcu_stream_open(struct ctx *ctx, unsigned flags, int priority, struct stream **ret);
int dcu_stream_push(struct stream *stream, struct dgp_cmd *cmd, uint64_t *ret_seq);
uint64_t dcu_new_id(void);
/* Frees the memory that the context still has. */
void dcu_memory_leave(struct ctx *ctx);
