/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-world.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A test's own text cannot be parsed, so the test ends. */
static void give_up(const char *what, const char *text)
{
	fprintf(stderr, "plan-world: %s: '%s'\n", what, text);
	abort();
}

static void must(bool good, const char *what, const char *text)
{
	if (!good)
		give_up(what, text);
}

#define SET(to, from) snprintf((to), sizeof(to), "%s", (from))

/* --- Nodes --- */

static void add_holder(struct clv_holders *holders, const char *lease)
{
	struct clv_holder *holder = clv_holders_add(holders);

	must(holder != NULL, "no memory", lease);
	SET(holder->lease, lease);
	holder->is_machine = strncmp(lease, "vm", 2) == 0;
	snprintf(holder->text, sizeof(holder->text), "lease %s", lease);
}

/* Splits "!a,b" off and adds these holders. */
static void take_holders(char *word, struct clv_holders *holders)
{
	char *list = strrchr(word, '!'), *rest = NULL;

	if (!list)
		return;
	*list++ = '\0';
	for (char *lease = strtok_r(list, ",", &rest); lease;
		lease = strtok_r(NULL, ",", &rest))
		add_holder(holders, lease);
}

static uint32_t number_after(const char *word, char mark)
{
	const char *at = strchr(word, mark);
	char *end;
	unsigned long number;

	must(at != NULL, "no number", word);
	number = strtoul(at + 1, &end, 10);
	must(end != at + 1, "no number", word);
	return (uint32_t)number;
}

static struct clv_partition *add_partition(struct clv_node_device *device,
	const char *profile, uint32_t start, uint32_t size)
{
	struct clv_partition *partition = clv_node_add_partition(device);

	must(partition != NULL, "no memory", profile);
	SET(partition->profile, profile);
	partition->start = start;
	partition->size = size;
	return partition;
}

static void add_part(struct clv_partition *partition, char *word)
{
	struct clv_partition *part = clv_node_add_part(partition);

	must(part != NULL, "no memory", word);
	take_holders(word, &part->holders);
	part->size = (uint32_t)strtoul(word, NULL, 10);
	part->start = number_after(word, '@');
	snprintf(part->profile, sizeof(part->profile), "%uc.%.32s", part->size,
		partition->profile);
}

/* "3g.20gb@0(1c@0!a+1c@1)", "1g.5gb@4~" */
static void add_instance(struct clv_node_device *device, char *word)
{
	const struct clv_mig_model *model = device->mig.model;
	struct clv_partition *partition;
	char *parts = strchr(word, '('), *at, *rest = NULL;
	uint32_t start;
	int profile;

	if (parts) {
		*parts++ = '\0';
		must(strchr(parts, ')') != NULL, "no end of the parts", parts);
		*strchr(parts, ')') = '\0';
	}
	partition = add_partition(device, "", 0, 0);
	take_holders(word, &partition->holders);
	partition->is_incomplete = word[strlen(word) - 1] == '~';
	start = number_after(word, '@');
	at = strchr(word, '@');
	*at = '\0';
	SET(partition->profile, word);
	profile = clv_mig_profile_find(model, word, NULL);
	partition->size = profile < 0 ? 1 : model->profiles[profile].size;
	partition->start = start;
	for (char *part = parts ? strtok_r(parts, "+", &rest) : NULL; part;
		part = strtok_r(NULL, "+", &rest))
		add_part(partition, part);
}

/* "cores:2@0=0-1!a" */
static void add_set(struct clv_node_device *device, char *word)
{
	char *list = strchr(word, '='), *at = strchr(word, '@');
	struct clv_partition *partition;

	must(list && at && at < list, "no set of processors", word);
	partition = add_partition(device, "", number_after(word, '@'), 0);
	take_holders(word, &partition->holders);
	SET(partition->address, list + 1);
	*at = '\0';
	SET(partition->profile, word);
	partition->size = number_after(word, ':');
}

static void add_functions(struct clv_node_device *device, uint32_t n)
{
	char profile[16];

	snprintf(profile, sizeof(profile), "vf:%u", n);
	for (uint32_t i = 1; i <= n; i++) {
		struct clv_vf *vf = CLV_APPEND(device->vf.items, device->vf.n);

		must(vf != NULL, "no memory", profile);
		vf->number = i;
		add_partition(device, profile, i, 1);
	}
	device->scheme = n > 0 ? CLV_SCHEME_VF : CLV_SCHEME_NONE;
}

static void add_type(struct clv_vf_state *vf, const char *name)
{
	struct clv_vgpu_type *type = CLV_APPEND(vf->types, vf->n_types);

	must(type != NULL, "no memory", name);
	SET(type->name, name);
	vf->has_all_types = true;
	/* "A:12": at most 12 */
	if (strchr(type->name, ':')) {
		type->max_instances = number_after(name, ':');
		*strchr(type->name, ':') = '\0';
	}
}

/* NVIDIA's hosts: all functions or none, which become vGPUs by a type. */
static void make_vgpu_host(struct clv_vf_state *vf)
{
	vf->framework = CLV_VF_VFIO;
	vf->counts = UINT64_C(1) << (vf->total - 1);
}

/* "2:L40S-4Q" */
static void set_type(struct clv_vf_state *vf, const char *text)
{
	uint32_t number = (uint32_t)strtoul(text, NULL, 10);

	must(number >= 1 && number <= vf->n && strchr(text, ':'), "no function", text);
	SET(vf->items[number - 1].quota.type, strchr(text, ':') + 1);
}

static void add_processors(struct clv_cores_state *cores, uint32_t n)
{
	cores->is_capable = true;
	cores->total = n;
	cores->ids = calloc(n + 1, sizeof(*cores->ids));
	must(cores->ids != NULL, "no memory", "cores");
	for (uint32_t i = 0; i < n; i++)
		cores->ids[i] = (uint16_t)i;
}

static uint32_t read_memory_modes(char *list)
{
	char *rest = NULL;
	uint32_t modes = 0;

	for (char *mode = strtok_r(list, ",", &rest); mode;
		mode = strtok_r(NULL, ",", &rest))
		modes |= clv_memory_mode_from_string(mode);
	return modes;
}

static uint32_t read_compute_modes(char *list)
{
	char *rest = NULL;
	uint32_t modes = 0;

	for (char *mode = strtok_r(list, ",", &rest); mode;
		mode = strtok_r(NULL, ",", &rest))
		modes |= 1u << clv_compute_mode_from_string(mode);
	return modes;
}

static void add_accelerators(struct clv_node_device *device)
{
	struct clv_xcp_state *xcp = &device->xcp;
	unsigned n = clv_xcp_devices(xcp->compute, xcp->dies);
	char profile[CLV_PROFILE_NAME_MAX];

	device->scheme = xcp->compute == CLV_SPX ? CLV_SCHEME_NONE : CLV_SCHEME_XCP;
	snprintf(profile, sizeof(profile), "%s/%s",
		clv_compute_mode_to_string(xcp->compute),
		clv_memory_mode_to_string((enum clv_memory_mode)xcp->memory));
	for (uint32_t i = 0; i < n && xcp->compute != CLV_SPX; i++)
		add_partition(device, profile, i, 1);
}

/* "CPX/NPS4" */
static bool read_modes(struct clv_node_device *device, const char *word)
{
	char compute[8] = "";

	if (!device->xcp.is_capable || strlen(word) < 8 || word[3] != '/')
		return false;
	memcpy(compute, word, 3);
	device->xcp.compute = clv_compute_mode_from_string(compute);
	device->xcp.memory = clv_memory_mode_from_string(word + 4);
	add_accelerators(device);
	return true;
}

static void hold_numbered(struct clv_node_device *device, char *word)
{
	uint32_t number = number_after(word, '#');
	struct clv_holders holders = {0};

	take_holders(word, &holders);
	for (size_t i = 0; i < device->n_partitions; i++) {
		struct clv_partition *partition = &device->partitions[i];

		for (size_t h = 0; partition->start == number && h < holders.n; h++) {
			add_holder(&partition->holders, holders.items[h].lease);
			if (device->vf.n > i)
				add_holder(&device->vf.items[i].holders,
					holders.items[h].lease);
		}
	}
	free(holders.items);
}

static void read_list(struct clv_node_device *device, const char *key, char *list)
{
	char *rest = NULL;

	for (char *item = strtok_r(list, ",", &rest); item;
		item = strtok_r(NULL, ",", &rest)) {
		if (strcmp(key, "types") == 0)
			add_type(&device->vf, item);
		else
			device->vf.counts |= UINT64_C(1) << (strtoul(item, NULL, 10) - 1);
	}
}

static void set_quota(struct clv_node_device *device, const char *key, const char *value)
{
	for (size_t i = 0; i < device->vf.n; i++) {
		struct clv_vf *vf = &device->vf.items[i];

		if (strcmp(key, "each") == 0)
			must(clv_units_parse_bytes(
				     value, &vf->quota.memory_bytes, NULL) == 0,
				"no size", value);
		else if (strcmp(key, "type") == 0)
			SET(vf->quota.type, value);
		else
			SET(vf->driver, value);
	}
}

static void read_text(struct clv_node_device *device, const char *key, const char *value)
{
	if (strcmp(key, "name") == 0)
		SET(device->info.name, value);
	else if (strcmp(key, "uuid") == 0)
		SET(device->info.uuid, value);
	else if (strcmp(key, "pci") == 0)
		SET(device->pci_address, value);
	else if (strcmp(key, "model") == 0)
		SET(device->info.model, value);
	else if (strcmp(key, "vendor") == 0)
		SET(device->info.vendor, value);
	else if (strcmp(key, "why") == 0)
		SET(device->cannot_divide, value);
	else if (strcmp(key, "hive") == 0)
		SET(device->hive, value);
	else
		give_up("no such key", key);
}

static void read_pair(struct clv_node_device *device, const char *key, char *value)
{
	for (char *c = value; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	if (strcmp(key, "offers") == 0)
		device->xcp.memory_available = read_memory_modes(value);
	else if (strcmp(key, "modes") == 0)
		device->xcp.compute_available = read_compute_modes(value);
	else if (strcmp(key, "asked") == 0)
		device->xcp.requested_memory = clv_memory_mode_from_string(value);
	else if (strcmp(key, "vf") == 0)
		add_functions(device, (uint32_t)strtoul(value, NULL, 10));
	else if (strcmp(key, "total") == 0)
		device->vf.total = (uint32_t)strtoul(value, NULL, 10);
	else if (strcmp(key, "counts") == 0 || strcmp(key, "types") == 0)
		read_list(device, key, value);
	else if (strcmp(key, "memory") == 0)
		clv_units_parse_bytes(value, &device->info.memory_bytes, NULL);
	else if (strcmp(key, "each") == 0 || strcmp(key, "type") == 0 ||
		 strcmp(key, "driver") == 0)
		set_quota(device, key, value);
	else if (strcmp(key, "vgpu") == 0)
		set_type(&device->vf, value);
	else if (strcmp(key, "cores") == 0)
		add_processors(&device->cores, (uint32_t)strtoul(value, NULL, 10));
	else
		read_text(device, key, value);
}

static void read_word(struct clv_node_device *device, char *word)
{
	char *equals = strchr(word, '=');

	if (strcmp(word, "on") == 0) {
		device->mig.is_on = true;
		device->scheme = CLV_SCHEME_MIG;
	} else if (strcmp(word, "pending") == 0) {
		device->mig.is_pending = true;
	} else if (strcmp(word, "reset") == 0) {
		device->mig.needs_reset = true;
	} else if (strcmp(word, "guest") == 0) {
		device->mig.cannot_reset = true;
	} else if (strcmp(word, "forgets") == 0) {
		device->mig.is_lost_at_reboot = true;
	} else if (strcmp(word, "vgpus") == 0) {
		make_vgpu_host(&device->vf);
	} else if (strcmp(word, "unlisted") == 0) {
		device->vf.has_all_types = false;
	} else if (strcmp(word, "mixed") == 0) {
		device->vf.is_mixed = true;
	} else if (strcmp(word, "absent") == 0) {
		device->mig.is_absent = true;
	} else if (word[0] == '!') {
		take_holders(word, &device->holders);
	} else if (word[0] == '#') {
		hold_numbered(device, word);
	} else if (strncmp(word, "cores:", 6) == 0) {
		add_set(device, word);
	} else if (equals) {
		*equals = '\0';
		read_pair(device, word, equals + 1);
	} else if (!read_modes(device, word)) {
		must(device->mig.model != NULL, "no such word", word);
		add_instance(device, word);
	}
}

static void read_model(struct clv_node_device *device, const char *word)
{
	SET(device->info.model, word);
	SET(device->info.type, "gpu");
	device->mig.model = clv_mig_model_find(word);
	device->xcp.model = clv_xcp_model_find(word);
	device->mig.is_capable = device->mig.model != NULL;
	device->xcp.is_capable = device->xcp.model != NULL;
	if (device->xcp.model) {
		device->xcp.dies = device->xcp.model->dies;
		device->xcp.memory = CLV_NPS1;
		device->xcp.memory_available = device->xcp.model->memory_modes;
		device->xcp.compute_available = UINT32_MAX;
		SET(device->info.vendor, "amd");
	} else if (strcmp(word, "VF") == 0) {
		device->vf.is_capable = true;
		device->vf.total = 8;
		SET(device->info.vendor, "intel");
	} else if (strcmp(word, "CPU") == 0) {
		SET(device->info.type, "cpu");
		SET(device->info.vendor, "a processor's");
	} else {
		SET(device->info.vendor, "nvidia");
	}
}

static void read_device(struct clv_node *node, char *line)
{
	uint32_t index = (uint32_t)node->n_devices;
	struct clv_node_device *device;
	char *rest = NULL, *word = strtok_r(line, " \t", &rest);

	if (!word)
		return;
	device = clv_node_add(node);
	must(device != NULL, "no memory", word);
	device->index = index;
	snprintf(device->info.name, sizeof(device->info.name), "gpu%u", index);
	snprintf(device->info.uuid, sizeof(device->info.uuid), "GPU-%u", index);
	read_model(device, word);
	while ((word = strtok_r(NULL, " \t", &rest)))
		read_word(device, word);
	if (device->cores.is_capable && device->n_partitions > 0)
		device->scheme = CLV_SCHEME_CORES;
	clv_node_name_partitions(device);
}

void plan_node(const char *text, struct clv_node *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = NULL;

	*ret = (struct clv_node){0};
	must(copy != NULL, "no memory", text);
	for (char *line = strtok_r(copy, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest))
		read_device(ret, line);
}

void plan_layout(const char *rules, struct clv_layout *ret)
{
	_cleanup_free_ char *text = NULL;
	struct clv_error err = {0};

	must(asprintf(&text, "version: 1\ndevices:\n%s", rules) > 0, "no memory", rules);
	if (clv_layout_parse(text, strlen(text), "l.yaml", ret, &err) < 0)
		give_up(err.msg, rules);
}

static void end_in(struct clv_holders *holders, const char *lease)
{
	size_t n = 0;

	for (size_t i = 0; i < holders->n; i++) {
		if (strcmp(holders->items[i].lease, lease) != 0)
			holders->items[n++] = holders->items[i];
	}
	holders->n = n;
	if (n == 0) {
		/* As in a parsed node: an empty array is NULL; it grows from its
		 * count. */
		free(holders->items);
		holders->items = NULL;
	}
}

void plan_end_lease(struct clv_node *node, const char *lease)
{
	for (size_t i = 0; i < node->n_devices; i++) {
		struct clv_node_device *device = &node->devices[i];

		end_in(&device->holders, lease);
		for (size_t v = 0; v < device->vf.n; v++)
			end_in(&device->vf.items[v].holders, lease);
		for (size_t p = 0; p < device->n_partitions; p++) {
			struct clv_partition *partition = &device->partitions[p];

			end_in(&partition->holders, lease);
			for (size_t k = 0; k < partition->n_parts; k++)
				end_in(&partition->parts[k].holders, lease);
		}
	}
}

/* --- Plans --- */

static void write_needs(FILE *to, uint32_t needs)
{
	static const char *const names[] = {"idle", "reset", "reload"};
	const char *separator = " (";

	for (size_t i = 0; i < CLV_ARRAY_SIZE(names); i++) {
		if (needs & 1u << i) {
			fprintf(to, "%s%s", separator, names[i]);
			separator = " ";
		}
	}
	fputs(needs ? ")" : "", to);
}

static void write_step(
	FILE *to, const struct clv_node *node, const struct clv_step *step, bool with_why)
{
	char text[256];

	clv_step_describe(step, node, text, sizeof(text));
	fputs(text, to);
	if (step->has_parts)
		fputs(" empty", to);
	if (step->cpus[0] != '\0')
		fprintf(to, " =%s", step->cpus);
	write_needs(to, step->needs);
	for (size_t i = 0; step->affected && i < node->n_devices; i++) {
		if (step->affected[i / 64] & UINT64_C(1) << i % 64)
			fprintf(to, " %s", node->devices[i].info.name);
	}
	if (with_why && step->why[0] != '\0')
		fprintf(to, ": %s", step->why);
	fputc('\n', to);
}

static void write_obstacle(FILE *to, const struct clv_node *node,
	const struct clv_obstacle *obstacle, bool with_why)
{
	fprintf(to, "block %s",
		obstacle->partition[0] ? obstacle->partition
				       : node->devices[obstacle->device].info.name);
	for (size_t i = 0; i < obstacle->holders.n; i++)
		fprintf(to, " %s", obstacle->holders.items[i].lease);
	if (with_why)
		fprintf(to, ": %s", obstacle->why);
	fputc('\n', to);
}

static void write_share(FILE *to, const struct clv_plan_share *share)
{
	fprintf(to, "share %s %" PRIu32 " %" PRIu32 " %" PRIu64 " %s\n", share->name,
		share->request.compute_ppm, share->request.cap_ppm,
		share->request.memory_bytes, clv_class_to_string(share->request.class));
}

char *plan_to_text(
	const struct clv_node *node, const struct clv_plan *plan, const char *show)
{
	bool with_why = strchr(show, 'y') != NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	must(to != NULL, "no memory", show);
	for (size_t i = 0; strchr(show, 's') && i < plan->n_steps; i++)
		write_step(to, node, &plan->steps[i], with_why);
	for (size_t i = 0; strchr(show, 'b') && i < plan->n_obstacles; i++)
		write_obstacle(to, node, &plan->obstacles[i], with_why);
	for (size_t i = 0; strchr(show, 'k') && i < plan->n_kept; i++)
		fprintf(to, "keep %s\n", plan->kept[i]);
	for (size_t i = 0; strchr(show, 'h') && i < plan->n_shares; i++)
		write_share(to, &plan->shares[i]);
	for (size_t i = 0; strchr(show, 'w') && i < plan->n_warnings; i++)
		fprintf(to, "warn %s\n", plan->warnings[i]);
	must(fclose(to) == 0, "no memory", show);
	return text;
}

char *plan_text(const struct clv_node *node, const char *rules, const char *show)
{
	struct clv_layout layout = {0};
	struct clv_plan plan = {0};
	struct clv_error err = {0};
	char *text = NULL;
	int r;

	plan_layout(rules, &layout);
	r = clv_plan_make(node, &layout, &plan, &err);
	if (r >= 0)
		text = plan_to_text(node, &plan, show);
	else
		must(asprintf(&text, "error %d %s\n", r, err.msg) > 0, "no memory",
			rules);
	clv_plan_clear(&plan);
	clv_layout_clear(&layout);
	return text;
}
