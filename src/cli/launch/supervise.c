/* SPDX-License-Identifier: Apache-2.0 */
/* Supervises a program.  Both are in one process group, so a terminal's signals reach the
 * program directly; only signals that another process sends to this one are forwarded,
 * and the hangup of a terminal of which this process is the session's leader: the kernel
 * tells that to no one else before the leader ends, and this one waits for the program.
 * This process is the subreaper of the program's tree, so it sees the end of the last
 * process.  If it is killed, the program continues. */
#include "cli/launch/supervise.h"

#include "base/clock.h"
#include "cli/frame/cli.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals that cannot be caught, and those that a fault of this process raises. */
static const int never_forwarded[] = {
	SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

static struct sigaction old_child_action;

int clv_supervise_begin(sigset_t *ret_old)
{
	struct sigaction reap = {.sa_handler = SIG_DFL};
	sigset_t all;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return -errno;
	/* If SIGCHLD is ignored, the kernel reaps the program and its status is lost. */
	sigaction(SIGCHLD, &reap, &old_child_action);
	sigfillset(&all);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(never_forwarded); i++)
		sigdelset(&all, never_forwarded[i]);
	return sigprocmask(SIG_BLOCK, &all, ret_old) < 0 ? -errno : 0;
}

void clv_supervise_restore(const sigset_t *old)
{
	sigaction(SIGCHLD, &old_child_action, NULL);
	sigprocmask(SIG_SETMASK, old, NULL);
}

/* Signals the processes of the tree that were reparented to this process: all children
 * but the outsider.  Returns their number; a signal number of 0 only counts. */
static unsigned int signal_adopted(int number, pid_t outsider)
{
	FILE *children = fopen("/proc/thread-self/children", "re");
	unsigned int n = 0;
	int pid;

	if (!children)
		return 1;
	while (fscanf(children, "%d", &pid) == 1) {
		if (pid == outsider)
			continue;
		n++;
		if (number != 0)
			kill(pid, number);
	}
	fclose(children);
	return n;
}

/* Stops this process by the signal's default action, and returns when it is continued. */
static void stop_self(int number)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &one, NULL);
}

/* Whether the kernel has sent the signal to this process alone: the terminal has hung up,
 * and this process leads the session. */
static bool is_hangup(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL &&
	       (info->si_signo == SIGHUP || info->si_signo == SIGCONT) &&
	       getsid(0) == getpid();
}

static void handle(
	const siginfo_t *info, pid_t main_pid, bool is_main_alive, pid_t outsider)
{
	int number = info->si_signo;

	/* A terminal's signal goes to the whole process group: the program has it
	 * already. */
	bool is_sent =
		is_hangup(info) || (info->si_code <= 0 && info->si_pid != main_pid &&
					   info->si_pid != getpid());

	if (number == SIGCHLD)
		return;
	if (is_sent && is_main_alive)
		kill(main_pid, number);
	else if (is_sent)
		signal_adopted(number, outsider);
	if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU)
		stop_self(number);
}

/* Reaps all dead children.  Returns whether a process of the tree is left. */
static bool reap(pid_t main_pid, int *main_status, bool *is_main_alive, pid_t outsider)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid == 0)
			return outsider == 0 || signal_adopted(0, outsider) > 0;
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return false;
		if (pid == main_pid) {
			*main_status = status;
			*is_main_alive = false;
		}
	}
}

/* Does what the kernel does when the leader of a session ends: the program was the leader
 * in all but name. */
static void hang_up_group(void)
{
	kill(0, SIGHUP);
	kill(0, SIGCONT);
}

/* Waits for a signal until the next tick. */
static int wait_for_signal(const sigset_t *wanted, siginfo_t *info, uint64_t next_ns)
{
	uint64_t now_ns = clv_clock_ns(),
		 left_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	struct timespec timeout = {
		(time_t)(left_ns / CLV_NS_PER_S), (long)(left_ns % CLV_NS_PER_S)};

	return next_ns == UINT64_MAX ? sigwaitinfo(wanted, info)
				     : sigtimedwait(wanted, info, &timeout);
}

int clv_supervise(pid_t main_pid)
{
	return clv_supervise_watched(main_pid, NULL);
}

int clv_supervise_watched(pid_t main_pid, const struct clv_supervise_watch *watch)
{
	uint64_t next_ns = watch ? clv_clock_ns() + watch->every_ns : UINT64_MAX;
	bool is_main_alive = true, is_hung_up = false;
	pid_t outsider = 0;
	int status = 0;
	sigset_t wanted;

	sigfillset(&wanted);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(never_forwarded); i++)
		sigdelset(&wanted, never_forwarded[i]);
	while (reap(main_pid, &status, &is_main_alive, outsider)) {
		siginfo_t info;

		if (is_hung_up && !is_main_alive) {
			hang_up_group();
			is_hung_up = false;
		}
		if (wait_for_signal(&wanted, &info, next_ns) > 0) {
			is_hung_up |= info.si_signo == SIGHUP && is_hangup(&info);
			handle(&info, main_pid, is_main_alive, outsider);
		}
		if (!watch || clv_clock_ns() < next_ns)
			continue;
		watch->tick(watch->userdata, main_pid);
		outsider = watch->outsider ? *watch->outsider : 0;
		next_ns = clv_clock_ns() + watch->every_ns;
	}

	if (WIFSIGNALED(status))
		return CLV_EXIT_SIGNAL + WTERMSIG(status);
	return WEXITSTATUS(status);
}
