/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reads how much memory the files have that these epoll instances watch, as a gate sent
 * them (arbiter/attach.h); what several files have counts once.  False: an instance
 * cannot be read, and *ret_bytes is unchanged. */
bool clv_exported_sum(const int *fds, uint32_t n_fds, uint64_t *ret_bytes);
