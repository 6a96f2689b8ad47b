/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <systemd/sd-event.h>

struct clv_error;

/* Enumerates OpenCL devices in a child process: a driver that crashes or hangs takes only
 * that process with it. */

/* The main function of that process: writes {"items": [...], "problems": [...]} to
 * stdout. */
int clv_probe_main(void);

/* Starts that process.  done is called once, from the loop, with the answer (borrowed);
 * after a crash or timeout the answer has no items, and a problem that says what
 * happened. */
struct clv_probe;
typedef void (*clv_probe_fn)(void *userdata, const json_t *answer);
int clv_probe_start(sd_event *event, clv_probe_fn done, void *userdata,
	struct clv_probe **ret, struct clv_error *err);
/* Kills the process if it still runs. */
struct clv_probe *clv_probe_free(struct clv_probe *probe);
