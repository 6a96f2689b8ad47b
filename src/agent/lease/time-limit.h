/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-record.h"

#include <stdbool.h>
#include <stdint.h>

/* The time of a lease (`time` of a request).  It is counted by CLOCK_BOOTTIME, which
 * cannot be set and which continues while the machine sleeps, and no lease outlives a
 * boot. The wall clock only serves to show when the lease will end. */

/* Sets the end of a new lease; 0 seconds: it has none. */
void clv_time_limit_begin(struct clv_lease_record *record, uint64_t time_s);

/* Call for a lease of an earlier agent.  The state file of an earlier version has the end
 * by the wall clock alone: what is left of it then is at most the lease's whole time. */
void clv_time_limit_adopt(struct clv_lease_record *record);

/* Whether the time is over; if it is not and the wall clock was set, the end that is
 * shown is corrected.  Takes the present CLOCK_BOOTTIME and wall-clock time. */
bool clv_time_limit_is_over(
	struct clv_lease_record *record, uint64_t boot_ns, uint64_t real_ns);
