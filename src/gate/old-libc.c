/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of glibc that the oldest supported glibc lacks, implemented with older ones.
 * Everything that is linked into a gate, src/base too, binds to these; they are not
 * exported. */
#include "gate/old-libc.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In glibc since 2.33.  On 64-bit processors the kernel's structure is glibc's. */
int fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

/* In libc since 2.32, in libpthread before.  On Linux sigprocmask also sets the mask of
 * the thread, and leaves glibc's own signals unblocked. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_before)
{
	return sigprocmask(how, set, ret_before) < 0 ? errno : 0;
}
