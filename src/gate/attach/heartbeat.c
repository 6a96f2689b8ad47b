/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the agent's heartbeat: derives the clock offset and detects a stopped agent. */
#include "gate/attach/heartbeat.h"

#include "gate/process/view.h"

/* Half of the 100 ms for which a stopped agent may delay a program at most: the last
 * heartbeat may have been seen late, and the last turn been another lease's.  A thread
 * must also have looked twice: one that was itself not scheduled cannot tell. */
#define SILENT_NS (3 * CLV_HEARTBEAT_NS)
#define SILENT_LOOKS 2

/* The heartbeat was read from the agent's clock after not_before_ns (0: not known) and
 * before now_ns, both by this process's clock.  The bounds on the difference are computed
 * modulo 2^64. */
static void correct_clock(
	struct clv_view *view, uint64_t beat_ns, uint64_t not_before_ns, uint64_t now_ns)
{
	int64_t ahead = (int64_t)atomic_load(&view->clock_ahead_ns);
	int64_t most = (int64_t)(now_ns - beat_ns);
	int64_t least = (int64_t)(not_before_ns - beat_ns);

	if (ahead > most || (not_before_ns != 0 && ahead < least))
		atomic_store(&view->clock_ahead_ns, (uint64_t)most);
}

void clv_heartbeat_set_clock(struct clv_view *view, uint64_t asked_ns)
{
	uint64_t beat_ns = atomic_load(&view->control->heartbeat_ns);

	if (beat_ns != 0)
		correct_clock(view, beat_ns, asked_ns, clv_clock_ns());
}

/* A new heartbeat was read from the agent's clock after the previous one had been
 * written, so after the look that did not yet show the previous one. */
static void note_beat(struct clv_heartbeat *heartbeat, struct clv_view *view,
	uint64_t beat_ns, uint64_t now_ns)
{
	uint64_t looked_ns = heartbeat->looked_ns;

	if (heartbeat->view != view)
		*heartbeat = (struct clv_heartbeat){.view = view};
	if (beat_ns != 0)
		correct_clock(view, beat_ns, heartbeat->before_ns, now_ns);
	heartbeat->before_ns = heartbeat->beat_ns ? looked_ns : 0;
	heartbeat->beat_ns = beat_ns;
	heartbeat->since_ns = now_ns;
	heartbeat->n_looks = 0;
}

bool clv_heartbeat_has_ended(struct clv_heartbeat *heartbeat, struct clv_view *view)
{
	uint64_t beat_ns = atomic_load(&view->control->heartbeat_ns);
	uint64_t now_ns = clv_clock_ns();
	bool is_new = heartbeat->view != view || beat_ns != heartbeat->beat_ns;

	if (is_new)
		note_beat(heartbeat, view, beat_ns, now_ns);
	heartbeat->looked_ns = now_ns;
	return !is_new && beat_ns != 0 && ++heartbeat->n_looks >= SILENT_LOOKS &&
	       now_ns - heartbeat->since_ns >= SILENT_NS;
}

bool clv_heartbeat_look(struct clv_heartbeat *heartbeat, struct clv_view *view)
{
	if (!clv_heartbeat_has_ended(heartbeat, view))
		return false;
	atomic_store(&view->silent_beat_ns, heartbeat->beat_ns);
	return true;
}

bool clv_heartbeat_is_silent(const struct clv_view *view)
{
	uint64_t silent_ns =
		atomic_load_explicit(&view->silent_beat_ns, memory_order_relaxed);

	return silent_ns != 0 &&
	       silent_ns == atomic_load_explicit(
				    &view->control->heartbeat_ns, memory_order_relaxed);
}
