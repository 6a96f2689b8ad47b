/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

/* Prints a node as JSON to standard output, for tests in another language. */
void show_node(const struct clv_node *node);
void show_device(const struct clv_node_device *device);
void show_error(int code, const char *message);
void show_text(const char *name, const char *value);
void show_number(const char *name, long long value);

/* Ends the line, with a result of success if nothing else was printed. */
void show_end(void);
