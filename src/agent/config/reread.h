/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/error.h"

#include <systemd/sd-event.h>

struct clv_agent_config;
struct clv_config;

/* Reads the settings file and its certificate while the agent runs.  A thread reads them,
 * because the user database (for groups) and a network file system may answer late or
 * never.  Loop thread only. */

/* What was read.  r < 0: err says why, and the pointers are NULL. */
struct clv_read_settings {
	int r;
	struct clv_error err;
	struct clv_config *config;
	char *certificate, *key; /* NULL: none */
};

struct clv_reread;

/* Starts to read.  on_read is called once from the loop and owns what it gets; never
 * after clv_reread_free(). */
int clv_reread_new(sd_event *event, const struct clv_agent_config *options,
	void (*on_read)(void *userdata, struct clv_read_settings *settings),
	void *userdata, struct clv_reread **ret, struct clv_error *err);

/* Does not wait for a thread that still reads: the thread frees what it has.  Accepts
 * NULL; returns NULL. */
struct clv_reread *clv_reread_free(struct clv_reread *reread);
