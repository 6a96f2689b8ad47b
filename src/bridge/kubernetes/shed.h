/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lets go of what it took to start: heap that is free, and code of libraries that ran
 * once and is read again from their files if it is needed. */
void clv_kube_shed(void);
