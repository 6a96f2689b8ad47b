/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* Option tables.  The parser, the help, the man page's options and the completion of a
 * verb all come from its one table. */

enum clv_opt_type {
	CLV_OPT_FLAG,     /* bool */
	CLV_OPT_TEXT,     /* const char * */
	CLV_OPT_CHOICE,   /* const char *: one of choices */
	CLV_OPT_BYTES,    /* uint64_t */
	CLV_OPT_SPILL,    /* struct clv_opt_spill: bytes, or "none" */
	CLV_OPT_FRACTION, /* uint32_t, parts per million */
	CLV_OPT_SHARE,    /* struct clv_opt_share: a fraction or a range */
	CLV_OPT_CAP,      /* struct clv_opt_cap: a fraction, or "none" */
	CLV_OPT_WAIT,     /* struct clv_opt_wait: a flag with an optional duration */
	CLV_OPT_DURATION, /* uint64_t, nanoseconds */
	CLV_OPT_COUNT,    /* uint64_t */
	CLV_OPT_POSITIVE, /* uint64_t, from 1 to 4096 */
	CLV_OPT_PLACE,    /* struct clv_opt_place: a number that may be 0 */
	_CLV_OPT_MAX,
};

struct clv_opt_share {
	uint32_t ppm;      /* the share, or the lower bound of a range */
	uint32_t most_ppm; /* upper bound of a range; 0: not a range */
};

struct clv_opt_cap {
	uint32_t ppm;
	bool is_none;
};

struct clv_opt_spill {
	uint64_t bytes;
	bool is_none;
};

struct clv_opt_wait {
	bool is_given;
	uint64_t timeout_ns; /* 0: no limit */
};

struct clv_opt_place {
	uint32_t value;
	bool is_given;
};

/* What a shell's completion offers for an argument. */
enum clv_complete {
	CLV_COMPLETE_NOTHING,
	CLV_COMPLETE_FILE,
	CLV_COMPLETE_LEASE,
	CLV_COMPLETE_DEVICE,
	CLV_COMPLETE_PARTITION, /* subcommands, devices and partitions */
	CLV_COMPLETE_PROGRAM,
	CLV_COMPLETE_VERB,
	CLV_COMPLETE_SHELL,
	CLV_COMPLETE_VM,
};

struct clv_opt {
	const char *name;
	const char *argument; /* NULL for flags */
	const char *help;     /* sentences without a full stop at the end */
	const char *const *choices;
	size_t offset; /* of the value in the verb's settings */
	enum clv_opt_type type;
	enum clv_complete completes;
	char letter;
	bool is_hidden;
};

/* The first member of every verb's settings; the verb's own options fill the other
 * members.  Zero means that an option was not given. */
struct clv_common {
	const char *socket;
	const char *sim;
	const char *output;
	bool help;
};

struct clv_verb {
	const char *name;
	const char
		*arguments;  /* for the synopsis: "NAME", "[--] PROGRAM [ARGUMENT...]" */
	const char *summary; /* half a line, without a full stop */
	const char *about;   /* sentences; NULL: none */
	const struct clv_opt *options;
	size_t n_options;
	size_t settings_bytes; /* of the verb's settings */
	int min_arguments;
	int max_arguments; /* -1: any number */
	enum clv_complete completes;
	bool is_wrapper; /* options end at the first argument */
	bool is_hidden;
	/* Prints an error's line, without a prefix, in place of standard error; for a
	 * verb that another program calls.  NULL: standard error. */
	void (*print_error)(const char *line);
	/* The program that carries the verb out, in place of run; it is installed beside
	 * cleave or in PATH, or not at all. */
	const char *program;
	/* Returns the exit code.  settings is the verb's own struct; argv has the
	 * arguments that are not options. */
	int (*run)(const void *settings, int argc, char **argv);
};

extern const char *const clv_opt_formats[];
extern const char *const clv_opt_classes[];
extern const char *const clv_opt_layout_formats[];
extern const char *const clv_opt_busy[];

#define CLV_OPT_AT(owner, member) offsetof(owner, member)
#define CLV_OPT_COMMON(member) offsetof(struct clv_common, member)

#define CLV_OPT_HELP                                                              \
	{                                                                         \
		.name = "help", .letter = 'h', .type = CLV_OPT_FLAG,              \
		.offset = CLV_OPT_COMMON(help), .help = "Show this help and exit" \
	}

#define CLV_OPT_SOCKET                                                              \
	{                                                                           \
		.name = "socket", .type = CLV_OPT_TEXT,                             \
		.offset = CLV_OPT_COMMON(socket), .argument = "PATH",               \
		.completes = CLV_COMPLETE_FILE,                                     \
		.help = "Use the agent on this socket instead of searching for one" \
	}

#define CLV_OPT_OUTPUT                                                                \
	{                                                                             \
		.name = "output", .letter = 'o', .type = CLV_OPT_CHOICE,              \
		.offset = CLV_OPT_COMMON(output), .argument = "FORMAT",               \
		.choices = clv_opt_formats,                                           \
		.help = "Output format: table, json (the objects of the API), yaml, " \
			"or name (names only, one per line)"                          \
	}

/* For verbs that print a layout, which is YAML. */
#define CLV_OPT_OUTPUT_LAYOUT                                                        \
	{                                                                            \
		.name = "output", .letter = 'o', .type = CLV_OPT_CHOICE,             \
		.offset = CLV_OPT_COMMON(output), .argument = "FORMAT",              \
		.choices = clv_opt_layout_formats,                                   \
		.help = "Output format: yaml (the layout), or json (an object with " \
			"the layout as a string)"                                    \
	}

#define CLV_OPT_SEED(owner)                                                 \
	{                                                                   \
		.name = "seed", .type = CLV_OPT_COUNT,                      \
		.offset = CLV_OPT_AT(owner, seed), .argument = "NUMBER",    \
		.help = "Seed of the random choices (default 0); the same " \
			"seed gives the same result"                        \
	}

#define CLV_OPT_YES(owner)                                                              \
	{                                                                               \
		.name = "yes", .letter = 'y', .type = CLV_OPT_FLAG,                     \
		.offset = CLV_OPT_AT(owner, yes), .help = "Do not ask for confirmation" \
	}

#define CLV_OPT_VERBOSE(owner, about)                                   \
	{                                                               \
		.name = "verbose", .letter = 'v', .type = CLV_OPT_FLAG, \
		.offset = CLV_OPT_AT(owner, verbose), .help = about     \
	}

#define CLV_OPT_EXPLAIN(owner)                                          \
	{                                                               \
		.name = "explain", .letter = 'e', .type = CLV_OPT_FLAG, \
		.offset = CLV_OPT_AT(owner, explain),                   \
		.help = "Show the reason for each step and "            \
			"its place"                                     \
	}

/* Options of a lease; each verb gives its own help text. */
#define CLV_OPT_LEASE_SHARE(owner, about)                                   \
	{                                                                   \
		.name = "share", .letter = 's', .type = CLV_OPT_SHARE,      \
		.offset = CLV_OPT_AT(owner, share), .argument = "FRACTION", \
		.help = about                                               \
	}

#define CLV_OPT_LEASE_MEMORY(owner, about)                                     \
	{                                                                      \
		.name = "memory", .letter = 'm', .type = CLV_OPT_BYTES,        \
		.offset = CLV_OPT_AT(owner, memory_bytes), .argument = "SIZE", \
		.help = about                                                  \
	}

#define CLV_OPT_LEASE_SPILL(owner, values, about)                                     \
	{                                                                             \
		.name = "spill", .type = CLV_OPT_SPILL,                               \
		.offset = CLV_OPT_AT(owner, spill), .argument = values, .help = about \
	}

#define CLV_OPT_LEASE_CAP(owner, values, about)                                     \
	{                                                                           \
		.name = "cap", .letter = 'c', .type = CLV_OPT_CAP,                  \
		.offset = CLV_OPT_AT(owner, cap), .argument = values, .help = about \
	}

#define CLV_OPT_LEASE_CLASS(owner, about)                                     \
	{                                                                     \
		.name = "class", .type = CLV_OPT_CHOICE,                      \
		.offset = CLV_OPT_AT(owner, class_name), .argument = "CLASS", \
		.choices = clv_opt_classes, .help = about                     \
	}

#define CLV_OPT_LEASE_DEVICE(owner)                                          \
	{                                                                    \
		.name = "device", .letter = 'd', .type = CLV_OPT_TEXT,       \
		.offset = CLV_OPT_AT(owner, device), .argument = "DEVICE",   \
		.completes = CLV_COMPLETE_DEVICE,                            \
		.help = "Use this device (name or UUID); see cleave devices" \
	}

#define CLV_OPT_LEASE_TIME(owner, about)                                                \
	{                                                                               \
		.name = "time", .letter = 't', .type = CLV_OPT_DURATION,                \
		.offset = CLV_OPT_AT(owner, time_ns), .argument = "TIME", .help = about \
	}

#define CLV_OPT_LEASE_WAIT(owner, about)                                                \
	{                                                                               \
		.name = "wait", .letter = 'w', .type = CLV_OPT_WAIT,                    \
		.offset = CLV_OPT_AT(owner, wait), .argument = "TIMEOUT", .help = about \
	}

/* Parses argv[1] and later into settings, which is zero except for the options before the
 * verb.  *ret_first is the index of the first argument that is not an option; getopt may
 * have moved options before it.  Returns 0, or a negative errno with *err set. */
int clv_opt_parse(const struct clv_verb *verb, int argc, char **argv, void *settings,
	int *ret_first, struct clv_error *err);

/* The size of an option's value. */
size_t clv_opt_bytes(enum clv_opt_type type);

/* Whether the option was given. */
bool clv_opt_is_given(const struct clv_opt *opt, const void *settings);
