/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the dynamic symbol tables of loaded objects, as the ELF specification and the GNU
 * hash section define them. */
#include "gate/preload/elf.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct symbols {
	const ElfW(Sym) * table;
	const char *names;
	const uint32_t *gnu_hash;
	const ElfW(Half) * versions;
};

struct search {
	const char *symbol;
	void *found;
};

/* glibc has relocated the addresses in the section, musl has not. */
static const void *at(const struct dl_phdr_info *object, ElfW(Addr) address)
{
	if (address < object->dlpi_addr)
		address += object->dlpi_addr;
	return (const void *)address;
}

static struct symbols read_dynamic(
	const struct dl_phdr_info *object, const ElfW(Dyn) * entry)
{
	struct symbols symbols = {0};

	for (; entry->d_tag != DT_NULL; entry++) {
		const void *address = at(object, entry->d_un.d_ptr);

		if (entry->d_tag == DT_SYMTAB)
			symbols.table = address;
		else if (entry->d_tag == DT_STRTAB)
			symbols.names = address;
		else if (entry->d_tag == DT_GNU_HASH)
			symbols.gnu_hash = address;
		else if (entry->d_tag == DT_VERSYM)
			symbols.versions = address;
	}
	return symbols;
}

/* Excludes undefined symbols, and old versions, which are hidden from lookups without a
 * version. */
static bool is_visible(const struct symbols *symbols, uint32_t i)
{
	return symbols->table[i].st_shndx != SHN_UNDEF &&
	       !(symbols->versions && (symbols->versions[i] & 0x8000));
}

static const ElfW(Sym) * find(const struct symbols *symbols, const char *name)
{
	uint32_t n_buckets = symbols->gnu_hash[0], offset = symbols->gnu_hash[1];
	uint32_t bloom_words = symbols->gnu_hash[2], hash = 5381, i;
	const uint32_t *buckets = symbols->gnu_hash + 4 +
				  bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + n_buckets;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (n_buckets == 0)
		return NULL;
	i = buckets[hash % n_buckets];
	if (i < offset)
		return NULL;
	for (;; i++) {
		uint32_t entry = chain[i - offset];
		const ElfW(Sym) *symbol = &symbols->table[i];

		if ((entry | 1) == (hash | 1) && is_visible(symbols, i) &&
			strcmp(symbols->names + symbol->st_name, name) == 0)
			return symbol;
		if (entry & 1)
			return NULL;
	}
}

/* libc.so.6, musl's libc.musl-*.so.1, and libdl.so.2 before glibc 2.34. */
static bool is_libc(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return strncmp(name, "libc.", 5) == 0 || strncmp(name, "libdl.", 6) == 0 ||
	       strncmp(name, "ld-musl-", 8) == 0;
}

static int search_object(struct dl_phdr_info *object, size_t n_bytes, void *userdata)
{
	struct search *search = userdata;

	(void)n_bytes;
	if (!object->dlpi_name || !is_libc(object->dlpi_name))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		const ElfW(Sym) * symbol;
		struct symbols symbols;

		if (header->p_type != PT_DYNAMIC)
			continue;
		symbols = read_dynamic(
			object, (const ElfW(Dyn) *)(object->dlpi_addr + header->p_vaddr));
		if (!symbols.table || !symbols.names || !symbols.gnu_hash)
			continue;
		symbol = find(&symbols, search->symbol);
		if (symbol)
			search->found = (void *)(object->dlpi_addr + symbol->st_value);
	}
	return search->found != NULL;
}

/* If dl_iterate_phdr lists no objects: searches the C library that this library is bound
 * to. */
static void search_bound_libc(struct search *search)
{
	const ElfW(Ehdr) * header;
	Dl_info libc;

	if (!dladdr((void *)(uintptr_t)dl_iterate_phdr, &libc) || !libc.dli_fbase)
		return;
	header = libc.dli_fbase;
	search_object(&(struct dl_phdr_info){.dlpi_addr = (ElfW(Addr))header,
			      .dlpi_name = libc.dli_fname,
			      .dlpi_phdr = (const void *)((const char *)header +
							  header->e_phoff),
			      .dlpi_phnum = header->e_phnum},
		0, search);
}

void *clv_elf_find_in_libc(const char *symbol)
{
	struct search search = {.symbol = symbol};

	dl_iterate_phdr(search_object, &search);
	if (!search.found)
		search_bound_libc(&search);
	return search.found;
}

/* glibc's list is the dynamic loader's, which a static program does not have. */
bool clv_elf_is_in_static_program(void)
{
	struct search search = {.symbol = "dl_iterate_phdr"};

	dl_iterate_phdr(search_object, &search);
	return !search.found;
}
