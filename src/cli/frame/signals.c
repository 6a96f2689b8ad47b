/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks the terminating signals and reads them from a signalfd. */
#include "cli/frame/signals.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int terminating[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

int clv_signals_watch(sigset_t *old_mask)
{
	sigset_t mask;
	int fd;

	sigemptyset(&mask);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(terminating); i++)
		sigaddset(&mask, terminating[i]);
	sigprocmask(SIG_BLOCK, &mask, old_mask);
	fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int clv_signals_read(int signal_fd)
{
	struct signalfd_siginfo info;

	if (read(signal_fd, &info, sizeof(info)) != sizeof(info))
		return SIGINT;
	return (int)info.ssi_signo;
}
