/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

/* A standing share: the schema "StandingShare" and the table "standing"; the record is
 * struct clv_standing_share. */
extern const struct clv_field_table clv_standing_fields;
