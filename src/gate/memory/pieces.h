/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/memory/charges.h"

/* Charges of physical memory ("pieces") that programs map by hand, in the APIs that have
 * it.  Driver calls and their bookkeeping run under the lock, so that no thread sees a
 * handle that has been reused; functions to call without it say so. */

struct clv_piece;
struct clv_mapping;

void clv_pieces_lock(void);
void clv_pieces_unlock(void);

/* Without the lock.  made: records a new piece, whose handle the program has.  settle:
 * drops the pieces that nothing keeps any more although no call of this process
 * shows it;
 * returns whether there were any. */
void clv_piece_add(uint64_t handle, const struct clv_charge *charge);
bool clv_pieces_settle(void);

/* Adds and drops a reference of the handle. */
void clv_piece_retain(uint64_t handle);
void clv_piece_release(uint64_t handle);

/* A piece was exported as a file, or imported from one (-1: from something else).  False:
 * it would be charged to none in the end; the caller closes the file, or releases the
 * handle. */
bool clv_piece_exported(uint64_t handle, int fd);
bool clv_piece_imported(uint64_t handle, int fd);

enum clv_range_export {
	CLV_RANGE_KEPT,    /* charged until no process has the file, and it is freed */
	CLV_RANGE_UNKNOWN, /* nothing at this address is charged */
	CLV_RANGE_REFUSED, /* as for pieces */
};

/* The same for a part of an allocation or of a mapping, at its address: a dma-buf.  An
 * allocation becomes a piece, and clv_charge_withdraw() does not find its charge any
 * more. freed (without the lock): the allocation at this address, if it has become one.
 */
enum clv_range_export clv_piece_range_exported(uint64_t address, int fd);
void clv_piece_allocation_freed(uint64_t address);

/* Without the lock.  is_known: whether a mapping of the handle is charged already;
 * otherwise the caller charges it first.  new: a record for a mapping that is about to be
 * created; NULL: no memory, and the charge is undone. */
bool clv_piece_is_known(uint64_t handle);
struct clv_mapping *clv_mapping_new(
	uint64_t address, uint64_t n_bytes, const struct clv_charge *charge);

/* Under the lock.  done: the mapping was created, or not.  forget: the mappings of the
 * range were removed. */
void clv_mapping_done(struct clv_mapping *mapping, uint64_t handle, bool is_mapped);
void clv_mappings_forget(uint64_t address, uint64_t n_bytes);

void clv_pieces_forget_parent(void);
