/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

/* A lease: of answers the schema "Lease", of requests "LeaseRequest" and "LeaseChange",
 * of the state file the table "leases".  The records are struct clv_lease_record and
 * struct clv_lease_request; the sample is struct clv_arbiter_sample. */
extern const struct clv_field_table clv_lease_fields;
