/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_error;
struct clv_request;

/* Whether the path is one of the web console, "/" or below "/console", and the handler of
 * these; the console is not part of the API. */
bool clv_api_is_page(const char *path);
int clv_api_serve_page(struct clv_request *request, struct clv_error *err);
