/* SPDX-License-Identifier: Apache-2.0 */
#include "effect.h"
#include "process.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t applied;

struct effect *dgp_effect_new(void)
{
	struct effect *e = calloc(1, sizeof(*e));

	e->height = e->depth = e->element = 1;
	return e;
}

struct effect *dgp_effect_copy(char *dst, const char *src, size_t bytes)
{
	struct effect *e = dgp_effect_new();

	e->dst = dst;
	e->src = src;
	e->width = bytes;
	return e;
}

struct effect *dgp_effect_fill(char *dst, uint32_t value, uint32_t element, size_t count)
{
	struct effect *e = dgp_effect_new();

	e->dst = dst;
	e->value = value;
	e->element = element;
	e->width = count * element;
	return e;
}

void dgp_effect_free(struct effect *effect)
{
	while (effect) {
		struct effect *next = effect->next;

		free(effect->owned);
		free(effect);
		effect = next;
	}
}

static void fill_row(char *row, const struct effect *e)
{
	if (e->element == 1) {
		memset(row, (int)e->value, e->width);
		return;
	}
	for (size_t at = 0; at < e->width; at += e->element)
		memcpy(row + at, &e->value, e->element);
}

static void do_rows(const struct effect *e)
{
	for (size_t z = 0; z < e->depth; z++)
		for (size_t y = 0; y < e->height; y++) {
			char *dst = e->dst + z * e->dst_slice + y * e->dst_pitch;
			const char *src = e->src + z * e->src_slice + y * e->src_pitch;

			if (e->src)
				memmove(dst, src, e->width);
			else
				fill_row(dst, e);
		}
}

void dgp_effect_do(const struct effect *effect)
{
	for (const struct effect *e = effect; e; e = e->next)
		if (e->call)
			e->call(e->user);
		else
			do_rows(e);
}

void dgp_effects_apply(void)
{
	uint64_t tail = atomic_load(&dgp_area->effects_tail);

	if (atomic_load(&applied) >= tail)
		return;
	pthread_mutex_lock(&lock);
	while (atomic_load(&applied) < tail) {
		uint64_t at = atomic_load(&applied);
		struct effect *effect =
			(struct effect *)(uintptr_t)dgp_area->effects[at % DGP_EFFECTS];

		dgp_effect_do(effect);
		if (effect->again)
			effect->again--;
		else
			dgp_effect_free(effect);
		atomic_store(&applied, at + 1);
	}
	pthread_mutex_unlock(&lock);
}

void dgp_effects_trim(void)
{
	if (atomic_load(&dgp_area->effects_tail) - atomic_load(&applied) >
		DGP_EFFECTS / 2)
		dgp_effects_apply();
}
