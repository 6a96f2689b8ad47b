/* SPDX-License-Identifier: Apache-2.0 */
/* The first and only process of a test's virtual machine: mounts what a kernel has to
 * offer, loads the modules that /modules lists, and lets the program of /command speak to
 * the test over the second serial line.  Ends the machine with it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define LINE "/dev/ttyS1"

/* The kernel had no device file to give us one with. */
static void open_console(void)
{
	int fd = open("/dev/console", O_RDWR);

	for (int i = 0; i < 3; i++)
		dup2(fd, i);
}

static void load_modules(void)
{
	FILE *list = fopen("/modules", "re");
	char path[128];

	while (list && fgets(path, sizeof(path), list)) {
		int fd;

		path[strcspn(path, "\n")] = '\0';
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || syscall(SYS_finit_module, fd, "", 0) < 0)
			perror(path);
		if (fd >= 0)
			close(fd);
	}
	if (list)
		fclose(list);
}

/* Neither echo nor line ends of a terminal. */
static int open_line(void)
{
	int fd = open(LINE, O_RDWR | O_NOCTTY);
	struct termios mode;

	if (fd < 0 || tcgetattr(fd, &mode) < 0)
		return -1;
	cfmakeraw(&mode);
	cfsetspeed(&mode, B115200);
	tcsetattr(fd, TCSANOW, &mode);
	return fd;
}

static void run_command(int fd)
{
	char *argv[8] = {NULL}, line[128] = "", *rest = NULL;
	FILE *file = fopen("/command", "re");
	int n = 0;

	if (file && fgets(line, sizeof(line), file))
		line[strcspn(line, "\n")] = '\0';
	for (char *word = strtok_r(line, " ", &rest); word && n < 7;
		word = strtok_r(NULL, " ", &rest))
		argv[n++] = word;
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	/* What was written before the line was open is lost. */
	dprintf(fd, "{\"ok\": true}\n");
	execv(argv[0], argv);
	perror("execv");
	_exit(127);
}

int main(void)
{
	pid_t pid, ended;
	int fd;

	mount("proc", "/proc", "proc", 0, "");
	mount("sysfs", "/sys", "sysfs", 0, "");
	mount("devtmpfs", "/dev", "devtmpfs", 0, "");
	open_console();
	load_modules();
	fd = open_line();
	pid = fd < 0 ? -1 : fork();
	if (pid == 0)
		run_command(fd);
	do
		ended = pid < 0 ? pid : wait(NULL);
	while (ended != pid);
	reboot(RB_AUTOBOOT); /* QEMU ends instead, with -no-reboot */
	return 1;
}
