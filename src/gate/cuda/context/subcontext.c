/* SPDX-License-Identifier: Apache-2.0 */
/* A list of the program's green contexts.  Few programs have any, so each look-up begins
 * with their number. */
#include "gate/cuda/context/subcontext.h"

#include "gate/cuda/context/library.h"
#include "gate/cuda/context/primary.h"
#include "gate/process/lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct record {
	struct record *next;
	struct clv_cuda_subcontext subcontext;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record *records;
static _Atomic uint32_t n_records;

__attribute__((constructor)) static void begin_lock(void)
{
	clv_lock_init(&lock, PTHREAD_MUTEX_NORMAL);
}

static bool add(const struct clv_cuda_subcontext *subcontext)
{
	struct record *record = malloc(sizeof(*record));

	if (!record)
		return false;
	record->subcontext = *subcontext;
	pthread_mutex_lock(&lock);
	record->next = records;
	records = record;
	atomic_fetch_add(&n_records, 1);
	pthread_mutex_unlock(&lock);
	return true;
}

bool clv_cuda_subcontext_made(void *green, int device)
{
	struct clv_cuda_subcontext made = {.green = green, .device = device};

	if (clv_cuda.cuCtxFromGreenCtx(&made.context, green) != CLV_CUDA_SUCCESS)
		return false;
	made.primary = clv_cuda_primary(device);
	return made.primary && add(&made);
}

void clv_cuda_subcontext_put_back(const struct clv_cuda_subcontext *subcontext)
{
	add(subcontext);
}

static bool has_green(const struct clv_cuda_subcontext *subcontext, const void *green)
{
	return subcontext->green == green;
}

static bool has_context(const struct clv_cuda_subcontext *subcontext, const void *context)
{
	return subcontext->context == context;
}

static bool has_primary(const struct clv_cuda_subcontext *subcontext, const void *primary)
{
	return subcontext->primary == primary;
}

typedef bool matches_fn(const struct clv_cuda_subcontext *subcontext, const void *what);

/* With the lock held: the link to the first record that matches, or to the end. */
static struct record **find(matches_fn *matches, const void *what)
{
	struct record **link = &records;

	while (*link && !matches(&(*link)->subcontext, what))
		link = &(*link)->next;
	return link;
}

static bool look_up(
	matches_fn *matches, const void *what, struct clv_cuda_subcontext *ret)
{
	const struct record *found;

	if (!what || atomic_load(&n_records) == 0)
		return false;
	pthread_mutex_lock(&lock);
	found = *find(matches, what);
	if (found)
		*ret = found->subcontext;
	pthread_mutex_unlock(&lock);
	return found;
}

static struct record *take(matches_fn *matches, const void *what)
{
	struct record **link, *found;

	pthread_mutex_lock(&lock);
	link = find(matches, what);
	found = *link;
	if (found) {
		*link = found->next;
		atomic_fetch_sub(&n_records, 1);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

bool clv_cuda_subcontext_withdraw(void *green, struct clv_cuda_subcontext *ret)
{
	struct record *found = take(has_green, green);

	if (!found)
		return false;
	*ret = found->subcontext;
	free(found);
	return true;
}

void clv_cuda_subcontexts_drop(const void *primary)
{
	struct record *found;

	while ((found = take(has_primary, primary)))
		free(found);
}

bool clv_cuda_subcontext_of_stream(void *stream, struct clv_cuda_subcontext *ret)
{
	void *green = NULL;

	return atomic_load(&n_records) > 0 &&
	       clv_cuda.cuStreamGetGreenCtx(stream, &green) == CLV_CUDA_SUCCESS &&
	       look_up(has_green, green, ret);
}

bool clv_cuda_subcontext_of_context(const void *context, struct clv_cuda_subcontext *ret)
{
	return look_up(has_context, context, ret);
}

void *clv_cuda_memory_context(void *context)
{
	struct clv_cuda_subcontext subcontext;

	return clv_cuda_subcontext_of_context(context, &subcontext) ? subcontext.primary
								    : context;
}

void clv_cuda_subcontexts_forget_parent(void)
{
	begin_lock();
	records = NULL;
	atomic_store(&n_records, 0);
}
