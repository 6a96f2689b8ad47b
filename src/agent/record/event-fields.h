/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

/* An event: the schema "Event" and the table "events"; the record is struct clv_event. */
extern const struct clv_field_table clv_event_fields;
