/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

/* The fields of a lease: the schema "Lease" of answers, "LeaseRequest" and "LeaseChange"
 * of requests, and the table "leases" of the state file.  The records are struct
 * clv_lease_record and struct clv_lease_request, the sample is struct clv_arbiter_sample.
 */
extern const struct clv_field_table clv_lease_fields;
