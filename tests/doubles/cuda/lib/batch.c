/* SPDX-License-Identifier: Apache-2.0 */
#include "copy.h"
#include "functions.h"

/* Several operations in one call. */

int dcu_cuMemcpyBatchAsync_v2(uint64_t *dsts, uint64_t *srcs, size_t *sizes, size_t n,
	void *attributes, size_t *indexes, size_t n_attributes, struct stream *handle)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	/* The vendor forbids it in the default streams. */
	if (!dsts || !srcs || !sizes || !n || s == &s->ctx->legacy)
		return DCU_INVALID_VALUE;
	for (size_t i = 0; i < n && !r; i++) {
		struct transfer t;

		r = dcu_transfer_1d(dsts[i], srcs[i], sizes[i], &t);
		r = r ? r : dcu_transfer_push(s, &t, true);
	}
	return r;
}

int dcu_cuMemcpyBatchAsync(uint64_t *dsts, uint64_t *srcs, size_t *sizes, size_t n,
	void *attributes, size_t *indexes, size_t n_attributes, size_t *ret_failed,
	struct stream *stream)
{
	int r = dcu_cuMemcpyBatchAsync_v2(
		dsts, srcs, sizes, n, attributes, indexes, n_attributes, stream);

	if (r && ret_failed)
		*ret_failed = SIZE_MAX;
	return r;
}

int dcu_cuStreamBatchMemOp_v2(
	struct stream *stream, unsigned n, union batch_op *ops, unsigned flags)
{
	int r = 0;

	if (!ops || n > 256 || flags)
		return DCU_INVALID_VALUE;
	for (unsigned i = 0; i < n && !r; i++) {
		uint64_t at = ops[i].value.address, value = ops[i].value.value;
		unsigned how = ops[i].value.flags;

		if (ops[i].operation == DCU_OP_WAIT_32)
			r = dcu_cuStreamWaitValue32_v2(stream, at, (uint32_t)value, how);
		else if (ops[i].operation == DCU_OP_WRITE_32)
			r = dcu_cuStreamWriteValue32_v2(stream, at, (uint32_t)value, how);
		else if (ops[i].operation == DCU_OP_WAIT_64)
			r = dcu_cuStreamWaitValue64_v2(stream, at, value, how);
		else if (ops[i].operation == DCU_OP_WRITE_64)
			r = dcu_cuStreamWriteValue64_v2(stream, at, value, how);
	}
	return r;
}
