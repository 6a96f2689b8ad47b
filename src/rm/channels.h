/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "rm/object.h"

#include <stddef.h>

/* The channel groups of one process on a GPU, and how to take them off it and put them
 * back.  The kernel driver lets whoever has the very file do it through which they were
 * made, the agent too that was passed it.  Every call is bounded by the driver; how long
 * it takes no document says (where the GPU's firmware does it, since Turing, it is a
 * message there and back), so that cleave-try-preempt measures it.
 *
 * Used by one thread at a time. */
struct clv_rm_channels;

/* How it is done; which works is tried per driver. */
enum clv_rm_method {
	CLV_RM_BY_NOTHING,
	CLV_RM_BY_CHANNELS, /* all channels are disabled, and preempted, in one call */
	CLV_RM_BY_GROUPS,   /* each group is no longer scheduled, then preempted */
	/* Each group is preempted and has the shortest time-slice: it runs where the rest
	 * of the GPU's time is nobody's, and else for a few microseconds a round. */
	CLV_RM_BY_SLICES,
	_CLV_RM_METHOD_MAX,
};

const char *clv_rm_method_to_string(enum clv_rm_method method); /* "channels" */
enum clv_rm_method clv_rm_method_from_string(const char *name); /* or BY_NOTHING */

/* keeps_files: of each client's file a duplicate is kept, so that the caller may close
 * it; else it must stay open for as long as it is used here.  NULL: no memory. */
struct clv_rm_channels *clv_rm_channels_new(bool keeps_files);
struct clv_rm_channels *clv_rm_channels_free(struct clv_rm_channels *channels);

/* Takes in what was made or freed.  fd is the file through which the object's client was
 * made.  -E2BIG: there are too many; -ENOMEM, -EMFILE. */
int clv_rm_channels_note(
	struct clv_rm_channels *channels, int fd, const struct clv_rm_object *object);

/* Whether there is anything to be taken off. */
bool clv_rm_channels_has_groups(const struct clv_rm_channels *channels);

/* One after the other, with the file of its client; NULL behind the last. */
const struct clv_rm_object *clv_rm_channels_at(
	const struct clv_rm_channels *channels, size_t at, int *ret_fd);

/* Time-slices of groups that are on and off BY_SLICES.  Those of a lease in its turn are
 * long, for with each round those that are off have the GPU once. */
#define CLV_RM_SLICE_ON_US 8000u
#define CLV_RM_SLICE_OFF_US 1u

/* Off: returns when nothing of it runs.  0, or the status of the first control that was
 * refused (rm/control.h).  What is gone meanwhile is no failure. */
uint32_t clv_rm_channels_switch(
	const struct clv_rm_channels *channels, enum clv_rm_method method, bool on);

/* On, in whichever way it was taken off, or in none. */
void clv_rm_channels_put_back(const struct clv_rm_channels *channels);
