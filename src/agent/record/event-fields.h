/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

/* The fields of an event: the schema "Event" and the table "events" of the state file.
 * The record is struct clv_event. */
extern const struct clv_field_table clv_event_fields;
