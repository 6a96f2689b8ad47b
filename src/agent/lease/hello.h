/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_error;

/* Checks a gate's hello as it came from the socket.  Pure; data may be anything.  Returns
 * 0, -EPROTO for what is no hello, or -EPROTONOSUPPORT for a gate of another version. */
int clv_attach_hello_check(const void *data, size_t n_bytes, struct clv_error *err);
