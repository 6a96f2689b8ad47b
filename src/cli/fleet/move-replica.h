/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

struct clv_error;

/* Whether the supervisor of the replica would begin to move it now; it changes nothing.
 * Returns 0, or -errno with *err set. */
int clv_check_move(const char *lease, const char *device, struct clv_error *err);
/* Moves a replica of a service, by the name of its lease, to another device, and waits
 * until it is there: the new one is ready before the old one stops.  Prints to `to` what
 * its supervisor decides.  Returns an exit code. */
int clv_move_replica(const char *lease, const char *device, FILE *to);
