/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

struct clv_defrag_settings {
	struct clv_common common;
	uint64_t memory_bytes;
	const char *profile;
	const char *keep;
	uint64_t count;
	uint64_t most_moves;
	struct clv_opt_share share;
	bool apply, yes;
};

/* cleave defrag without files: proposes at most `most` moves of leases on an agent's node
 * that make the request of the options fit; with apply it carries them out, if that
 * restarts no program but replicas of services.  Returns an exit code. */
int clv_defrag_live(const struct clv_defrag_settings *settings, unsigned most);
