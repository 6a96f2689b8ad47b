/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "machine.h"

/* Functions that the parts of the machine's time share. */

/* step.c: the stream's first command, or NULL. */
struct dgp_cmd *dgp_head(const struct stream *s);
/* Advances the first command as far as possible without an engine; returns whether it is
 * complete. */
bool dgp_step(struct machine *m, struct stream *s);
void dgp_complete(struct machine *m, struct stream *s);
/* Publishes the effect to the process. */
void dgp_tell_effect(struct dgp_area *area, uint64_t effect);
/* Resets the state of the first command. */
void dgp_stream_rest(struct stream *s);
/* Asks the process to carry out the command and to report it by `number`. */
void dgp_hand_over(struct stream *s, uint64_t what, bool is_turn, uint64_t number);
/* The time from which the process's last report counts; DGP_NEVER: it counts already. */
uint64_t dgp_told_at(const struct machine *m, const struct stream *s);

/* units.c: kernels of the group whose turn it is. */
void dgp_kernel_ready(struct stream *s, const struct dgp_cmd *cmd);
void dgp_compute_dispatch(struct machine *m, struct gpu *gpu);
uint64_t dgp_compute_next(const struct machine *m, const struct gpu *gpu);
void dgp_compute_run(struct machine *m, struct gpu *gpu, uint64_t ns);
void dgp_compute_finish(struct machine *m, struct gpu *gpu);
/* The minimum time that a ready command takes. */
uint64_t dgp_least_left(const struct stream *s);
