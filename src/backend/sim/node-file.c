/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file that describes a node (docs/sim.md). */
#include "backend/sim/sim.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

#define VERSION 1

struct file {
	struct clv_sim sim;
	struct clv_yaml_value devices, holders;
};

static int read_version(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint32_t version;

	return clv_sim_read_number(value, VERSION, VERSION, &version, err);
}

CLV_SIM_DEFINE_READ_PLAIN(read_name, struct clv_sim, name)

#define FILE_MEMBER(member) offsetof(struct file, member)

/* Devices are read after the name, because their UUIDs are derived from it. */
static const struct clv_yaml_field file_fields[] = {
	{"version", read_version, true, 0},
	{"name", read_name, true, FILE_MEMBER(sim.name)},
	{"devices", clv_sim_read_value, true, FILE_MEMBER(devices)},
	{"holders", clv_sim_read_value, false, FILE_MEMBER(holders)},
};

static int read_lists(struct file *file, struct clv_error *err)
{
	int r = clv_yaml_read_list(file->devices, clv_sim_read_device, &file->sim, err);

	if (r == 0 && file->sim.n_devices == 0)
		r = clv_yaml_fail(
			file->devices, err, -EINVAL, "a node has at least one device");
	if (r == 0 && file->holders.yaml)
		r = clv_yaml_read_list(
			file->holders, clv_sim_read_holder, &file->sim, err);
	return r;
}

int clv_sim_node_parse(
	struct clv_yaml_value root, struct clv_sim *ret, struct clv_error *err)
{
	struct file file = {0};
	int r = clv_yaml_read_map(
		root, file_fields, CLV_ARRAY_SIZE(file_fields), &file, err);

	if (r == 0)
		r = read_lists(&file, err);
	if (r < 0)
		clv_sim_clear(&file.sim);
	else
		*ret = file.sim;
	return r;
}

void clv_sim_clear(struct clv_sim *sim)
{
	free(sim->devices);
	free(sim->holders);
	*sim = (struct clv_sim){0};
}
