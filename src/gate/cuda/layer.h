/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Once, when the driver's library has been found: makes the gate known to the part that
 * all APIs have in common.  Nothing is attached yet: many programs load the driver and
 * never look for a device. */
void clv_cuda_layer_begin(void);
