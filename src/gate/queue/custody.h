/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_queue;

/* The program waits until all submitted so far is complete: what it observes needs no
 * marker. Take before the wait, book after it. */
struct clv_custody {
	struct clv_queue *queue;
	uint64_t packed;
	uint64_t since_ns;
	uint64_t kind;
	uint64_t
		before; /* markers before this one are complete as well; 0: none is out */
};
struct clv_custody clv_custody_take(struct clv_queue *queue);
void clv_custody_book(const struct clv_custody *custody);

/* Nothing was observed after all. */
void clv_custody_return(const struct clv_custody *custody);
