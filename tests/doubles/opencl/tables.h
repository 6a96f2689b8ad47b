/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* The call table of objects of this kind: one for all, or one each. */
const cl_icd_dispatch *dcl_table_of(enum dcl_type type);

void dcl_tables_init(void);
