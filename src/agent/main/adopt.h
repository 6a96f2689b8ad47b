/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;

/* At the start: adopts the leases of an earlier agent whose holder or one of whose
 * processes still runs, with the same id, name, socket, share and quota, and deletes the
 * others.  Calls no driver.  Failures are logged, and the agent starts in any case. */
void clv_adopt_all(struct clv_agent *agent);
