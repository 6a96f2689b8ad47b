/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_agent;
struct clv_error;

/* Reads the settings file and the certificate again, applies both, and publishes an event
 * about the result.  A file that has mistakes, or changes what cannot change while the
 * agent runs, changes nothing. */
struct clv_reload;

int clv_reload_new(
	struct clv_agent *agent, struct clv_reload **ret, struct clv_error *err);
struct clv_reload *clv_reload_free(struct clv_reload *reload);

/* Returns at once, with a number of this reload.  A thread reads the files, after those
 * of a reload that is in progress. */
uint64_t clv_reload_begin(struct clv_reload *reload);
