/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;

/* Rewrites the whole ledger if the state file misses a change.  Called once a second. */
void clv_repair_state(struct clv_agent *agent);
