/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What streams belong to, as streams/driver.h knows it.  NULL: there is no such device.
 */
void *clv_hip_context_of_device(int device);
