/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "rm/object.h"

#include <stddef.h>

/* The channel groups of one process on a GPU, and how to take them off it and put them
 * back.  The kernel driver lets whoever has the very file do it through which they were
 * made, the agent too that was passed it; every call is bounded by the driver, and takes
 * some ten microseconds.
 *
 * Used by one thread at a time. */
struct clv_rm_channels;

/* How it is done; which works is tried per driver. */
enum clv_rm_method {
	CLV_RM_BY_NOTHING,
	CLV_RM_BY_CHANNELS, /* all channels are disabled, and preempted, in one call */
	CLV_RM_BY_GROUPS,   /* each group is no longer scheduled, then preempted */
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

/* Off: returns when nothing of it runs.  0, or the status of the first control that was
 * refused (rm/abi.h), with bit 16 set: errno.  What is gone meanwhile is no failure. */
uint32_t clv_rm_channels_switch(
	const struct clv_rm_channels *channels, enum clv_rm_method method, bool on);
