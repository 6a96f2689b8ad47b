/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* A drop-in that has a service's programs run in a lease: its ExecStart lines with
 * `cleave run OPTIONS --` in front (systemd.service(5), "Command lines"; systemd.unit(5)
 * for the syntax and for drop-ins).  Pure text: the caller knows where units are. */

#define CLV_UNIT_COMMANDS_MAX 16

struct clv_unit {
	char *commands[CLV_UNIT_COMMANDS_MAX]; /* ExecStart, as written */
	size_t n_commands;
	char type[16];          /* "": not said */
	char notify_access[16]; /* the same */
};

/* Reads a unit's file, or a drop-in of it after it: what is said later wins, an empty
 * ExecStart= forgets those before.  -EINVAL with the line. */
int clv_unit_read(struct clv_unit *unit, const char *text, struct clv_error *err);
void clv_unit_free(struct clv_unit *unit);

/* run: "/usr/bin/cleave run --name x --share 0.3 --", in systemd's words.  The caller
 * frees *ret.  -ENOTSUP for a service that cannot be started so, with what would work. */
int clv_unit_drop_in(
	const struct clv_unit *unit, const char *run, char **ret, struct clv_error *err);
