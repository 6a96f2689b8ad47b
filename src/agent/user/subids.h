/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Subordinate uids: ranges of uids that a user may map into user namespaces, and so be,
 * without a password (subuid(5)). */

/* The user in whose range the uid is, by the text of /etc/subuid, as that spells the
 * user: a name, or a uid in digits.  The first range with the uid counts.  False: no user
 * has it. */
bool clv_subids_find(const char *text, uid_t uid, char *ret, size_t ret_bytes);
