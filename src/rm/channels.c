/* SPDX-License-Identifier: Apache-2.0 */
#include "rm/channels.h"

#include "base/array.h"
#include "rm/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OBJECTS_MAX 4096u
#define CLIENTS_MAX 16u
#define DEPTH 2

struct client {
	uint32_t handle;
	int fd;
};

struct clv_rm_channels {
	bool keeps_files;
	struct client clients[CLIENTS_MAX];
	size_t n_clients;
	struct clv_rm_object *objects;
	size_t n_objects;
};

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

	if (channels)
		channels->keeps_files = keeps_files;
	return channels;
}

static void let_go(const struct clv_rm_channels *channels, int fd)
{
	if (channels->keeps_files)
		close(fd);
}

struct clv_rm_channels *clv_rm_channels_free(struct clv_rm_channels *channels)
{
	for (size_t i = 0; channels && i < channels->n_clients; i++)
		let_go(channels, channels->clients[i].fd);
	if (channels)
		free(channels->objects);
	free(channels);
	return NULL;
}

/* What was made and freed. */

static const struct client *find_client(
	const struct clv_rm_channels *channels, uint32_t handle)
{
	for (size_t i = 0; i < channels->n_clients; i++) {
		if (channels->clients[i].handle == handle)
			return &channels->clients[i];
	}
	return NULL;
}

static int add_client(struct clv_rm_channels *channels, int fd, uint32_t handle)
{
	struct client *client = &channels->clients[channels->n_clients];

	if (find_client(channels, handle))
		return 0;
	if (channels->n_clients == CLIENTS_MAX)
		return -E2BIG;
	client->fd = channels->keeps_files ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : fd;
	if (client->fd < 0)
		return -errno;
	client->handle = handle;
	channels->n_clients++;
	return 0;
}

static void drop_object(struct clv_rm_channels *channels, size_t at)
{
	channels->objects[at] = channels->objects[--channels->n_objects];
}

static void drop_client(struct clv_rm_channels *channels, uint32_t handle)
{
	for (size_t i = channels->n_objects; i-- > 0;) {
		if (channels->objects[i].client == handle)
			drop_object(channels, i);
	}
	for (size_t i = channels->n_clients; i-- > 0;) {
		if (channels->clients[i].handle != handle)
			continue;
		let_go(channels, channels->clients[i].fd);
		channels->clients[i] = channels->clients[--channels->n_clients];
	}
}

/* The object, and what hangs on it: channels on a group on a device at the deepest, of
 * which the device is known only as the group's parent. */
static void drop_tree(
	struct clv_rm_channels *channels, uint32_t client, uint32_t handle, int depth)
{
	for (size_t i = channels->n_objects; i-- > 0;) {
		const struct clv_rm_object object = channels->objects[i];

		if (object.client != client ||
			(object.handle != handle && object.parent != handle))
			continue;
		drop_object(channels, i);
		if (object.handle != handle && depth > 0)
			drop_tree(channels, client, object.handle, depth - 1);
		/* What follows moved. */
		i = channels->n_objects;
	}
}

int clv_rm_channels_note(
	struct clv_rm_channels *channels, int fd, const struct clv_rm_object *object)
{
	struct clv_rm_object *added;
	int r;

	if (object->class == 0 && object->handle == object->client) {
		drop_client(channels, object->client);
		return 0;
	}
	/* A handle that is made anew is another object. */
	drop_tree(channels, object->client, object->handle, DEPTH);
	if (object->class == 0)
		return 0;
	if (channels->n_objects == OBJECTS_MAX)
		return -E2BIG;
	r = add_client(channels, fd, object->client);
	if (r < 0)
		return r;
	added = CLV_APPEND(channels->objects, channels->n_objects);
	if (!added)
		return -ENOMEM;
	*added = *object;
	return 0;
}

bool clv_rm_channels_has_groups(const struct clv_rm_channels *channels)
{
	for (size_t i = 0; i < channels->n_objects; i++) {
		if (channels->objects[i].class == CLV_RM_CLASS_GROUP)
			return true;
	}
	return false;
}

const struct clv_rm_object *clv_rm_channels_at(
	const struct clv_rm_channels *channels, size_t at, int *ret_fd)
{
	if (at >= channels->n_objects)
		return NULL;
	*ret_fd = find_client(channels, channels->objects[at].client)->fd;
	return &channels->objects[at];
}

/* Off and on. */

static struct clv_rm_target target_of(
	const struct clv_rm_channels *channels, const struct clv_rm_object *object)
{
	return (struct clv_rm_target){find_client(channels, object->client)->fd,
		object->client, object->handle};
}

static bool is_failure(uint32_t status)
{
	return status != CLV_RM_OK && status != CLV_RM_INVALID_OBJECT &&
	       status != CLV_RM_OBJECT_NOT_FOUND;
}

static void keep_first(uint32_t *first, uint32_t status)
{
	if (*first == CLV_RM_OK && is_failure(status))
		*first = status;
}

/* The device that a channel is on: its group's parent, or its own where it has no group.
 */
static uint32_t device_of(
	const struct clv_rm_channels *channels, const struct clv_rm_object *channel)
{
	for (size_t i = 0; i < channels->n_objects; i++) {
		const struct clv_rm_object *object = &channels->objects[i];

		if (object->client == channel->client &&
			object->handle == channel->parent &&
			object->class == CLV_RM_CLASS_GROUP)
			return object->parent;
	}
	return channel->parent;
}

static const struct clv_rm_object *find_subdevice(
	const struct clv_rm_channels *channels, uint32_t client, uint32_t device)
{
	for (size_t i = 0; i < channels->n_objects; i++) {
		const struct clv_rm_object *object = &channels->objects[i];

		if (object->client == client && object->parent == device &&
			object->class == CLV_RM_CLASS_SUBDEVICE)
			return object;
	}
	return NULL;
}

static uint32_t flush(const struct clv_rm_channels *channels,
	const struct clv_rm_object *subdevice, struct clv_rm_disable_channels *request)
{
	uint32_t status = CLV_RM_OK;

	if (request->n_channels > 0)
		status = clv_rm_control_disable(target_of(channels, subdevice), request);
	request->n_channels = 0;
	return status;
}

/* All channels on the device of this subdevice, with as few calls as there can be. */
static uint32_t switch_device(const struct clv_rm_channels *channels,
	const struct clv_rm_object *subdevice, bool on)
{
	struct clv_rm_disable_channels request = {.disable = !on};
	uint32_t first = CLV_RM_OK;

	for (size_t i = 0; i < channels->n_objects; i++) {
		const struct clv_rm_object *object = &channels->objects[i];

		if (object->client != subdevice->client ||
			!clv_rm_object_is_channel(object) ||
			device_of(channels, object) != subdevice->parent)
			continue;
		request.clients[request.n_channels] = object->client;
		request.channels[request.n_channels++] = object->handle;
		if (request.n_channels == CLV_RM_CHANNELS_AT_ONCE)
			keep_first(&first, flush(channels, subdevice, &request));
	}
	keep_first(&first, flush(channels, subdevice, &request));
	return first;
}

static uint32_t switch_channels(const struct clv_rm_channels *channels, bool on)
{
	uint32_t first = CLV_RM_OK;

	for (size_t i = 0; i < channels->n_objects; i++) {
		const struct clv_rm_object *object = &channels->objects[i];
		bool is_channel = clv_rm_object_is_channel(object);
		const struct clv_rm_object *subdevice;

		if (!is_channel && object->class != CLV_RM_CLASS_SUBDEVICE)
			continue;
		subdevice = find_subdevice(channels, object->client,
			is_channel ? device_of(channels, object) : object->parent);
		if (!subdevice)
			keep_first(&first, CLV_RM_NO_SUBDEVICE);
		else if (subdevice == object)
			keep_first(&first, switch_device(channels, subdevice, on));
	}
	return first;
}

static uint32_t switch_group(struct clv_rm_target group, uint64_t on)
{
	uint32_t status = clv_rm_control_schedule(group, on);

	return status != CLV_RM_OK || on ? status : clv_rm_control_preempt(group);
}

static uint32_t switch_slice(struct clv_rm_target group, uint64_t on)
{
	uint32_t status = clv_rm_control_set_timeslice(
		group, on ? CLV_RM_SLICE_ON_US : CLV_RM_SLICE_OFF_US);

	return status != CLV_RM_OK || on ? status : clv_rm_control_preempt(group);
}

static uint32_t for_all_groups(const struct clv_rm_channels *channels,
	uint32_t (*act)(struct clv_rm_target group, uint64_t value), uint64_t value)
{
	uint32_t first = CLV_RM_OK;

	for (size_t i = 0; i < channels->n_objects; i++) {
		const struct clv_rm_object *object = &channels->objects[i];

		if (object->class == CLV_RM_CLASS_GROUP)
			keep_first(&first, act(target_of(channels, object), value));
	}
	return first;
}

uint32_t clv_rm_channels_switch(
	const struct clv_rm_channels *channels, enum clv_rm_method method, bool on)
{
	switch (method) {
	case CLV_RM_BY_CHANNELS:
		return switch_channels(channels, on);
	case CLV_RM_BY_GROUPS:
		return for_all_groups(channels, switch_group, on);
	case CLV_RM_BY_SLICES:
		return for_all_groups(channels, switch_slice, on);
	default:
		return CLV_RM_OK;
	}
}

static uint32_t restore_slice(struct clv_rm_target group, uint64_t us)
{
	uint64_t now_us;
	uint32_t status = clv_rm_control_get_timeslice(group, &now_us);

	if (status != CLV_RM_OK || now_us != CLV_RM_SLICE_OFF_US)
		return status;
	return clv_rm_control_set_timeslice(group, us);
}

void clv_rm_channels_put_back(const struct clv_rm_channels *channels)
{
	clv_rm_channels_switch(channels, CLV_RM_BY_CHANNELS, true);
	clv_rm_channels_switch(channels, CLV_RM_BY_GROUPS, true);
	for_all_groups(channels, restore_slice, CLV_RM_SLICE_ON_US);
}
