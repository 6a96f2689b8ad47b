/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that a process has on GPUs, from what it created and freed.  Groups belong
 * to devices, and channels to groups or devices; the devices themselves are known only as
 * parents.  The device of a channel is looked up once, when it is noted. */
#include "rm/channels.h"

#include "base/clock.h"
#include "rm/abi.h"
#include "rm/channels-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[_CLV_RM_METHOD_MAX] = {
	[CLV_RM_BY_NOTHING] = "nothing",
	[CLV_RM_BY_CHANNELS] = "channels",
	[CLV_RM_BY_GROUPS] = "groups",
	[CLV_RM_BY_SLICES] = "slices",
};

const char *clv_rm_method_to_string(enum clv_rm_method method)
{
	return names[method];
}

enum clv_rm_method clv_rm_method_from_string(const char *name)
{
	for (int i = 0; i < _CLV_RM_METHOD_MAX; i++) {
		if (strcmp(names[i], name) == 0)
			return (enum clv_rm_method)i;
	}
	return CLV_RM_BY_NOTHING;
}

struct clv_rm_channels *clv_rm_channels_new(bool keeps_files)
{
	struct clv_rm_channels *channels = calloc(1, sizeof(*channels));

	if (!channels)
		return NULL;
	channels->keeps_files = keeps_files;
	channels->is_complete = true;
	/* A hidden multiplier, so that a process cannot choose handles that collide. */
	channels->multiplier =
		((clv_clock_ns() ^ (uintptr_t)channels) * UINT64_C(0x9e3779b97f4a7c15)) |
		1;
	TAILQ_INIT(&channels->nodes);
	STAILQ_INIT(&channels->freed);
	return channels;
}

/* Lookup by handle. */

static size_t bucket_of(
	const struct clv_rm_channels *channels, uint32_t client, uint32_t handle)
{
	uint64_t key = (uint64_t)client << 32 | handle;

	return (key * channels->multiplier >> 32) % CLV_RM_BUCKETS;
}

struct clv_rm_node *clv_rm_table_find(
	const struct clv_rm_channels *channels, uint32_t client, uint32_t handle)
{
	struct clv_rm_node *node;

	LIST_FOREACH(
		node, &channels->buckets[bucket_of(channels, client, handle)], in_bucket)
	{
		if (node->object.client == client && node->object.handle == handle)
			return node;
	}
	return NULL;
}

/* Clients and devices. */

static struct clv_rm_client *find_client(
	struct clv_rm_channels *channels, uint32_t handle)
{
	for (size_t i = 0; i < CLV_RM_CLIENTS_MAX; i++) {
		if (channels->clients[i].is_used && channels->clients[i].handle == handle)
			return &channels->clients[i];
	}
	return NULL;
}

static int find_or_add_client(struct clv_rm_channels *channels, int fd, uint32_t handle,
	struct clv_rm_client **ret)
{
	struct clv_rm_client *client = channels->clients;

	*ret = find_client(channels, handle);
	if (*ret)
		return 0;
	while (client < channels->clients + CLV_RM_CLIENTS_MAX && client->is_used)
		client++;
	if (client == channels->clients + CLV_RM_CLIENTS_MAX)
		return -E2BIG;
	client->fd = channels->keeps_files ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : fd;
	if (client->fd < 0)
		return -errno;
	client->handle = handle;
	client->is_used = true;
	client->is_reported = false;
	*ret = client;
	return 0;
}

static void release_client(struct clv_rm_channels *channels, struct clv_rm_client *client)
{
	if (channels->keeps_files)
		close(client->fd);
	client->is_used = false;
}

static struct clv_rm_device *find_device(
	const struct clv_rm_channels *channels, uint32_t client, uint32_t handle)
{
	struct clv_rm_device *device;

	LIST_FOREACH(device,
		&channels->device_buckets[bucket_of(channels, client, handle)], in_bucket)
	{
		if (device->handle == handle && device->client->handle == client)
			return device;
	}
	return NULL;
}

/* Finds or adds a device; there are never more devices than objects.  NULL: no memory. */
static struct clv_rm_device *find_or_add_device(
	struct clv_rm_channels *channels, struct clv_rm_client *client, uint32_t handle)
{
	struct clv_rm_device *device = find_device(channels, client->handle, handle);

	if (device)
		return device;
	device = calloc(1, sizeof(*device));
	if (!device)
		return NULL;
	device->client = client;
	device->handle = handle;
	LIST_INSERT_HEAD(&channels->devices, device, entry);
	LIST_INSERT_HEAD(
		&channels->device_buckets[bucket_of(channels, client->handle, handle)],
		device, in_bucket);
	return device;
}

static void drop_if_empty(struct clv_rm_device *device)
{
	if (device->n_groups + device->n_subdevices + device->n_channels > 0)
		return;
	LIST_REMOVE(device, entry);
	LIST_REMOVE(device, in_bucket);
	free(device);
}

/* Removal. */

static void drop_node(struct clv_rm_channels *channels, struct clv_rm_node *node)
{
	struct clv_rm_device *device = node->device;

	clv_rm_reporting_drop(channels, node);
	LIST_REMOVE(node, in_bucket);
	LIST_REMOVE(node, on_device);
	if (node->has_group)
		LIST_REMOVE(node, in_group);
	if (node->object.class == CLV_RM_CLASS_GROUP) {
		device->n_groups--;
		channels->n_groups--;
	} else if (node->object.class == CLV_RM_CLASS_SUBDEVICE) {
		device->n_subdevices--;
	} else {
		device->n_channels--;
	}
	channels->n_objects--;
	free(node);
}

static void drop_group(struct clv_rm_channels *channels, struct clv_rm_node *node)
{
	while (!LIST_EMPTY(&node->members))
		drop_node(channels, LIST_FIRST(&node->members));
	drop_node(channels, node);
}

static void drop_all_on(struct clv_rm_channels *channels, struct clv_rm_device *device)
{
	while (!LIST_EMPTY(&device->groups))
		drop_group(channels, LIST_FIRST(&device->groups));
	while (!LIST_EMPTY(&device->channels))
		drop_node(channels, LIST_FIRST(&device->channels));
	while (!LIST_EMPTY(&device->subdevices))
		drop_node(channels, LIST_FIRST(&device->subdevices));
	drop_if_empty(device);
}

/* Returns whether the client existed. */
static bool drop_client(struct clv_rm_channels *channels, uint32_t handle)
{
	struct clv_rm_client *client = find_client(channels, handle);
	struct clv_rm_device *device = LIST_FIRST(&channels->devices), *next;

	if (!client)
		return false;
	for (; device; device = next) {
		next = LIST_NEXT(device, entry);
		if (device->client == client)
			drop_all_on(channels, device);
	}
	if (client->is_reported)
		clv_rm_reporting_free(channels, handle, handle);
	release_client(channels, client);
	return true;
}

/* Drops the object and its descendants, also if it is its own parent.  Returns whether
 * there was any. */
static bool drop_tree(struct clv_rm_channels *channels, uint32_t client, uint32_t handle)
{
	size_t n_before = channels->n_objects, n_reported = channels->n_reported;
	struct clv_rm_device *device = find_device(channels, client, handle);
	struct clv_rm_node *node;

	if (device)
		drop_all_on(channels, device);
	node = clv_rm_table_find(channels, client, handle);
	if (node) {
		device = node->device;
		drop_group(channels, node);
		drop_if_empty(device);
	}
	if (channels->n_reported < n_reported)
		clv_rm_reporting_free(channels, client, handle);
	return channels->n_objects < n_before;
}

/* Addition. */

static void link_to_device(struct clv_rm_device *device, struct clv_rm_node *node)
{
	if (node->object.class == CLV_RM_CLASS_GROUP) {
		LIST_INSERT_HEAD(&device->groups, node, on_device);
		device->n_groups++;
	} else if (node->object.class == CLV_RM_CLASS_SUBDEVICE) {
		LIST_INSERT_HEAD(&device->subdevices, node, on_device);
		device->n_subdevices++;
	} else {
		LIST_INSERT_HEAD(&device->channels, node, on_device);
		device->n_channels++;
	}
	node->device = device;
}

static struct clv_rm_node *find_group(
	const struct clv_rm_channels *channels, const struct clv_rm_object *object)
{
	struct clv_rm_node *parent;

	if (!clv_rm_object_is_channel(object))
		return NULL;
	parent = clv_rm_table_find(channels, object->client, object->parent);
	return parent && parent->object.class == CLV_RM_CLASS_GROUP ? parent : NULL;
}

static int add(
	struct clv_rm_channels *channels, int fd, const struct clv_rm_object *object)
{
	struct clv_rm_node *node, *group = find_group(channels, object);
	struct clv_rm_device *device;
	struct clv_rm_client *client;
	int r;

	if (channels->n_objects == CLV_RM_OBJECTS_MAX)
		return -E2BIG;
	r = find_or_add_client(channels, fd, object->client, &client);
	if (r < 0)
		return r;
	device = group ? group->device
		       : find_or_add_device(channels, client, object->parent);
	if (!device)
		return -ENOMEM;
	node = calloc(1, sizeof(*node));
	if (!node) {
		drop_if_empty(device);
		return -ENOMEM;
	}
	node->object = *object;
	node->has_group = group;
	link_to_device(device, node);
	if (group)
		LIST_INSERT_HEAD(&group->members, node, in_group);
	LIST_INSERT_HEAD(
		&channels->buckets[bucket_of(channels, object->client, object->handle)],
		node, in_bucket);
	channels->n_objects++;
	channels->n_groups += object->class == CLV_RM_CLASS_GROUP;
	clv_rm_reporting_add(channels, node);
	return 0;
}

int clv_rm_channels_note(
	struct clv_rm_channels *channels, int fd, const struct clv_rm_object *object)
{
	bool is_client = object->handle == object->client, is_change;
	int r = 0;

	/* A handle that is allocated again is another object. */
	if (!is_client)
		is_change = drop_tree(channels, object->client, object->handle);
	else
		is_change = object->class == 0 && drop_client(channels, object->client);
	if (object->class != 0) {
		is_change = true;
		r = is_client ? -EINVAL : add(channels, fd, object);
	}
	if (r < 0)
		channels->is_complete = false;
	channels->n_changes += is_change;
	return r;
}

struct clv_rm_channels *clv_rm_channels_free(struct clv_rm_channels *channels)
{
	if (!channels)
		return NULL;
	clv_rm_channels_untell(channels);
	for (size_t i = 0; i < CLV_RM_CLIENTS_MAX; i++) {
		if (channels->clients[i].is_used)
			drop_client(channels, channels->clients[i].handle);
	}
	free(channels);
	return NULL;
}

bool clv_rm_channels_are_whole(const struct clv_rm_channels *channels)
{
	return channels->is_complete;
}

bool clv_rm_channels_has_groups(const struct clv_rm_channels *channels)
{
	return channels->n_groups > 0;
}

size_t clv_rm_channels_count(const struct clv_rm_channels *channels)
{
	return channels->n_objects;
}
