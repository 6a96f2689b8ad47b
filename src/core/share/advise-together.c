/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the proposals for the leases of one device fit together. */
#include "core/share/advise-together.h"

/* The sums of the proposed growth and of what the shrinking leases release for it. */
struct room {
	uint64_t wanted, available;
};

static void add(struct room *room, uint64_t has, uint64_t proposed)
{
	if (proposed > has)
		room->wanted += proposed - has;
	else
		room->available += has - proposed;
}

/* The proposal with its growth scaled to what is available. */
static uint64_t part_of(const struct room *room, uint64_t has, uint64_t proposed)
{
	unsigned __int128 growth;

	if (proposed <= has || room->wanted <= room->available)
		return proposed;
	growth = (unsigned __int128)(proposed - has) * room->available / room->wanted;
	return has + (uint64_t)growth;
}

static uint64_t round_down(uint64_t value, uint64_t step, uint64_t least)
{
	value -= value % step;
	return value > least ? value : least;
}

void clv_advise_fit_together(const struct clv_advise_claim *claims, size_t n,
	uint32_t free_ppm, uint64_t free_bytes)
{
	struct room share = {.available = free_ppm}, memory = {.available = free_bytes};

	for (size_t i = 0; i < n; i++) {
		add(&share, claims[i].has->share_ppm, claims[i].proposed->share_ppm);
		add(&memory, claims[i].has->memory_bytes,
			claims[i].proposed->memory_bytes);
	}
	for (size_t i = 0; i < n; i++) {
		const struct clv_advise_part *has = claims[i].has;
		struct clv_advise_part *proposed = claims[i].proposed;
		uint64_t ppm = part_of(&share, has->share_ppm, proposed->share_ppm);
		uint64_t bytes =
			part_of(&memory, has->memory_bytes, proposed->memory_bytes);

		if (ppm < proposed->share_ppm)
			proposed->share_ppm = (uint32_t)round_down(
				ppm, CLV_ADVISE_STEP_PPM, has->share_ppm);
		if (bytes < proposed->memory_bytes)
			proposed->memory_bytes = round_down(
				bytes, CLV_ADVISE_MEMORY_STEP_BYTES, has->memory_bytes);
	}
}
