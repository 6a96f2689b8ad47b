/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of glibc that are newer than the oldest that a gate is loaded beside, made of
 * older ones.  What is linked into a gate, src/base too, finds these first; nobody
 * outside sees them. */
#include "gate/old-libc.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since 2.33; the kernel's structure is glibc's on processors of 64 bits. */
int fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

/* In libc since 2.32, before in libpthread.  On Linux, sigprocmask is of the thread too,
 * and leaves glibc's own signals unblocked. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_before)
{
	return sigprocmask(how, set, ret_before) < 0 ? errno : 0;
}
