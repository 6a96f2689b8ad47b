/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The main function of a process's one helper thread (clv_gate_api.run_helper). */
void *clv_helper_run(void *userdata);
