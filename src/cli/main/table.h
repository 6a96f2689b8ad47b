/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/verb-table.h"

/* cleave and its verbs. */
extern const struct clv_verb_table clv_cleave_table;
