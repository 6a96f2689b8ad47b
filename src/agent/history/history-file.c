/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of the history file.  They are written with pwrite() and not through a
 * mapping, in which a full disk would be a signal and not an error.  Memory has an entry
 * for each block, by which it is found and its age is known. */
#include "agent/history/history-file.h"

#include "base/cleanup.h"
#include "base/crc32.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define TITLE "cleave history\n"
#define VERSION 1u
#define BLOCK CLV_HISTORY_BLOCK_BYTES
#define READ_AT_ONCE 256u
/* How many blocks one search selects for reuse, and after how many new blocks a file that
 * is not full is searched again for expired ones. */
#define CHOSEN_MAX 256u
#define LOOK_EVERY 1024u
#define AGES 256u
#define LISTS 4096u
#define NOWHERE UINT32_MAX

struct header {
	char title[16];
	uint32_t version;
	uint32_t block_bytes;
	uint32_t sum;
};

/* OPEN: its series still writes to it. */
enum use { FREE, CLOSED, OPEN };

/* What memory has of a block. */
struct place {
	uint64_t serial;
	int64_t start;
	uint32_t key_sum;
	uint32_t next; /* in the list by key; NOWHERE: none */
	uint16_t n_rows;
	uint8_t step, use;
	bool is_listed;
};

struct clv_history_file {
	int fd;
	uint32_t n_most, n_places, n_room, n_damaged;
	uint64_t last_serial;
	struct place *places;
	uint32_t lists[LISTS];       /* heads of the lists by key */
	uint32_t chosen[CHOSEN_MAX]; /* to be overwritten next, the last one first */
	uint32_t n_chosen, n_taken;
};

static uint32_t sum_of_key(const struct clv_history_key *key)
{
	return clv_crc32(key->kind, key->name, strlen(key->name));
}

static bool is_same_key(const struct clv_history_key *a, const struct clv_history_key *b)
{
	return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

static int64_t end_of(const struct place *place)
{
	return place->start + (int64_t)place->step * place->n_rows;
}

static off_t offset_of(uint32_t at)
{
	return ((off_t)at + 1) * BLOCK;
}

static int read_block(
	const struct clv_history_file *file, uint32_t at, struct clv_history_block *ret)
{
	ssize_t n = pread(file->fd, ret, BLOCK, offset_of(at));

	return n == BLOCK ? 0 : n < 0 ? -errno : -EIO;
}

static int grow(struct clv_history_file *file)
{
	struct place *places;
	uint32_t n_room = file->n_room ? file->n_room * 2 : 64;

	if (file->n_places < file->n_room)
		return 0;
	places = realloc(file->places, n_room * sizeof(*places));
	if (!places)
		return -ENOMEM;
	file->places = places;
	file->n_room = n_room;
	return 0;
}

/* Lists by the hash of the key. */

static void list(struct clv_history_file *file, uint32_t at)
{
	struct place *place = &file->places[at];
	uint32_t *head = &file->lists[place->key_sum % LISTS];

	place->next = *head;
	place->is_listed = true;
	*head = at;
}

static void unlist(struct clv_history_file *file, uint32_t at)
{
	struct place *place = &file->places[at];
	uint32_t *link = &file->lists[place->key_sum % LISTS];

	if (!place->is_listed)
		return;
	while (*link != at)
		link = &file->places[*link].next;
	*link = place->next;
	place->is_listed = false;
}

static void index_block(
	struct clv_history_file *file, uint32_t at, const struct clv_history_block *block)
{
	struct place *place = &file->places[at];

	unlist(file, at);
	place->serial = block->serial;
	place->start = block->start;
	place->step = (uint8_t)block->step;
	place->key_sum = sum_of_key(&block->key);
	list(file, at);
}

/* Opening. */

static void read_entry(
	struct clv_history_file *file, uint32_t at, const struct clv_history_block *block)
{
	static const struct clv_history_block hole;
	struct place *place = &file->places[at];
	uint32_t n_rows = 0;

	*place = (struct place){.use = FREE};
	if (clv_history_check(block, &n_rows) < 0 || n_rows == 0) {
		file->n_damaged += memcmp(block, &hole, BLOCK) != 0;
		return;
	}
	index_block(file, at, block);
	place->n_rows = (uint16_t)n_rows;
	place->use = CLOSED;
	if (block->serial > file->last_serial)
		file->last_serial = block->serial;
}

static int scan(struct clv_history_file *file, struct clv_error *err)
{
	_cleanup_free_ struct clv_history_block *blocks =
		malloc(READ_AT_ONCE * sizeof(*blocks));
	ssize_t n = 0;

	if (!blocks)
		return clv_error_errno(err, ENOMEM, "cannot read the history");
	do {
		n = pread(file->fd, blocks, (size_t)READ_AT_ONCE * BLOCK,
			offset_of(file->n_places));
		if (n < 0)
			return clv_error_errno(err, errno, "cannot read the history");
		for (ssize_t i = 0; i < n / BLOCK && file->n_places < file->n_most; i++) {
			if (grow(file) < 0)
				return clv_error_errno(
					err, ENOMEM, "cannot read the history");
			read_entry(file, file->n_places++, &blocks[i]);
		}
	} while (n >= BLOCK && file->n_places < file->n_most);
	return 0;
}

static struct header make_header(void)
{
	struct header header = {.title = TITLE, .version = VERSION, .block_bytes = BLOCK};

	header.sum = clv_crc32(0, &header, offsetof(struct header, sum));
	return header;
}

static int write_header(const struct clv_history_file *file)
{
	struct clv_history_block block = {0};
	struct header header = make_header();

	memcpy(&block, &header, sizeof(header));
	if (pwrite(file->fd, &block, BLOCK, 0) != BLOCK)
		return errno ? -errno : -EIO;
	return 0;
}

static int open_file(struct clv_history_file *file, const char *path)
{
	file->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file->fd < 0)
		return -errno;
	if (flock(file->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

/* -EBADMSG: not a history file of this version. */
static int check_header(const struct clv_history_file *file)
{
	struct header expected = make_header(), header = {0};
	struct stat st;

	if (fstat(file->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size == 0)
		return write_header(file);
	if (pread(file->fd, &header, sizeof(header), 0) < 0)
		return -errno;
	return memcmp(&header, &expected, sizeof(header)) == 0 ? 0 : -EBADMSG;
}

static int put_aside(struct clv_history_file *file, const char *path, char *ret_renamed,
	size_t aside_bytes)
{
	int r;

	snprintf(ret_renamed, aside_bytes, "%s.damaged", path);
	if (rename(path, ret_renamed) < 0)
		return -errno;
	clv_close_fd(&file->fd);
	r = open_file(file, path);
	return r < 0 ? r : write_header(file);
}

int clv_history_file_open(const char *path, uint32_t most_bytes,
	struct clv_history_file **ret, char *ret_renamed, size_t aside_bytes,
	struct clv_error *err)
{
	struct clv_history_file *file = calloc(1, sizeof(*file));
	int r;

	ret_renamed[0] = '\0';
	if (!file)
		return clv_error_errno(err, ENOMEM, "cannot keep a history");
	memset(file->lists, 0xff, sizeof(file->lists));
	file->n_most = (most_bytes ? most_bytes : CLV_HISTORY_FILE_MAX_BYTES) / BLOCK - 1;
	r = open_file(file, path);
	if (r >= 0)
		r = check_header(file);
	if (r == -EBADMSG)
		r = put_aside(file, path, ret_renamed, aside_bytes);
	if (r < 0)
		clv_error_errno(err, -r, "cannot keep a history in %s", path);
	else
		r = scan(file, err);
	if (r < 0) {
		clv_history_file_free(file);
		return r;
	}
	*ret = file;
	return 0;
}

struct clv_history_file *clv_history_file_free(struct clv_history_file *file)
{
	if (!file)
		return NULL;
	clv_close_fd(&file->fd);
	free(file->places);
	free(file);
	return NULL;
}

uint32_t clv_history_file_damaged(const struct clv_history_file *file)
{
	return file->n_damaged;
}

uint32_t clv_history_file_blocks(const struct clv_history_file *file)
{
	return file->n_places;
}

/* Choice of the next block. */

/* The age of a block in 128ths of the time that it is kept. */
static uint32_t age_of(const struct place *place, int64_t now)
{
	int64_t kept = place->step == CLV_HISTORY_SECOND ? CLV_HISTORY_SECONDS_KEPT
							 : CLV_HISTORY_MINUTES_KEPT;
	int64_t age = now - end_of(place);

	if (place->use == FREE)
		return AGES - 1;
	if (age <= 0)
		return 0;
	return age >= 2 * kept ? AGES - 1 : (uint32_t)(age * (AGES / 2) / kept);
}

/* The least age of the blocks to reuse: so that there are about CHOSEN_MAX, but only
 * expired ones, or if a full file has none the oldest. */
static uint32_t find_age(const struct clv_history_file *file, int64_t now)
{
	uint32_t counts[AGES] = {0}, n = 0, age = AGES;
	bool is_full = file->n_places == file->n_most;

	for (uint32_t i = 0; i < file->n_places; i++) {
		if (file->places[i].use != OPEN)
			counts[age_of(&file->places[i], now)]++;
	}
	while (age > 0 && n < CHOSEN_MAX && (age > AGES / 2 || (is_full && n == 0)))
		n += counts[--age];
	return age;
}

static void choose(struct clv_history_file *file, int64_t now)
{
	uint32_t least = find_age(file, now);

	file->n_chosen = 0;
	for (uint32_t i = 0; i < file->n_places && file->n_chosen < CHOSEN_MAX; i++) {
		const struct place *place = &file->places[i];

		if (place->use != OPEN && age_of(place, now) >= least)
			file->chosen[file->n_chosen++] = i;
	}
}

static bool pop(struct clv_history_file *file, uint32_t *ret_at)
{
	while (file->n_chosen > 0) {
		*ret_at = file->chosen[--file->n_chosen];
		if (file->places[*ret_at].use != OPEN) /* not resumed meanwhile */
			return true;
	}
	return false;
}

int clv_history_file_take(struct clv_history_file *file, int64_t now, uint32_t *ret_at,
	uint64_t *ret_serial)
{
	bool is_full = file->n_places == file->n_most;

	if (file->n_chosen == 0 && (is_full || file->n_taken++ % LOOK_EVERY == 0))
		choose(file, now);
	if (!pop(file, ret_at)) {
		if (is_full)
			return -ENOSPC;
		if (grow(file) < 0)
			return -ENOMEM;
		*ret_at = file->n_places++;
		file->places[*ret_at] = (struct place){0};
	}
	unlist(file, *ret_at);
	file->places[*ret_at] = (struct place){.use = OPEN};
	*ret_serial = ++file->last_serial;
	return 0;
}

int clv_history_file_write(
	struct clv_history_file *file, uint32_t at, const struct clv_history_block *block)
{
	struct place *place = &file->places[at];
	uint32_t n_rows;
	ssize_t n;

	if (clv_history_check(block, &n_rows) < 0)
		return -EINVAL;
	n = pwrite(file->fd, block, BLOCK, offset_of(at));
	if (n != BLOCK)
		return n < 0 ? -errno : -ENOSPC;
	if (place->serial != block->serial)
		index_block(file, at, block);
	place->n_rows = (uint16_t)n_rows;
	return 0;
}

void clv_history_file_release(struct clv_history_file *file, uint32_t at, bool keep)
{
	struct place *place = &file->places[at];

	place->use = keep && place->n_rows > 0 ? CLOSED : FREE;
}

/* Lookup. */

static uint32_t first_of_key(const struct clv_history_file *file, uint32_t key_sum)
{
	return file->lists[key_sum % LISTS];
}

static bool may_match(const struct place *place, uint32_t key_sum, uint32_t step)
{
	return place->use != FREE && place->n_rows > 0 && place->key_sum == key_sum &&
	       place->step == step;
}

int clv_history_file_resume(struct clv_history_file *file,
	const struct clv_history_key *key, uint32_t step, uint32_t *ret_at,
	struct clv_history_block *ret)
{
	uint32_t sum = sum_of_key(key), found = NOWHERE, n_rows;
	const struct place *place;

	for (uint32_t i = first_of_key(file, sum); i != NOWHERE; i = place->next) {
		place = &file->places[i];
		if (place->use == CLOSED && may_match(place, sum, step) &&
			(found == NOWHERE || place->serial > file->places[found].serial))
			found = i;
	}
	if (found == NOWHERE || read_block(file, found, ret) < 0 ||
		clv_history_check(ret, &n_rows) < 0 || !is_same_key(&ret->key, key) ||
		ret->key.owner != key->owner)
		return -ENOENT;
	file->places[found].use = OPEN;
	*ret_at = found;
	return 0;
}

struct found {
	uint64_t serial;
	uint32_t at;
};

static int compare(const void *a, const void *b)
{
	const struct found *left = a, *right = b;

	return left->serial < right->serial ? -1 : left->serial > right->serial;
}

/* The blocks that may be of the series, by serial. */
static struct found *find_all(const struct clv_history_file *file, uint32_t key_sum,
	uint32_t step, int64_t from, int64_t to, uint32_t *ret_n)
{
	struct found *found = malloc((file->n_places + 1) * sizeof(*found));
	const struct place *place;
	uint32_t n = 0, i = first_of_key(file, key_sum);

	for (; found && i != NOWHERE; i = place->next) {
		place = &file->places[i];
		if (may_match(place, key_sum, step) && place->start < to &&
			end_of(place) > from)
			found[n++] = (struct found){place->serial, i};
	}
	if (found && n > 0)
		qsort(found, n, sizeof(*found), compare);
	*ret_n = n;
	return found;
}

int clv_history_file_find(struct clv_history_file *file,
	const struct clv_history_key *key, uint32_t step, int64_t from, int64_t to,
	clv_history_block_fn callback, void *userdata)
{
	uint32_t n;
	_cleanup_free_ struct found *found =
		find_all(file, sum_of_key(key), step, from, to, &n);
	struct clv_history_block block;
	uint32_t n_rows;
	int r;

	if (!found)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		r = read_block(file, found[i].at, &block);
		if (r < 0)
			return r;
		if (clv_history_check(&block, &n_rows) >= 0 &&
			is_same_key(&block.key, key))
			callback(userdata, found[i].at, &block);
	}
	return 0;
}

int clv_history_file_key(
	struct clv_history_file *file, struct clv_history_key *key_with_owner)
{
	uint32_t sum = sum_of_key(key_with_owner), n_rows;
	struct clv_history_block block;
	const struct place *place;

	for (uint32_t i = first_of_key(file, sum); i != NOWHERE; i = place->next) {
		place = &file->places[i];
		if (place->use == FREE || place->n_rows == 0 || place->key_sum != sum ||
			read_block(file, i, &block) < 0 ||
			clv_history_check(&block, &n_rows) < 0 ||
			!is_same_key(&block.key, key_with_owner))
			continue;
		key_with_owner->owner = block.key.owner;
		return 0;
	}
	return -ENOENT;
}
