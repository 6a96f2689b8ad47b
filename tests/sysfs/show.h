/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/node.h"

/* A node in JSON on standard output, for tests that are written in another language. */
void show_node(const struct clv_node *node);
void show_device(const struct clv_node_device *device);
void show_error(int code, const char *message);
