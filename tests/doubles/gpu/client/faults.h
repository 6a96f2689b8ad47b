/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The file VENDOR-faults of the folder: lines of SYMBOL COUNT WHAT, by which the next
 * COUNT calls (`*`: all) of the symbol (`*`: of any) return WHAT, a number, or never
 * (`hang`).  Of SKIP+COUNT as many pass first.  It is looked at only if it is there at
 * the process's first call, were it empty. */

/* What the call is to return instead of doing anything; 0: nothing is to go wrong. */
int dgp_fault_due(const char *symbol);
