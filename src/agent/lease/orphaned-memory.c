/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lease/orphaned-memory.h"

#include "agent/device/devices.h"
#include "agent/lease/lease.h"
#include "agent/os/exported.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"
#include "base/watched.h"

#include <fcntl.h>
#include <stdlib.h>

/* The maximum number of ended processes with memory that are tracked for a lease.  The
 * memory of further ones stays charged until the lease ends. */
#define ORPHANED_MAX 256u

/* A tenant controls the length of its lists, and several processes may have the same one.
 * So the checks for a lease take at most 1/LOOK_PART of the time, and no check begins
 * once a tick has taken TICK_NS.  Memory stays charged until it is checked. */
#define LOOK_PART 100u
#define TICK_NS (10 * CLV_NS_PER_MS)

struct clv_orphaned_memory {
	TAILQ_ENTRY(clv_orphaned_memory) entry;
	struct clv_exported lists;
	uint64_t n_bytes;
};

/* Reads how much memory still exists; on failure the last figure stays. */
static void look(struct clv_lease *lease, struct clv_orphaned_memory *orphaned)
{
	uint64_t began_ns = clv_clock_ns(), took_ns;

	clv_exported_sum(&orphaned->lists, &lease->orphaned_reader, &orphaned->n_bytes);
	took_ns = clv_clock_ns() - began_ns;
	if (lease->orphaned_look_at_ns < began_ns)
		lease->orphaned_look_at_ns = began_ns;
	lease->orphaned_look_at_ns += LOOK_PART * took_ns;
}

static void publish(struct clv_lease *lease)
{
	const struct clv_orphaned_memory *orphaned;
	uint64_t n_bytes = lease->lasting_bytes;

	TAILQ_FOREACH(orphaned, &lease->orphaned, entry)
	{
		n_bytes += orphaned->n_bytes;
	}
	if (lease->arbiter_lease)
		clv_arbiter_set_orphaned(
			lease->device->arbiter, lease->arbiter_lease, n_bytes);
}

static struct clv_orphaned_memory *orphaned_free(struct clv_orphaned_memory *orphaned)
{
	if (orphaned)
		clv_exported_close(&orphaned->lists);
	free(orphaned);
	return NULL;
}

void clv_orphaned_memory_record(struct clv_attached *process, int fd)
{
	int own_fd;

	if (!clv_watched_is_list(fd))
		return;
	if (!process->exported)
		process->exported = calloc(1, sizeof(*process->exported));
	own_fd = process->exported ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (own_fd >= 0)
		clv_exported_add(&process->exported->lists, own_fd);
}

static void keep(struct clv_lease *lease, struct clv_orphaned_memory *orphaned)
{
	if (lease->n_orphaned < ORPHANED_MAX) {
		TAILQ_INSERT_TAIL(&lease->orphaned, orphaned, entry);
		lease->n_orphaned++;
	} else {
		lease->lasting_bytes += orphaned->n_bytes;
		orphaned_free(orphaned);
	}
}

void clv_orphaned_memory_inherit(struct clv_attached *process)
{
	struct clv_lease *lease = process->lease;
	struct clv_orphaned_memory *orphaned = process->exported;

	if (!orphaned)
		return;
	process->exported = NULL;
	if (lease->arbiter_lease)
		orphaned->n_bytes = clv_arbiter_slot_memory(
			lease->arbiter_lease, process->record.slot);
	if (clv_clock_ns() >= lease->orphaned_look_at_ns)
		look(lease, orphaned);
	if (orphaned->n_bytes == 0) {
		orphaned_free(orphaned);
		return;
	}
	keep(lease, orphaned);
	publish(lease);
}

static void take_out(struct clv_lease *lease, struct clv_orphaned_memory *orphaned)
{
	TAILQ_REMOVE(&lease->orphaned, orphaned, entry);
	lease->n_orphaned--;
}

void clv_orphaned_memory_check(struct clv_lease *lease)
{
	uint64_t began_ns = clv_clock_ns();
	uint32_t n = lease->n_orphaned;

	if (n == 0 || began_ns < lease->orphaned_look_at_ns)
		return;
	for (; n > 0 && clv_clock_ns() - began_ns < TICK_NS; n--) {
		struct clv_orphaned_memory *orphaned = TAILQ_FIRST(&lease->orphaned);

		take_out(lease, orphaned);
		look(lease, orphaned);
		if (orphaned->n_bytes == 0)
			orphaned_free(orphaned);
		else
			keep(lease, orphaned);
	}
	publish(lease);
}

void clv_orphaned_memory_forget(struct clv_lease *lease)
{
	struct clv_orphaned_memory *orphaned;

	while ((orphaned = TAILQ_FIRST(&lease->orphaned))) {
		take_out(lease, orphaned);
		orphaned_free(orphaned);
	}
}

void clv_orphaned_memory_forget_process(struct clv_attached *process)
{
	process->exported = orphaned_free(process->exported);
}
