/* SPDX-License-Identifier: Apache-2.0 */
/* Registers the objects of a tenant's channel groups in any order and number. No ioctl
 * reaches a driver, because the file is not a GPU's. No object and no file descriptor may
 * be lost, and a second table that gets the objects as far as it has room, sometimes from
 * the first one again, must be equal in the end. */
#include "fuzz.h"

#include "rm/abi.h"
#include "rm/channels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define OBJECTS_MAX 4096

/* Few handles, so that they collide. */
static struct clv_rm_object take_object(struct clv_fuzz_input *input, uint8_t what)
{
	static const uint32_t classes[] = {0, CLV_RM_CLASS_GROUP, CLV_RM_CLASS_SUBDEVICE,
		0xc86f, 0xc96f, 0x6f, UINT32_MAX};

	return (struct clv_rm_object){
		.client = (uint32_t)clv_fuzz_take(input, 1) % 20,
		.parent = (uint32_t)clv_fuzz_take(input, 1) % 32,
		.handle = (uint32_t)clv_fuzz_take(input, 1) % 32,
		.class = classes[what % (sizeof(classes) / sizeof(classes[0]))],
	};
}

static void read_call(const uint8_t *data, size_t n_bytes)
{
	uint8_t argument[64] = {0};
	struct clv_rm_object object;

	memcpy(argument, data, n_bytes < sizeof(argument) ? n_bytes : sizeof(argument));
	/* A pointer in it belongs to the program; this one is never followed. */
	if (clv_rm_object_read(_IOWR('F', CLV_RM_ALLOC, struct clv_rm_alloc_rights),
		    argument, &object))
		CLV_MUST(object.class != 0);
	if (clv_rm_object_read(
		    _IOWR('F', CLV_RM_FREE, struct clv_rm_free), argument, &object))
		CLV_MUST(object.class == 0);
	CLV_MUST(!clv_rm_object_read(
		_IOWR('F', CLV_RM_ALLOC, struct clv_rm_free), argument, &object));
}

/* The file gets another number, as one that was sent over a socket does. */
static void tell(
	struct clv_rm_channels *from, struct clv_rm_channels *to, int file, size_t n)
{
	struct clv_rm_object object;
	bool is_last, was_last = false;
	int fd;

	while (n-- > 0 && clv_rm_channels_next_untold(from, &object, &fd, &is_last)) {
		CLV_MUST(!was_last && (object.class == 0) == (fd < 0));
		CLV_MUST(clv_rm_channels_note(to, file, &object) == 0);
		clv_rm_channels_note_told(from);
		was_last = is_last;
	}
	CLV_MUST(!was_last || !clv_rm_channels_next_untold(from, &object, &fd, &is_last));
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct clv_rm_object));
}

static size_t list(struct clv_rm_channels *channels, struct clv_rm_object *ret)
{
	bool is_last;
	size_t n = 0;
	int fd;

	clv_rm_channels_untell(channels);
	while (clv_rm_channels_next_untold(channels, &ret[n], &fd, &is_last)) {
		CLV_MUST(ret[n].class != 0 && fcntl(fd, F_GETFD) >= 0);
		clv_rm_channels_note_told(channels);
		n++;
	}
	CLV_MUST(n == clv_rm_channels_count(channels));
	qsort(ret, n, sizeof(*ret), compare);
	return n;
}

static void check_same(struct clv_rm_channels *a, struct clv_rm_channels *b)
{
	static struct clv_rm_object of_a[OBJECTS_MAX], of_b[OBJECTS_MAX];
	size_t n = list(a, of_a);

	CLV_MUST(list(b, of_b) == n);
	CLV_MUST(memcmp(of_a, of_b, n * sizeof(of_a[0])) == 0);
	for (int i = CLV_RM_BY_NOTHING; i < _CLV_RM_METHOD_MAX; i++)
		CLV_MUST(clv_rm_channels_count_calls(a, i) ==
			 clv_rm_channels_count_calls(b, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_fuzz_input input = {data, n_bytes};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), before = clv_fuzz_count_open();
	struct clv_rm_channels *own = clv_rm_channels_new(false);
	struct clv_rm_channels *told = clv_rm_channels_new(true);

	CLV_MUST(null >= 0 && own && told);
	read_call(data, n_bytes);
	while (input.n_left > 0) {
		uint8_t what = (uint8_t)clv_fuzz_take(&input, 1);
		struct clv_rm_object object = take_object(&input, what);
		int r = clv_rm_channels_note(own, null, &object);

		CLV_MUST(r == 0 || r == -E2BIG || r == -EINVAL);
		CLV_MUST(r == 0 || !clv_rm_channels_are_whole(own));
		tell(own, told, null, what / 64);
		if (what == UINT8_MAX) {
			told = clv_rm_channels_free(told);
			told = clv_rm_channels_new(true);
			clv_rm_channels_untell(own);
		}
		clv_rm_channels_switch_one(told, &object, CLV_RM_BY_CHANNELS, false);
	}
	tell(own, told, null, SIZE_MAX);
	check_same(own, told);
	clv_rm_channels_switch(told, CLV_RM_BY_CHANNELS, false);
	clv_rm_channels_switch(told, CLV_RM_BY_GROUPS, true);
	clv_rm_channels_restore(told);
	clv_rm_channels_free(own);
	clv_rm_channels_free(told);
	CLV_MUST(clv_fuzz_count_open() == before);
	close(null);
	return 0;
}
