/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "faults.h"
#include "fs.h"
#include "holders.h"
#include "perform.h"
#include "readings.h"
#include "state.h"
#include "world.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
	"usage: cleave-double-sysfs [--stay] DESCRIPTION CONTROL MOUNTPOINT\n"
	"       cleave-double-sysfs --ask CONTROL COMMAND [WORD...]\n"
	"Mounts a /sys with the GPUs of the description, until SIGTERM or, without "
	"--stay,\n"
	"the end of the parent.  Prints 'ready' when it is mounted; ends with 77 where "
	"FUSE\n"
	"cannot be mounted.\n";

/* The parent may be killed without the chance to unmount; then this process must end. */
static void follow_the_parent(void)
{
	pid_t parent = getppid();

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		sy_die("the parent is gone");
}

static char *absolute(const char *path)
{
	char *found = realpath(path, NULL);

	if (!found)
		sy_die("%s: %s", path, strerror(errno));
	return found;
}

static void start_world(const char *description, const char *control)
{
	sy_holders_init(control);
	sy_readings_init(control);
	sy_faults_init(control);
	sy_perform_init(control);
	sy_state_init(control);
	sy_world_read(description);
	sy_lock();
	if (!sy_state_load())
		sy_world_power_on();
	sy_state_save();
	sy_tree_build();
	sy_unlock();
}

static _Noreturn void run(
	const char *description, const char *control, const char *mount_point)
{
	int status;

	sy_unmount_dead(mount_point);
	control = absolute(control);
	mount_point = absolute(mount_point);
	sy_guard(mount_point);
	start_world(description, control);
	sy_commands_write(control);
	sy_socket_serve(control);
	status = sy_mount(mount_point);
	fflush(NULL);
	_exit(status); /* open files are released later, or never */
}

int main(int argc, char **argv)
{
	bool stays = argc > 1 && strcmp(argv[1], "--stay") == 0;

	if (argc > 3 && strcmp(argv[1], "--ask") == 0)
		return sy_socket_ask(argv[2], argv + 3);
	if (argc - stays != 4) {
		fputs(usage, stderr);
		return 64;
	}
	if (!stays)
		follow_the_parent();
	run(argv[1 + stays], argv[2 + stays], argv[3 + stays]);
}
