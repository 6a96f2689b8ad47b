/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"
#include <string.h>

/* The last kernels and copies, with their process, place and times. */

#define ENTRIES 100000

static struct entry {
	int pid;
	uint32_t gpu, context, stream;
	uint64_t start_ns, end_ns;
	char name[DGP_NAME_BYTES];
} entries[ENTRIES];
static uint64_t n_entries;

void dgp_trace_add(struct machine *m, const struct stream *s, const struct dgp_cmd *cmd,
	uint64_t end_ns)
{
	struct entry *e = &entries[n_entries++ % ENTRIES];

	e->pid = s->process->pid;
	e->gpu = s->context->gpu->index;
	e->context = s->group->number;
	e->stream = s->number;
	e->start_ns = s->started ? s->start_ns : end_ns;
	e->end_ns = end_ns;
	memcpy(e->name, s->process->area->names[cmd->name % DGP_NAMES], DGP_NAME_BYTES);
}

void dgp_trace_switch(struct machine *m, const struct group *group)
{
	struct entry *e = &entries[n_entries++ % ENTRIES];

	*e = (struct entry){.pid = group->context->process->pid,
		.gpu = group->context->gpu->index,
		.context = group->number,
		.start_ns = m->asked_ns,
		.end_ns = m->now_ns};
	strcpy(e->name, group->enabled ? "[on]" : "[off]");
}

void dgp_trace_print(FILE *to)
{
	uint64_t first = n_entries > ENTRIES ? n_entries - ENTRIES : 0;

	for (uint64_t i = first; i < n_entries; i++) {
		const struct entry *e = &entries[i % ENTRIES];

		fprintf(to, "%d %u %u %u %.*s %llu %llu\n", e->pid, e->gpu, e->context,
			e->stream, DGP_NAME_BYTES, e->name,
			(unsigned long long)e->start_ns, (unsigned long long)e->end_ns);
	}
}
