/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ssh/ssh.h"

#include "base/cleanup.h"
#include "cli/frame/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4200

/* A connection of its own, which ends with this ssh, and that a host that goes away
 * ends. */
static const char *const own_words[] = {
	"ssh", "-o", "ControlPath=none", "-o", "ServerAliveInterval=5"};

static void name_link(const char *folder, char ret[64])
{
	snprintf(ret, 64, "%.48s/ssh", folder);
}

int clv_vm_ssh_begin(const char *folder)
{
	char program[PATH_BYTES] = "", link[64], path[2 * PATH_BYTES];
	const char *before = getenv("PATH");

	name_link(folder, link);
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0 ||
		symlink(program, link) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot make %s: %m", link);
	snprintf(path, sizeof(path), "%s:%s", folder, before ? before : "/usr/bin:/bin");
	setenv("PATH", path, 1);
	return 0;
}

void clv_vm_ssh_end(const char *folder)
{
	char link[64];

	name_link(folder, link);
	unlink(link);
}

bool clv_vm_ssh_is_wanted(const char *name)
{
	const char *base = strrchr(name, '/');

	return strcmp(base ? base + 1 : name, "ssh") == 0;
}

/* There is one for each host.  False: the next ssh in PATH may be this program again. */
static bool leave_out_folders(void)
{
	const char *path = getenv("PATH"), *rest = path;
	_cleanup_free_ char *copy = NULL;

	while (rest && strncmp(rest, CLV_VM_SSH_FOLDER, strlen(CLV_VM_SSH_FOLDER)) == 0) {
		rest = strchr(rest, ':');
		rest = rest ? rest + 1 : NULL;
	}
	copy = rest && rest != path ? strdup(rest) : NULL;
	return copy && setenv("PATH", copy, 1) == 0;
}

int clv_vm_ssh_become(int argc, char **argv)
{
	size_t n = CLV_ARRAY_SIZE(own_words);
	const char **words = calloc(n + (size_t)argc + 1, sizeof(*words));

	if (!words)
		return CLV_EXIT_FAILED;
	memcpy(words, own_words, sizeof(own_words));
	for (int i = 1; i < argc; i++)
		words[n++] = argv[i];
	/* ssh leaves signals ignored that it finds so. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (leave_out_folders())
		execvp("ssh", (char **)words);
	free(words);
	return CLV_EXIT_NOT_FOUND;
}
