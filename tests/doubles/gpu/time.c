/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"
#include <stdlib.h>

/* The machine's time.  It is computed from one event to the next: a command's arrival, a
 * kernel's or a copy's end, a slice's end.  When this thread comes to look has no part in
 * it: what was queued when the one before ended starts at that very nanosecond. */

static struct dgp_cmd *head(const struct stream *s)
{
	uint64_t done = atomic_load_explicit(&s->slot->done, memory_order_relaxed);

	if (atomic_load_explicit(&s->slot->tail, memory_order_acquire) == done)
		return NULL;
	return &s->slot->ring[done % DGP_RING];
}

/* Every stream with something in it. */
static void find_active(struct machine *m)
{
	m->n_active = 0;
	for (struct process *p = m->processes; p; p = p->next) {
		uint32_t n = p->area ? atomic_load(&p->area->n_slots) : 0;

		for (uint32_t i = 0; i < n && i < DGP_SLOTS; i++) {
			if (!head(&p->streams[i]))
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

/* --- The end of a command --- */

static void tell_effect(struct dgp_area *area, uint64_t effect)
{
	uint64_t tail = atomic_load_explicit(&area->effects_tail, memory_order_relaxed);

	area->effects[tail % DGP_EFFECTS] = effect;
	atomic_store_explicit(&area->effects_tail, tail + 1, memory_order_release);
}

static void count(struct machine *m, struct stream *s, const struct dgp_cmd *cmd)
{
	if (!s->context)
		return;
	if (cmd->kind == DGP_KERNEL)
		s->process->usage[s->context->gpu->index].launches +=
			cmd->launches ? cmd->launches : 1;
	if (m->options.trace && (cmd->kind == DGP_KERNEL || cmd->kind == DGP_COPY))
		dgp_trace_add(m, s, cmd, m->now_ns);
}

static void complete(struct machine *m, struct stream *s, const struct dgp_cmd *cmd)
{
	uint64_t done = atomic_load_explicit(&s->slot->done, memory_order_relaxed) + 1;
	struct dgp_area *area = s->process->area;

	count(m, s, cmd);
	if (s->context && atomic_load(&s->slot->flags) & DGP_SLOT_LEGACY)
		s->context->legacy_done = cmd->order;
	if (cmd->effect && cmd->kind != DGP_HOST)
		tell_effect(area, cmd->effect);
	if (cmd->completion)
		dgp_signal_complete(area, cmd->completion - 1,
			s->started ? s->start_ns : m->now_ns, m->now_ns);
	if (cmd->waits_for_host) {
		atomic_fetch_sub(&area->exact, 1);
		atomic_fetch_add(&area->host_word, 1);
	}
	s->ready = s->started = s->handed = false;
	atomic_store_explicit(&s->slot->done, done, memory_order_release);
	if (atomic_load(&s->slot->tail) == done)
		atomic_store(&s->slot->quiet, 1);
}

/* --- What stands in a command's way --- */

static void find_context(struct stream *s)
{
	uint32_t number = atomic_load(&s->slot->context);

	if (!s->context || s->context->number != number)
		s->context = dgp_context_find(s->process, number);
}

/* The default stream waits for all that was there before, and they for it. */
static bool passes_legacy(
	const struct machine *m, const struct stream *s, const struct dgp_cmd *cmd)
{
	uint32_t flags = atomic_load(&s->slot->flags);

	if (flags & DGP_SLOT_BLOCKING)
		return cmd->after <= s->context->legacy_done;
	if (!(flags & DGP_SLOT_LEGACY))
		return true;
	for (uint32_t i = 0; i < m->n_active; i++) {
		const struct stream *other = m->active[i];
		const struct dgp_cmd *first = head(other);

		if (other != s && first && other->process == s->process &&
			atomic_load(&other->slot->context) == s->context->number &&
			atomic_load(&other->slot->flags) & DGP_SLOT_BLOCKING &&
			first->order < cmd->order)
			return false;
	}
	return true;
}

static void hand_to_process(struct stream *s, const struct dgp_cmd *cmd)
{
	struct dgp_area *area = s->process->area;
	uint64_t tail = atomic_load_explicit(&area->hosts_tail, memory_order_relaxed);

	area->hosts[tail % DGP_EFFECTS].what = cmd->effect;
	area->hosts[tail % DGP_EFFECTS].slot = s->number;
	area->hosts[tail % DGP_EFFECTS].seq = atomic_load(&s->slot->done) + 1;
	atomic_store_explicit(&area->hosts_tail, tail + 1, memory_order_release);
	atomic_fetch_add(&area->host_word, 1);
	s->handed = true;
}

static bool host_is_done(struct stream *s, const struct dgp_cmd *cmd)
{
	if (!s->handed)
		hand_to_process(s, cmd);
	return atomic_load(&s->slot->host_done) > atomic_load(&s->slot->done);
}

static bool target_is_done(const struct stream *s, const struct dgp_cmd *cmd)
{
	const struct dgp_slot *target = &s->process->area->slots[cmd->target];

	return atomic_load(&target->done) >= cmd->value;
}

static void await_engine(struct machine *m, struct stream *s, const struct dgp_cmd *cmd)
{
	s->ready = true;
	s->ready_ns = m->now_ns;
	s->left_ns = cmd->ns;
	if (cmd->kind != DGP_KERNEL)
		return;
	s->left_ns = cmd->ns * 1000 / s->context->permille;
	if (atomic_load(&s->slot->permille))
		s->left_ns = s->left_ns * 1000 / atomic_load(&s->slot->permille);
	s->context->group.n_ready++;
}

/* Whether the stream's first command is done. */
static bool step(struct machine *m, struct stream *s)
{
	const struct dgp_cmd *cmd = head(s);
	bool done = false;

	if (!cmd || s->ready || cmd->submit_ns > m->now_ns)
		return false;
	find_context(s);
	if (!s->context || atomic_load(&s->slot->dead)) {
		complete(m, s, cmd);
		return true;
	}
	if (!passes_legacy(m, s, cmd))
		return false;
	if (cmd->kind == DGP_KERNEL || cmd->kind == DGP_COPY)
		await_engine(m, s, cmd);
	else if (cmd->kind == DGP_RECORD)
		done = true;
	else if (cmd->kind == DGP_WAIT_STREAM)
		done = target_is_done(s, cmd);
	else if (cmd->kind == DGP_BARRIER)
		done = dgp_barrier_is_open(s->process->area, cmd);
	else
		done = host_is_done(s, cmd);
	if (done && cmd->kind == DGP_RECORD)
		atomic_store(
			&s->process->area->event_ns[cmd->target % DGP_EVENTS], m->now_ns);
	if (done)
		complete(m, s, cmd);
	return done;
}

/* --- Engines --- */

static bool is_runnable(const struct group *g)
{
	return g->enabled && g->n_ready;
}

/* The next in turn after `last`, the same one if it is alone, or NULL. */
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

static void give_slice(struct machine *m, struct gpu *gpu, struct group *g)
{
	bool is_switch = gpu->last && gpu->last != g;

	gpu->running = gpu->last = g;
	gpu->switched_at = m->now_ns + (is_switch ? m->options.switch_ns : 0);
	gpu->slice_end = gpu->switched_at + g->slice_ns;
	gpu->switches += is_switch;
}

static struct stream *best_kernel(const struct machine *m, const struct group *g)
{
	struct stream *best = NULL;
	int best_priority = 0;

	for (uint32_t i = 0; i < m->n_active; i++) {
		struct stream *s = m->active[i];
		int priority;

		if (!s->ready || &s->context->group != g || head(s)->kind != DGP_KERNEL)
			continue;
		priority = atomic_load(&s->slot->priority);
		if (best && (priority > best_priority ||
				    (priority == best_priority &&
					    s->ready_ns >= best->ready_ns)))
			continue;
		best = s;
		best_priority = priority;
	}
	return best;
}

static void start(const struct machine *m, struct stream *s)
{
	if (!s->started)
		s->start_ns = m->now_ns;
	s->started = true;
}

static void dispatch_compute(struct machine *m, struct gpu *gpu)
{
	struct group *next;

	if (gpu->running && gpu->switched_at > m->now_ns)
		return;
	if (gpu->running && !is_runnable(gpu->running))
		gpu->running = NULL;
	if (!gpu->running || m->now_ns >= gpu->slice_end) {
		next = next_runnable(gpu, gpu->last);
		gpu->running = NULL;
		if (next)
			give_slice(m, gpu, next);
	}
	if (!gpu->running || gpu->switched_at > m->now_ns)
		return;
	if (!gpu->running->current)
		gpu->running->current = best_kernel(m, gpu->running);
	if (gpu->running->current)
		start(m, gpu->running->current);
}

static void dispatch_copy(const struct machine *m, struct gpu *gpu, int engine)
{
	struct stream *best = gpu->copying[engine];

	for (uint32_t i = 0; i < m->n_active && !gpu->copying[engine]; i++) {
		struct stream *s = m->active[i];
		const struct dgp_cmd *cmd = head(s);

		if (s->ready && s->context->gpu == gpu && cmd->kind == DGP_COPY &&
			cmd->engine == engine && (!best || s->ready_ns < best->ready_ns))
			best = s;
	}
	gpu->copying[engine] = best;
	if (best)
		start(m, best);
}

static void settle(struct machine *m)
{
	bool progress = true;

	while (progress) {
		progress = false;
		for (uint32_t i = 0; i < m->n_active; i++)
			progress |= step(m, m->active[i]);
	}
	for (uint32_t i = 0; i < m->n_gpus; i++) {
		dispatch_compute(m, &m->gpus[i]);
		for (int e = 0; e < DGP_COPY_ENGINES; e++)
			dispatch_copy(m, &m->gpus[i], e);
	}
}

/* --- From one event to the next --- */

static struct stream *computing(const struct machine *m, const struct gpu *gpu)
{
	if (!gpu->running || gpu->switched_at > m->now_ns)
		return NULL;
	return gpu->running->current;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool others_wait(const struct gpu *gpu)
{
	const struct group *next = next_runnable(gpu, gpu->running);

	return next && next != gpu->running;
}

static uint64_t next_of_gpu(const struct machine *m, const struct gpu *gpu)
{
	const struct stream *s = computing(m, gpu);
	uint64_t next = DGP_NEVER;

	if (gpu->running && gpu->switched_at > m->now_ns)
		next = gpu->switched_at;
	if (s)
		next = m->now_ns + s->left_ns;
	if (s && (others_wait(gpu)))
		next = earlier(next, gpu->slice_end);
	for (int e = 0; e < DGP_COPY_ENGINES; e++)
		if (gpu->copying[e])
			next = earlier(next, m->now_ns + gpu->copying[e]->left_ns);
	return next;
}

uint64_t dgp_next_event(const struct machine *m)
{
	uint64_t next = DGP_NEVER;

	for (uint32_t i = 0; i < m->n_active; i++) {
		const struct dgp_cmd *cmd = head(m->active[i]);

		if (cmd && cmd->submit_ns > m->now_ns)
			next = earlier(next, cmd->submit_ns);
	}
	for (uint32_t i = 0; i < m->n_gpus; i++)
		next = earlier(next, next_of_gpu(m, &m->gpus[i]));
	return next;
}

static void run_gpu(struct machine *m, struct gpu *gpu, uint64_t ns)
{
	struct stream *s = computing(m, gpu);

	if (s) {
		s->left_ns -= ns;
		gpu->busy_ns += ns;
		gpu->running->run_ns += ns;
		s->process->usage[gpu->index].run_ns += ns;
	}
	for (int e = 0; e < DGP_COPY_ENGINES; e++) {
		s = gpu->copying[e];
		if (!s)
			continue;
		s->left_ns -= ns;
		s->process->usage[gpu->index].copy_ns += ns;
	}
}

static void finish_gpu(struct machine *m, struct gpu *gpu)
{
	struct stream *s = computing(m, gpu);

	if (s && !s->left_ns) {
		gpu->running->current = NULL;
		gpu->running->n_ready--;
		complete(m, s, head(s));
	}
	for (int e = 0; e < DGP_COPY_ENGINES; e++) {
		s = gpu->copying[e];
		if (!s || s->left_ns)
			continue;
		gpu->copying[e] = NULL;
		complete(m, s, head(s));
	}
}

/* A slice that ended while nobody else wanted one is followed by the next. */
static void renew_slice(const struct machine *m, struct gpu *gpu)
{
	uint64_t slice = gpu->running ? gpu->running->slice_ns : 0;

	if (slice && gpu->slice_end <= m->now_ns && !others_wait(gpu))
		gpu->slice_end += ((m->now_ns - gpu->slice_end) / slice + 1) * slice;
}

static void go_to(struct machine *m, uint64_t ns)
{
	for (uint32_t i = 0; i < m->n_gpus; i++)
		run_gpu(m, &m->gpus[i], ns - m->now_ns);
	m->now_ns = ns;
	for (uint32_t i = 0; i < m->n_gpus; i++) {
		finish_gpu(m, &m->gpus[i]);
		renew_slice(m, &m->gpus[i]);
	}
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
