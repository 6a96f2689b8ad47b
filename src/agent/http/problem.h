/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/error.h"

#include <jansson.h>

/* Maps the errors of functions to errors of the API, by one table.  The codes below stand
 * for errors that errno has no code for. */
#define CLV_E_METHOD EOPNOTSUPP /* the path exists, but not with this method */
#define CLV_E_IN_USE EADDRINUSE
#define CLV_E_LENGTH ENODATA /* the request must announce the length of its body */
#define CLV_E_LONG_TARGET EOVERFLOW
#define CLV_E_LARGE_HEADER EFBIG
#define CLV_E_VERSION EPROTONOSUPPORT
#define CLV_E_UNAVAILABLE EHOSTDOWN /* a service that the agent needs does not answer */
#define CLV_E_CHANGED ESTALE        /* the object has changed since the caller read it */

/* The code by which programs recognise an error: "does_not_fit". */
const char *clv_problem_code(int code);

/* A problem document (RFC 9457) and its status. */
json_t *clv_problem_to_json(const struct clv_error *err, unsigned int *ret_status);
