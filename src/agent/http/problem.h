/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/error.h"

#include <jansson.h>

/* The API's errors are the functions' errors, by one table.  Two codes of errno stand for
 * what has none of its own. */
#define CLV_E_METHOD EOPNOTSUPP /* that path, but not that method */
#define CLV_E_IN_USE EADDRINUSE
#define CLV_E_CHANGED ESTALE /* it is not any more as the caller has seen it */

/* What programs know an error by: "does_not_fit". */
const char *clv_problem_code(int code);

/* A problem document (RFC 9457) and its status. */
json_t *clv_problem_to_json(const struct clv_error *err, unsigned int *ret_status);
