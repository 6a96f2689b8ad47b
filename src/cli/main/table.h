/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"
#include "cli/frame/verb-table.h"

/* cleave's own options, before the verb. */
struct clv_root_settings {
	struct clv_common common;
	bool version;
};

/* cleave and its verbs. */
extern const struct clv_verb_table clv_cleave_table;
