/* SPDX-License-Identifier: Apache-2.0 */
#include "time.h"
#include <stdlib.h>

/* The machine's time. It is computed from event to event: a command's arrival, the end of
 * a kernel or a copy, the end of a slice. The wake-up time of this thread has no
 * influence: a command queued before the last one ended starts at exactly that
 * nanosecond. */

/* Finds all streams that are not empty. */
static void find_active(struct machine *m)
{
	m->n_active = 0;
	for (struct process *p = m->processes; p; p = p->next) {
		uint32_t n = p->area ? atomic_load(&p->area->n_slots) : 0;

		for (uint32_t i = 0; i < n && i < DGP_SLOTS; i++) {
			if (!dgp_head(&p->streams[i]))
				continue;
			if (m->n_active == m->active_room) {
				m->active_room = m->active_room * 2 + 64;
				m->active = realloc(m->active,
					m->active_room * sizeof(struct stream *));
			}
			m->active[m->n_active++] = &p->streams[i];
		}
	}
}

/* --- Copy engines --- */

static void dispatch_copy(const struct machine *m, struct gpu *gpu, int engine)
{
	struct stream *best = gpu->copying[engine];

	for (uint32_t i = 0; i < m->n_active && !gpu->copying[engine]; i++) {
		struct stream *s = m->active[i];
		const struct dgp_cmd *cmd = dgp_head(s);

		if (s->ready && s->context->gpu == gpu && cmd->kind == DGP_COPY &&
			cmd->engine == engine && (!best || s->ready_ns < best->ready_ns))
			best = s;
	}
	if (best && !best->started)
		best->start_ns = m->now_ns;
	if (best)
		best->started = true;
	gpu->copying[engine] = best;
}

static void settle(struct machine *m)
{
	bool progress = true;

	while (progress) {
		progress = false;
		for (uint32_t i = 0; i < m->n_active; i++)
			progress |= dgp_step(m, m->active[i]);
	}
	for (uint32_t i = 0; i < m->n_gpus; i++) {
		dgp_compute_dispatch(m, &m->gpus[i]);
		for (int e = 0; e < DGP_COPY_ENGINES; e++)
			dispatch_copy(m, &m->gpus[i], e);
	}
}

/* --- From one event to the next --- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t next_of_gpu(const struct machine *m, const struct gpu *gpu)
{
	uint64_t next = dgp_compute_next(m, gpu);

	for (int e = 0; e < DGP_COPY_ENGINES; e++)
		if (gpu->copying[e])
			next = earlier(next, m->now_ns + gpu->copying[e]->left_ns);
	return next;
}

uint64_t dgp_next_event(const struct machine *m)
{
	uint64_t next = DGP_NEVER;

	for (uint32_t i = 0; i < m->n_active; i++) {
		const struct dgp_cmd *cmd = dgp_head(m->active[i]);

		if (cmd && cmd->submit_ns > m->now_ns)
			next = earlier(next, cmd->submit_ns);
		next = earlier(next, dgp_told_at(m, m->active[i]));
	}
	for (uint32_t i = 0; i < m->n_gpus; i++)
		next = earlier(next, next_of_gpu(m, &m->gpus[i]));
	return next;
}

static void run_gpu(struct machine *m, struct gpu *gpu, uint64_t ns)
{
	dgp_compute_run(m, gpu, ns);
	for (int e = 0; e < DGP_COPY_ENGINES; e++) {
		struct stream *s = gpu->copying[e];

		if (!s)
			continue;
		s->left_ns -= ns;
		s->process->usage[gpu->index].copy_ns += ns;
	}
}

static void finish_gpu(struct machine *m, struct gpu *gpu)
{
	dgp_compute_finish(m, gpu);
	for (int e = 0; e < DGP_COPY_ENGINES; e++) {
		struct stream *s = gpu->copying[e];

		if (!s || s->left_ns)
			continue;
		gpu->copying[e] = NULL;
		dgp_complete(m, s);
	}
}

static void go_to(struct machine *m, uint64_t ns)
{
	for (uint32_t i = 0; i < m->n_gpus; i++)
		run_gpu(m, &m->gpus[i], ns - m->now_ns);
	m->now_ns = ns;
	for (uint32_t i = 0; i < m->n_gpus; i++)
		finish_gpu(m, &m->gpus[i]);
}

void dgp_advance(struct machine *m, uint64_t until_ns)
{
	find_active(m);
	settle(m);
	for (;;) {
		uint64_t next = dgp_next_event(m);

		if (next > until_ns)
			break;
		go_to(m, next);
		settle(m);
	}
	if (until_ns > m->now_ns) {
		go_to(m, until_ns);
		settle(m);
	}
}
