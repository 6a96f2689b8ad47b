/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

/* The compute units that a queue may use: those that HSA_CU_MASK leaves and the program
 * asks for. Work takes longer in proportion to the missing ones. */

#define MASK_WORDS 32

static uint32_t units_of(const uint32_t mask[MASK_WORDS])
{
	uint32_t n = 0;

	for (int i = 0; i < MASK_WORDS; i++)
		n += (uint32_t)__builtin_popcount(mask[i]);
	return n;
}

static void set_unit(uint32_t mask[MASK_WORDS], unsigned long unit)
{
	if (unit < MASK_WORDS * 32)
		mask[unit / 32] |= 1U << unit % 32;
}

/* "A", or "A-B". Text of another form makes the parser ignore the rest. */
static bool read_range(const char **text, unsigned long *first, unsigned long *last)
{
	char *end;

	*first = *last = strtoul(*text, &end, 10);
	if (end == *text)
		return false;
	if (*end == '-') {
		const char *from = end + 1;

		*last = strtoul(from, &end, 10);
		if (end == from || *last < *first)
			return false;
	}
	*text = end;
	return true;
}

/* "0,2-3" before the colon; returns whether the GPU is in it. */
static bool names_gpu(const char **text, unsigned long gpu, bool *is_good)
{
	unsigned long first, last;
	bool found = false;

	do {
		*text += **text == ',';
		*is_good = read_range(text, &first, &last);
		found = found || (*is_good && first <= gpu && gpu <= last);
	} while (*is_good && **text == ',');
	return found;
}

static bool read_units(const char **text, uint32_t ret[MASK_WORDS])
{
	unsigned long first, last;

	memset(ret, 0, MASK_WORDS * sizeof(*ret));
	do {
		*text += **text == ',';
		if (!read_range(text, &first, &last))
			return false;
		for (unsigned long i = first; i <= last && i < MASK_WORDS * 32; i++)
			set_unit(ret, i);
	} while (**text == ',');
	return true;
}

static void all_units(const struct agent *agent, uint32_t ret[MASK_WORDS])
{
	memset(ret, 0, MASK_WORDS * sizeof(*ret));
	for (uint32_t i = 0; i < agent->info.units; i++)
		set_unit(ret, i);
}

static void keep(uint32_t mask[MASK_WORDS], const uint32_t of[MASK_WORDS])
{
	for (int i = 0; i < MASK_WORDS; i++)
		mask[i] &= of[i];
}

/* GPUs are numbered as they are visible: `0:0-15;1,2:0-7,9`. */
void dhs_mask_default(const struct agent *agent, uint32_t ret[MASK_WORDS])
{
	unsigned long gpu = (unsigned long)(agent - dhs_agents - 1);
	const char *text = getenv("HSA_CU_MASK");
	uint32_t mask[MASK_WORDS];
	bool is_good = text;

	all_units(agent, ret);
	while (is_good && *text) {
		bool is_mine = names_gpu(&text, gpu, &is_good);

		if (!is_good || *text++ != ':' || !read_units(&text, mask))
			return;
		if (is_mine)
			keep(ret, mask);
		text += *text == ';';
	}
}

void dhs_mask_apply(struct queue *q)
{
	uint32_t n = units_of(q->mask), all = q->agent->info.units;
	uint32_t permille = n * 1000 / all;

	atomic_store(&dgp_area->slots[q->slot].permille, permille ? permille : 1);
}

static bool is_mask(const struct queue *q, uint32_t bits, const void *mask)
{
	return q && q->agent && mask && bits && bits % 32 == 0 && bits <= MASK_WORDS * 32;
}

int dhs_hsa_amd_queue_cu_set_mask(
	const struct hsa_queue *queue, uint32_t bits, const uint32_t *mask)
{
	struct queue *q = (struct queue *)(uintptr_t)queue;
	uint32_t wanted[MASK_WORDS] = {0}, n;

	if (!queue)
		return HSA_INVALID_QUEUE;
	if (bits && !is_mask(q, bits, mask))
		return HSA_INVALID_ARGUMENT;
	dhs_mask_default(q->agent, q->mask);
	if (bits) {
		memcpy(wanted, mask, bits / 8);
		n = units_of(wanted);
		keep(q->mask, wanted);
	} else {
		n = units_of(q->mask);
	}
	dhs_mask_apply(q);
	return units_of(q->mask) < n ? HSA_CU_MASK_REDUCED : 0;
}

int dhs_hsa_amd_queue_cu_get_mask(
	const struct hsa_queue *queue, uint32_t bits, uint32_t *ret)
{
	const struct queue *q = (const struct queue *)(uintptr_t)queue;

	if (!is_mask(q, bits, ret))
		return HSA_INVALID_ARGUMENT;
	memcpy(ret, q->mask, bits / 8);
	return 0;
}
