/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"
#include "handles.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

/* Event sets, which have only Xid errors: lines of `GPU XID` that the test appends to the
 * file `xids`. A set gets the lines added after it was created, for the GPUs registered
 * with it. */

#define SETS_MAX 8

struct dnv_event_set {
	bool is_made;
	uint32_t gpus; /* a bitmap */
	int n_seen;    /* lines */
};

static struct dnv_event_set sets[SETS_MAX];

static struct dnv_event_set *find(struct dnv_event_set *set)
{
	for (int i = 0; i < SETS_MAX; i++)
		if (&sets[i] == set && set->is_made)
			return set;
	return NULL;
}

/* The line of this number, if there is one. */
static bool read_line(int number, uint64_t *gpu, uint64_t *xid)
{
	char *text = dnv_text_read(dnv_dirfd(), "xids"), *rest = text;
	struct dnv_line line = {0};
	bool is_there = false;
	int n = 0;

	while (!is_there && dnv_text_next(&rest, &line)) {
		is_there = n++ == number;
		if (line.n_words != 2 ||
			!dnv_text_number(line.words[0], 0, DNV_GPUS_MAX - 1, gpu) ||
			!dnv_text_number(line.words[1], 0, UINT32_MAX, xid))
			dnv_text_die("xids", &line);
	}
	free(text);
	return is_there;
}

int dnv_nvmlEventSetCreate(struct dnv_event_set **ret)
{
	uint64_t gpu, xid;

	if (!ret)
		return DNV_INVALID_ARGUMENT;
	for (int i = 0; i < SETS_MAX; i++) {
		if (sets[i].is_made)
			continue;
		sets[i] = (struct dnv_event_set){.is_made = true};
		while (read_line(sets[i].n_seen, &gpu, &xid))
			sets[i].n_seen++;
		*ret = &sets[i];
		return DNV_SUCCESS;
	}
	return DNV_INSUFFICIENT_RESOURCES;
}

int dnv_nvmlEventSetFree(struct dnv_event_set *set)
{
	if (!find(set))
		return DNV_INVALID_ARGUMENT;
	set->is_made = false;
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceRegisterEvents(
	struct dnv_handle *device, uint64_t types, struct dnv_event_set *set)
{
	struct dnv_target target;
	int r = dnv_resolve(device, DNV_KIND_GPU, &target);

	if (r)
		return r;
	if (!find(set) || !types)
		return DNV_INVALID_ARGUMENT;
	if (types & ~(uint64_t)DNV_EVENT_XID)
		return DNV_NOT_SUPPORTED;
	set->gpus |= 1U << target.gpu;
	return DNV_SUCCESS;
}

/* Does not block, because a call has exclusive access to the node. */
int dnv_nvmlEventSetWait_v2(struct dnv_event_set *set, struct dnv_event *ret, uint32_t ms)
{
	uint64_t gpu, xid;

	if (!find(set) || !ret)
		return DNV_INVALID_ARGUMENT;
	while (read_line(set->n_seen, &gpu, &xid)) {
		set->n_seen++;
		if (!(set->gpus & 1U << gpu))
			continue;
		*ret = (struct dnv_event){
			.device = dnv_handle_gpu((unsigned)gpu),
			.type = DNV_EVENT_XID,
			.data = xid,
			.gi = DNV_NONE_U32,
			.ci = DNV_NONE_U32,
		};
		return DNV_SUCCESS;
	}
	return DNV_TIMEOUT;
}
