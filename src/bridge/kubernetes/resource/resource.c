/* SPDX-License-Identifier: Apache-2.0 */
/* Makes extended resources from the inventory, converts ids, and encodes ListAndWatch
 * messages. */
#include "bridge/kubernetes/resource/resource.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/crc32.h"
#include "base/error.h"
#include "bridge/kubernetes/resource/inventory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BETWEEN "::"
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
/* An upper bound: an id of memory has a key of 8 characters. */
#define MEMORY_ID_BYTES 40u

/* --- Names --- */

static const struct {
	const char *vendor, *domain;
} domains[] = {
	{"nvidia", "nvidia.com"},
	{"amd", "amd.com"},
};

static const char *domain_of(
	const struct clv_kube_device *device, enum clv_kube_naming naming)
{
	char vendor[sizeof(device->vendor)];
	size_t n = 0;

	for (; device->vendor[n] != '\0'; n++)
		vendor[n] = (char)tolower((unsigned char)device->vendor[n]);
	vendor[n] = '\0';
	for (size_t i = 0; i < CLV_ARRAY_SIZE(domains); i++) {
		if (naming != CLV_KUBE_NAMES_CLEAVE && strstr(vendor, domains[i].vendor))
			return domains[i].domain;
	}
	return CLV_KUBE_DOMAIN;
}

/* Makes the name of a partition's resource: "1g.10gb+me" becomes "mig-1g.10gb.me", "vf:4"
 * "vf-4", "CPX/NPS4" "cpx-nps4", or with the names of AMD's plugin "cpx_nps4". */
static void name_profile(
	const struct clv_kube_device *device, const char *domain, char *ret, size_t room)
{
	bool is_mig = strcmp(device->scheme, "mig") == 0;
	char between = strcmp(domain, "amd.com") == 0 ? '_' : '-';

	snprintf(ret, room, "%s/%s%s", domain, is_mig ? "mig-" : "", device->profile);
	for (char *p = ret + strlen(domain) + 1; *p != '\0'; p++) {
		if (*p == '+')
			*p = '.';
		else if (!isalnum((unsigned char)*p) && *p != '.' && *p != '-')
			*p = between;
		*p = (char)tolower((unsigned char)*p);
	}
}

static void name_one(const struct clv_kube_device *device,
	const struct clv_kube_settings *settings, char *ret, size_t room)
{
	const char *domain = domain_of(device, settings->naming);
	bool is_cleave = strcmp(domain, CLV_KUBE_DOMAIN) == 0;

	if (device->parent[0] != '\0' &&
		(is_cleave || settings->naming != CLV_KUBE_NAMES_SINGLE))
		name_profile(device, domain, ret, room);
	else
		snprintf(ret, room, "%s/gpu", domain);
}

/* --- Sources --- */

static struct clv_kube_resource *find_or_add(
	struct clv_kube_resources *resources, const char *name, enum clv_kube_kind kind)
{
	struct clv_kube_resource *resource;

	for (size_t i = 0; i < resources->n; i++) {
		if (strcmp(resources->items[i].name, name) == 0)
			return &resources->items[i];
	}
	resource = CLV_APPEND(resources->items, resources->n);
	if (!resource)
		return NULL;
	snprintf(resource->name, sizeof(resource->name), "%s", name);
	resource->kind = kind;
	return resource;
}

/* Memory has so many ids that they must be short: the key is a checksum. */
static void make_key(const struct clv_kube_device *device, enum clv_kube_kind kind,
	char ret[CLV_KUBE_KEY_MAX])
{
	const char *key = device->uuid[0] != '\0' ? device->uuid : device->name;

	if (kind == CLV_KUBE_OF_MEMORY)
		snprintf(ret, CLV_KUBE_KEY_MAX, "%08" PRIx32,
			clv_crc32(0, key, strlen(key)));
	else
		snprintf(ret, CLV_KUBE_KEY_MAX, "%s", key);
}

static int add_source(struct clv_kube_resource *resource,
	const struct clv_kube_device *device, uint32_t n_units, struct clv_error *err)
{
	char key[CLV_KUBE_KEY_MAX];
	struct clv_kube_source *source;

	make_key(device, resource->kind, key);
	if (clv_kube_find_key(resource, key))
		return clv_error_set(err, -EEXIST,
			"the ids of two devices begin with %s in %s: use another kind of "
			"resource",
			key, resource->name);
	source = CLV_APPEND(resource->sources, resource->n);
	if (!source)
		return clv_error_errno(err, ENOMEM, "cannot list %s", resource->name);
	memcpy(source->key, key, sizeof(source->key));
	snprintf(source->device, sizeof(source->device), "%s", device->name);
	snprintf(source->whole, sizeof(source->whole), "%s",
		device->parent[0] != '\0' ? device->parent : device->name);
	source->memory_bytes = device->memory_bytes;
	source->n_units = n_units;
	source->numa_node = device->numa_node;
	source->is_healthy = device->is_healthy;
	return 0;
}

static int add(struct clv_kube_resources *resources, const char *name,
	enum clv_kube_kind kind, const struct clv_kube_device *device, uint32_t n_units,
	struct clv_error *err)
{
	struct clv_kube_resource *resource = find_or_add(resources, name, kind);

	if (!resource)
		return clv_error_errno(err, ENOMEM, "cannot list %s", name);
	return add_source(resource, device, n_units, err);
}

static int add_one(struct clv_kube_resources *resources,
	const struct clv_kube_device *device, const struct clv_kube_settings *settings,
	struct clv_error *err)
{
	char name[CLV_KUBE_NAME_MAX];

	name_one(device, settings, name, sizeof(name));
	return add(resources, name, CLV_KUBE_OF_ONE, device, 1, err);
}

/* The unit if the settings have none.  All devices count, also those that are divided
 * now: the resource's name has the unit, so it must not change with a layout. */
static uint64_t choose_unit(const struct clv_kube_inventory *inventory)
{
	uint64_t n = 0;

	for (size_t i = 0; i < inventory->n; i++) {
		if (inventory->items[i].parent[0] == '\0')
			n += inventory->items[i].memory_bytes / MIB;
	}
	return n * MEMORY_ID_BYTES <= CLV_KUBE_LIST_MAX_BYTES ? MIB : GIB;
}

static int add_memory(struct clv_kube_resources *resources,
	const struct clv_kube_device *device, uint64_t unit_bytes, struct clv_error *err)
{
	uint64_t mib = unit_bytes / MIB;
	char name[CLV_KUBE_NAME_MAX] = CLV_KUBE_DOMAIN "/gpu-memory";
	int r;

	/* The unit is part of the name, so that a pod means the same on every node. */
	if (mib != 1)
		snprintf(name, sizeof(name), CLV_KUBE_DOMAIN "/gpu-memory-%" PRIu64 "%s",
			mib % 1024 == 0 ? mib / 1024 : mib,
			mib % 1024 == 0 ? "gi" : "mi");
	r = add(resources, name, CLV_KUBE_OF_MEMORY, device,
		(uint32_t)(device->memory_bytes / unit_bytes), err);
	if (r >= 0)
		find_or_add(resources, name, CLV_KUBE_OF_MEMORY)->unit_bytes = unit_bytes;
	return r;
}

static int add_replicas(struct clv_kube_resources *resources,
	const struct clv_kube_device *device, const struct clv_kube_replicas *replicas,
	struct clv_error *err)
{
	int r = add(resources, replicas->name, CLV_KUBE_OF_REPLICA, device,
		replicas->count, err);

	if (r >= 0)
		find_or_add(resources, replicas->name, CLV_KUBE_OF_REPLICA)->is_packed =
			replicas->is_packed;
	return r;
}

static int add_undivided(struct clv_kube_resources *resources,
	const struct clv_kube_device *device, const struct clv_kube_settings *settings,
	uint64_t unit_bytes, struct clv_error *err)
{
	enum clv_kube_undivided undivided = settings->undivided;
	bool is_both = undivided == CLV_KUBE_BOTH;
	int r = 0;

	if (undivided == CLV_KUBE_WHOLE)
		r = add_one(resources, device, settings, err);
	else if (undivided == CLV_KUBE_REPLICAS)
		r = add_replicas(resources, device, &settings->replicas, err);
	if (undivided == CLV_KUBE_SHARE || is_both)
		r = add(resources, CLV_KUBE_DOMAIN "/gpu-share", CLV_KUBE_OF_SHARE,
			device, CLV_KUBE_HUNDREDTHS, err);
	if (r >= 0 && (undivided == CLV_KUBE_MEMORY || is_both))
		r = add_memory(resources, device, unit_bytes, err);
	return r;
}

int clv_kube_resources_make(const struct clv_kube_inventory *inventory,
	const struct clv_kube_settings *settings, struct clv_kube_resources *ret,
	struct clv_error *err)
{
	uint64_t unit_bytes = settings->memory_unit_bytes;
	struct clv_kube_resources resources = {};
	int r = 0;

	if (unit_bytes == 0)
		unit_bytes = choose_unit(inventory);
	for (size_t i = 0; i < inventory->n && r >= 0; i++) {
		const struct clv_kube_device *device = &inventory->items[i];

		if (device->parent[0] != '\0')
			r = add_one(&resources, device, settings, err);
		else if (!device->is_divided)
			r = add_undivided(&resources, device, settings, unit_bytes, err);
	}
	if (r < 0)
		clv_kube_resources_clear(&resources);
	else
		*ret = resources;
	return r;
}

void clv_kube_resource_clear(struct clv_kube_resource *resource)
{
	free(resource->sources);
	resource->sources = NULL;
	resource->n = 0;
}

void clv_kube_resources_clear(struct clv_kube_resources *resources)
{
	for (size_t i = 0; i < resources->n; i++)
		clv_kube_resource_clear(&resources->items[i]);
	free(resources->items);
	*resources = (struct clv_kube_resources){};
}

/* --- Ids --- */

static bool has_numbers(const struct clv_kube_resource *resource)
{
	return resource->kind != CLV_KUBE_OF_ONE;
}

void clv_kube_id(const struct clv_kube_source *source, uint32_t unit,
	char ret[CLV_KUBE_KEY_MAX + 16])
{
	if (source->n_units == 1)
		snprintf(ret, CLV_KUBE_KEY_MAX + 16, "%s", source->key);
	else
		snprintf(ret, CLV_KUBE_KEY_MAX + 16, "%s" BETWEEN "%" PRIu32, source->key,
			unit);
}

const struct clv_kube_source *clv_kube_find_key(
	const struct clv_kube_resource *resource, const char *key)
{
	for (size_t i = 0; i < resource->n; i++) {
		if (strcmp(resource->sources[i].key, key) == 0)
			return &resource->sources[i];
	}
	return NULL;
}

int clv_kube_split_id(const struct clv_kube_resource *resource, const char *id,
	char ret_key[CLV_KUBE_KEY_MAX], uint32_t *ret_unit)
{
	const char *between = has_numbers(resource) ? strrchr(id, ':') : NULL;
	size_t n_key = strlen(id);
	unsigned long unit = 0;
	char *end;

	if (has_numbers(resource)) {
		if (!between || between == id || between[-1] != ':' ||
			!isdigit((unsigned char)between[1]))
			return -EINVAL;
		unit = strtoul(between + 1, &end, 10);
		if (*end != '\0' || unit > UINT32_MAX)
			return -EINVAL;
		n_key = (size_t)(between - 1 - id);
	}
	if (n_key == 0 || n_key >= CLV_KUBE_KEY_MAX)
		return -EINVAL;
	memcpy(ret_key, id, n_key);
	ret_key[n_key] = '\0';
	*ret_unit = (uint32_t)unit;
	return 0;
}

const struct clv_kube_source *clv_kube_find_id(
	const struct clv_kube_resource *resource, const char *id, uint32_t *ret_unit)
{
	const struct clv_kube_source *source;
	char key[CLV_KUBE_KEY_MAX];

	if (clv_kube_split_id(resource, id, key, ret_unit) < 0)
		return NULL;
	source = clv_kube_find_key(resource, key);
	return source && *ret_unit < source->n_units ? source : NULL;
}

/* --- ListAndWatch --- */

/* An encoder of protobuf without intermediate structures, because a message may have a
 * hundred thousand devices. */
struct writer {
	uint8_t *data;
	size_t n, room, n_spare;
	bool is_short; /* out of memory */
};

static void append(struct writer *writer, const void *bytes, size_t n)
{
	if (writer->n + n > writer->room) {
		size_t room = 2 * (writer->n + n) + 4096;
		uint8_t *grown = realloc(writer->data, room);

		if (!grown) {
			writer->is_short = true;
			return;
		}
		writer->data = grown;
		writer->room = room;
	}
	memcpy(writer->data + writer->n, bytes, n);
	writer->n += n;
}

static size_t varint(uint64_t value, uint8_t ret[10])
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		ret[n++] = (uint8_t)(value | 0x80);
	ret[n++] = (uint8_t)value;
	return n;
}

/* Encodes a length-delimited field: tag, length, bytes. */
static size_t field(uint8_t number, const void *bytes, size_t n, uint8_t *ret)
{
	uint8_t length[10];
	size_t n_length = varint(n, length);

	ret[0] = (uint8_t)(number << 3 | 2);
	memcpy(ret + 1, length, n_length);
	memcpy(ret + 1 + n_length, bytes, n);
	return 1 + n_length + n;
}

static size_t encode_topology(const struct clv_kube_source *source, uint8_t *ret)
{
	uint8_t node[16] = {1 << 3}, nodes[32];
	size_t n;

	if (source->numa_node < 0)
		return 0;
	/* proto3 omits fields with the value 0. */
	n = source->numa_node == 0 ? 0
				   : 1 + varint((uint64_t)source->numa_node, node + 1);
	n = field(1, node, n, nodes);
	return field(3, nodes, n, ret);
}

#define HEALTHY "Healthy"
#define UNHEALTHY "Unhealthy"

static void append_device(struct writer *writer, const struct clv_kube_source *source,
	uint32_t unit, const uint8_t *topology, size_t n_topology)
{
	const char *word = source->is_healthy ? HEALTHY : UNHEALTHY;
	char id[CLV_KUBE_KEY_MAX + 16];
	uint8_t device[256], message[272];
	size_t n;

	clv_kube_id(source, unit, id);
	n = field(1, id, strlen(id), device);
	n += field(2, word, strlen(word), device + n);
	memcpy(device + n, topology, n_topology);
	append(writer, message, field(1, device, n + n_topology, message));
	/* A list that fits must still fit when all devices become unhealthy. */
	writer->n_spare += strlen(UNHEALTHY) - strlen(word);
}

static bool is_too_large(const struct writer *writer)
{
	return writer->n + writer->n_spare > CLV_KUBE_LIST_MAX_BYTES;
}

int clv_kube_resource_encode(const struct clv_kube_resource *resource, uint8_t **ret,
	size_t *ret_bytes, struct clv_error *err)
{
	struct writer writer = {};

	for (size_t i = 0; i < resource->n; i++) {
		const struct clv_kube_source *source = &resource->sources[i];
		uint8_t topology[48];
		size_t n_topology = encode_topology(source, topology);

		for (uint32_t unit = 0; unit < source->n_units && !writer.is_short &&
					!is_too_large(&writer);
			unit++)
			append_device(&writer, source, unit, topology, n_topology);
	}
	if (!writer.is_short && !is_too_large(&writer)) {
		*ret = writer.data;
		*ret_bytes = writer.n;
		return 0;
	}
	free(writer.data);
	if (writer.is_short)
		return clv_error_errno(err, ENOMEM, "cannot list %s", resource->name);
	return clv_error_set(err, -EMSGSIZE,
		"%s has more ids than fit in the 4 MiB that kubelet reads: set a larger "
		"memory-unit, or leave it out",
		resource->name);
}
