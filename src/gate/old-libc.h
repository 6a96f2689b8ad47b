/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Included before every source of a gate: binds functions of glibc to their first
 * versions.
 *
 * A gate is loaded into programs of images that are older than the machine it was built
 * on.  glibc 2.34 made libpthread and libdl parts of libc and gave their functions new
 * versions, which no older glibc has.  The first versions are the same functions and are
 * in every glibc: before 2.34 in those two libraries, which a gate therefore lists as
 * needed, since then in libc.  `tests/lint/libraries.py` reports functions that are
 * missing here. */

#if defined(__x86_64__)
#define CLV_FIRST_GLIBC "GLIBC_2.2.5"
#define CLV_LATER_GLIBC "GLIBC_2.4"
#elif defined(__aarch64__)
#define CLV_FIRST_GLIBC "GLIBC_2.17"
#define CLV_LATER_GLIBC "GLIBC_2.17"
#else
#error "which glibc was the first for this processor?"
#endif

/* A function of glibc 2.4, where that is not the first. */
#define CLV_FIRST_LATER(function) \
	__asm__(".symver " #function "," #function "@" CLV_LATER_GLIBC)
#define CLV_FIRST(function) \
	__asm__(".symver " #function "," #function "@" CLV_FIRST_GLIBC)

CLV_FIRST(dladdr);
CLV_FIRST(dlclose);
CLV_FIRST(dlopen);
CLV_FIRST(pthread_create);
CLV_FIRST(pthread_key_create);
CLV_FIRST(pthread_mutex_trylock);
CLV_FIRST(pthread_mutexattr_destroy);
CLV_FIRST(pthread_mutexattr_init);
CLV_FIRST(pthread_mutexattr_settype);
CLV_FIRST_LATER(pthread_mutexattr_setprotocol);
CLV_FIRST(pthread_once);
CLV_FIRST(pthread_rwlock_init);
CLV_FIRST(pthread_rwlock_rdlock);
CLV_FIRST(pthread_rwlock_unlock);
CLV_FIRST(pthread_rwlock_wrlock);
CLV_FIRST(pthread_setspecific);
#ifndef CLV_HAS_OWN_DLSYM
CLV_FIRST(dlsym);
#endif
