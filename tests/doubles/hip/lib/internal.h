/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../hsa/functions.h"
#include "hip-functions.h"
#include <pthread.h>
#include <stdatomic.h>

/* HIP on top of ROCr: it uses GPUs only through the functions of libhsa-runtime64, looked
 * up as in any program. */

#define QUEUE_PACKETS 1024
#define CHECKPOINTS 4 /* in a queue */
#define KERNARG_BYTES 256
#define ARGS_MAX 192
#define N_ARGS 5
#define FRONTIER_MAX 64

#define IS_STREAM 0x73747265
#define IS_EVENT 0x6576656e
#define IS_MODULE 0x6d6f6475
#define IS_FUNC 0x66756e63
#define IS_GRAPH 0x67726170
#define IS_EXEC 0x65786563
#define IS_POOL 0x706f6f6c
#define IS_ARRAY 0x61727261
#define IS_SEMAPHORE 0x73656d61

/* --- runtime.c --- */

struct device {
	int ordinal;
	hsa_agent agent;
	hsa_pool coarse, fine;
	char name[64], arch[64], uuid[32];
	uint32_t units, warp, bdf, domain, major;
	size_t bytes;
	_Atomic uint64_t taken; /* by this process, as far as HIP knows */
	struct stream *null;
	struct module *builtin;
	struct func *fill, *copy;
	struct pool *default_pool, *pool;
	struct stream *streams; /* all except for the null stream */
	pthread_mutex_t lock;   /* of that list; taken before any stream's */
	unsigned flags;
};

struct thread {
	int device, last_error;
	unsigned per_thread; /* calls whose default stream is the per-thread one */
	struct stream *own;
	int capture_mode;
};

extern struct device dhi_devices[16];
extern int dhi_n_devices;
extern hsa_agent dhi_cpu;
extern hsa_pool dhi_host_pool, dhi_kernarg_pool;
extern _Thread_local struct thread dhi_thread;

struct device *dhi_device_at(int ordinal);
struct device *dhi_current(void);
/* The HIP error for an HSA error. */
int dhi_error_of(int hsa);

/* --- mark.c: signals that mean "all commands before this are complete" --- */

struct mark {
	hsa_signal signal;
	_Atomic int references;
	struct mark *behind; /* kept until this one is complete */
	struct mark *next;
};

struct mark *dhi_mark_new(void);
struct mark *dhi_mark_keep(struct mark *mark);
void dhi_mark_drop(struct mark *mark);
bool dhi_mark_is_done(const struct mark *mark);
void dhi_mark_await(const struct mark *mark);

/* --- stream.c --- */

struct held {
	struct mark *mark;
	uint64_t until; /* until the queue has read this many packets */
};

struct stream {
	uint32_t magic;
	struct device *device;
	unsigned flags;
	int priority;
	uint32_t mask[32], mask_words;
	struct hsa_queue *queue; /* NULL before the first command */
	char *kernargs;
	pthread_mutex_t lock;
	_Atomic uint64_t n_packets;
	struct mark *tail;     /* the mark of the first tail_packets */
	uint64_t tail_packets; /* packets */
	struct mark *pending;  /* not in the queue: the next command waits for it */
	struct mark *checkpoints[CHECKPOINTS];
	struct held *held;
	uint32_t n_held, held_room;
	_Atomic uint64_t null_seen;    /* of the null stream's work */
	_Atomic uint64_t seen_by_null; /* of this stream's work */
	_Atomic uint64_t n_ops;        /* of any kind */
	struct capture *capture;
	struct node *frontier[FRONTIER_MAX]; /* the dependencies of its next node */
	int n_frontier;
	struct stream *next_captured, *next;
};

#define STREAM_NON_BLOCKING 1

/* Returns the stream of a handle for the calling thread; NULL: there is none. */
struct stream *dhi_stream(struct stream *handle);
struct stream *dhi_stream_new(struct device *device, unsigned flags, int priority,
	const uint32_t *mask, uint32_t words);
void dhi_stream_await(struct stream *s);
void dhi_device_await(struct device *device);

/* The work of other streams that the stream's next command has to wait for. Takes no lock
 * of a stream. */
struct marks {
	struct mark **list;
	uint32_t n;
};

void dhi_stream_gather(struct stream *s, struct marks *ret);

/* The stream's lock is held. dhi_stream_ready: the stream has a queue, which waits for
 * the marks; takes ownership of them. dhi_stream_continue: it also waits for the work
 * that is not in the queue. */
int dhi_stream_ready(struct stream *s, struct marks *marks);
void dhi_stream_continue(struct stream *s);
struct mark *dhi_stream_mark(struct stream *s); /* caller drops it; NULL: no work yet */

/* --- packet.c: the stream's lock is held --- */

/* Returns the next packet, to be filled and then passed to dhi_packet_ring with its
 * header. */
union hsa_packet *dhi_packet_next(struct stream *s, uint64_t *ret_index);
void dhi_packet_ring(
	struct stream *s, uint64_t index, uint16_t header, struct mark *mark);
void dhi_barrier(struct stream *s, struct mark *dep, struct mark *completion);

/* --- op.c: operations of streams and graphs --- */

enum op_kind {
	OP_EMPTY,
	OP_KERNEL,
	OP_COPY,
	OP_FILL,
	OP_HOST,
	OP_RECORD,
	OP_WAIT,
	OP_WRITE,
	OP_AWAIT,
	OP_SEMAPHORES,
	OP_FREE,
	OP_ALLOC,
	OP_GRAPH
};

/* The parameters of the kernel that copies. */
struct copy_args {
	char *dst;
	const char *src;
	size_t dst_pitch, dst_slice, src_pitch, src_slice, width, height, depth;
};

struct fill_args {
	char *dst;
	size_t pitch, slice, width, height, depth;
	uint32_t value, element;
};

struct op {
	enum op_kind kind;
	union {
		struct {
			struct func *func;
			uint32_t grid[3], block[3]; /* grid: in threads */
			uint32_t shared;
			char args[ARGS_MAX];
			struct event *start, *stop;
		} kernel;
		struct copy_args copy;
		struct fill_args fill;
		struct {
			host_fn fn;
			stream_fn of_stream;
			struct stream *stream;
			void *user;
		} host;
		struct {
			struct event *event;
			struct mark
				*mark; /* for a wait: the mark at the time of the call */
		} event;
		struct {
			char *p;
			uint64_t value, mask;
			unsigned bytes, how;
		} value;
		struct {
			void *p;
			size_t bytes;
		} memory;
		struct semaphores_params semaphores;
		struct graph *graph;
	};
};

/* Adds the operation to the stream, or to the graph that captures it. */
int dhi_submit(struct stream *s, const struct op *op);
/* The same for an operation that the caller waits for. */
int dhi_submit_sync(struct stream *s, const struct op *op);
/* host.c: the stream's lock is held. */
int dhi_host_push(struct stream *s, const struct op *op);
int dhi_semaphores_push(struct stream *s, const struct op *op);

/* --- memory.c --- */

enum memory_kind {
	MEMORY_DEVICE,
	MEMORY_HOST,
	MEMORY_MANAGED,
	MEMORY_REGISTERED,
	MEMORY_POOL,
	MEMORY_FOREIGN,
	MEMORY_MAPPED
};

struct memory {
	char *base;
	size_t bytes;
	enum memory_kind kind;
	struct device *device;
	unsigned flags;
	struct pool *pool;
};

bool dhi_memory_find(const void *p, struct memory *ret);
bool dhi_memory_add(const struct memory *memory);
bool dhi_memory_remove(const void *base, struct memory *ret);
static inline bool dhi_is_device_memory(const struct memory *m)
{
	return m->kind == MEMORY_DEVICE || m->kind >= MEMORY_POOL;
}
/* Counted by HIP; these return a HIP error. */
int dhi_take(struct device *device, hsa_pool pool, size_t bytes, void **ret);
void dhi_give(struct device *device, void *p, size_t bytes);

/* --- event.c --- */

struct event {
	uint32_t magic;
	unsigned flags;
	struct device *device;
	struct mark *mark;       /* NULL: never recorded */
	struct capture *capture; /* recorded in one */
	struct node *captured[FRONTIER_MAX];
	int n_captured;
	pthread_mutex_t lock;
	struct shared_event *shared; /* NULL: it is of this process */
};

#define EVENT_NO_TIMING 2
#define EVENT_INTERPROCESS 4

bool dhi_is_event(const struct event *event);
/* Takes ownership of the mark. */
void dhi_event_set(struct event *event, struct mark *mark, struct device *device);

/* --- shared-event.c --- */

/* NULL: there is no memory. */
struct shared_event *dhi_shared_event_new(void);
int dhi_shared_event_record(struct shared_event *shared, struct stream *s);
int dhi_shared_event_wait(struct shared_event *shared, struct stream *s);
bool dhi_shared_event_is_done(const struct shared_event *shared);
void dhi_shared_event_await(const struct shared_event *shared);

/* --- module.c --- */

struct func {
	uint32_t magic;
	char name[48];
	struct module *module;
	uint64_t object;
	uint32_t kernarg_bytes;
	struct func *next;
};

struct module {
	uint32_t magic;
	struct device *device;
	hsa_handle executable;
	struct func *funcs;
	pthread_mutex_t lock;
};

int dhi_module_load(struct device *device, const void *image, struct module **ret);
int dhi_builtin(struct device *device);
void dhi_module_free(struct module *module);
int dhi_module_get(struct module *module, const char *name, struct func **ret);
/* Returns the function on a device for a program's stub. */
struct func *dhi_func_of(const void *host, struct device *device);
bool dhi_is_func(const struct func *f);
/* launch.c: the operation of a launch. */
/* Kernels have the first n of five parameters, one after the other: their offsets. */
uint32_t dhi_arg_offset(int i);
int dhi_launch_op(struct func *f, const uint32_t grid[3], const uint32_t block[3],
	size_t shared, void **params, void **extra, struct op *ret);

/* --- capture.c --- */

/* Adds it to the capture of the stream. */
int dhi_capture_add(struct stream *s, const struct op *op);
/* 906 where the null stream is forbidden now. */
int dhi_capture_check(const struct stream *s);
/* Whether calls that wait or allocate are forbidden for the thread; invalidates
 * captures. */
int dhi_capture_is_unsafe(void);
/* Effects of records and waits on captures; true: the call was part of one. */
bool dhi_capture_record(struct stream *s, struct event *event);
bool dhi_capture_wait(struct stream *s, struct event *event, int *ret);

/* --- pool.c --- */

void dhi_pool_trim(struct device *device);
int dhi_pool_perform_free(struct stream *s, void *p);
void dhi_pool_give(const struct memory *memory);

/* --- graph.c --- */

struct node {
	struct graph *graph; /* NULL: destroyed */
	struct op op;
	struct node **deps;
	size_t n_deps;
	struct kernel_params kernel; /* as the program passed them */
	void *params[N_ARGS];
	struct set_params set;
	const struct node *original; /* of a clone */
	bool is_done;                /* used during the sort */
	struct node *next;
};

struct graph {
	uint32_t magic;
	struct node *nodes, **order;
	size_t n;
	struct graph *owner;         /* of a child graph */
	struct graph_memory *memory; /* its nodes' allocations, shared with its clones */
};

struct graph_memory {
	_Atomic int references;
	struct memory *blocks;
	size_t n;
};

bool dhi_is_graph(const struct graph *graph);
struct graph *dhi_graph_new(void);
void dhi_graph_free(struct graph *graph);
struct node *dhi_graph_add(
	struct graph *graph, struct node *const *deps, size_t n, const struct op *op);
/* With its children; the memory stays the original's. */
struct graph *dhi_graph_clone(const struct graph *graph);
/* Sorts the nodes; false for a cycle. */
bool dhi_graph_order(struct graph *graph);
int dhi_node_add(struct node **ret, struct graph *graph, struct node *const *deps,
	size_t n, const struct op *op);
struct node *dhi_graph_find(const struct graph *graph, const struct node *original);
/* Memory that lives as long as the graph. */
int dhi_graph_take(struct graph *graph, struct device *device, size_t bytes, void **ret);

/* array.c */
int dhi_copy_3d_args(const struct copy_3d *copy, struct copy_args *ret);

struct exec {
	uint32_t magic;
	struct graph *graph;
};

bool dhi_is_exec(const struct exec *exec);
/* capture.c: the graph and the frontier of a captured stream. */
struct graph *dhi_capture_graph(struct stream *s);
