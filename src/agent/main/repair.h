/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;

/* Writes everything anew if a write was missed.  Called once a second. */
void clv_repair_state(struct clv_agent *agent);
