/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The file VENDOR-faults of the folder: lines of SYMBOL COUNT WHAT. The next COUNT calls
 * (`*`: all) of the symbol (`*`: of any) return WHAT, a number, or never return (`hang`).
 * With SKIP+COUNT, SKIP calls pass first. The file is read only if it exists, even empty,
 * at the process's first call. */

/* Returns what the call must return instead of being carried out; 0: no fault is due. */
int dgp_fault_due(const char *symbol);
