/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks which of a process's objects were reported to another process.  Freed handles
 * are reported first, then the objects that exist, in the order of their creation: a
 * receiver of an object drops what it had under that handle, and its children. */
#include "rm/channels-internal.h"

#include <assert.h>
#include <stdlib.h>

void clv_rm_reporting_add(struct clv_rm_channels *channels, struct clv_rm_node *node)
{
	TAILQ_INSERT_TAIL(&channels->nodes, node, in_order);
	if (!channels->first_unreported)
		channels->first_unreported = node;
}

void clv_rm_reporting_drop(struct clv_rm_channels *channels, struct clv_rm_node *node)
{
	if (channels->first_unreported == node)
		channels->first_unreported = TAILQ_NEXT(node, in_order);
	TAILQ_REMOVE(&channels->nodes, node, in_order);
	assert(channels->n_reported >= node->is_reported);
	channels->n_reported -= node->is_reported;
}

/* There are never more of these records than objects that had been reported. */
void clv_rm_reporting_free(
	struct clv_rm_channels *channels, uint32_t client, uint32_t handle)
{
	struct clv_rm_freed *freed = malloc(sizeof(*freed));

	if (!freed) {
		channels->is_complete = false;
		return;
	}
	*freed = (struct clv_rm_freed){.client = client, .handle = handle};
	STAILQ_INSERT_TAIL(&channels->freed, freed, entry);
}

uint64_t clv_rm_channels_n_changes(const struct clv_rm_channels *channels)
{
	return channels->n_changes;
}

bool clv_rm_channels_next_untold(const struct clv_rm_channels *channels,
	struct clv_rm_object *ret, int *ret_fd, bool *ret_is_last)
{
	const struct clv_rm_freed *freed = STAILQ_FIRST(&channels->freed);
	const struct clv_rm_node *node = channels->first_unreported;

	if (freed) {
		*ret = (struct clv_rm_object){
			.client = freed->client, .handle = freed->handle};
		*ret_fd = -1;
		*ret_is_last = !STAILQ_NEXT(freed, entry) && !node;
	} else if (node) {
		*ret = node->object;
		*ret_fd = node->device->client->fd;
		*ret_is_last = !TAILQ_NEXT(node, in_order);
	}
	return freed || node;
}

static void forget_freed(struct clv_rm_channels *channels)
{
	struct clv_rm_freed *freed = STAILQ_FIRST(&channels->freed);

	STAILQ_REMOVE_HEAD(&channels->freed, entry);
	free(freed);
}

void clv_rm_channels_note_told(struct clv_rm_channels *channels)
{
	struct clv_rm_node *node = channels->first_unreported;

	if (!STAILQ_EMPTY(&channels->freed)) {
		forget_freed(channels);
		return;
	}
	channels->first_unreported = TAILQ_NEXT(node, in_order);
	node->is_reported = true;
	node->device->client->is_reported = true;
	channels->n_reported++;
}

void clv_rm_channels_untell(struct clv_rm_channels *channels)
{
	struct clv_rm_node *node;

	while (!STAILQ_EMPTY(&channels->freed))
		forget_freed(channels);
	TAILQ_FOREACH(node, &channels->nodes, in_order)
	node->is_reported = false;
	channels->first_unreported = TAILQ_FIRST(&channels->nodes);
	for (size_t i = 0; i < CLV_RM_CLIENTS_MAX; i++)
		channels->clients[i].is_reported = false;
	channels->n_reported = 0;
}
