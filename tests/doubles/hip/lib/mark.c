/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>

/* Marks. A mark without references is reused, but not before its command is complete:
 * until then the GPU writes the signal. */

static struct mark *unused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool dhi_mark_is_done(const struct mark *mark)
{
	return !mark || hsa_signal_load_scacquire(mark->signal) <= 0;
}

void dhi_mark_await(const struct mark *mark)
{
	if (mark)
		hsa_signal_wait_scacquire(mark->signal, HSA_LT, 1, UINT64_MAX, 0);
}

static struct mark *take_unused(void)
{
	struct mark *found = NULL;

	pthread_mutex_lock(&lock);
	if (unused && hsa_signal_load_relaxed(unused->signal) <= 0) {
		found = unused;
		unused = found->next;
	}
	pthread_mutex_unlock(&lock);
	if (found) {
		dhi_mark_drop(found->behind);
		found->behind = NULL;
	}
	return found;
}

struct mark *dhi_mark_new(void)
{
	struct mark *mark = take_unused();

	if (!mark) {
		mark = calloc(1, sizeof(*mark));
		if (hsa_signal_create(1, 0, NULL, &mark->signal)) {
			free(mark);
			return NULL;
		}
	}
	hsa_signal_silent_store_relaxed(mark->signal, 1);
	mark->references = 1;
	return mark;
}

struct mark *dhi_mark_keep(struct mark *mark)
{
	if (mark)
		atomic_fetch_add(&mark->references, 1);
	return mark;
}

/* The oldest first: the mark dropped last is completed last. */
void dhi_mark_drop(struct mark *mark)
{
	struct mark **last = &unused;

	if (!mark || atomic_fetch_sub(&mark->references, 1) != 1)
		return;
	mark->next = NULL;
	if (hsa_signal_load_relaxed(mark->signal) <= 0) {
		dhi_mark_drop(mark->behind);
		mark->behind = NULL;
	}
	pthread_mutex_lock(&lock);
	if (!mark->behind && hsa_signal_load_relaxed(mark->signal) <= 0) {
		mark->next = unused;
		unused = mark;
	} else {
		while (*last)
			last = &(*last)->next;
		*last = mark;
	}
	pthread_mutex_unlock(&lock);
}
