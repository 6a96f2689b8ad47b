/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* clv_opencl_begin(), and makes this library's own functions known to lookups by name. */
void clv_icd_begin(void);
