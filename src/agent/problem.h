/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/error.h"

#include <jansson.h>

/* The API's errors are the functions' errors, by one table.  Two codes of errno stand for
 * what has none of its own. */
#define CLV_E_METHOD EOPNOTSUPP /* that path, but not that method */
#define CLV_E_IN_USE EADDRINUSE

/* A problem document (RFC 9457) and its status. */
json_t *clv_problem_to_json(const struct clv_error *err, unsigned int *ret_status);
