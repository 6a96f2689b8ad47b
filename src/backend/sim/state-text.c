/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the state file, which holds how each device is divided.  A device that
 * the file does not name has its initial state.  The file is YAML, because state-read.c
 * also reads `at-start` in the node's file, which people write. */
#include "backend/sim/sim.h"

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

/* --- Reading --- */

struct entry {
	struct clv_sim *sim;
	struct clv_sim_device *device;
};

static int check_version(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t version;

	return clv_yaml_read_number(value, VERSION, VERSION, &version, err);
}

static int check_node(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const struct clv_sim *sim = into;

	if (strcmp(sim->name, clv_yaml_text(value)) == 0)
		return 0;
	return clv_yaml_fail(value, err, -EINVAL,
		"the state is of the node '%.60s', not of '%s'", clv_yaml_text(value),
		sim->name);
}

static int find_device(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry *entry = into;

	for (size_t i = 0; i < entry->sim->n_devices; i++) {
		entry->device = &entry->sim->devices[i];
		if (strcmp(entry->device->uuid, clv_yaml_text(value)) == 0)
			return 0;
	}
	return clv_yaml_fail(value, err, -EINVAL, "the node has no device '%.60s'",
		clv_yaml_text(value));
}

static int check_model(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const struct entry *entry = into;

	if (!entry->device ||
		strcmp(entry->device->product.name, clv_yaml_text(value)) == 0)
		return 0;
	return clv_yaml_fail(value, err, -EINVAL, "this device is now of the model %s",
		entry->device->product.name);
}

static int read_state(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const struct entry *entry = into;

	if (!entry->device)
		return clv_yaml_fail(value, err, -EINVAL, "the UUID comes first");
	clv_sim_state_init(entry->device);
	return clv_sim_state_read(value, entry->device, err);
}

static const struct clv_yaml_field device_fields[] = {
	{"uuid", find_device, true, 0},
	{"model", check_model, true, 0},
	{"state", read_state, true, 0},
};

static int read_device(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry entry = {.sim = into};

	return clv_yaml_read_map(
		value, device_fields, CLV_ARRAY_SIZE(device_fields), &entry, err);
}

static int read_devices(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_device, into, err);
}

static const struct clv_yaml_field file_fields[] = {
	{"cleave-sim-state", check_version, true, 0},
	{"node", check_node, true, 0},
	{"devices", read_devices, true, 0},
};

void clv_sim_begin(struct clv_sim *sim)
{
	for (size_t i = 0; i < sim->n_devices; i++)
		sim->devices[i].state = sim->devices[i].begin;
}

int clv_sim_state_parse(
	struct clv_yaml_value root, struct clv_sim *sim, struct clv_error *err)
{
	clv_sim_begin(sim);
	return clv_yaml_read_map(
		root, file_fields, CLV_ARRAY_SIZE(file_fields), sim, err);
}

/* --- Writing --- */

static void write_instances(FILE *out, const struct clv_sim_device *device)
{
	const struct clv_sim_state *state = &device->state;

	fprintf(out, "      instances:\n");
	for (size_t i = 0; i < state->n_instances; i++) {
		const struct clv_sim_instance *instance = &state->instances[i];

		fprintf(out, "        - {profile: %s, start: %u, parts: [",
			device->mig->profiles[instance->profile].name, instance->start);
		for (size_t j = 0; j < instance->n_parts; j++)
			fprintf(out, "%s%uc@%u", j ? ", " : "", instance->parts[j].size,
				instance->parts[j].start);
		fprintf(out, "]}\n");
	}
}

static void write_mig(FILE *out, const struct clv_sim_device *device)
{
	const struct clv_sim_state *state = &device->state;

	fprintf(out, "      mig: %s\n", state->mig_on ? "on" : "off");
	if (state->mig_pending)
		fprintf(out, "      mig-pending: on\n");
	if (state->n_instances > 0)
		write_instances(out, device);
}

static void write_xcp(FILE *out, const struct clv_sim_state *state)
{
	fprintf(out, "      compute-mode: %s\n",
		clv_compute_mode_to_string(state->compute));
	fprintf(out, "      memory-mode: %s\n",
		clv_memory_mode_to_string((enum clv_memory_mode)state->memory));
	if (state->requested_memory)
		fprintf(out, "      requested-memory-mode: %s\n",
			clv_memory_mode_to_string(
				(enum clv_memory_mode)state->requested_memory));
}

static bool is_set(const struct clv_vf_quota *quota)
{
	return quota->memory_bytes || quota->exec_quantum_ms ||
	       quota->preempt_timeout_us || quota->contexts || quota->doorbells ||
	       quota->priority[0] || quota->type[0] || quota->driver[0];
}

static void write_function(FILE *out, const struct clv_vf_quota *quota, size_t number)
{
	fprintf(out, "        - {number: %zu", number);
	if (quota->memory_bytes)
		fprintf(out, ", memory: %" PRIu64, quota->memory_bytes);
	if (quota->exec_quantum_ms)
		fprintf(out, ", exec-quantum: %ums", quota->exec_quantum_ms);
	if (quota->preempt_timeout_us)
		fprintf(out, ", preempt-timeout: %uus", quota->preempt_timeout_us);
	if (quota->contexts)
		fprintf(out, ", contexts: %u", quota->contexts);
	if (quota->doorbells)
		fprintf(out, ", doorbells: %u", quota->doorbells);
	if (quota->priority[0])
		fprintf(out, ", priority: \"%s\"", quota->priority);
	if (quota->type[0])
		fprintf(out, ", type: \"%s\"", quota->type);
	if (quota->driver[0])
		fprintf(out, ", driver: \"%s\"", quota->driver);
	fprintf(out, "}\n");
}

static void write_vf(FILE *out, const struct clv_sim_device *device)
{
	bool any = false;

	fprintf(out, "      vf-count: %u\n", device->state.vf_count);
	for (size_t i = 0; i < device->vf_total; i++) {
		if (!is_set(&device->state.vf[i]))
			continue;
		if (!any)
			fprintf(out, "      vf:\n");
		any = true;
		write_function(out, &device->state.vf[i], i + 1);
	}
}

static void write_sets(FILE *out, const struct clv_sim_state *state)
{
	fprintf(out, "      core-sets:\n");
	for (size_t i = 0; i < state->n_sets; i++) {
		char text[4 * CPU_SETSIZE];

		clv_cpus_format(&state->sets[i], text, sizeof(text));
		fprintf(out, "        - \"%s\"\n", text);
	}
}

static void write_calls(FILE *out, const struct clv_sim_state *state)
{
	const char *separator = "";

	fprintf(out, "      calls: {");
	for (size_t i = 0; i < _CLV_SIM_CALL_MAX; i++) {
		if (state->n_calls[i] == 0)
			continue;
		fprintf(out, "%s%s: %u", separator, clv_sim_calls[i], state->n_calls[i]);
		separator = ", ";
	}
	fprintf(out, "}\n");
}

static void write_device(FILE *out, const struct clv_sim_device *device)
{
	fprintf(out, "  - uuid: %s\n    model: %s\n    state:\n", device->uuid,
		device->product.name);
	if (device->mig)
		write_mig(out, device);
	if (device->xcp)
		write_xcp(out, &device->state);
	if (device->vf_total > 0)
		write_vf(out, device);
	if (device->state.n_sets > 0)
		write_sets(out, &device->state);
	write_calls(out, &device->state);
}

int clv_sim_state_write(const struct clv_sim *sim, char **ret, struct clv_error *err)
{
	char *text = NULL;
	size_t n_bytes;
	FILE *out = open_memstream(&text, &n_bytes);

	if (!out)
		return clv_error_errno(err, errno, "cannot write the state");
	fprintf(out,
		"# How the simulated node is divided.  Without this file it is "
		"undivided.\n"
		"cleave-sim-state: %d\nnode: \"%s\"\ndevices:\n",
		VERSION, sim->name);
	for (size_t i = 0; i < sim->n_devices; i++)
		write_device(out, &sim->devices[i]);
	if (fclose(out) != 0) {
		free(text);
		return clv_error_errno(err, ENOMEM, "cannot write the state");
	}
	*ret = text;
	return 0;
}
