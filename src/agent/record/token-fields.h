/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

/* The fields of a token: the schemas "Token" and "TokenRequest" and the table "tokens" of
 * the state file.  The records are struct clv_token_record and struct clv_token_request.
 * The secret is not a field: only the answer to the token's creation has it. */
extern const struct clv_field_table clv_token_fields;
