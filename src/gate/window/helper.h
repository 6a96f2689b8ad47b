/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the one helper thread of a process runs (clv_gate_api.run_helper). */
void *clv_helper_run(void *userdata);
