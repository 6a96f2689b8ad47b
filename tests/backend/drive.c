/* SPDX-License-Identifier: Apache-2.0 */
/* A backend for programs to drive: "backend-drive nvidia" answers each line of stdin with
 * a line of JSON, {"result": 0 or a negative errno, "error": text} and the requested
 * data.
 *
 *   survey | read UUID
 *   mig UUID 0|1
 *   create UUID PROFILE START HAS_PARTS
 *   create-part UUID PARTITION SLICES START
 *   destroy UUID PARTITION | destroy-part UUID PARTITION PART
 * PART is PARTITION for the part that fills it.  Partitions go by their names; the
 * devices are those of the last survey, as last read, and are named gpu0, gpu1 by the
 * driver's numbers.  The first line answers for the probe. */
#include "backend/backend.h"
#include "base/error.h"
#include "core/plan/plan.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct drive {
	struct clv_backend *backend;
	struct clv_node node;
	struct clv_error err;
};

static json_t *holders_to_json(const struct clv_holders *holders)
{
	json_t *array = json_array();

	for (size_t i = 0; i < holders->n; i++)
		json_array_append_new(
			array, json_pack("{s:s, s:i}", "text", holders->items[i].text,
				       "pid", (int)holders->items[i].pid));
	return array;
}

static json_t *partition_to_json(const struct clv_partition *p)
{
	json_t *parts = json_array();

	for (size_t i = 0; i < p->n_parts; i++)
		json_array_append_new(parts, partition_to_json(&p->parts[i]));
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:o, s:o, s:b}",
		"name", p->name, "profile", p->profile, "uuid", p->uuid, "driver_id",
		(int)p->driver_id, "start", (int)p->start, "size", (int)p->size,
		"compute_units", (int)p->compute_units, "memory_bytes",
		(json_int_t)p->memory_bytes, "holders", holders_to_json(&p->holders),
		"parts", parts, "is_incomplete", (int)p->is_incomplete);
}

static json_t *profile_to_json(const struct clv_mig_profile *p)
{
	json_t *starts = json_array();

	for (int i = 0; i < p->n_starts; i++)
		json_array_append_new(starts, json_integer(p->starts[i]));
	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:[iiiii]}",
		"name", p->name, "driver_id", (int)p->driver_id, "nvml_index",
		(int)p->nvml_index, "slices", (int)p->slices, "size", (int)p->size,
		"max_instances", (int)p->max_instances, "multiprocessors",
		(int)p->multiprocessors, "memory_mib", (int)p->memory_mib, "attributes",
		(int)p->attributes, "starts", starts, "engines", p->engines.copy,
		p->engines.decode, p->engines.encode, p->engines.jpeg,
		p->engines.optical_flow);
}

static json_t *model_to_json(const struct clv_mig_model *model)
{
	json_t *profiles = json_array();

	if (!model) {
		json_decref(profiles);
		return json_null();
	}
	for (size_t i = 0; i < model->n_profiles; i++)
		json_array_append_new(profiles, profile_to_json(&model->profiles[i]));
	return json_pack("{s:s, s:i, s:i, s:o}", "name", model->name, "grid",
		(int)model->grid, "slices", (int)model->slices, "profiles", profiles);
}

static json_t *mig_to_json(const struct clv_mig_state *mig)
{
	return json_pack("{s:b, s:b, s:b, s:b, s:b, s:o}", "is_capable",
		(int)mig->is_capable, "is_on", (int)mig->is_on, "is_pending",
		(int)mig->is_pending, "needs_reset", (int)mig->needs_reset,
		"is_lost_at_reboot", (int)mig->is_lost_at_reboot, "model",
		model_to_json(mig->model));
}

static json_t *vgpu_types_to_json(const struct clv_vf_state *vf)
{
	json_t *types = json_array();

	for (size_t i = 0; i < vf->n_types; i++)
		json_array_append_new(
			types, json_pack("{s:s, s:s, s:I, s:i}", "id", vf->types[i].id,
				       "name", vf->types[i].name, "memory_bytes",
				       (json_int_t)vf->types[i].memory_bytes,
				       "max_instances", (int)vf->types[i].max_instances));
	return types;
}

static json_t *info_to_json(const struct clv_device *info)
{
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:i}",
		"name", info->name, "uuid", info->uuid, "model", info->model, "vendor",
		info->vendor, "driver", info->driver, "cuda", info->generation.cuda,
		"architecture", info->generation.architecture, "capability",
		info->generation.capability, "type", info->type, "backend", info->backend,
		"executor", info->executor, "memory_bytes",
		(json_int_t)info->memory_bytes, "compute_units",
		(int)info->compute_units);
}

static json_t *device_to_json(const struct clv_node_device *d)
{
	json_t *partitions = json_array();

	for (size_t i = 0; i < d->n_partitions; i++)
		json_array_append_new(partitions, partition_to_json(&d->partitions[i]));
	return json_pack("{s:o, s:i, s:s, s:s, s:i, s:s, s:s, s:o, s:o, s:o, s:o}",
		"info", info_to_json(&d->info), "index", (int)d->index, "pci_address",
		d->pci_address, "pcie_root", d->pcie_root, "numa_node", (int)d->numa_node,
		"cannot_divide", d->cannot_divide, "scheme",
		clv_scheme_to_string(d->scheme), "mig", mig_to_json(&d->mig),
		"vgpu_types", vgpu_types_to_json(&d->vf), "partitions", partitions,
		"holders", holders_to_json(&d->holders));
}

static int survey(struct drive *drive, json_t *answer)
{
	json_t *devices = json_array(), *problems = json_array();
	struct clv_node *node = &drive->node;
	int r;

	clv_node_clear(node);
	r = drive->backend->ops->survey(drive->backend, node, &drive->err);
	for (size_t i = 0; i < node->n_devices; i++) {
		snprintf(node->devices[i].info.name, sizeof(node->devices[i].info.name),
			"gpu%u", node->devices[i].index);
		clv_node_name_partitions(&node->devices[i]);
		json_array_append_new(devices, device_to_json(&node->devices[i]));
	}
	for (size_t i = 0; i < node->n_problems; i++)
		json_array_append_new(problems, json_string(node->problems[i]));
	json_object_set_new(answer, "devices", devices);
	json_object_set_new(answer, "problems", problems);
	return r;
}

static const struct clv_partition *find_partition(
	const struct clv_partition *items, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(items[i].name, name) == 0)
			return &items[i];
	}
	fprintf(stderr, "backend-drive: no partition '%s'\n", name);
	exit(64);
}

static int create(struct drive *drive, struct clv_node_device *device, char **words)
{
	struct clv_step step = {.kind = CLV_STEP_CREATE,
		.start = (uint32_t)atoi(words[3]),
		.has_parts = atoi(words[4]) != 0};

	snprintf(step.profile, sizeof(step.profile), "%s", words[2]);
	clv_partition_make_name(
		device->info.name, step.profile, step.start, step.partition);
	return drive->backend->ops->create(drive->backend, device, &step, &drive->err);
}

static int create_part(struct drive *drive, struct clv_node_device *device, char **words)
{
	struct clv_step step = {.kind = CLV_STEP_CREATE_PART,
		.size = (uint32_t)atoi(words[3]),
		.start = (uint32_t)atoi(words[4])};

	snprintf(step.inside, sizeof(step.inside), "%s", words[2]);
	clv_part_make_name(step.inside, step.size, step.start, step.partition);
	snprintf(step.profile, sizeof(step.profile), "%sc.%s", words[3],
		strchr(words[2], '/') + 1);
	step.profile[strcspn(step.profile, "@")] = '\0';
	return drive->backend->ops->create(drive->backend, device, &step, &drive->err);
}

static int destroy(struct drive *drive, struct clv_node_device *device, char **words)
{
	const struct clv_partition *partition =
		find_partition(device->partitions, device->n_partitions, words[2]);
	const struct clv_partition *part =
		!words[3] ? NULL
		: strcmp(words[3], words[2]) == 0
			? partition
			: find_partition(partition->parts, partition->n_parts, words[3]);

	return drive->backend->ops->destroy(drive->backend, device,
		part ? part : partition, part ? partition : NULL, &drive->err);
}

static int act(struct drive *drive, char **words, json_t *answer)
{
	const struct clv_backend_ops *ops = drive->backend->ops;
	struct clv_node_device *device;
	int r;

	if (strcmp(words[0], "survey") == 0)
		return survey(drive, answer);
	device = clv_node_find(&drive->node, words[1]);
	if (!device) {
		fprintf(stderr, "backend-drive: no device '%s'\n", words[1]);
		exit(64);
	}
	if (strcmp(words[0], "mig") == 0)
		return ops->set_mig_mode(
			drive->backend, device, atoi(words[2]) != 0, &drive->err);
	if (strcmp(words[0], "create") == 0)
		return create(drive, device, words);
	if (strcmp(words[0], "create-part") == 0)
		return create_part(drive, device, words);
	if (strncmp(words[0], "destroy", strlen("destroy")) == 0)
		return destroy(drive, device, words);
	r = ops->read(drive->backend, device, &drive->err);
	json_object_set_new(answer, "device", device_to_json(device));
	return r;
}

static void print(struct drive *drive, int result, json_t *answer)
{
	json_object_set_new(answer, "result", json_integer(result));
	json_object_set_new(answer, "code", json_integer(drive->err.code));
	json_object_set_new(answer, "error", json_string(drive->err.msg));
	json_dumpf(answer, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(answer);
	drive->err = (struct clv_error){0};
}

int main(int argc, char **argv)
{
	struct drive drive = {0};
	char line[512], *words[8], *rest;
	int r;

	if (argc != 2 || strcmp(argv[1], clv_backend_nvidia.name) != 0)
		return 64;
	r = clv_backend_nvidia.probe(&drive.backend, &drive.err);
	print(&drive, r, json_object());
	while (r == 0 && fgets(line, sizeof(line), stdin)) {
		json_t *answer = json_object();
		size_t n = 0;

		memset(words, 0, sizeof(words));
		for (char *word = strtok_r(line, " \n", &rest); word && n < 7;
			word = strtok_r(NULL, " \n", &rest))
			words[n++] = word;
		print(&drive, act(&drive, words, answer), answer);
	}
	clv_node_clear(&drive.node);
	if (r == 0)
		clv_backend_nvidia.free(drive.backend);
	return 0;
}
