/* SPDX-License-Identifier: Apache-2.0 */
#include "explore-hash.h"

#include "explore-said.h"
#include "world.h"

#include "agent/apply/apply-internal.h"
#include "agent/layout/ephemeral-partitions.h"
#include "agent/layout/reapply.h"
#include "agent/store/state.h"
#include "agent/store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t explore_hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

uint64_t explore_hash_number(uint64_t hash, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return explore_hash_text(hash, text);
}

static int hash_journal(void *userdata, const struct clv_journal *journal)
{
	uint64_t *hash = userdata;

	*hash = explore_hash_text(*hash, journal->state);
	*hash = explore_hash_number(*hash, journal->target[0] != '\0');
	return 0;
}

static uint64_t hash_operation(uint64_t hash, const struct clv_operation *op)
{
	hash = explore_hash_number(hash, op->state);
	hash = explore_hash_number(hash, op->is_resumed + 2 * (op->before != NULL) +
						 4 * (op->timer != NULL) +
						 8 * op->request.is_again);
	hash = explore_hash_number(hash, op->at);
	hash = explore_hash_number(hash, op->n_tries);
	hash = explore_hash_number(hash, op->n_left);
	hash = explore_hash_number(hash, (uint64_t)-op->error.code);
	for (size_t i = 0; i < op->n_stages; i++)
		hash = explore_hash_text(hash, op->stages[i].text);
	return hash;
}

/* Those that are under way, and the last one. */
static uint64_t hash_operations(uint64_t hash)
{
	const struct clv_operation *op;

	clv_store_read_journal(world.agent.state->store, hash_journal, &hash, NULL);
	for (size_t i = 0; (op = clv_apply_at(world.agent.apply, i)); i++) {
		if (op == explore_last() || !clv_operation_has_ended(op))
			hash = hash_operation(hash, op);
	}
	return explore_hash_number(hash, explore_last() != NULL);
}

static uint64_t hash_reapply(uint64_t hash)
{
	json_t *items = clv_reapply_to_json(world.agent.reapply);
	char *text = json_dumps(items, JSON_SORT_KEYS);

	hash = explore_hash_text(hash, text);
	hash = explore_hash_number(hash, clv_reapply_is_active(world.agent.reapply));
	free(text);
	json_decref(items);
	return hash;
}

static uint64_t hash_devices(uint64_t hash)
{
	for (size_t i = 0; i < clv_devices_count(world.agent.devices); i++) {
		const struct clv_agent_device *device =
			clv_devices_at(world.agent.devices, i);

		hash = explore_hash_text(hash, device->info.name);
		hash = explore_hash_number(hash, device->is_present +
							 2 * device->is_changing +
							 4 * device->is_divided);
		for (size_t j = 0; j < device->n_leases; j++)
			hash = explore_hash_number(
				hash, 1 + device->leases[j]->record.is_queued);
	}
	return hash;
}

uint64_t explore_hash_agent(uint64_t hash)
{
	hash = hash_operations(hash);
	hash = hash_reapply(hash);
	hash = hash_devices(hash);
	return explore_hash_number(
		hash, clv_ephemeral_is_on(world.agent.ephemeral, "gpu0"));
}
