/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A message in each direction: the words, each NUL-terminated; then the exit status as a
 * byte and the output. */

#define MESSAGE_BYTES 4096
#define MOST_WORDS 64

static struct sockaddr_un address_of(const char *control)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	sy_print(address.sun_path, sizeof(address.sun_path), "%s/socket", control);
	return address;
}

static void answer(int fd)
{
	char message[MESSAGE_BYTES], reply[MESSAGE_BYTES], *words[MOST_WORDS];
	ssize_t length = recv(fd, message, sizeof(message) - 1, 0);
	struct sy_text said = {0};
	size_t n = 0, size;

	if (length <= 0)
		return;
	message[length] = '\0';
	for (char *p = message; p < message + length && n < MOST_WORDS;
		p += strlen(p) + 1)
		words[n++] = p;
	reply[0] = (char)sy_command(words, n, &said);
	size = said.used < sizeof(reply) - 1 ? said.used : sizeof(reply) - 1;
	if (size)
		memcpy(reply + 1, said.data, size);
	if (send(fd, reply, size + 1, MSG_NOSIGNAL) < 0)
		fprintf(stderr, "cleave-double-sysfs: %s\n", strerror(errno));
	sy_text_free(&said);
}

static void *serve(void *data)
{
	int listener = (int)(intptr_t)data, fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		answer(fd);
		close(fd);
	}
	return NULL;
}

/* Blocks all signals in the new thread, so that the thread that waits for them gets
 * them. */
static void start(int listener)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)listener))
		sy_die("cannot start a thread");
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sy_socket_serve(const char *control)
{
	struct sockaddr_un address = address_of(control);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	unlink(address.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(fd, 16) < 0)
		sy_die("%s: %s", address.sun_path, strerror(errno));
	start(fd);
}

static size_t pack(char *const *words, char *message)
{
	size_t used = 0;

	for (; *words; words++) {
		size_t length = strlen(*words) + 1;

		if (used + length > MESSAGE_BYTES)
			sy_die("too many words");
		memcpy(message + used, *words, length);
		used += length;
	}
	return used;
}

int sy_socket_ask(const char *control, char *const *words)
{
	struct sockaddr_un address = address_of(control);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char message[MESSAGE_BYTES];
	ssize_t length;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		sy_die("%s: %s", address.sun_path, strerror(errno));
	if (send(fd, message, pack(words, message), MSG_NOSIGNAL) < 0)
		sy_die("%s: %s", address.sun_path, strerror(errno));
	length = recv(fd, message, sizeof(message), 0);
	close(fd);
	if (length < 1)
		sy_die("%s: no answer", address.sun_path);
	fwrite(message + 1, 1, (size_t)length - 1, stderr);
	return (unsigned char)message[0];
}
