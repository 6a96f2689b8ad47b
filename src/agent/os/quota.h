/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Counts the open connections of each user, so that one user cannot take all of them. */
struct clv_quota;

struct clv_quota *clv_quota_new(unsigned int most_per_user);
struct clv_quota *clv_quota_free(struct clv_quota *quota);

/* Counts one more connection of the user.  False: the user has reached the limit, which
 * does not apply to root, or there is no memory.  Each true is undone by one
 * clv_quota_give_back(). */
bool clv_quota_take(struct clv_quota *quota, uid_t uid);
void clv_quota_give_back(struct clv_quota *quota, uid_t uid);

/* The number of connections of the user; the user with the most, *ret_n of them. */
unsigned int clv_quota_count(const struct clv_quota *quota, uid_t uid);
uid_t clv_quota_largest(const struct clv_quota *quota, unsigned int *ret_n);
