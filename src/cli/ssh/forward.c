/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ssh/forward.h"

#include "base/paths.h"
#include "cli/frame/cli.h"
#include "cli/ssh/ssh.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_MS 20

/* ssh may ask for a password or about the host's key; it ends with this program. */
static void run_ssh(const char *host, const char *sockets)
{
	const char *words[] = {"ssh", "-NT", "-o", "ExitOnForwardFailure=yes", "-o",
		"ConnectTimeout=30", "-L", sockets, "--", host};

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	_exit(clv_vm_ssh_become(CLV_ARRAY_SIZE(words), (char **)words));
}

/* Until ssh listens, or has ended. */
static int wait_for(struct clv_vm_forward *forward, const char *host)
{
	while (access(forward->socket, F_OK) < 0) {
		if (waitpid(forward->pid, NULL, WNOHANG) != 0) {
			forward->pid = 0;
			return clv_cli_fail(CLV_EXIT_UNREACHABLE,
				"ssh does not forward the socket of the agent of %.100s: "
				"try ssh %.100s, or give a socket with --to-socket",
				host, host);
		}
		poll(NULL, 0, PAUSE_MS);
	}
	return 0;
}

int clv_vm_forward_prepare(struct clv_vm_forward *ret)
{
	*ret = (struct clv_vm_forward){.folder = CLV_VM_SSH_FOLDER "XXXXXX"};
	if (!mkdtemp(ret->folder)) {
		ret->folder[0] = '\0';
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot make a folder in /tmp: %m");
	}
	return clv_vm_ssh_begin(ret->folder);
}

int clv_vm_forward_begin(const char *host, struct clv_vm_forward *forward)
{
	char sockets[96];

	snprintf(
		forward->socket, sizeof(forward->socket), "%s/api.sock", forward->folder);
	snprintf(sockets, sizeof(sockets), "%s:" CLV_PATH_SYSTEM_RUNTIME "/api.sock",
		forward->socket);
	forward->pid = fork();
	if (forward->pid == 0)
		run_ssh(host, sockets);
	if (forward->pid < 0) {
		forward->pid = 0;
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot start ssh: %m");
	}
	return wait_for(forward, host);
}

void clv_vm_forward_end(struct clv_vm_forward *forward)
{
	if (forward->pid > 0) {
		kill(forward->pid, SIGTERM);
		waitpid(forward->pid, NULL, 0);
	}
	if (forward->folder[0]) {
		clv_vm_ssh_end(forward->folder);
		if (forward->socket[0])
			unlink(forward->socket);
		rmdir(forward->folder);
	}
	*forward = (struct clv_vm_forward){0};
}
