/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a library's symbols and versions to the section table of a shim. */
#include "cli/shim/link-view.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MAX 1024
#define SECTION_BYTES_MAX (UINT64_C(64) << 20)
#define ALIGNMENT 16

enum {
	S_NULL,
	S_SYMBOLS,
	S_STRINGS,
	S_SYMBOL_VERSIONS,
	S_VERSIONS,
	S_DYNAMIC,
	S_NAMES,
	S_CODE, /* of which the symbols are; it has no content */
	N_SECTIONS,
};

static const char *const names[N_SECTIONS] = {
	"",
	".dynsym",
	".dynstr",
	".gnu.version",
	".gnu.version_d",
	".dynamic",
	".shstrtab",
	".text",
};

/* The content of one section. */
struct part {
	void *bytes;
	uint64_t n_bytes;
};

struct view {
	ElfW(Shdr) sections[N_SECTIONS];
	struct part parts[N_SECTIONS];
	ElfW(Dyn) dynamic[2];
};

static void free_parts(struct view *view)
{
	for (size_t i = 0; i < N_SECTIONS; i++) {
		if (i != S_DYNAMIC)
			free(view->parts[i].bytes);
	}
}

/* Reading the library. */

static bool read_at(int fd, void *to, uint64_t n_bytes, uint64_t at)
{
	return pread(fd, to, n_bytes, (off_t)at) == (ssize_t)n_bytes;
}

static bool read_part(int fd, const ElfW(Shdr) * section, struct part *ret)
{
	if (section->sh_size == 0 || section->sh_size > SECTION_BYTES_MAX)
		return false;
	ret->bytes = malloc(section->sh_size);
	ret->n_bytes = section->sh_size;
	return ret->bytes && read_at(fd, ret->bytes, ret->n_bytes, section->sh_offset);
}

struct table {
	ElfW(Shdr) sections[SECTIONS_MAX];
	size_t n;
};

static bool read_table(int fd, struct table *ret)
{
	ElfW(Ehdr) header;

	if (!read_at(fd, &header, sizeof(header), 0) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_shentsize != sizeof(ret->sections[0]) ||
		header.e_shnum > SECTIONS_MAX)
		return false;
	ret->n = header.e_shnum;
	return read_at(
		fd, ret->sections, ret->n * sizeof(ret->sections[0]), header.e_shoff);
}

static const ElfW(Shdr) * find_section(const struct table *table, ElfW(Word) type)
{
	for (size_t i = 0; i < table->n; i++) {
		if (table->sections[i].sh_type == type)
			return &table->sections[i];
	}
	return NULL;
}

static bool read_strings(
	int fd, const struct table *table, const ElfW(Shdr) * symbols, struct part *ret)
{
	return symbols->sh_link < table->n &&
	       read_part(fd, &table->sections[symbols->sh_link], ret) &&
	       ((char *)ret->bytes)[ret->n_bytes - 1] == '\0';
}

/* Versions are optional.  Without a list of them the symbols' numbers mean nothing. */
static void read_versions(int fd, const struct table *table, struct view *view)
{
	const ElfW(Shdr) *numbers = find_section(table, SHT_GNU_versym);
	const ElfW(Shdr) *list = find_section(table, SHT_GNU_verdef);
	struct part *parts = view->parts;

	if (!numbers || !list || !read_part(fd, numbers, &parts[S_SYMBOL_VERSIONS]) ||
		!read_part(fd, list, &parts[S_VERSIONS])) {
		parts[S_SYMBOL_VERSIONS].n_bytes = 0;
		parts[S_VERSIONS].n_bytes = 0;
	}
	view->sections[S_VERSIONS].sh_info = list ? list->sh_info : 0;
}

static bool read_library(const char *library, struct view *view)
{
	_cleanup_close_ int fd = open(library, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	_cleanup_free_ struct table *table = malloc(sizeof(*table));
	const ElfW(Shdr) * symbols;

	if (fd < 0 || !table || !read_table(fd, table))
		return false;
	symbols = find_section(table, SHT_DYNSYM);
	if (!symbols || symbols->sh_entsize != sizeof(ElfW(Sym)) ||
		symbols->sh_size < sizeof(ElfW(Sym)) ||
		!read_part(fd, symbols, &view->parts[S_SYMBOLS]) ||
		!read_strings(fd, table, symbols, &view->parts[S_STRINGS]))
		return false;
	read_versions(fd, table, view);
	return true;
}

/* Preparing the sections. */

/* Keeps the symbols that the library defines, with their versions: those that
 * it needs itself are not used by programs that link with it. */
static void keep_defined(struct view *view)
{
	struct part *symbols = &view->parts[S_SYMBOLS];
	struct part *numbers = &view->parts[S_SYMBOL_VERSIONS];
	ElfW(Sym) *symbol = symbols->bytes;
	ElfW(Half) *number = numbers->bytes;
	size_t n = symbols->n_bytes / sizeof(*symbol), n_kept = 1;
	bool has_versions = numbers->n_bytes >= n * sizeof(*number);

	for (size_t i = 1; i < n; i++) {
		if (symbol[i].st_shndx == SHN_UNDEF ||
			ELF64_ST_BIND(symbol[i].st_info) == STB_LOCAL)
			continue;
		symbol[n_kept] = symbol[i];
		symbol[n_kept].st_shndx = S_CODE;
		if (has_versions)
			number[n_kept] = number[i];
		n_kept++;
	}
	symbols->n_bytes = n_kept * sizeof(*symbol);
	numbers->n_bytes = has_versions ? n_kept * sizeof(*number) : 0;
}

/* The symbols' strings get the library's name too: one linker looks for it there and not
 * in the section that .dynamic names. */
static bool make_dynamic(struct view *view, const char *soname)
{
	struct part *strings = &view->parts[S_STRINGS];
	size_t n_bytes = strlen(soname) + 1;
	char *text = realloc(strings->bytes, strings->n_bytes + n_bytes);

	if (!text)
		return false;
	memcpy(text + strings->n_bytes, soname, n_bytes);
	view->dynamic[0] = (ElfW(Dyn)){DT_SONAME, {strings->n_bytes}};
	view->parts[S_DYNAMIC] = (struct part){view->dynamic, sizeof(view->dynamic)};
	*strings = (struct part){text, strings->n_bytes + n_bytes};
	return true;
}

static bool make_names(struct view *view)
{
	size_t n_bytes = 0, at = 0;
	char *text;

	for (size_t i = 0; i < N_SECTIONS; i++)
		n_bytes += strlen(names[i]) + 1;
	text = malloc(n_bytes);
	if (!text)
		return false;
	for (size_t i = 0; i < N_SECTIONS; i++) {
		view->sections[i].sh_name = (ElfW(Word))at;
		at += (size_t)(stpcpy(text + at, names[i]) - (text + at)) + 1;
	}
	view->parts[S_NAMES] = (struct part){text, n_bytes};
	return true;
}

static void describe(struct view *view)
{
	static const struct {
		ElfW(Word) type, link, info;
		ElfW(Xword) flags, entry_bytes;
	} of[N_SECTIONS] = {
		[S_SYMBOLS] = {SHT_DYNSYM, S_STRINGS, 1, 0, sizeof(ElfW(Sym))},
		[S_STRINGS] = {SHT_STRTAB, 0, 0, 0, 0},
		[S_SYMBOL_VERSIONS] = {SHT_GNU_versym, S_SYMBOLS, 0, 0,
			sizeof(ElfW(Half))},
		[S_VERSIONS] = {SHT_GNU_verdef, S_STRINGS, 0, 0, 0},
		[S_DYNAMIC] = {SHT_DYNAMIC, S_STRINGS, 0, 0, sizeof(ElfW(Dyn))},
		[S_NAMES] = {SHT_STRTAB, 0, 0, 0, 0},
		[S_CODE] = {SHT_NOBITS, 0, 0, SHF_ALLOC | SHF_EXECINSTR, 0},
	};

	for (size_t i = 0; i < N_SECTIONS; i++) {
		ElfW(Shdr) *section = &view->sections[i];
		bool is_empty = i != S_CODE && view->parts[i].n_bytes == 0;

		section->sh_type = is_empty ? SHT_NULL : of[i].type;
		section->sh_link = of[i].link;
		if (of[i].info > 0)
			section->sh_info = of[i].info;
		section->sh_flags = of[i].flags;
		section->sh_entsize = of[i].entry_bytes;
		section->sh_addralign = i == S_NULL ? 0 : 8;
		section->sh_size = view->parts[i].n_bytes;
	}
}

/* Writing. */

static int write_at(int fd, const void *bytes, uint64_t n_bytes, uint64_t at)
{
	ssize_t n = pwrite(fd, bytes, n_bytes, (off_t)at);

	if (n < 0)
		return -errno;
	return n == (ssize_t)n_bytes ? 0 : -ENOSPC;
}

static uint64_t align(uint64_t at)
{
	return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int write_sections(int fd, uint64_t at, struct view *view, ElfW(Ehdr) * header)
{
	int r = 0;

	for (size_t i = 0; i < N_SECTIONS && r == 0; i++) {
		at = align(at);
		view->sections[i].sh_offset = i == S_NULL ? 0 : at;
		r = write_at(fd, view->parts[i].bytes, view->parts[i].n_bytes, at);
		at += view->parts[i].n_bytes;
	}
	if (r < 0)
		return r;
	at = align(at);
	header->e_shoff = at;
	header->e_shentsize = sizeof(view->sections[0]);
	header->e_shnum = N_SECTIONS;
	header->e_shstrndx = S_NAMES;
	return write_at(fd, view->sections, sizeof(view->sections), at);
}

int clv_link_view_append(
	int fd, uint64_t at, const char *library, const char *soname, ElfW(Ehdr) * header)
{
	struct view view = {};
	int r = 0;

	if (read_library(library, &view) && make_dynamic(&view, soname) &&
		make_names(&view)) {
		keep_defined(&view);
		describe(&view);
		r = write_sections(fd, at, &view, header);
	}
	free_parts(&view);
	return r;
}
