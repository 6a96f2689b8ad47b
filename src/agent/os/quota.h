/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* How many connections each user has open, so that one user cannot take them all. */
struct clv_quota;

struct clv_quota *clv_quota_new(unsigned int most_per_user);
struct clv_quota *clv_quota_free(struct clv_quota *quota);

/* False: the user has all that he may have (root may always have one more).  Each true is
 * undone by one clv_quota_give_back(). */
bool clv_quota_take(struct clv_quota *quota, uid_t uid);
void clv_quota_give_back(struct clv_quota *quota, uid_t uid);
