/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The function for entries that the gate does not know, whatever their parameters.  It is
 * needed because a loader puts its own call where an entry is NULL.  The first call
 * writes a line to stderr.  To be called with the caller's lock held. */
void *clv_opencl_refusal_function(void);
