/* SPDX-License-Identifier: Apache-2.0 */
/* Takes channels off a GPU and puts them back, by each of the methods. */
#include "rm/channels-internal.h"
#include "rm/control.h"

static struct clv_rm_target target_of(const struct clv_rm_node *node)
{
	return (struct clv_rm_target){
		node->device->client->fd, node->object.client, node->object.handle};
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

/* Method: channels. */

static void note_call(const struct clv_rm_channels *channels)
{
	if (channels->after)
		channels->after(channels->after_userdata);
}

static uint32_t flush(
	const struct clv_rm_device *device, struct clv_rm_disable_channels *request)
{
	const struct clv_rm_node *subdevice = LIST_FIRST(&device->subdevices);
	uint32_t status = CLV_RM_OK;

	if (request->n_channels > 0)
		status = subdevice ? clv_rm_control_disable(target_of(subdevice), request)
				   : CLV_RM_NO_SUBDEVICE;
	request->n_channels = 0;
	return status;
}

static void put_in(
	const struct clv_rm_object *object, struct clv_rm_disable_channels *request)
{
	request->clients[request->n_channels] = object->client;
	request->channels[request->n_channels++] = object->handle;
}

/* Switches all channels of a device with as few calls as possible. */
static uint32_t switch_device(const struct clv_rm_channels *channels,
	const struct clv_rm_device *device, bool on)
{
	struct clv_rm_disable_channels request = {.disable = !on};
	const struct clv_rm_node *channel;
	uint32_t first = CLV_RM_OK;

	LIST_FOREACH(channel, &device->channels, on_device)
	{
		put_in(&channel->object, &request);
		if (request.n_channels == CLV_RM_CHANNELS_AT_ONCE) {
			keep_first(&first, flush(device, &request));
			note_call(channels);
		}
	}
	keep_first(&first, flush(device, &request));
	note_call(channels);
	return first;
}

static uint32_t switch_channels(const struct clv_rm_channels *channels, bool on)
{
	const struct clv_rm_device *device;
	uint32_t first = CLV_RM_OK;

	LIST_FOREACH(device, &channels->devices, entry)
	keep_first(&first, switch_device(channels, device, on));
	return first;
}

/* Methods: groups, and time slices. */

typedef uint32_t (*act_fn)(struct clv_rm_target group, uint64_t value);

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

static uint32_t for_all_groups(
	const struct clv_rm_channels *channels, act_fn act, uint64_t value)
{
	const struct clv_rm_device *device;
	const struct clv_rm_node *group;
	uint32_t first = CLV_RM_OK;

	LIST_FOREACH(device, &channels->devices, entry)
	{
		LIST_FOREACH(group, &device->groups, on_device)
		{
			keep_first(&first, act(target_of(group), value));
			note_call(channels);
		}
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

void clv_rm_channels_call_after(
	struct clv_rm_channels *channels, void (*after)(void *userdata), void *userdata)
{
	channels->after = after;
	channels->after_userdata = userdata;
}

uint32_t clv_rm_channels_switch_one(const struct clv_rm_channels *channels,
	const struct clv_rm_object *object, enum clv_rm_method method, bool on)
{
	const struct clv_rm_node *node =
		clv_rm_table_find(channels, object->client, object->handle);
	struct clv_rm_disable_channels request = {.disable = !on};
	uint32_t first = CLV_RM_OK;

	if (!node)
		return CLV_RM_OK;
	if (method == CLV_RM_BY_CHANNELS && clv_rm_object_is_channel(object)) {
		put_in(object, &request);
		keep_first(&first, flush(node->device, &request));
	} else if (object->class == CLV_RM_CLASS_GROUP) {
		if (method == CLV_RM_BY_GROUPS)
			keep_first(&first, switch_group(target_of(node), on));
		else if (method == CLV_RM_BY_SLICES)
			keep_first(&first, switch_slice(target_of(node), on));
	}
	return first;
}

size_t clv_rm_channels_count_calls(
	const struct clv_rm_channels *channels, enum clv_rm_method method)
{
	const struct clv_rm_device *device;
	size_t n = 0;

	if (method == CLV_RM_BY_NOTHING)
		return 0;
	if (method != CLV_RM_BY_CHANNELS)
		return 2 * channels->n_groups;
	LIST_FOREACH(device, &channels->devices, entry)
	n += (device->n_channels + CLV_RM_CHANNELS_AT_ONCE - 1) / CLV_RM_CHANNELS_AT_ONCE;
	return n;
}

static uint32_t restore_slice(struct clv_rm_target group, uint64_t us)
{
	uint64_t now_us;
	uint32_t status = clv_rm_control_get_timeslice(group, &now_us);

	if (status != CLV_RM_OK || now_us != CLV_RM_SLICE_OFF_US)
		return status;
	return clv_rm_control_set_timeslice(group, us);
}

void clv_rm_channels_restore(const struct clv_rm_channels *channels)
{
	clv_rm_channels_switch(channels, CLV_RM_BY_CHANNELS, true);
	clv_rm_channels_switch(channels, CLV_RM_BY_GROUPS, true);
	for_all_groups(channels, restore_slice, CLV_RM_SLICE_ON_US);
}
