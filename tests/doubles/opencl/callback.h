/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* Users' callbacks run on a separate thread, in the order in which they became due.
 * dcl_callback_post may be called with any lock held. */
struct dcl_callback *dcl_callback_new(
	void (*run)(struct dcl_callback *cb), void *object, void *function, void *user);
void dcl_callback_post(struct dcl_callback *cb);
