/* SPDX-License-Identifier: Apache-2.0 */
/* The turnstile: waits in line for held commands and releases them. */
#include "gate/window/turnstile.h"

#include "base/futex.h"
#include "gate/process/state.h"
#include "gate/process/thread.h"
#include "gate/window/flight.h"

#define IDLE_NS (1 * CLV_NS_PER_S)

static void *run(void *userdata)
{
	(void)userdata;
	for (;;) {
		uint32_t word = atomic_load(&clv_gate.turnstile_word);
		struct clv_line line;

		clv_line_begin(&line);
		line.is_patient = true;
		while (clv_gate.api->let_go())
			clv_line_wait(&line, NULL);
		clv_line_end(&line);
		clv_futex_wait(&clv_gate.turnstile_word, word, IDLE_NS);
	}
	return NULL;
}

bool clv_turnstile_start(void)
{
	if (atomic_exchange(&clv_gate.turnstile_started, 1) || clv_helper_spawn(run))
		return true;
	atomic_store(&clv_gate.turnstile_started, 0);
	return false;
}

void clv_turnstile_wake(void)
{
	atomic_fetch_add(&clv_gate.turnstile_word, 1);
	clv_turnstile_start();
	clv_futex_wake(&clv_gate.turnstile_word, 1);
}
