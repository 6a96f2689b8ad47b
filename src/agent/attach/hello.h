/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_error;

/* Validates a gate's hello as received from the socket.  Pure; data may be any bytes.
 * Returns 0, -EPROTO if it is not a hello, or -EPROTONOSUPPORT for a gate of another
 * version or API. */
int clv_attach_hello_check(const void *data, size_t n_bytes, struct clv_error *err);
