/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;

/* Reads the settings file and the certificate again, and applies both; publishes an event
 * about the result.  -EINVAL: the file has mistakes, or changes what cannot change while
 * the agent runs: the settings in force stay. */
int clv_reload(struct clv_agent *agent, struct clv_error *err);
