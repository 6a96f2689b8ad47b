/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sched.h>
#include <stddef.h>

/* CPU lists in the format of the kernel: "0-3,8". */

/* Returns 0, or -EINVAL if the text is not a CPU list, is empty, or has a number that is
 * too large for a cpu_set_t. */
int clv_cpus_parse(const char *text, cpu_set_t *ret);
/* Truncates the list if the buffer is too small. */
void clv_cpus_format(const cpu_set_t *cpus, char *ret, size_t ret_bytes);
/* The lowest CPU of the set, or CPU_SETSIZE if the set is empty. */
unsigned int clv_cpus_first(const cpu_set_t *cpus);
