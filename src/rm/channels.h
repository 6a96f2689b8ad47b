/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "rm/object.h"

#include <stddef.h>

/* The channel groups of one process on a GPU, and how to take them off the GPU and put
 * them back.  The kernel driver allows that to any process that has the very file through
 * which the groups were created, so also to an agent that received that file.  Every call
 * is bounded by the driver; no document says how long it takes (where the GPU's firmware
 * does it, since Turing, it is a message there and back), so cleave-try-preempt measures
 * it.
 *
 * The cost here is a few steps per object noted and per channel switched, however many
 * objects the process has.
 *
 * Used by one thread at a time. */
struct clv_rm_channels;

/* How groups are taken off the GPU; cleave-try-preempt finds which method works with a
 * driver. */
enum clv_rm_method {
	CLV_RM_BY_NOTHING,
	CLV_RM_BY_CHANNELS, /* all channels are disabled and preempted in one call */
	CLV_RM_BY_GROUPS, /* each group's scheduling is disabled, then it is preempted */
	/* Each group is preempted and gets the shortest time slice: it runs while the
	 * rest of the GPU is idle, and otherwise for a few microseconds per round. */
	CLV_RM_BY_SLICES,
	_CLV_RM_METHOD_MAX,
};

const char *clv_rm_method_to_string(enum clv_rm_method method); /* such as "channels" */
enum clv_rm_method clv_rm_method_from_string(const char *name); /* or BY_NOTHING */

/* keeps_files: each client's file is duplicated, so that the caller may close it;
 * otherwise it must stay open for as long as it is used here.  NULL: no memory. */
struct clv_rm_channels *clv_rm_channels_new(bool keeps_files);
struct clv_rm_channels *clv_rm_channels_free(struct clv_rm_channels *channels);

/* Records an object that was created or freed.  fd is the file through which the object's
 * client was created. -E2BIG: too many objects or clients; -EINVAL: not a valid object;
 * -ENOMEM, -EMFILE. */
int clv_rm_channels_note(
	struct clv_rm_channels *channels, int fd, const struct clv_rm_object *object);

/* Whether every noted object is recorded: after a failure never again. */
bool clv_rm_channels_are_whole(const struct clv_rm_channels *channels);

/* Whether there is a group that can be taken off the GPU. */
bool clv_rm_channels_has_groups(const struct clv_rm_channels *channels);

size_t clv_rm_channels_count(const struct clv_rm_channels *channels); /* of all objects */

/* How many driver calls a switch takes. */
size_t clv_rm_channels_count_calls(
	const struct clv_rm_channels *channels, enum clv_rm_method method);

/* Reporting the objects to another process, which may take a while.  Their order may
 * differ from that in which they were created; a receiver that notes them in it ends with
 * the same objects.
 *
 * n_changes counts objects created and freed.  next_unreported returns the next object to
 * report with the file of its client, or a freed handle with -1; false: all are reported.
 * note_reported marks it as reported. */
uint64_t clv_rm_channels_n_changes(const struct clv_rm_channels *channels);
bool clv_rm_channels_next_untold(const struct clv_rm_channels *channels,
	struct clv_rm_object *ret, int *ret_fd, bool *ret_is_last);
void clv_rm_channels_note_told(struct clv_rm_channels *channels);

/* Marks all objects as not reported, for another receiver. */
void clv_rm_channels_untell(struct clv_rm_channels *channels);

/* Time slices of groups that are on and off BY_SLICES.  Those of a lease in its turn are
 * long, because in each round the groups that are off get the GPU once. */
#define CLV_RM_SLICE_ON_US 8000u
#define CLV_RM_SLICE_OFF_US 1u

/* Off: returns once no work of the process runs.  Returns 0, or the status of the first
 * control that was refused (rm/control.h).  An object that was freed meanwhile is no
 * failure. */
uint32_t clv_rm_channels_switch(
	const struct clv_rm_channels *channels, enum clv_rm_method method, bool on);

/* From then on a switch calls after(userdata) after each of its driver calls: those of
 * many groups take tens of milliseconds together. */
void clv_rm_channels_call_after(
	struct clv_rm_channels *channels, void (*after)(void *userdata), void *userdata);

/* A switch of one noted object, if the method switches objects of its kind. */
uint32_t clv_rm_channels_switch_one(const struct clv_rm_channels *channels,
	const struct clv_rm_object *object, enum clv_rm_method method, bool on);

/* Puts everything back on the GPU, by whatever method it was taken off, if at all. */
void clv_rm_channels_restore(const struct clv_rm_channels *channels);
