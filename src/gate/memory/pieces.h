/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/memory/charges.h"

/* Physical memory that programs map by hand, in the APIs that have that: what keeps a
 * piece's charge.  Under the lock are the driver's calls and what tells of them, so that
 * nobody sees a handle that is another's by now; outside it are those two that say so. */

struct clv_piece;
struct clv_mapping;

void clv_pieces_lock(void);
void clv_pieces_unlock(void);

/* Without the lock: a new piece, whose handle the program has; what nothing keeps any
 * more though no call said so (whether there was any). */
void clv_piece_made(uint64_t handle, const struct clv_charge *charge);
bool clv_pieces_settle(void);

/* One more reference of the handle, and one less. */
void clv_piece_retained(uint64_t handle);
void clv_piece_released(uint64_t handle);

/* Out of the process by a file, and into it (-1: by something else). */
void clv_piece_exported(uint64_t handle, int fd);
void clv_piece_imported(uint64_t handle, int fd);

/* Without the lock: whether a mapping of it is paid for; what is not is charged first.
 * A record of a mapping that is going to be made; NULL: there is no memory. */
bool clv_piece_is_known(uint64_t handle);
struct clv_mapping *clv_mapping_new(
	uint64_t address, uint64_t n_bytes, const struct clv_charge *charge);

/* Under the lock: it was made, or not; those that have gone. */
void clv_mapping_done(struct clv_mapping *mapping, uint64_t handle, bool is_mapped);
void clv_mappings_forget(uint64_t address, uint64_t n_bytes);

void clv_pieces_forget_parent(void);
