/* SPDX-License-Identifier: Apache-2.0 */
#include "time.h"

/* The first command of a stream: its obstacles, and its end. */

struct dgp_cmd *dgp_head(const struct stream *s)
{
	uint64_t done = atomic_load_explicit(&s->slot->done, memory_order_relaxed);

	if (atomic_load(&s->slot->tail) == done)
		return NULL;
	return &s->slot->ring[done % DGP_RING];
}

/* --- The end of a command --- */

void dgp_tell_effect(struct dgp_area *area, uint64_t effect)
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

void dgp_stream_rest(struct stream *s)
{
	s->ready = s->started = s->handed = s->spins = false;
	s->demand = s->granted = 0;
}

void dgp_complete(struct machine *m, struct stream *s)
{
	const struct dgp_cmd *cmd = dgp_head(s);
	uint64_t done = atomic_load_explicit(&s->slot->done, memory_order_relaxed) + 1;
	struct dgp_area *area = s->process->area;

	count(m, s, cmd);
	if (s->context && atomic_load(&s->slot->flags) & DGP_SLOT_LEGACY)
		s->context->legacy_done = cmd->order;
	if (cmd->effect && cmd->kind != DGP_HOST)
		dgp_tell_effect(area, cmd->effect);
	if (cmd->completion)
		dgp_signal_complete(area, cmd->completion - 1,
			s->started ? s->start_ns : m->now_ns, m->now_ns);
	if (cmd->waits_for_host) {
		atomic_fetch_sub(&area->exact, 1);
		atomic_fetch_add(&area->host_word, 1);
	}
	dgp_stream_rest(s);
	/* Sequentially consistent, as the reads of `tail` that follow: either these see
	 * the next command, or its thread sees that the slot is empty, and rings. */
	atomic_store(&s->slot->done, done);
}

/* --- Obstacles of a command --- */

static void find_context(struct stream *s)
{
	uint32_t number = atomic_load(&s->slot->context);

	if (s->context && s->context->number == number)
		return;
	s->context = dgp_context_find(s->process, number);
	if (s->context)
		s->group = &s->context->groups[s->number % s->context->n_groups];
}

/* All streams are read, not only those with commands when the machine began: with the
 * default stream's command visible, commands pushed before it are visible too. */
static bool is_before(const struct stream *other, const struct stream *s, uint64_t order)
{
	const struct dgp_cmd *first = dgp_head(other);

	return first && other != s &&
	       atomic_load(&other->slot->context) == s->context->number &&
	       atomic_load(&other->slot->flags) & DGP_SLOT_BLOCKING &&
	       first->order < order;
}

/* The default stream waits for all earlier commands, and later ones wait for it. */
static bool passes_legacy(const struct stream *s, const struct dgp_cmd *cmd)
{
	uint32_t flags = atomic_load(&s->slot->flags);
	uint32_t n = atomic_load(&s->process->area->n_slots);

	if (flags & DGP_SLOT_BLOCKING)
		return cmd->after <= s->context->legacy_done;
	if (!(flags & DGP_SLOT_LEGACY))
		return true;
	for (uint32_t i = 0; i < n && i < DGP_SLOTS; i++)
		if (is_before(&s->process->streams[i], s, cmd->order))
			return false;
	return true;
}

void dgp_hand_over(struct stream *s, uint64_t what, bool is_turn, uint64_t number)
{
	struct dgp_area *area = s->process->area;
	uint64_t tail = atomic_load_explicit(&area->hosts_tail, memory_order_relaxed);

	area->hosts[tail % DGP_EFFECTS].what = what;
	area->hosts[tail % DGP_EFFECTS].slot = s->number;
	area->hosts[tail % DGP_EFFECTS].is_turn = is_turn;
	area->hosts[tail % DGP_EFFECTS].seq = number;
	atomic_store_explicit(&area->hosts_tail, tail + 1, memory_order_release);
	atomic_fetch_add(&area->host_word, 1);
	s->handed = true;
}

uint64_t dgp_told_at(const struct machine *m, const struct stream *s)
{
	uint64_t at = atomic_load(&s->slot->told_ns);

	return s->handed && at > m->now_ns ? at : DGP_NEVER;
}

static bool host_is_done(
	const struct machine *m, struct stream *s, const struct dgp_cmd *cmd)
{
	uint64_t seq = atomic_load(&s->slot->done) + 1;

	if (!s->handed)
		dgp_hand_over(s, cmd->effect, false, seq);
	return atomic_load(&s->slot->host_done) >= seq && dgp_told_at(m, s) == DGP_NEVER;
}

static bool target_is_done(const struct stream *s, const struct dgp_cmd *cmd)
{
	const struct dgp_slot *target = &s->process->area->slots[cmd->target];

	return atomic_load(&target->done) >= cmd->value;
}

static bool is_done(struct machine *m, struct stream *s, const struct dgp_cmd *cmd)
{
	switch (cmd->kind) {
	case DGP_KERNEL:
	case DGP_COPY:
		s->ready = true;
		s->ready_ns = m->now_ns;
		s->left_ns = cmd->ns;
		if (cmd->kind == DGP_KERNEL)
			dgp_kernel_ready(s, cmd);
		return false;
	case DGP_RECORD:
		s->process->usage[s->context->gpu->index].records++;
		atomic_store(
			&s->process->area->event_ns[cmd->target % DGP_EVENTS], m->now_ns);
		return true;
	case DGP_WRITE:
		return true;
	case DGP_WAIT_STREAM:
		return target_is_done(s, cmd);
	case DGP_BARRIER:
		return dgp_barrier_is_open(s->process->area, cmd);
	}
	return host_is_done(m, s, cmd);
}

bool dgp_step(struct machine *m, struct stream *s)
{
	const struct dgp_cmd *cmd = dgp_head(s);

	if (!cmd || s->ready || cmd->submit_ns > m->now_ns)
		return false;
	find_context(s);
	if (s->context && !atomic_load(&s->slot->dead) &&
		(!passes_legacy(s, cmd) || !is_done(m, s, cmd)))
		return false;
	dgp_complete(m, s);
	return true;
}
