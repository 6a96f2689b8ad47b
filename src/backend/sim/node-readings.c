/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the readings (load, memory, health) of a node's devices from its file, and
 * samples a simulated device. */
#include "backend/sim/sim.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

#define FIGURE_MAX UINT32_MAX
#define PERCENT_MAX 100u

static int read_figure(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t number;
	int r = clv_yaml_read_number(value, 0, FIGURE_MAX, &number, err);

	if (r >= 0)
		*(double *)into = (double)number;
	return r;
}

int clv_sim_read_percent(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t number;
	int r = clv_yaml_read_number(value, 0, PERCENT_MAX, &number, err);

	if (r >= 0)
		*(double *)into = (double)number / PERCENT_MAX;
	return r;
}

static int read_sign(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_number(value, 0, FIGURE_MAX, into, err);
}

#define READING(member) offsetof(struct clv_reading, member)

static const struct clv_yaml_field reading_fields[] = {
	{"power", read_figure, false, READING(power_watts)},
	{"temperature", read_figure, false, READING(temperature_celsius)},
	{"energy", read_figure, false, READING(energy_joules)},
	{"utilization", clv_sim_read_percent, false, READING(utilization)},
	{"encoder", clv_sim_read_percent, false, READING(encoder)},
	{"decoder", clv_sim_read_percent, false, READING(decoder)},
	{"memory", clv_sim_read_bytes, false, READING(memory_used_bytes)},
	{"lost", read_sign, false, READING(signs[CLV_SIGN_LOST])},
	{"ecc-errors", read_sign, false, READING(signs[CLV_SIGN_ECC])},
	{"rows-pending", read_sign, false, READING(signs[CLV_SIGN_ROWS_PENDING])},
	{"rows-failed", read_sign, false, READING(signs[CLV_SIGN_ROWS_FAILED])},
	{"pages-pending", read_sign, false, READING(signs[CLV_SIGN_PAGES_PENDING])},
	{"pages-failed", read_sign, false, READING(signs[CLV_SIGN_PAGES_FAILED])},
	{"ras-errors", read_sign, false, READING(signs[CLV_SIGN_RAS])},
};

int clv_sim_read_reading(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_map(
		value, reading_fields, CLV_ARRAY_SIZE(reading_fields), into, err);
}

static const char *find_partition(
	const struct clv_node_device *device, const struct clv_sim_holder *holder)
{
	size_t skip = strlen(device->info.name) + 1;

	for (size_t i = 0; holder->part[0] != '\0' && i < device->n_partitions; i++) {
		const struct clv_partition *partition = &device->partitions[i];

		if (strcmp(partition->name + skip, holder->part) == 0)
			return partition->name;
	}
	return "";
}

static int add_holder(struct clv_reading *ret, const struct clv_sim_holder *holder,
	const char *partition)
{
	uint32_t pid = holder->holder.pid;
	int r = clv_reading_add_process(ret, pid,
		holder->memory_bytes ? holder->memory_bytes : CLV_READING_UNKNOWN,
		partition);

	if (r == 0)
		clv_reading_set_utilization(ret, pid, partition, holder->utilization);
	return r;
}

int clv_sim_sample(const struct clv_sim *sim, const struct clv_sim_device *device,
	const struct clv_node_device *seen, struct clv_reading *ret)
{
	char uuid[sizeof(ret->uuid)];
	int r = 0;

	memcpy(uuid, ret->uuid, sizeof(uuid));
	*ret = device->reading;
	memcpy(ret->uuid, uuid, sizeof(uuid));
	ret->has_processes = true;
	ret->has_mean_utilization = true;
	for (size_t i = 0; r == 0 && i < sim->n_holders; i++) {
		const struct clv_sim_holder *holder = &sim->holders[i];

		if (holder->device == device->index && holder->holder.pid > 0)
			r = add_holder(ret, holder, find_partition(seen, holder));
	}
	return r;
}
