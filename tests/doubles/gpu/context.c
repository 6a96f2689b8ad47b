/* SPDX-License-Identifier: Apache-2.0 */
#include "time.h"
#include <stdlib.h>

/* Contexts with their channel groups, and the GPUs' memory. */

struct context *dgp_context_find(struct process *process, uint32_t number)
{
	for (struct context *c = process->contexts; c; c = c->next)
		if (c->number == number)
			return c;
	return NULL;
}

static void add_group(struct machine *m, struct context *c)
{
	struct group *g = &c->groups[c->n_groups++], **last = &c->gpu->groups;

	while (*last)
		last = &(*last)->next;
	*last = g;
	g->number = ++m->last_context;
	g->context = c;
	g->slice_us = m->options.slice_us;
	g->slice_ns = g->slice_us * 1000;
	g->enabled = true;
}

struct context *dgp_context_new(
	struct machine *m, struct process *process, uint32_t gpu, uint32_t permille)
{
	struct context *c;

	if (dgp_memory_take(m, process, gpu, m->options.context_mib << 20))
		return NULL;
	c = calloc(1, sizeof(*c));
	c->permille = permille ? permille : 1000;
	c->process = process;
	c->gpu = &m->gpus[gpu];
	c->units = (c->permille * c->gpu->info.units + 999) / 1000;
	do
		add_group(m, c);
	while (c->n_groups < m->options.compute_groups && c->n_groups < DGP_GROUPS_MAX);
	c->number = c->groups[0].number;
	c->next = process->contexts;
	process->contexts = c;
	return c;
}

static void remove_group(struct gpu *gpu, struct group *group)
{
	struct group **at = &gpu->groups;

	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	if (gpu->running == group)
		gpu->running = NULL;
	if (gpu->last == group)
		gpu->last = NULL;
}

/* The streams drop the context: their remaining commands end without being run. */
static void leave_streams(struct context *c)
{
	for (int i = 0; i < DGP_SLOTS; i++) {
		struct stream *s = &c->process->streams[i];

		if (s->context != c)
			continue;
		for (int e = 0; e < DGP_COPY_ENGINES; e++)
			if (c->gpu->copying[e] == s)
				c->gpu->copying[e] = NULL;
		s->context = NULL;
		dgp_stream_rest(s);
	}
}

void dgp_context_free(struct machine *m, struct context *c)
{
	struct context **at = &c->process->contexts;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	for (uint32_t i = 0; i < c->n_groups; i++)
		remove_group(c->gpu, &c->groups[i]);
	leave_streams(c);
	if (dgp_vendor.driver)
		dgp_vendor.driver->forget(c);
	if (!c->process->is_held)
		dgp_memory_give(
			m, c->process, c->gpu->index, m->options.context_mib << 20);
	free(c);
}

int dgp_memory_take(
	struct machine *m, struct process *process, uint32_t gpu, uint64_t bytes)
{
	struct usage *usage = &process->usage[gpu];

	dgp_shares_settle(m);
	if (bytes > m->gpus[gpu].total_bytes - m->gpus[gpu].used_bytes)
		return 2;
	m->gpus[gpu].used_bytes += bytes;
	usage->bytes += bytes;
	usage->allocations++;
	if (usage->peak_bytes < usage->bytes)
		usage->peak_bytes = usage->bytes;
	m->memory_changed = true;
	return 0;
}

void dgp_memory_give(
	struct machine *m, struct process *process, uint32_t gpu, uint64_t bytes)
{
	struct usage *usage = &process->usage[gpu];

	if (bytes > usage->bytes)
		bytes = usage->bytes;
	usage->bytes -= bytes;
	m->gpus[gpu].used_bytes -= bytes;
	m->memory_changed = true;
}
