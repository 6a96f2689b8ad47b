/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that outlives the process that allocated it: it is exported as files, and other
 * processes of the lease keep the files, or import them, when that process ends.  The
 * next one waits for that moment and takes what it gets. */
#include "cuda.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_EXPORTERS 3
#define TRY_NS 1500000000u

static const struct properties on_device = {1, 1, {1, 0}, NULL, {0}};

union file_room {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* A file, or -1 and a word. */
static void pass_on(int to, int fd, char word)
{
	struct iovec part = {&word, 1};
	union file_room control = {
		.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	if (sendmsg(to, &message, 0) != 1)
		way_die("sendmsg", 0);
}

static char receive(int from, int *ret_fd)
{
	char word = 0;
	struct iovec part = {&word, 1};
	union file_room control;
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	*ret_fd = -1;
	if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) != 1)
		_exit(0);
	if (message.msg_controllen >= sizeof(control.header))
		memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(*ret_fd));
	return word;
}

/* Takes pieces, passes on a file of each, and ends when it is told to. */
static void be_exporter(int peer)
{
	uint64_t until_ns;
	int n = 0, fd;
	handle piece;

	gpu_open();
	pass_on(peer, -1, 'r');
	receive(peer, &fd);
	until_ns = way_now_ns() + TRY_NS;
	while (n < PIECES_MAX && way_now_ns() < until_ns) {
		if (cuMemCreate(&piece, PIECE_BYTES, &on_device, 0) != 0)
			continue;
		if (cuMemExportToShareableHandle(&fd, piece, 1, 0) != 0) {
			OK(cuMemRelease(piece));
			break;
		}
		pass_on(peer, fd, 'f');
		close(fd);
		n++;
		until_ns = way_now_ns() + TRY_NS / 3;
	}
	pass_on(peer, -1, 'd');
	receive(peer, &fd);
	_exit(0);
}

static void map_piece(handle piece)
{
	dptr at;

	OK(cuMemAddressReserve(&at, PIECE_BYTES, 0, 0, 0));
	if (cuMemMap(at, PIECE_BYTES, 0, piece, 0) == 0)
		OK(cuMemRelease(piece));
}

/* Imports what it is sent: the handle keeps the memory, or a mapping does. */
static void be_importer(int peer, bool maps)
{
	handle piece;
	int fd;

	gpu_open();
	for (;;) {
		if (receive(peer, &fd) != 'f')
			continue;
		if (cuMemImportFromShareableHandle(&piece, (handle)(intptr_t)fd, 1) ==
				0 &&
			maps)
			map_piece(piece);
		close(fd);
		pass_on(peer, -1, 'i');
	}
}

struct child {
	int peer;
	pid_t pid;
};

/* kind: of an importer 'h' or 'm'; otherwise an exporter. */
static struct child start(char kind)
{
	int pair[2];
	struct child child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		way_die("socketpair", 0);
	child = (struct child){pair[0], fork()};
	if (child.pid == 0) {
		close(pair[0]);
		if (kind == 'e')
			be_exporter(pair[1]);
		be_importer(pair[1], kind == 'm');
	}
	close(pair[1]);
	return child;
}

/* What the exporter sends stays here, or goes to the importer.  Returns how much. */
static size_t collect(const struct child *exporter, const struct child *importer)
{
	size_t n = 0;
	int fd, none;

	while (receive(exporter->peer, &fd) == 'f') {
		n++;
		if (importer) {
			pass_on(importer->peer, fd, 'f');
			close(fd);
			receive(importer->peer, &none);
		}
	}
	return n;
}

static int outlive(char kind)
{
	struct child importer, exporters[N_EXPORTERS];
	size_t n = 0;
	int fd;

	if (kind != 'k')
		importer = start(kind);
	for (int i = 0; i < N_EXPORTERS; i++) {
		exporters[i] = start('e');
		receive(exporters[i].peer, &fd);
	}
	for (int i = 0; i < N_EXPORTERS; i++) {
		pass_on(exporters[i].peer, -1, 'g');
		if (i > 0) {
			pass_on(exporters[i - 1].peer, -1, 'e');
			way_wait_for(exporters[i - 1].pid);
		}
		n += collect(&exporters[i], kind != 'k' ? &importer : NULL);
	}
	way_say("got %zu code %d\n", n * PIECE_BYTES, OUT_OF_MEMORY);
	way_stay();
	return 0;
}

/* This process, which has no gate, keeps the files. */
static int kept(char **arguments)
{
	return outlive('k');
}

static int imported(char **arguments)
{
	return outlive('h');
}

static int imported_and_mapped(char **arguments)
{
	return outlive('m');
}

static void open_handles(int from, int to)
{
	struct ipc ipc;
	dptr p;

	gpu_open();
	while (read(from, &ipc, sizeof(ipc)) == sizeof(ipc)) {
		OK(cuIpcOpenMemHandle_v2(&p, ipc, 1));
		if (write(to, "o", 1) != 1)
			break;
	}
	_exit(0);
}

/* Memory that is freed while another process of the lease has a handle of it open. */
static int freed_behind_handles(char **arguments)
{
	int there[2], back[2], r = 0;
	struct ipc ipc;
	size_t n = 0;
	char word;
	dptr p;

	if (pipe(there) < 0 || pipe(back) < 0)
		way_die("pipe", 0);
	if (fork() == 0) {
		close(there[1]);
		open_handles(there[0], back[1]);
	}
	gpu_open();
	while (n < PIECES_MAX && (r = cuMemAlloc_v2(&p, PIECE_BYTES)) == 0) {
		OK(cuIpcGetMemHandle(&ipc, p));
		if (write(there[1], &ipc, sizeof(ipc)) != sizeof(ipc) ||
			read(back[0], &word, 1) != 1)
			way_die("the other process", 0);
		OK(cuMemFree_v2(p));
		n++;
	}
	way_say("got %zu code %d\n", n * PIECE_BYTES, r);
	way_stay();
	return 0;
}

const struct way way_outlived[] = {
	{"ipc-freed", freed_behind_handles},
	{"exporter-ends", kept},
	{"exporter-ends-imported", imported},
	{"exporter-ends-mapped", imported_and_mapped},
	{NULL, NULL},
};
