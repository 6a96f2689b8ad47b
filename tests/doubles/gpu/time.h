/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "machine.h"

/* What the parts of the machine's time have of each other. */

/* step.c: the stream's first command, or NULL. */
struct dgp_cmd *dgp_head(const struct stream *s);
/* Lets the first command go on as far as it gets without an engine; whether it is done.
 */
bool dgp_step(struct machine *m, struct stream *s);
void dgp_complete(struct machine *m, struct stream *s);
/* The effect happens, for the process to see. */
void dgp_tell_effect(struct dgp_area *area, uint64_t effect);
/* Nothing is known of the first command. */
void dgp_stream_rest(struct stream *s);
/* The process is to do it and to say so by `number`. */
void dgp_hand_over(struct stream *s, uint64_t what, bool is_turn, uint64_t number);
/* From when on what the process has said last counts; DGP_NEVER: it counts already. */
uint64_t dgp_told_at(const struct machine *m, const struct stream *s);

/* units.c: kernels, of the group whose turn it is. */
void dgp_kernel_ready(struct stream *s, const struct dgp_cmd *cmd);
void dgp_compute_dispatch(struct machine *m, struct gpu *gpu);
uint64_t dgp_compute_next(const struct machine *m, const struct gpu *gpu);
void dgp_compute_run(struct machine *m, struct gpu *gpu, uint64_t ns);
void dgp_compute_finish(struct machine *m, struct gpu *gpu);
/* What a command that is ready takes at least. */
uint64_t dgp_least_left(const struct stream *s);
