/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fills in the wrappers and registers the gate, in the first call.  Attaches nothing:
 * many programs load a driver and never look for a device. */
void clv_opencl_begin(void);
