/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that block a change of a simulated device: holders, and another scheme. */
#include "backend/sim/sim.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>

static int fail_if_held(
	const char *what, const struct clv_holders *holders, struct clv_error *err)
{
	if (holders->n == 0)
		return 0;
	return clv_error_set(err, -EBUSY, "%s is used by %s%s", what,
		holders->items[0].text, holders->n > 1 ? " and others" : "");
}

int clv_sim_check_partition_idle(
	const struct clv_partition *partition, struct clv_error *err)
{
	int r = fail_if_held(partition->name, &partition->holders, err);

	for (size_t i = 0; i < partition->n_parts && r == 0; i++)
		r = fail_if_held(
			partition->parts[i].name, &partition->parts[i].holders, err);
	return r;
}

int clv_sim_check_idle(const struct clv_node_device *seen, struct clv_error *err)
{
	int r = fail_if_held(seen->info.name, &seen->holders, err);

	for (size_t i = 0; i < seen->n_partitions && r == 0; i++)
		r = clv_sim_check_partition_idle(&seen->partitions[i], err);
	return r;
}

int clv_sim_check_scheme(
	const struct clv_node_device *seen, enum clv_scheme wanted, struct clv_error *err)
{
	if (seen->scheme == CLV_SCHEME_NONE || seen->scheme == wanted)
		return 0;
	return clv_error_set(err, -EBUSY,
		"%s is divided already (%s), and a device is divided in one way at a "
		"time: "
		"undo that first",
		seen->info.name, clv_scheme_to_string(seen->scheme));
}
