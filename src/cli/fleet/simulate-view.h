/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/output.h"

struct clv_run;
struct clv_runs;

/* How the results of cleave simulate are shown. */

extern const struct clv_listing clv_simulate_listing;

/* The result of a run that ended, as the listing and JSON have it.  The caller owns it.
 */
json_t *clv_simulate_row(const struct clv_run *run, const struct clv_runs *runs);
