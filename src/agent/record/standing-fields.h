/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

/* The fields of a standing share: the schema "StandingShare" and the table "standing" of
 * the state file.  The record is struct clv_standing_share. */
extern const struct clv_field_table clv_standing_fields;
