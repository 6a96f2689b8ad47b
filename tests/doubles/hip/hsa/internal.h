/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/client/effect.h"
#include "../../gpu/client/process.h"
#include "../../gpu/client/queue.h"
#include "hsa-functions.h"
#include <pthread.h>

/* ROCr on top of the machine. A process has one context, and so one group, on each
 * GPU. */

#define GRANULE 4096
#define COPY_SLOTS 24

struct agent;

struct pool {
	struct agent *agent;
	uint32_t flags;
};

/* The slots for copies of one kind. */
struct copier {
	int slots[COPY_SLOTS], n, last;
};

struct agent {
	uint32_t kind;
	uint32_t gpu; /* index in the machine */
	struct dgp_gpu_info info;
	uint32_t context; /* 0 before the first command */
	struct pool pools[3];
	uint32_t n_pools;
	struct copier copiers[DGP_COPY_ENGINES + 1]; /* the last: within the device */
	pthread_mutex_t lock;
};

/* --- agent.c, visible.c --- */

extern struct agent dhs_agents[DGP_GPUS_MAX + 1];
extern int dhs_n_agents;

void dhs_agents_find(void);
void dhs_tools_load(void);
int dhs_visible(const struct dgp_gpu_info *all, uint32_t n, uint32_t ret[DGP_GPUS_MAX]);
struct agent *dhs_agent(hsa_agent handle);
struct pool *dhs_pool(hsa_pool handle);
static inline hsa_handle dhs_handle(const void *thing)
{
	return (hsa_handle)(uintptr_t)thing;
}
/* Returns the agent's context; 0 if the GPU has no room for one. */
uint32_t dhs_context(struct agent *agent);
/* Writes one attribute as a number or a text. */
int dhs_give_u32(void *ret, uint32_t value);
int dhs_give_text(void *ret, const char *text, size_t bytes);

/* --- memory.c --- */

enum block_kind { BLOCK_POOL, BLOCK_LOCKED, BLOCK_MAPPED, BLOCK_FOREIGN };

struct block {
	char *base;
	size_t bytes, taken; /* taken: of the device */
	enum block_kind kind;
	struct pool *pool;
	uint64_t offset; /* in the arena */
	void *user;
	uint32_t access;       /* of mapped memory */
	struct physical *phys; /* likewise */
	uint32_t locks;
};

bool dhs_block_add(const struct block *block);
/* Copies the block that contains the address. */
bool dhs_block_find(const void *p, struct block *ret);
bool dhs_block_remove(const void *base, struct block *ret);
bool dhs_block_change(
	const void *p, void (*change)(struct block *block, void *user), void *user);
int dhs_take(const struct agent *agent, uint64_t bytes);
void dhs_give(const struct agent *agent, uint64_t bytes);
uint64_t dhs_arena_new(size_t bytes);
void dhs_arena_free(uint64_t offset, size_t bytes);

/* --- signal.c --- */

#define NO_SIGNAL UINT32_MAX

hsa_signal dhs_signal_new(int64_t value);
/* Returns its number; NO_SIGNAL for an invalid handle. */
uint32_t dhs_signal_number(hsa_signal signal);
struct dgp_signal *dhs_signal_at(uint32_t number);
bool dhs_compares(int64_t value, int condition, int64_t with);
/* Announces that the command will decrement the signal. */
void dhs_signal_promise(uint32_t number, int slot, uint64_t seq);

/* While a thread waits for a signal, the machine checks it in time. */
struct watch {
	struct dgp_waiter *waiter;
	bool exact;
};
void dhs_watch_begin(struct watch *watch, uint32_t signal);
void dhs_watch_end(struct watch *watch);

/* --- packet.c, queue.c --- */

struct queue {
	struct hsa_amd_queue amd;
	struct agent *agent; /* NULL: a soft queue */
	int slot;
	uint64_t first;     /* completed commands of the slot before the queue existed */
	uint64_t processed; /* packets */
	_Atomic int64_t doorbell;
	pthread_mutex_t lock;
	hsa_queue_error error;
	void *user;
	bool is_inactive;
	uint32_t mask[32];
};

/* Called when the doorbell has been rung. */
void dhs_queue_process(struct queue *queue, int64_t until);
void dhs_mask_default(const struct agent *agent, uint32_t ret[32]);
void dhs_mask_apply(struct queue *queue);

/* --- kernel.c --- */

enum kernel_kind {
	KERNEL_PLAIN,
	KERNEL_PARAM,
	KERNEL_SCALED,
	KERNEL_STORE,
	KERNEL_FILL,
	KERNEL_COPY,
	KERNEL_AWAIT,
	KERNEL_RELAY,
	KERNEL_SERVE,
};

struct kernel {
	char name[DGP_NAME_BYTES];
	enum kernel_kind kind;
	uint64_t ns;
	uint32_t units; /* 0: all */
	uint16_t name_number;
	bool lives;
	struct executable *executable;
	struct kernel *next;
};

/* Returns NULL if the object is not a kernel's. */
const struct kernel *dhs_kernel(uint64_t object);

/* --- copy.c --- */

struct copy {
	struct agent *agent; /* the owner of the engines */
	int how;             /* DGP_TO_DEVICE, DGP_TO_HOST, or DGP_COPY_ENGINES: within */
	uint64_t bytes;
	struct effect *effect;
	uint32_t n_deps;
	const hsa_signal *deps;
	hsa_signal completion;
};

int dhs_copy(const struct copy *copy);
/* Pushes barriers for more signals than one command can wait for. */
int dhs_push_deps(int slot, uint32_t n, const hsa_signal *deps);
