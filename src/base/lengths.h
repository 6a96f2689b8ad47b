/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* Durations of commands and number of pauses, counted by all processes of a profiled
 * program in one page of shared memory.  Each update is one atomic operation, so that the
 * counts of a killed process are kept.  An octave has four buckets: a duration is known
 * to a fifth or better. */
#define CLV_LENGTHS_MAGIC UINT32_C(0x4c435643)
#define CLV_LENGTHS_VERSION 1u
/* the first bucket begins at 1 us and also has everything shorter */
#define CLV_LENGTHS_SHORTEST_LOG2 10u
#define CLV_LENGTHS_PER_OCTAVE 4u
#define CLV_LENGTHS_BUCKETS 128u

struct clv_lengths {
	uint32_t magic, version;
	/* times that the program left the device for longer than a turn is kept */
	_Atomic uint64_t n_pauses;
	_Atomic uint64_t longest_ns;
	_Atomic uint64_t sum_ns;
	_Atomic uint64_t counts[CLV_LENGTHS_BUCKETS];
};

static inline unsigned int clv_lengths_bucket(uint64_t length_ns)
{
	unsigned int log2, at;

	if (length_ns < UINT64_C(1) << CLV_LENGTHS_SHORTEST_LOG2)
		return 0;
	log2 = 63 - (unsigned int)__builtin_clzll(length_ns);
	at = (log2 - CLV_LENGTHS_SHORTEST_LOG2) * CLV_LENGTHS_PER_OCTAVE +
	     (unsigned int)(length_ns >> (log2 - 2) & 3);
	return at < CLV_LENGTHS_BUCKETS ? at : CLV_LENGTHS_BUCKETS - 1;
}

/* Counts n commands of length_ns each. */
static inline void clv_lengths_add(
	struct clv_lengths *lengths, uint64_t length_ns, uint64_t n)
{
	uint64_t longest_ns = atomic_load(&lengths->longest_ns);

	atomic_fetch_add(&lengths->counts[clv_lengths_bucket(length_ns)], n);
	atomic_fetch_add(&lengths->sum_ns, length_ns * n);
	while (length_ns > longest_ns &&
		!atomic_compare_exchange_weak(
			&lengths->longest_ns, &longest_ns, length_ns))
		;
}

static inline uint64_t clv_lengths_count(const struct clv_lengths *lengths)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < CLV_LENGTHS_BUCKETS; i++)
		n += atomic_load(&lengths->counts[i]);
	return n;
}

/* The percentile, as the middle of its bucket but at most the longest duration; 0 if
 * there were no commands. */
static inline uint64_t clv_lengths_percentile(
	const struct clv_lengths *lengths, unsigned int percent)
{
	uint64_t n = clv_lengths_count(lengths), seen = 0;
	uint64_t longest_ns = atomic_load(&lengths->longest_ns), middle_ns;

	if (n == 0)
		return 0;
	for (unsigned int i = 0; i < CLV_LENGTHS_BUCKETS; i++) {
		unsigned int octave = i / CLV_LENGTHS_PER_OCTAVE;
		uint64_t part = i % CLV_LENGTHS_PER_OCTAVE;

		seen += atomic_load(&lengths->counts[i]);
		if (seen * 100 < n * percent)
			continue;
		middle_ns = (UINT64_C(9) + 2 * part)
			    << (octave + CLV_LENGTHS_SHORTEST_LOG2 - 3);
		return middle_ns < longest_ns ? middle_ns : longest_ns;
	}
	return longest_ns;
}
