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
 * What it takes here is a few steps for each object that is noted, and for each channel
 * that is switched, whatever the process has.
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
 * made.  -E2BIG: there are too many; -EINVAL: it cannot be; -ENOMEM, -EMFILE. */
int clv_rm_channels_note(
	struct clv_rm_channels *channels, int fd, const struct clv_rm_object *object);

/* Whether all that was noted is here: after a failure it never is again. */
bool clv_rm_channels_are_whole(const struct clv_rm_channels *channels);

/* Whether there is anything to be taken off. */
bool clv_rm_channels_has_groups(const struct clv_rm_channels *channels);

size_t clv_rm_channels_count(const struct clv_rm_channels *channels); /* all objects */

/* How many calls of the driver a switch is. */
size_t clv_rm_channels_count_calls(
	const struct clv_rm_channels *channels, enum clv_rm_method method);

/* Telling another process of them, which may take a while: in which order does not
 * follow from that in which they came, only that who notes them so has the same.
 *
 * n_changes counts what was made and freed.  next: what is to be told next, with the file
 * of its client, or with -1 where it is what was freed; told: it was.  False: all is. */
uint64_t clv_rm_channels_n_changes(const struct clv_rm_channels *channels);
bool clv_rm_channels_next_untold(const struct clv_rm_channels *channels,
	struct clv_rm_object *ret, int *ret_fd, bool *ret_is_last);
void clv_rm_channels_note_told(struct clv_rm_channels *channels);

/* Another one is told, who knows nothing. */
void clv_rm_channels_untell(struct clv_rm_channels *channels);

/* Time-slices of groups that are on and off BY_SLICES.  Those of a lease in its turn are
 * long, for with each round those that are off have the GPU once. */
#define CLV_RM_SLICE_ON_US 8000u
#define CLV_RM_SLICE_OFF_US 1u

/* Off: returns when nothing of it runs.  0, or the status of the first control that was
 * refused (rm/control.h).  What is gone meanwhile is no failure. */
uint32_t clv_rm_channels_switch(
	const struct clv_rm_channels *channels, enum clv_rm_method method, bool on);

/* The same of one object that was noted, where it takes a call of its own. */
uint32_t clv_rm_channels_switch_one(const struct clv_rm_channels *channels,
	const struct clv_rm_object *object, enum clv_rm_method method, bool on);

/* On, in whichever way it was taken off, or in none. */
void clv_rm_channels_put_back(const struct clv_rm_channels *channels);
