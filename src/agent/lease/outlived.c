/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lease/outlived.h"

#include "agent/device/devices.h"
#include "agent/lease/lease.h"
#include "agent/os/exported.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"
#include "base/watched.h"

#include <fcntl.h>
#include <stdlib.h>

/* The most instances that are kept of a lease.  What further processes leave behind stays
 * charged until the lease ends. */
#define OUTLIVED_MAX 256u

/* A tenant may let its lists be long, and several processes may have the same.  So all
 * looks for a lease get one part in LOOK_PART of the time, and a tick this much, beside
 * the last look.  Until it is looked at, all stays charged. */
#define LOOK_PART 100u
#define TICK_NS (10 * CLV_NS_PER_MS)

struct clv_outlived {
	TAILQ_ENTRY(clv_outlived) entry;
	struct clv_exported lists;
	uint64_t n_bytes;
};

/* Reads how much still exists; where that is not possible nothing changes. */
static void look(struct clv_lease *lease, struct clv_outlived *outlived)
{
	uint64_t began_ns = clv_clock_ns(), took_ns;

	clv_exported_sum(&outlived->lists, &lease->outlived_reader, &outlived->n_bytes);
	took_ns = clv_clock_ns() - began_ns;
	if (lease->outlived_look_at_ns < began_ns)
		lease->outlived_look_at_ns = began_ns;
	lease->outlived_look_at_ns += LOOK_PART * took_ns;
}

static void publish(struct clv_lease *lease)
{
	const struct clv_outlived *outlived;
	uint64_t n_bytes = lease->lasting_bytes;

	TAILQ_FOREACH(outlived, &lease->outlived, entry)
	{
		n_bytes += outlived->n_bytes;
	}
	if (lease->arbiter_lease)
		clv_arbiter_set_outlived(
			lease->device->arbiter, lease->arbiter_lease, n_bytes);
}

static struct clv_outlived *outlived_free(struct clv_outlived *outlived)
{
	if (outlived)
		clv_exported_close(&outlived->lists);
	free(outlived);
	return NULL;
}

void clv_outlived_record(struct clv_attached *process, int fd)
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

static void keep(struct clv_lease *lease, struct clv_outlived *outlived)
{
	if (lease->n_outlived < OUTLIVED_MAX) {
		TAILQ_INSERT_TAIL(&lease->outlived, outlived, entry);
		lease->n_outlived++;
	} else {
		lease->lasting_bytes += outlived->n_bytes;
		outlived_free(outlived);
	}
}

void clv_outlived_inherit(struct clv_attached *process)
{
	struct clv_lease *lease = process->lease;
	struct clv_outlived *outlived = process->exported;

	if (!outlived)
		return;
	process->exported = NULL;
	if (lease->arbiter_lease)
		outlived->n_bytes = clv_arbiter_slot_memory(
			lease->arbiter_lease, process->record.slot);
	if (clv_clock_ns() >= lease->outlived_look_at_ns)
		look(lease, outlived);
	if (outlived->n_bytes == 0) {
		outlived_free(outlived);
		return;
	}
	keep(lease, outlived);
	publish(lease);
}

static void take_out(struct clv_lease *lease, struct clv_outlived *outlived)
{
	TAILQ_REMOVE(&lease->outlived, outlived, entry);
	lease->n_outlived--;
}

void clv_outlived_check(struct clv_lease *lease)
{
	uint64_t began_ns = clv_clock_ns();
	uint32_t n = lease->n_outlived;

	if (n == 0 || began_ns < lease->outlived_look_at_ns)
		return;
	for (; n > 0 && clv_clock_ns() - began_ns < TICK_NS; n--) {
		struct clv_outlived *outlived = TAILQ_FIRST(&lease->outlived);

		take_out(lease, outlived);
		look(lease, outlived);
		if (outlived->n_bytes == 0)
			outlived_free(outlived);
		else
			keep(lease, outlived);
	}
	publish(lease);
}

void clv_outlived_forget(struct clv_lease *lease)
{
	struct clv_outlived *outlived;

	while ((outlived = TAILQ_FIRST(&lease->outlived))) {
		take_out(lease, outlived);
		outlived_free(outlived);
	}
}

void clv_outlived_forget_process(struct clv_attached *process)
{
	process->exported = outlived_free(process->exported);
}
