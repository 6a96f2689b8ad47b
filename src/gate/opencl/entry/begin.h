/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The gate proper: makes the table of wrappers; once, however often it is called.
 * Nothing is attached here: programs come by that never look for a device. */
void clv_opencl_begin(void);
