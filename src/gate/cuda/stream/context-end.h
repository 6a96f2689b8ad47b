/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* To be called when a stream of the gate's green context is destroyed.  If it was the
 * last one, and nothing else keeps the primary context, that context ends. */
void clv_cuda_green_stream_gone(void);
