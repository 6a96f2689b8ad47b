/* SPDX-License-Identifier: Apache-2.0 */
/* The power of nodes: kinds of it, and what placements add. */
#include "core/fleet/power.h"

#include "core/fleet/fleet-internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_unknown(const struct clv_fleet_power *power)
{
	return power->device_full_w == 0 && power->socket_full_w == 0;
}

int clv_fleet_number_power(
	struct clv_fleet *fleet, const struct clv_fleet_power *power, uint8_t *ret)
{
	struct clv_fleet_power *grown;
	uint32_t i = 0;

	*ret = 0;
	if (is_unknown(power))
		return 0;
	while (i < fleet->n_powers &&
		memcmp(&fleet->powers[i], power, sizeof(*power)) != 0)
		i++;
	if (i == UINT8_MAX)
		return -ENOSPC;
	if (i == fleet->n_powers) {
		grown = reallocarray(fleet->powers, i + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		fleet->powers = grown;
		grown[fleet->n_powers++] = *power;
	}
	*ret = (uint8_t)(i + 1);
	return 0;
}

static const struct clv_fleet_power *power_of(
	const struct clv_fleet *fleet, const struct clv_fleet_node *node)
{
	assert(node->power <= fleet->n_powers);
	return node->power && !node->is_lost ? &fleet->powers[node->power - 1] : NULL;
}

static bool is_in_use(const struct clv_fleet_device *device)
{
	for (unsigned i = 0; i < _CLV_CLASS_MAX; i++) {
		if (device->n_leases[i] > 0)
			return true;
	}
	return false;
}

/* The sockets that so many processors take. */
static uint32_t count_sockets(const struct clv_fleet_power *power, uint32_t cpu_milli)
{
	if (power->socket_milli == 0)
		return cpu_milli > 0;
	return (uint32_t)(((uint64_t)cpu_milli + power->socket_milli - 1) /
			  power->socket_milli);
}

static uint32_t used_sockets(
	const struct clv_fleet_power *power, const struct clv_fleet_node *node)
{
	return count_sockets(power, node->cpu_milli - node->free_cpu_milli);
}

uint32_t clv_fleet_watts_of(
	const struct clv_fleet *fleet, const struct clv_fleet_node *node)
{
	const struct clv_fleet_power *power = power_of(fleet, node);
	uint32_t watts, n_used;

	if (!power)
		return 0;
	n_used = used_sockets(power, node);
	watts = n_used * power->socket_full_w +
		(count_sockets(power, node->cpu_milli) - n_used) * power->socket_idle_w;
	for (uint32_t i = 0; i < node->n_devices; i++)
		watts += is_in_use(&fleet->devices[node->first_device + i])
				 ? power->device_full_w
				 : power->device_idle_w;
	return watts;
}

uint32_t clv_fleet_watts_added(const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, uint32_t cpu_milli, uint64_t devices)
{
	const struct clv_fleet_power *power = power_of(fleet, node);
	uint32_t n_sockets, n_begun = 0;

	if (!power)
		return 0;
	n_sockets =
		count_sockets(power, node->cpu_milli - node->free_cpu_milli + cpu_milli) -
		used_sockets(power, node);
	for (; devices; devices &= devices - 1)
		n_begun +=
			!is_in_use(&fleet->devices[node->first_device +
						   (uint32_t)__builtin_ctzll(devices)]);
	return n_sockets * (power->socket_full_w - power->socket_idle_w) +
	       n_begun * (power->device_full_w - power->device_idle_w);
}

uint32_t clv_fleet_watts_most(
	const struct clv_fleet *fleet, const struct clv_place_request *request)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < fleet->n_powers; i++) {
		const struct clv_fleet_power *power = &fleet->powers[i];
		uint64_t watts = (uint64_t)count_sockets(power, request->cpu_milli) *
					 (power->socket_full_w - power->socket_idle_w) +
				 (uint64_t)request->n_devices *
					 (power->device_full_w - power->device_idle_w);

		most = watts > most ? watts : most;
	}
	return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

uint32_t clv_fleet_watts_of_device(const struct clv_fleet *fleet)
{
	uint64_t watts = 0, n = 0;

	for (uint32_t i = 0; i < fleet->n_nodes; i++) {
		const struct clv_fleet_node *node = &fleet->nodes[i];
		const struct clv_fleet_power *power = power_of(fleet, node);
		uint32_t added = power ? power->device_full_w - power->device_idle_w : 0;

		watts += (uint64_t)node->n_devices * added;
		n += added ? node->n_devices : 0;
	}
	return n ? (uint32_t)(watts / n) : 0;
}
