/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and frees the lease pages.  The arbiter writes their contents. */
#include "arbiter/pages.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1, linux/fcntl.h */
#endif

#define FIXED_SIZE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int make_page(const char *name, size_t n_bytes, int seals, void **ret_map,
	struct clv_error *err)
{
	_cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *map;

	if (fd < 0)
		return clv_error_errno(err, errno, "cannot create a lease page");
	if (ftruncate(fd, (off_t)n_bytes) < 0)
		return clv_error_errno(err, errno, "cannot size a lease page");
	map = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return clv_error_errno(err, errno, "cannot map a lease page");
	if (fcntl(fd, F_ADD_SEALS, seals) < 0) {
		int saved = errno;

		munmap(map, n_bytes);
		return clv_error_errno(err, saved, "cannot seal a lease page");
	}

	*ret_map = map;
	return CLV_TAKE_FD(fd);
}

static int take_report_page(int report_fd, void **ret_map, struct clv_error *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int seals = fcntl(report_fd, F_GET_SEALS);
	void *map;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(report_fd, &st) < 0 ||
		st.st_size != CLV_REPORT_PAGE_BYTES)
		return clv_error_set(
			err, -EINVAL, "the old report page is not a lease's report page");
	fd = fcntl(report_fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return clv_error_errno(err, errno, "cannot keep the old report page");
	map = mmap(
		NULL, CLV_REPORT_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return clv_error_errno(err, errno, "cannot map the old report page");

	*ret_map = map;
	return CLV_TAKE_FD(fd);
}

static int init_beacon(struct clv_control_page *control)
{
	pthread_mutexattr_t attributes;
	int r;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	r = pthread_mutex_init(&control->beacon.mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return -r;
}

int clv_pages_init(struct clv_pages *pages, uint64_t device_memory_bytes, int report_fd,
	struct clv_error *err)
{
	void *control = NULL, *report = NULL;
	int ring[2], r;

	*pages = (struct clv_pages){
		.control_fd = -1, .report_fd = -1, .doorbell_fd = -1, .ring_fd = -1};
	r = make_page("cleave-control", CLV_CONTROL_PAGE_BYTES,
		FIXED_SIZE_SEALS | F_SEAL_FUTURE_WRITE, &control, err);
	if (r < 0)
		return r;
	pages->control_fd = r;
	pages->control = control;
	if (report_fd >= 0)
		r = take_report_page(report_fd, &report, err);
	else
		r = make_page("cleave-report", CLV_REPORT_PAGE_BYTES, FIXED_SIZE_SEALS,
			&report, err);
	if (r < 0)
		goto undo;
	pages->report_fd = r;
	pages->report = report;
	/* A pipe has an inode of its own, by which a gate recognizes its descriptor if
	 * the program has replaced it; all eventfds share one inode. */
	if (pipe2(ring, O_CLOEXEC | O_NONBLOCK) < 0) {
		r = clv_error_errno(err, errno, "cannot create a doorbell");
		goto undo;
	}
	pages->doorbell_fd = ring[0];
	pages->ring_fd = ring[1];

	pages->control->version = CLV_PAGE_VERSION;
	pages->control->page_bytes = CLV_CONTROL_PAGE_BYTES;
	pages->control->device_memory_bytes = device_memory_bytes;
	r = init_beacon(pages->control);
	if (r == 0)
		return 0;
undo:
	clv_pages_done(pages);
	return r;
}

void clv_pages_done(struct clv_pages *pages)
{
	if (pages->control)
		munmap(pages->control, CLV_CONTROL_PAGE_BYTES);
	if (pages->report)
		munmap(pages->report, CLV_REPORT_PAGE_BYTES);
	clv_close_fd(&pages->control_fd);
	clv_close_fd(&pages->report_fd);
	clv_close_fd(&pages->doorbell_fd);
	clv_close_fd(&pages->ring_fd);
	*pages = (struct clv_pages){
		.control_fd = -1, .report_fd = -1, .doorbell_fd = -1, .ring_fd = -1};
}
