/* SPDX-License-Identifier: Apache-2.0 */
/* Masks of queues.  HSA cuts the mask of each queue, its own queues' and OpenCL's too,
 * and each mask that a program sets to HSA_CU_MASK.  The gate sets the variable in
 * hsa_init, so whatever the program did to its environment before has no effect.  Where
 * HSA ignores the variable, the gate sets the mask of each new queue by a call. */
#include "gate/hsa/units.h"

#include "gate/attach/sm.h"
#include "gate/hsa/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MASK_WORDS 32
#define MASK_BITS (MASK_WORDS * 32)

struct mask {
	uint32_t words[MASK_WORDS];
};

static bool has_unit(const struct mask *mask, uint32_t unit)
{
	return unit < MASK_BITS && mask->words[unit / 32] >> unit % 32 & 1;
}

static void add_unit(struct mask *mask, uint32_t unit)
{
	if (unit < MASK_BITS)
		mask->words[unit / 32] |= UINT32_C(1) << unit % 32;
}

static bool is_empty(const struct mask *mask)
{
	static const struct mask empty;

	return memcmp(mask, &empty, sizeof(empty)) == 0;
}

/* False: there is no limit, or none that can be applied, because the agent does not know
 * the units; the agent is notified. */
static bool get_limit(struct clv_sm_limit *ret)
{
	*ret = clv_sm_limit_get();
	if (ret->ppm > 0 && ret->count == 0)
		clv_sm_tell(CLV_ATTACH_SM_NO_MEANS, 0);
	return ret->count > 0;
}

void clv_hsa_units_begin(void)
{
	struct clv_sm_limit limit;
	char text[64];

	if (!get_limit(&limit))
		return;
	/* The lease has one device. */
	snprintf(text, sizeof(text), "0:%u-%u", limit.first,
		limit.first + limit.count - 1);
	setenv("HSA_CU_MASK", text, 1);
}

static struct mask all_of(const struct clv_sm_limit *limit)
{
	struct mask mask = {0};

	for (uint32_t i = 0; i < limit->count; i++)
		add_unit(&mask, limit->first + i);
	return mask;
}

static bool is_within_limit(const void *queue, const struct clv_sm_limit *limit)
{
	struct mask mask = {0};

	if (clv_hsa.hsa_amd_queue_cu_get_mask(
		    (void *)(uintptr_t)queue, MASK_BITS, mask.words) != CLV_HSA_SUCCESS)
		return false;
	for (uint32_t i = 0; i < MASK_BITS; i++) {
		if (has_unit(&mask, i) && i - limit->first >= limit->count)
			return false;
	}
	return !is_empty(&mask);
}

void clv_hsa_units_apply(const void *queue)
{
	struct clv_sm_limit limit;
	struct mask all;
	int r = CLV_HSA_SUCCESS;

	if (!get_limit(&limit))
		return;
	all = all_of(&limit);
	if (!is_within_limit(queue, &limit))
		r = clv_hsa.hsa_amd_queue_cu_set_mask(
			(void *)(uintptr_t)queue, MASK_BITS, all.words);
	clv_sm_tell(r == CLV_HSA_SUCCESS || r == CLV_HSA_CU_MASK_REDUCED
			    ? CLV_ATTACH_SM_MASKS
			    : CLV_ATTACH_SM_NO_MEANS,
		limit.count);
}

void clv_hsa_units_limit(uint32_t *n_units)
{
	struct clv_sm_limit limit;

	if (get_limit(&limit) && *n_units > limit.count)
		*n_units = limit.count;
}

static struct mask read_mask(uint32_t n_bits, const void *words)
{
	struct mask mask = {0};

	memcpy(mask.words, words, n_bits / 8 < sizeof(mask) ? n_bits / 8 : sizeof(mask));
	return mask;
}

/* The units that a program's mask selects, which counts the lease's units from 0.
 * *ret_is_less: the mask also selects units beyond these.  If it selects no unit of the
 * lease, the result is all of them, because work in a queue without units would never
 * complete. */
static struct mask effective_mask(
	const struct mask *asked, const struct clv_sm_limit *limit, bool *ret_is_less)
{
	struct mask mask = {0};

	*ret_is_less = false;
	for (uint32_t i = 0; i < MASK_BITS; i++) {
		if (!has_unit(asked, i))
			continue;
		if (i < limit->count)
			add_unit(&mask, limit->first + i);
		else
			*ret_is_less = true;
	}
	return is_empty(&mask) ? all_of(limit) : mask;
}

int clv_own_hsa_amd_queue_cu_set_mask(
	clv_fn_hsa_amd_queue_cu_set_mask *real, void *queue, uint32_t n_bits, void *words)
{
	struct clv_sm_limit limit;
	struct mask mask = {0};
	bool is_less = false;
	int r;

	if (!get_limit(&limit) || (n_bits > 0 && (n_bits % 32 != 0 || !words)))
		return real(queue, n_bits, words);
	mask = all_of(&limit);
	if (n_bits > 0) {
		struct mask asked = read_mask(n_bits, words);

		mask = effective_mask(&asked, &limit, &is_less);
	}
	r = real(queue, MASK_BITS, mask.words);
	return r == CLV_HSA_SUCCESS && is_less ? CLV_HSA_CU_MASK_REDUCED : r;
}

int clv_own_hsa_amd_queue_cu_get_mask(
	clv_fn_hsa_amd_queue_cu_get_mask *real, void *queue, uint32_t n_bits, void *words)
{
	struct clv_sm_limit limit;
	struct mask mask = {0}, shown = {0};
	int r;

	if (!get_limit(&limit) || n_bits % 32 != 0 || n_bits > MASK_BITS || !words)
		return real(queue, n_bits, words);
	r = real(queue, MASK_BITS, mask.words);
	for (uint32_t i = 0; i < limit.count; i++) {
		if (has_unit(&mask, limit.first + i))
			add_unit(&shown, i);
	}
	if (r == CLV_HSA_SUCCESS)
		memcpy(words, shown.words, n_bits / 8);
	return r;
}
