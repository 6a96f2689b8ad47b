/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;

/* At start: takes over the leases of an earlier agent whose holder or one of whose
 * processes lives, with the same id, name, socket, share and quota; forgets the others.
 * Needs no driver.  Failures are logged: the agent starts in any case. */
void clv_adopt_all(struct clv_agent *agent);
