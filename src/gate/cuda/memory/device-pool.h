/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The pool from which a device's allocations in stream order are taken.  The driver is
 * asked once, and again when the program may have changed it. */

/* Returns the driver's result. */
int clv_cuda_device_pool(int device, void **ret);
int clv_cuda_set_device_pool(int device, void *pool);

/* A pool was destroyed, or a context with its device's state. */
void clv_cuda_device_pools_forget(void);

/* In a forked child: no thread has the lock. */
void clv_cuda_device_pools_forget_parent(void);
