/* SPDX-License-Identifier: Apache-2.0 */
#include "time.h"

/* Channel groups take turns. Within one, kernels of different streams run concurrently as
 * far as there are units: streams of higher priority choose first, then the earlier ones.
 * A kernel that gets fewer units than it wants takes longer in proportion, and gets more
 * when units become free, as waiting blocks do. */

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* --- A kernel --- */

/* Without a number of units it is all of its context's work, and takes longer in
 * proportion to the units that the context and the stream lack. */
static void set_work(struct stream *s, const struct dgp_cmd *cmd)
{
	uint64_t share = atomic_load(&s->slot->permille), units = s->context->units;
	uint64_t ns = cmd->ns * 1000 / s->context->permille;

	if (cmd->units) {
		units = share ? (units * share + 999) / 1000 : units;
		s->demand = (uint32_t)smaller(cmd->units, units);
		s->left_work = cmd->ns * cmd->units;
		return;
	}
	s->demand = (uint32_t)units;
	s->left_work = (share ? ns * 1000 / share : ns) * units;
}

void dgp_kernel_ready(struct stream *s, const struct dgp_cmd *cmd)
{
	s->group->n_ready++;
	s->turns_left = cmd->turns;
	set_work(s, cmd);
}

static uint64_t time_left(const struct stream *s, uint32_t units)
{
	return (s->left_work + units - 1) / units;
}

uint64_t dgp_least_left(const struct stream *s)
{
	return s->demand ? time_left(s, s->demand) : s->left_ns;
}

/* The kernel first waits for a word, which is in the process's memory, so the process
 * reports it. */
static void begin_turn(struct stream *s)
{
	s->spins = true;
	s->turns_wanted = atomic_load(&s->slot->turns) + 1;
	dgp_hand_over(s, dgp_head(s)->value, true, s->turns_wanted);
}

static void look_at_word(const struct machine *m, struct stream *s)
{
	if (atomic_load(&s->slot->turns) >= s->turns_wanted &&
		dgp_told_at(m, s) == DGP_NEVER)
		s->spins = false;
}

static bool has_next_turn(struct stream *s)
{
	const struct dgp_cmd *cmd = dgp_head(s);

	if (s->turns_left < 2)
		return false;
	s->turns_left--;
	dgp_tell_effect(s->process->area, cmd->effect);
	set_work(s, cmd);
	begin_turn(s);
	return true;
}

/* --- Units --- */

static bool is_better(const struct stream *a, const struct stream *b)
{
	int one = atomic_load(&a->slot->priority),
	    other = atomic_load(&b->slot->priority);

	return one < other || (one == other && a->ready_ns < b->ready_ns);
}

static struct stream *first_in_line(const struct machine *m, const struct group *g)
{
	struct stream *best = NULL;

	for (uint32_t i = 0; i < m->n_active; i++) {
		struct stream *s = m->active[i];

		if (s->ready && s->group == g && s->granted < s->demand &&
			(!best || is_better(s, best)))
			best = s;
	}
	return best;
}

static void hand_out(const struct machine *m, struct group *g)
{
	struct stream *s;

	while (g->used_units < g->context->units && (s = first_in_line(m, g))) {
		uint32_t n = (uint32_t)smaller(
			s->demand - s->granted, g->context->units - g->used_units);

		s->granted += n;
		g->used_units += n;
		if (s->started)
			continue;
		s->started = true;
		s->start_ns = m->now_ns;
		if (s->turns_left)
			begin_turn(s);
	}
}

/* --- Turns of groups --- */

static bool is_runnable(const struct group *g)
{
	return g->enabled && g->n_ready;
}

/* The next group in turn after `last`, the same one if it is alone, or NULL. */
static struct group *next_runnable(const struct gpu *gpu, const struct group *last)
{
	struct group *first = last && last->next ? last->next : gpu->groups, *g = first;

	if (!first)
		return NULL;
	do {
		if (is_runnable(g))
			return g;
		g = g->next ? g->next : gpu->groups;
	} while (g != first);
	return NULL;
}

static bool others_wait(const struct gpu *gpu)
{
	const struct group *next = next_runnable(gpu, gpu->running);

	return next && next != gpu->running;
}

static void give_slice(struct machine *m, struct gpu *gpu, struct group *g)
{
	bool is_switch = gpu->last && gpu->last != g;

	gpu->running = gpu->last = g;
	gpu->switched_at = m->now_ns + (is_switch ? m->options.switch_ns : 0);
	gpu->slice_end = gpu->switched_at + g->slice_ns;
	gpu->switches += is_switch;
}

static bool is_switching(const struct machine *m, const struct gpu *gpu)
{
	return gpu->running && gpu->switched_at > m->now_ns;
}

/* Whether the stream's kernel is on the GPU now. */
static bool runs(const struct gpu *gpu, const struct stream *s)
{
	return s->granted && s->group == gpu->running;
}

void dgp_compute_dispatch(struct machine *m, struct gpu *gpu)
{
	struct group *next;

	if (is_switching(m, gpu))
		return;
	if (gpu->running && !is_runnable(gpu->running))
		gpu->running = NULL;
	if (!gpu->running || m->now_ns >= gpu->slice_end) {
		next = next_runnable(gpu, gpu->last);
		gpu->running = NULL;
		if (next)
			give_slice(m, gpu, next);
	}
	if (!gpu->running || is_switching(m, gpu))
		return;
	hand_out(m, gpu->running);
	for (uint32_t i = 0; i < m->n_active; i++)
		if (m->active[i]->spins && runs(gpu, m->active[i]))
			look_at_word(m, m->active[i]);
}

uint64_t dgp_compute_next(const struct machine *m, const struct gpu *gpu)
{
	uint64_t next = DGP_NEVER;

	if (!gpu->running)
		return DGP_NEVER;
	if (is_switching(m, gpu))
		return gpu->switched_at;
	for (uint32_t i = 0; i < m->n_active; i++) {
		const struct stream *s = m->active[i];

		if (runs(gpu, s) && !s->spins)
			next = smaller(next, m->now_ns + time_left(s, s->granted));
	}
	return others_wait(gpu) ? smaller(next, gpu->slice_end) : next;
}

void dgp_compute_run(struct machine *m, struct gpu *gpu, uint64_t ns)
{
	struct group *g = gpu->running;

	if (!g || !g->used_units || is_switching(m, gpu))
		return;
	for (uint32_t i = 0; i < m->n_active; i++) {
		struct stream *s = m->active[i];

		if (runs(gpu, s) && !s->spins)
			s->left_work -= smaller(s->left_work, ns * s->granted);
	}
	gpu->busy_ns += ns;
	g->run_ns += ns;
	g->context->process->usage[gpu->index].run_ns += ns;
}

/* A slice that ends while no other group is runnable is followed by the next one. */
static void renew_slice(const struct machine *m, struct gpu *gpu)
{
	uint64_t slice = gpu->running ? gpu->running->slice_ns : 0;

	if (slice && gpu->slice_end <= m->now_ns && !others_wait(gpu))
		gpu->slice_end += ((m->now_ns - gpu->slice_end) / slice + 1) * slice;
}

void dgp_compute_finish(struct machine *m, struct gpu *gpu)
{
	for (uint32_t i = 0; i < m->n_active && !is_switching(m, gpu); i++) {
		struct stream *s = m->active[i];

		if (!runs(gpu, s) || s->spins || s->left_work || has_next_turn(s))
			continue;
		s->group->used_units -= s->granted;
		s->group->n_ready--;
		dgp_complete(m, s);
	}
	renew_slice(m, gpu);
}
