/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the holders of a node's devices and partitions, which block changes as real users
 * do. */
#include "backend/sim/sim.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	const struct clv_sim *sim;
	struct clv_sim_holder holder;
	char process[40];
};

/* "gpu2" or "gpu2/1g.10gb@4"; the number is the device's index in the file. */
static int read_on(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry *entry = into;
	const char *text = clv_yaml_text(value);
	unsigned long index = 0;
	char *end = NULL;

	if (strncmp(text, "gpu", 3) == 0 && isdigit((unsigned char)text[3]))
		index = strtoul(text + 3, &end, 10);
	if (!end || (*end != '\0' && *end != '/'))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is not a device or partition: write gpu2 or "
			"gpu2/1g.10gb@4",
			text);
	if (index >= entry->sim->n_devices)
		return clv_yaml_fail(value, err, -EINVAL,
			"there is no gpu%lu: the devices are gpu0 to gpu%zu", index,
			entry->sim->n_devices - 1);
	if (strlen(end) > sizeof(entry->holder.part))
		return clv_yaml_fail(value, err, -ERANGE, "this name is too long");
	entry->holder.device = (uint32_t)index;
	strcpy(entry->holder.part, *end == '/' ? end + 1 : "");
	return 0;
}

CLV_SIM_DEFINE_READ_PLAIN(read_process, struct entry, process)
CLV_SIM_DEFINE_READ_PLAIN(read_lease, struct clv_holder, lease)
CLV_SIM_DEFINE_READ_PLAIN(read_text, struct clv_holder, text)

#define ENTRY(member) offsetof(struct entry, member)

static const struct clv_yaml_field holder_fields[] = {
	{"on", read_on, true, 0},
	{"process", read_process, false, ENTRY(process)},
	{"pid", clv_sim_read_positive, false, ENTRY(holder.holder.pid)},
	{"lease", read_lease, false, ENTRY(holder.holder.lease)},
	{"text", read_text, false, ENTRY(holder.holder.text)},
	{"memory", clv_sim_read_bytes, false, ENTRY(holder.memory_bytes)},
	{"utilization", clv_sim_read_percent, false, ENTRY(holder.utilization)},
};

static void describe(struct entry *entry)
{
	struct clv_holder *holder = &entry->holder.holder;

	if (holder->text[0] != '\0')
		return;
	if (holder->lease[0] != '\0')
		snprintf(holder->text, sizeof(holder->text), "lease %s", holder->lease);
	else if (entry->process[0] != '\0')
		snprintf(holder->text, sizeof(holder->text), "process %u (%s)",
			holder->pid, entry->process);
	else
		snprintf(holder->text, sizeof(holder->text), "process %u", holder->pid);
}

int clv_sim_read_holder(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_sim *sim = into;
	struct entry entry = {.sim = sim, .holder.utilization = NAN};
	struct clv_sim_holder *holder;
	int r = clv_yaml_read_map(
		value, holder_fields, CLV_ARRAY_SIZE(holder_fields), &entry, err);

	if (r < 0)
		return r;
	describe(&entry);
	holder = CLV_APPEND(sim->holders, sim->n_holders);
	if (!holder)
		return clv_error_errno(err, ENOMEM, "cannot read the holders");
	*holder = entry.holder;
	return 0;
}
