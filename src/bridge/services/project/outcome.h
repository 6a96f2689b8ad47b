/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* What became of what was asked of a service, by the supervisor's answer to "status". */

enum clv_outcome {
	CLV_OUTCOME_DONE,
	CLV_OUTCOME_WAITS,
	CLV_OUTCOME_NO_ROOM, /* it is tried again, as what fails */
	CLV_OUTCOME_FAILING,
	CLV_OUTCOME_FAILED, /* it is not tried again */
};

enum clv_outcome clv_outcome_of(const json_t *service);

/* Whether nothing better is to be expected of the services than what was looked at: of
 * those without room, no replica of any service starts or stops. */
bool clv_outcome_is_bad(const json_t *status, enum clv_outcome outcome);
