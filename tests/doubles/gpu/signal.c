/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

/* Signals: words in a process's area that commands count down and wait for. */

static bool compares(int64_t value, uint16_t condition, int64_t with)
{
	switch (condition) {
	case DGP_EQUAL:
		return value == with;
	case DGP_NOT_EQUAL:
		return value != with;
	case DGP_LESS:
		return value < with;
	}
	return value >= with;
}

/* Sets `awaited` before it reads the value: a later writer then sees that a command
 * waits. */
static bool is_met(struct dgp_area *area, uint32_t signal, const struct dgp_cmd *cmd)
{
	int64_t value;

	atomic_store(&area->notes[signal].awaited, 1);
	value = atomic_load(&area->signals[signal].value);
	return compares((int64_t)((uint64_t)value & cmd->mask), cmd->condition,
		(int64_t)cmd->value);
}

bool dgp_barrier_is_open(struct dgp_area *area, const struct dgp_cmd *cmd)
{
	bool has_any = false, all = true, one = false;

	for (int i = 0; i < DGP_DEPS; i++) {
		uint32_t signal = cmd->signals[i];
		bool met;

		if (!signal)
			continue;
		met = is_met(area, (signal - 1) % DGP_SIGNALS, cmd);
		has_any = true;
		all = all && met;
		one = one || met;
	}
	return !has_any || (cmd->any ? one : all);
}

void dgp_signal_complete(
	struct dgp_area *area, uint32_t number, uint64_t start_ns, uint64_t end_ns)
{
	struct dgp_signal *signal = &area->signals[number % DGP_SIGNALS];
	struct dgp_signal_note *note = &area->notes[number % DGP_SIGNALS];

	signal->start_ns = start_ns;
	signal->end_ns = end_ns;
	atomic_fetch_sub(&signal->value, 1);
	atomic_fetch_add(&note->word, 1);
	if (atomic_load(&note->listeners))
		atomic_fetch_add(&area->host_word, 1);
	if (atomic_load(&note->sleepers))
		dgp_wake_word(&note->word);
}
