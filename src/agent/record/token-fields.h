/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

/* A token: the schemas "Token" and "TokenRequest" and the table "tokens"; the records are
 * struct clv_token_record and struct clv_token_request.  Its secret is no field: it is in
 * the answer to its creation and nowhere else. */
extern const struct clv_field_table clv_token_fields;
