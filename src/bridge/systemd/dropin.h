/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* Makes a drop-in that runs a service's programs in a lease: its ExecStart lines preceded
 * by `cleave run OPTIONS --` (systemd.service(5), "Command lines"; systemd.unit(5) for
 * syntax and drop-ins).  Pure; the caller reads and writes the files. */

#define CLV_UNIT_COMMANDS_MAX 16

struct clv_unit {
	char *commands[CLV_UNIT_COMMANDS_MAX]; /* owned; values of ExecStart */
	size_t n_commands;
	char type[16];          /* "": not set */
	char notify_access[16]; /* "": not set */
};

/* Reads a unit's file, and then each of its drop-ins: later values win, and an empty
 * ExecStart= clears earlier ones.  -EINVAL: not the syntax of a unit. */
int clv_unit_read(struct clv_unit *unit, const char *text, struct clv_error *err);
void clv_unit_free(struct clv_unit *unit);

/* Makes the drop-in.  run: "/usr/bin/cleave run --name x --share 0.3 --", quoted for
 * systemd. The caller frees *ret.  -ENOTSUP: the service cannot be run this way; -EEXIST:
 * it already runs in a lease. */
int clv_unit_drop_in(
	const struct clv_unit *unit, const char *run, char **ret, struct clv_error *err);
