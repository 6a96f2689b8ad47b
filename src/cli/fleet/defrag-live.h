/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

/* cleave defrag without files: which leases of an agent's node, at most so many, stand in
 * the way of the request that the options are, and where they would go.  Nothing is
 * changed.  An exit code. */
int clv_defrag_live(const struct clv_settings *settings, unsigned most);
