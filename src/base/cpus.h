/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sched.h>
#include <stddef.h>

/* Sets of processors as Linux writes them: "0-3,8". */

/* -EINVAL: it is none, or it is empty, or a number is too large for a cpu_set_t. */
int clv_cpus_parse(const char *text, cpu_set_t *ret);
/* As much as fits. */
void clv_cpus_format(const cpu_set_t *cpus, char *ret, size_t ret_bytes);
/* CPU_SETSIZE when there is none. */
unsigned int clv_cpus_first(const cpu_set_t *cpus);
