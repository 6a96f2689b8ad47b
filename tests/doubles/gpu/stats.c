/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"
#include <stdio.h>

/* Statistics for tests: lines of a kind, then words with their values. */

typedef unsigned long long number;

static void print_gpu(const struct gpu *gpu, FILE *to)
{
	fprintf(to, "gpu %u total %llu used %llu busy_ns %llu switches %llu\n",
		gpu->index, (number)gpu->total_bytes, (number)gpu->used_bytes,
		(number)gpu->busy_ns, (number)gpu->switches);
	fprintf(to, "kept gpu %u bytes %llu\n", gpu->index,
		(number)dgp_shares_kept(gpu->index));
	for (const struct group *g = gpu->groups; g; g = g->next)
		fprintf(to,
			"group %u gpu %u pid %d slice_us %llu enabled %d run_ns %llu "
			"ready %u running %d\n",
			g->number, gpu->index, g->context->process->pid,
			(number)g->slice_us, g->enabled, (number)g->run_ns, g->n_ready,
			gpu->running == g);
}

static void print_process(const struct machine *m, const struct process *p, FILE *to)
{
	for (uint32_t i = 0; i < m->n_gpus; i++) {
		const struct usage *u = &p->usage[i];

		if (!u->peak_bytes && !u->launches)
			continue;
		fprintf(to,
			"process %d gpu %u state %s run_ns %llu copy_ns %llu launches "
			"%llu records %llu "
			"bytes %llu peak %llu allocations %llu\n",
			p->pid, i, p->gone ? "gone" : "alive", (number)u->run_ns,
			(number)u->copy_ns, (number)u->launches, (number)u->records,
			(number)u->bytes, (number)u->peak_bytes, (number)u->allocations);
	}
}

void dgp_stats_print(struct machine *m, FILE *to)
{
	dgp_shares_settle(m);
	fprintf(to, "now %llu\n", (number)m->now_ns);
	for (uint32_t i = 0; i < m->n_gpus; i++)
		print_gpu(&m->gpus[i], to);
	for (const struct process *p = m->processes; p; p = p->next)
		print_process(m, p, to);
}

void dgp_tell(struct machine *m)
{
	char fresh[64];
	FILE *to;

	m->memory_changed = false;
	if (!m->options.tell)
		return;
	snprintf(fresh, sizeof(fresh), "%s.new", dgp_vendor.tell_file);
	to = fopen(fresh, "we");
	if (!to)
		return;
	for (const struct process *p = m->processes; p; p = p->next)
		for (uint32_t i = 0; i < m->n_gpus; i++)
			if (p->usage[i].bytes)
				dgp_vendor.tell(p, &m->gpus[i], to);
	fclose(to);
	rename(fresh, dgp_vendor.tell_file);
}
