/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

/* What a library has in memory, by address: NAME_find() copies what an address is in,
 * NAME_add() returns whether nothing was there, NAME_remove() takes what begins there.
 * The type has base and bytes. */

#define DEFINE_BY_ADDRESS(name, type)                                                 \
	static void *tree;                                                            \
	static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;                    \
                                                                                      \
	static int compare(const void *a, const void *b)                              \
	{                                                                             \
		const type *x = a, *y = b;                                            \
                                                                                      \
		if (x->base + x->bytes <= y->base)                                    \
			return -1;                                                    \
		return x->base >= y->base + y->bytes;                                 \
	}                                                                             \
                                                                                      \
	static type *find(const void *p)                                              \
	{                                                                             \
		type key = {.base = (char *)(uintptr_t)p, .bytes = 1};                \
		type **found = tfind(&key, &tree, compare);                           \
                                                                                      \
		return found ? *found : NULL;                                         \
	}                                                                             \
                                                                                      \
	bool name##_find(const void *p, type *ret)                                    \
	{                                                                             \
		const type *found;                                                    \
                                                                                      \
		pthread_rwlock_rdlock(&lock);                                         \
		found = find(p);                                                      \
		if (found)                                                            \
			*ret = *found;                                                \
		pthread_rwlock_unlock(&lock);                                         \
		return found;                                                         \
	}                                                                             \
                                                                                      \
	bool name##_add(const type *added)                                            \
	{                                                                             \
		type *copy = malloc(sizeof(*copy)), **there;                          \
		bool is_new;                                                          \
                                                                                      \
		*copy = *added;                                                       \
		pthread_rwlock_wrlock(&lock);                                         \
		there = tsearch(copy, &tree, compare);                                \
		/* Under the lock still: a deletion puts other things into a node. */ \
		is_new = *there == copy;                                              \
		pthread_rwlock_unlock(&lock);                                         \
		if (!is_new)                                                          \
			free(copy);                                                   \
		return is_new;                                                        \
	}                                                                             \
                                                                                      \
	bool name##_remove(const void *base, type *ret)                               \
	{                                                                             \
		type *found;                                                          \
                                                                                      \
		pthread_rwlock_wrlock(&lock);                                         \
		found = find(base);                                                   \
		if (found && found->base != base)                                     \
			found = NULL;                                                 \
		if (found) {                                                          \
			*ret = *found;                                                \
			tdelete(found, &tree, compare);                               \
			free(found);                                                  \
		}                                                                     \
		pthread_rwlock_unlock(&lock);                                         \
		return found;                                                         \
	}
