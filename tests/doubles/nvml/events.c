/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"
#include <string.h>

static bool minor_is_taken(
	const struct dnv_node *node, const struct dnv_state *state, uint32_t minor)
{
	for (uint32_t i = 0; i < node->n_gpus; i++)
		if (state->gpus[i].minor == minor)
			return true;
	return false;
}

static void move_minor(const struct dnv_node *node, struct dnv_state *state, unsigned gpu)
{
	uint32_t minor = 0;

	while (minor_is_taken(node, state, minor))
		minor++;
	state->gpus[gpu].minor = minor;
}

void dnv_event_reset(const struct dnv_node *node, struct dnv_state *state, unsigned gpu)
{
	struct dnv_gpu_state *it = &state->gpus[gpu];

	it->mig = it->mig_pending;
	memset(it->gis, 0, sizeof(it->gis));
	if (node->gpus[gpu].minor_moves)
		move_minor(node, state, gpu);
}

void dnv_event_reboot(const struct dnv_node *node, struct dnv_state *state)
{
	for (uint32_t i = 0; i < node->n_gpus; i++) {
		struct dnv_gpu_state *it = &state->gpus[i];

		if (!node->gpus[i].model->keeps_mode)
			it->mig_pending = false;
		it->lost = false;
		dnv_event_reset(node, state, i);
	}
}
