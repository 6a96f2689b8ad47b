/* SPDX-License-Identifier: Apache-2.0 */
/* Enters the agent's leases into the survey's lists of holders. */
#include "agent/ledger/holders.h"

#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/lease/lease.h"
#include "agent/record/agent.h"
#include "base/text.h"
#include "core/device/node.h"

#include <stdio.h>
#include <string.h>

static void drop_leases(struct clv_holders *holders)
{
	size_t n = 0;

	for (size_t i = 0; i < holders->n; i++) {
		if (!holders->items[i].is_ours)
			holders->items[n++] = holders->items[i];
	}
	holders->n = n;
}

static void add_lease(struct clv_holders *holders, const struct clv_lease *lease)
{
	struct clv_holder *holder = clv_holders_add(holders);

	if (!holder)
		return;
	holder->is_ours = true;
	holder->is_machine = lease->record.vm[0] != '\0';
	snprintf(holder->lease, sizeof(holder->lease), "%s", lease->record.id);
	if (holder->is_machine)
		snprintf(holder->text, sizeof(holder->text), "virtual machine %.60s",
			lease->record.command);
	else
		snprintf(holder->text, sizeof(holder->text), "lease %.32s of %.32s",
			lease->record.name, lease->record.tenant);
	clv_text_make_printable(holder->text); /* a name may have been cut */
	holder->pid = (uint32_t)lease->record.holder.pid;
}

static void add_leases(
	const struct clv_agent *agent, const char *name, struct clv_holders *holders)
{
	const struct clv_agent_device *device = clv_devices_find(agent->devices, name);

	drop_leases(holders);
	for (size_t i = 0; device && i < device->n_leases; i++) {
		if (!device->leases[i]->record.is_queued)
			add_lease(holders, device->leases[i]);
	}
}

struct clv_node *clv_holders_node(const struct clv_agent *agent)
{
	struct clv_node *node = clv_hardware_node(agent->hardware);

	for (size_t i = 0; i < node->n_devices; i++) {
		struct clv_node_device *device = &node->devices[i];
		const struct clv_agent_device *whole;

		whole = clv_devices_find(agent->devices, device->info.uuid);
		device->is_cordoned = whole && whole->is_cordoned;
		add_leases(agent, device->info.name, &device->holders);
		for (size_t j = 0; j < device->n_partitions; j++) {
			struct clv_partition *partition = &device->partitions[j];

			add_leases(agent, partition->name, &partition->holders);
			for (size_t k = 0; k < partition->n_parts; k++)
				add_leases(agent, partition->parts[k].name,
					&partition->parts[k].holders);
			/* A virtual function has the holders of its partition. */
			if (device->scheme == CLV_SCHEME_VF && j < device->vf.n)
				add_leases(agent, partition->name,
					&device->vf.items[j].holders);
		}
	}
	return node;
}
