/* SPDX-License-Identifier: Apache-2.0 */
#include "rm/channels.h"

#include "base/array.h"
#include "rm/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define OBJECTS_MAX 4096u
#define CLIENTS_MAX 16u
#define DEPTH 2
#define FROM_ERRNO 0x10000u
#define INVALID_OBJECT 0x33u /* NV_ERR_INVALID_OBJECT_HANDLE */
#define OBJECT_NOT_FOUND 0x57u

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

static uint32_t control(const struct clv_rm_channels *channels,
	const struct clv_rm_object *object, uint32_t command, void *parameters,
	uint32_t n_bytes)
{
	const struct client *client = find_client(channels, object->client);
	struct clv_rm_control call = {
		.client = object->client,
		.object = object->handle,
		.command = command,
		.parameters = (uint64_t)(uintptr_t)parameters,
		.n_bytes = n_bytes,
	};

	if (ioctl(client->fd, _IOWR(CLV_RM_IOCTL_TYPE, CLV_RM_CONTROL, call), &call) < 0)
		return FROM_ERRNO | (uint32_t)errno;
	return call.status;
}

static bool is_failure(uint32_t status)
{
	return status != CLV_RM_OK && status != INVALID_OBJECT &&
	       status != OBJECT_NOT_FOUND;
}

static void keep_first(uint32_t *first, uint32_t status)
{
	if (*first == CLV_RM_OK && is_failure(status))
		*first = status;
}

static const struct clv_rm_object *find_subdevice(
	const struct clv_rm_channels *channels, uint32_t client)
{
	for (size_t i = 0; i < channels->n_objects; i++) {
		const struct clv_rm_object *object = &channels->objects[i];

		if (object->client == client && object->class == CLV_RM_CLASS_SUBDEVICE)
			return object;
	}
	return NULL;
}

static uint32_t disable(const struct clv_rm_channels *channels, uint32_t client,
	struct clv_rm_disable_channels *request)
{
	const struct clv_rm_object *subdevice = find_subdevice(channels, client);
	uint32_t status;

	if (request->n_channels == 0)
		return CLV_RM_OK;
	status = subdevice ? control(channels, subdevice, CLV_RM_DISABLE_CHANNELS,
				     request, sizeof(*request))
			   : INVALID_OBJECT;
	request->n_channels = 0;
	return status;
}

static uint32_t switch_channels(
	const struct clv_rm_channels *channels, uint32_t client, bool on)
{
	struct clv_rm_disable_channels request = {.disable = !on};
	uint32_t first = CLV_RM_OK;

	for (size_t i = 0; i < channels->n_objects; i++) {
		const struct clv_rm_object *object = &channels->objects[i];

		if (object->client != client || !clv_rm_object_is_channel(object))
			continue;
		request.clients[request.n_channels] = client;
		request.channels[request.n_channels++] = object->handle;
		if (request.n_channels == CLV_RM_CHANNELS_AT_ONCE)
			keep_first(&first, disable(channels, client, &request));
	}
	keep_first(&first, disable(channels, client, &request));
	return first;
}

static uint32_t switch_group(const struct clv_rm_channels *channels,
	const struct clv_rm_object *group, bool on)
{
	struct clv_rm_schedule schedule = {.enable = on};
	struct clv_rm_preempt preempt = {.wait = 1};
	uint32_t status = control(
		channels, group, CLV_RM_GROUP_SCHEDULE, &schedule, sizeof(schedule));

	if (status != CLV_RM_OK || on)
		return status;
	return control(channels, group, CLV_RM_GROUP_PREEMPT, &preempt, sizeof(preempt));
}

uint32_t clv_rm_channels_switch(
	const struct clv_rm_channels *channels, enum clv_rm_method method, bool on)
{
	uint32_t first = CLV_RM_OK;

	for (size_t i = 0; method == CLV_RM_BY_CHANNELS && i < channels->n_clients; i++)
		keep_first(&first,
			switch_channels(channels, channels->clients[i].handle, on));
	for (size_t i = 0; method == CLV_RM_BY_GROUPS && i < channels->n_objects; i++) {
		if (channels->objects[i].class == CLV_RM_CLASS_GROUP)
			keep_first(&first,
				switch_group(channels, &channels->objects[i], on));
	}
	return first;
}
