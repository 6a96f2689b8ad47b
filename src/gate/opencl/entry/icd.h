/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* clv_opencl_begin(), and the names of this library's own functions. */
void clv_icd_begin(void);
