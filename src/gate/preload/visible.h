/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a program's variable was set to by cleave run, or by the gate of a program before
 * it: a partition's number may be another one since. */
#define CLV_VISIBLE_TOLD "CLEAVE_VISIBLE"

/* The environment variable by which a vendor's runtime is told what it may show, for a
 * process that has the devices of these names, a comma after each but the last.  What a
 * program says of itself in it can only hide the lease's devices, never show another;
 * that holds in a child too that lost the list. */
void clv_visible_choose(const char *variable, const char *names);
