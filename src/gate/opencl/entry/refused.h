/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What stands in the place of a call that the gate does not know, with whatever
 * arguments: NULL would be filled by the loader with its own call.  The first one says so
 * on stderr.  Under the caller's lock. */
void *clv_opencl_refused(void);
