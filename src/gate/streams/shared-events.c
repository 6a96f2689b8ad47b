/* SPDX-License-Identifier: Apache-2.0 */
/* A list, because programs have few of them. */
#include "gate/streams/shared-events.h"

#include "gate/process/lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct shared_event {
	struct shared_event *next;
	const void *event;
};

static struct shared_event *shared_events;
static _Atomic uint32_t n_shared_events;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin_lock(void)
{
	clv_lock_init(&lock, PTHREAD_MUTEX_NORMAL);
}

static struct shared_event **find(const void *event)
{
	struct shared_event **link = &shared_events;

	while (*link && (*link)->event != event)
		link = &(*link)->next;
	return link;
}

bool clv_shared_event_is(const void *event)
{
	bool is_found;

	if (atomic_load(&n_shared_events) == 0)
		return false;
	pthread_mutex_lock(&lock);
	is_found = *find(event) != NULL;
	pthread_mutex_unlock(&lock);
	return is_found;
}

void clv_shared_event_note(const void *event)
{
	struct shared_event *each;

	pthread_mutex_lock(&lock);
	each = *find(event) ? NULL : malloc(sizeof(*each));
	if (each) {
		*each = (struct shared_event){shared_events, event};
		shared_events = each;
		atomic_fetch_add(&n_shared_events, 1);
	}
	pthread_mutex_unlock(&lock);
}

void clv_shared_event_forget(const void *event)
{
	struct shared_event **link, *each;

	if (atomic_load(&n_shared_events) == 0)
		return;
	pthread_mutex_lock(&lock);
	link = find(event);
	each = *link;
	if (each) {
		*link = each->next;
		free(each);
		atomic_fetch_sub(&n_shared_events, 1);
	}
	pthread_mutex_unlock(&lock);
}

void clv_shared_events_forget_parent(void)
{
	clv_lock_init(&lock, PTHREAD_MUTEX_NORMAL);
	shared_events = NULL;
	atomic_store(&n_shared_events, 0);
}
