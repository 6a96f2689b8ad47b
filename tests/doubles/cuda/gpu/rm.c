/* SPDX-License-Identifier: Apache-2.0 */
#include "rm.h"
#include "../../gpu/machine.h"
#include "../../nvml/text.h"
#include "../rm/abi.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The part of the kernel driver's resource manager that handles channel groups. A client
 * belongs to the open file that created it: any process with that file may use the
 * client, however it got the file, and no process without it may. */

struct object {
	const struct process *file;
	uint32_t client, handle, parent, class;
	/* The owner of a group or a channel; NULL when the context is gone, and, for a
	 * group, when it is one of copies. */
	struct context *context;
	struct group *group;
	const struct process *owner;
	uint32_t gpu; /* of a device and of what is below it */
	bool is_enabled;
	struct object *next;
};

static struct object *objects;
static uint32_t last_client = 0xc1d00000, last_handle = 0xcaf00000;

static struct object *find(uint32_t client, uint32_t handle)
{
	struct object *o = objects;

	while (o && (o->client != client || o->handle != handle))
		o = o->next;
	return o;
}

static bool is_channel(const struct object *o)
{
	return o->class != DCU_RM_GROUP && (o->class & 0xff) == 0x6f;
}

/* --- Making and freeing --- */

/* The context's groups for compute are bound in their order. */
static struct group *next_group(struct context *c)
{
	uint32_t n = 0;

	for (const struct object *o = objects; o; o = o->next)
		n += o->class == DCU_RM_GROUP && o->context == c && o->group;
	return n < c->n_groups ? &c->groups[n] : NULL;
}

static void bind_group(struct machine *m, struct object *o, const unsigned char *params)
{
	struct dcu_rm_group_params p;

	memcpy(&p, params, sizeof(p));
	for (struct process *process = m->processes; process; process = process->next)
		for (struct context *c = process->contexts; c; c = c->next) {
			if (c->number != p.address_space)
				continue;
			o->context = c;
			o->owner = process;
			if (p.engine == DCU_RM_ENGINE_COMPUTE)
				o->group = next_group(c);
		}
}

static uint32_t make(struct machine *m, struct process *file, struct dgp_rm_call *call)
{
	bool is_root = call->what == DCU_RM_CLIENT;
	struct object *o, *parent;

	if (!call->object)
		call->object = is_root ? ++last_client : ++last_handle;
	if (is_root)
		call->client = call->object;
	parent = find(call->client, call->parent);
	o = find(call->client, call->client);
	if (!is_root && (!o || o->file != file))
		return DCU_RM_INVALID_CLIENT;
	if (!is_root && !parent)
		return DCU_RM_INVALID_OBJECT;
	if (find(call->client, call->object))
		return DCU_RM_DUPLICATE;
	o = calloc(1, sizeof(*o));
	*o = (struct object){.file = file,
		.client = call->client,
		.handle = call->object,
		.parent = call->parent,
		.class = call->what,
		.gpu = parent ? parent->gpu : 0,
		.is_enabled = true};
	if (call->what == DCU_RM_DEVICE)
		memcpy(&o->gpu, call->params, sizeof(o->gpu));
	if (call->what == DCU_RM_GROUP)
		bind_group(m, o, call->params);
	if (is_channel(o)) {
		o->context = parent->context;
		o->owner = parent->owner;
		o->group = parent->group;
	}
	o->next = objects;
	objects = o;
	return 0;
}

static void drop(struct object **at)
{
	struct object *o = *at;

	*at = o->next;
	free(o);
}

/* Removes an object with its children, and theirs. */
static void drop_tree(uint32_t client, uint32_t handle)
{
	for (struct object **at = &objects; *at;) {
		struct object *o = *at;

		if (o->client != client || (o->handle != handle && o->parent != handle &&
						   handle != client)) {
			at = &o->next;
			continue;
		}
		if (o->handle != handle && o->handle != client) {
			uint32_t child = o->handle;

			o->parent = 0;
			drop(at);
			drop_tree(client, child);
			at = &objects;
			continue;
		}
		drop(at);
	}
}

static bool holds(const struct process *process)
{
	for (const struct object *o = objects; o; o = o->next)
		if (o->owner == process && !o->file->gone)
			return true;
	return false;
}

static void file_end(struct machine *m, struct process *file)
{
	for (struct object **at = &objects; *at;)
		if ((*at)->file == file)
			drop(at);
		else
			at = &(*at)->next;
	for (struct process *p = m->processes; p; p = p->next)
		if (p->is_held && !holds(p))
			dgp_process_release(m, p);
}

static void forget(const struct context *context)
{
	for (struct object *o = objects; o; o = o->next)
		if (o->context == context) {
			o->context = NULL;
			o->group = NULL;
		}
}

/* --- Controls --- */

/* A group runs if it is enabled and one of its channels is. */
static void set_enabled(struct machine *m, struct group *g)
{
	bool group = true, channel = false, has_channel = false;
	bool was_enabled = g->enabled;

	for (const struct object *o = objects; o; o = o->next) {
		if (o->group != g)
			continue;
		if (!is_channel(o)) {
			group &= o->is_enabled;
			continue;
		}
		has_channel = true;
		channel |= o->is_enabled;
	}
	g->enabled = group && (channel || !has_channel);
	if (m->options.trace && g->enabled != was_enabled)
		dgp_trace_switch(m, g);
}

static uint32_t schedule(struct machine *m, struct object *o, void *params)
{
	const unsigned char *p = params;

	o->is_enabled = p[0];
	if (o->group)
		set_enabled(m, o->group);
	return 0;
}

static uint32_t preempt(struct machine *m, struct object *o, void *params)
{
	struct gpu *gpu = o->group ? o->context->gpu : NULL;

	if (gpu && gpu->running == o->group)
		gpu->running = NULL;
	return 0;
}

/* The time slice takes effect at once: a running group is preempted for it. */
static uint32_t set_timeslice(struct machine *m, struct object *o, void *params)
{
	uint64_t us;

	memcpy(&us, params, sizeof(us));
	if (!o->group)
		return 0;
	o->group->slice_us = us;
	/* The meaning of 0 is not public; here it is the shortest slice. */
	o->group->slice_ns = us ? us * 1000 : 1000;
	return preempt(m, o, NULL);
}

static uint32_t get_timeslice(struct machine *m, struct object *o, void *params)
{
	uint64_t us = o->group ? o->group->slice_us : m->options.slice_us;

	memcpy(params, &us, sizeof(us));
	return 0;
}

static uint32_t get_info(struct machine *m, struct object *o, void *params)
{
	uint32_t context = o->context ? o->context->number : 0;
	uint32_t id = o->group ? o->group->number : context;

	memcpy(params, &id, sizeof(id));
	return 0;
}

static uint32_t set_interleave(struct machine *m, struct object *o, void *params)
{
	uint32_t level;

	memcpy(&level, params, sizeof(level));
	if (level > 2)
		return DCU_RM_INVALID_ARGUMENT;
	if (o->group)
		o->group->interleave = level;
	return 0;
}

static uint32_t disable_channels(struct machine *m, struct object *o, void *params)
{
	struct dcu_rm_disable p;

	memcpy(&p, params, sizeof(p));
	if (p.event)
		return DCU_RM_NOT_PERMITTED; /* for clients inside the kernel only */
	if (p.n > DCU_RM_DISABLE_MAX)
		return DCU_RM_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < p.n; i++) {
		struct object *channel = find(p.clients[i], p.channels[i]);

		/* The firmware of a GPU does not know the channels of another GPU. */
		if (!channel || !is_channel(channel) || channel->gpu != o->gpu)
			return DCU_RM_INVALID_OBJECT;
		channel->is_enabled = !p.disable;
		if (channel->group)
			set_enabled(m, channel->group);
	}
	return 0;
}

static uint32_t refuse(struct machine *m, struct object *o, void *params)
{
	return DCU_RM_NOT_PERMITTED;
}

/* Names and sizes of the parameters in the headers of 535, 550, 565, 570, 575, 580, 590
 * and 595: `bSkipEnable` came with 575. */
static const struct {
	uint32_t command, bytes;
	uint32_t class; /* 0: of a channel */
	uint32_t (*control)(struct machine *m, struct object *o, void *params);
	uint32_t from, before; /* driver versions; 0: all */
} controls[] = {
	{0xa06c0101, 2, DCU_RM_GROUP, schedule, 0, 575},
	{0xa06c0101, 3, DCU_RM_GROUP, schedule, 575, 0},
	{0xa06c0103, 8, DCU_RM_GROUP, set_timeslice, 0, 0},
	{0xa06c0104, 8, DCU_RM_GROUP, get_timeslice, 0, 0},
	{0xa06c0105, 8, DCU_RM_GROUP, preempt, 0, 0},
	{0xa06c0106, 4, DCU_RM_GROUP, get_info, 0, 0},
	{0xa06c0107, 4, DCU_RM_GROUP, set_interleave, 0, 0},
	{0xa06f0103, 2, 0, schedule, 0, 575},
	{0xa06f0103, 3, 0, schedule, 575, 0},
	{0x2080110b, 536, DCU_RM_SUBDEVICE, disable_channels, 0, 0},
	{0x20800194, 0, DCU_RM_SUBDEVICE, refuse, 0, 0},
	{0x20801119, 0, DCU_RM_SUBDEVICE, refuse, 0, 0},
};
#define N_CONTROLS (sizeof(controls) / sizeof(controls[0]))

static size_t find_control(const struct machine *m, uint32_t command)
{
	size_t i = 0;

	while (i < N_CONTROLS &&
		(controls[i].command != command || m->options.driver < controls[i].from ||
			(controls[i].before && m->options.driver >= controls[i].before)))
		i++;
	return i;
}

/* Reads the file `policy`: lines of COMMAND STATUS, for drivers that refuse a command. */
static uint32_t refused(uint32_t command)
{
	int dirfd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *text = dnv_text_read(dirfd, "policy"), *rest = text;
	struct dnv_line line = {0};
	uint64_t number, status;
	uint32_t found = 0;

	while (dnv_text_next(&rest, &line)) {
		if (line.n_words != 2 ||
			!dnv_text_number(line.words[0], 0, UINT32_MAX, &number) ||
			!dnv_text_number(line.words[1], 0, UINT32_MAX, &status))
			dnv_text_die("policy", &line);
		if (number == command)
			found = (uint32_t)status;
	}
	free(text);
	close(dirfd);
	return found;
}

static uint32_t control(struct machine *m, struct process *file, struct dgp_rm_call *call)
{
	const struct object *client = find(call->client, call->client);
	struct object *o = find(call->client, call->object);
	uint32_t status = refused(call->what);
	size_t i;

	if (!client || client->file != file)
		return DCU_RM_INVALID_CLIENT;
	if (!o)
		return DCU_RM_INVALID_OBJECT;
	i = find_control(m, call->what);
	if (i == N_CONTROLS)
		return status ? status : DCU_RM_NOT_SUPPORTED;
	if (controls[i].class ? o->class != controls[i].class : !is_channel(o))
		return DCU_RM_INVALID_OBJECT;
	if (controls[i].bytes && call->bytes != controls[i].bytes)
		return DCU_RM_INVALID_PARAMS;
	return status ? status : controls[i].control(m, o, call->params);
}

static void answer_call(struct machine *m, struct process *file, struct dgp_rm_call *call)
{
	const struct object *client = find(call->client, call->client);

	if (call->number == DCU_RM_IOCTL_ALLOC)
		call->status = make(m, file, call);
	else if (call->number == DCU_RM_IOCTL_CONTROL)
		call->status = control(m, file, call);
	else if (!client || client->file != file)
		call->status = DCU_RM_INVALID_CLIENT;
	else
		drop_tree(call->client, call->object);
}

const struct dgp_kernel_driver dcu_rm = {answer_call, file_end, forget, holds};
