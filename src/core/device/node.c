/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes: memory, names and lookup. */
#include "core/device/node.h"

#include "base/array.h"
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const schemes[_CLV_SCHEME_MAX] = {
	[CLV_SCHEME_NONE] = "none",
	[CLV_SCHEME_MIG] = "mig",
	[CLV_SCHEME_XCP] = "xcp",
	[CLV_SCHEME_VF] = "vf",
	[CLV_SCHEME_CORES] = "cores",
};

const char *clv_scheme_to_string(enum clv_scheme scheme)
{
	return schemes[scheme];
}

enum clv_scheme clv_scheme_from_string(const char *text)
{
	for (int i = 0; i < _CLV_SCHEME_MAX; i++) {
		if (strcmp(schemes[i], text) == 0)
			return (enum clv_scheme)i;
	}
	return _CLV_SCHEME_INVALID;
}

static void clear_partition(struct clv_partition *partition)
{
	for (size_t i = 0; i < partition->n_parts; i++)
		free(partition->parts[i].holders.items);
	free(partition->parts);
	free(partition->holders.items);
}

void clv_node_device_clear(struct clv_node_device *device)
{
	for (size_t i = 0; i < device->n_partitions; i++)
		clear_partition(&device->partitions[i]);
	for (size_t i = 0; i < device->vf.n; i++)
		free(device->vf.items[i].holders.items);
	free(device->partitions);
	free(device->vf.items);
	free(device->vf.types);
	free(device->cores.ids);
	free(device->holders.items);
	clv_mig_model_free(device->mig.own_model);
	*device = (struct clv_node_device){0};
}

void clv_node_clear(struct clv_node *node)
{
	for (size_t i = 0; i < node->n_devices; i++)
		clv_node_device_clear(&node->devices[i]);
	free(node->devices);
	free(node->problems);
	*node = (struct clv_node){0};
}

struct clv_node_device *clv_node_find(const struct clv_node *node, const char *name)
{
	/* An empty name would match devices without a UUID or PCI address. */
	for (size_t i = 0; i < node->n_devices && name[0] != '\0'; i++) {
		struct clv_node_device *device = &node->devices[i];

		if (strcmp(device->info.name, name) == 0 ||
			strcasecmp(device->info.uuid, name) == 0 ||
			strcasecmp(device->pci_address, name) == 0)
			return device;
	}
	return NULL;
}

bool clv_is_pci_address(const char *text)
{
	static const char form[] = "xxxx:xx:xx.x";

	for (size_t i = 0; i < sizeof(form) - 1; i++) {
		bool is_digit = isdigit((unsigned char)text[i]) ||
				(text[i] >= 'a' && text[i] <= 'f');

		if (form[i] == 'x' ? !is_digit : text[i] != form[i])
			return false;
	}
	return text[sizeof(form) - 1] == '\0';
}

const char *clv_node_identity(const struct clv_node_device *device)
{
	if (device->info.uuid[0] != '\0')
		return device->info.uuid;
	return device->pci_address[0] != '\0' ? device->pci_address : device->info.name;
}

struct clv_node_device *clv_node_add(struct clv_node *node)
{
	struct clv_node_device *device = CLV_APPEND(node->devices, node->n_devices);

	if (device)
		device->numa_node = -1;
	return device;
}

static struct clv_partition *init_location(struct clv_partition *partition)
{
	if (partition)
		partition->numa_node = partition->memory_part = -1;
	return partition;
}

struct clv_partition *clv_node_add_partition(struct clv_node_device *device)
{
	return init_location(CLV_APPEND(device->partitions, device->n_partitions));
}

struct clv_partition *clv_node_add_part(struct clv_partition *partition)
{
	return init_location(CLV_APPEND(partition->parts, partition->n_parts));
}

struct clv_holder *clv_holders_add(struct clv_holders *holders)
{
	return CLV_APPEND(holders->items, holders->n);
}

int clv_node_add_problem(struct clv_node *node, const char *text)
{
	char(*problem)[256] = CLV_APPEND(node->problems, node->n_problems);

	if (!problem)
		return -ENOMEM;
	snprintf(*problem, sizeof(*problem), "%s", text);
	return 0;
}

bool clv_node_has_problem(const struct clv_node *node, const char *text)
{
	size_t i = 0;

	while (i < node->n_problems && strcmp(node->problems[i], text) != 0)
		i++;
	return i < node->n_problems;
}

void clv_partition_make_name(const char *device, const char *profile, uint32_t start,
	char ret[CLV_PARTITION_NAME_MAX])
{
	snprintf(ret, CLV_PARTITION_NAME_MAX, "%.20s/%.36s@%u", device, profile, start);
}

void clv_part_make_name(const char *partition, uint32_t size, uint32_t start,
	char ret[CLV_PARTITION_NAME_MAX])
{
	snprintf(ret, CLV_PARTITION_NAME_MAX, "%.50s/%uc@%u", partition, size, start);
}

static void inherit_numa_node(struct clv_partition *partition, int32_t numa_node)
{
	if (partition->numa_node < 0)
		partition->numa_node = numa_node;
}

void clv_node_name_partitions(struct clv_node_device *device)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		struct clv_partition *partition = &device->partitions[i];

		clv_partition_make_name(device->info.name, partition->profile,
			partition->start, partition->name);
		inherit_numa_node(partition, device->numa_node);
		for (size_t p = 0; p < partition->n_parts; p++) {
			clv_part_make_name(partition->name, partition->parts[p].size,
				partition->parts[p].start, partition->parts[p].name);
			inherit_numa_node(&partition->parts[p], partition->numa_node);
		}
	}
}

int32_t clv_partition_io_die(
	const struct clv_node_device *device, const struct clv_partition *partition)
{
	const struct clv_xcp_state *xcp = &device->xcp;

	/* Without all of the model's dies it is not known which of them are there. */
	if (device->scheme != CLV_SCHEME_XCP || !xcp->model ||
		xcp->dies != xcp->model->dies)
		return -1;
	return clv_xcp_io_die(xcp->model, xcp->compute, partition->start);
}

bool clv_partition_is_held(const struct clv_partition *partition)
{
	if (partition->holders.n > 0)
		return true;
	for (size_t i = 0; i < partition->n_parts; i++) {
		if (partition->parts[i].holders.n > 0)
			return true;
	}
	return false;
}

bool clv_node_is_numbered(const struct clv_node *node)
{
	for (size_t i = 0; i < node->n_devices; i++) {
		const struct clv_node_device *device = &node->devices[i];

		if (device->info.visible[0] != '\0' ||
			(device->n_partitions > 0 &&
				device->partitions[0].visible[0] != '\0'))
			return true;
	}
	return false;
}

void clv_node_add_problems(const struct clv_node *node, struct clv_error *err)
{
	for (size_t i = 0; i < node->n_problems && node->n_devices == 0; i++) {
		size_t used = strlen(err->msg);

		snprintf(err->msg + used, sizeof(err->msg) - used, "; %s",
			node->problems[i]);
	}
}
