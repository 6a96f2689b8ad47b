/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Returns the context of a device, in the sense of streams/driver.h.  NULL: there is no
 * such device. */
void *clv_hip_context_of_device(int device);
