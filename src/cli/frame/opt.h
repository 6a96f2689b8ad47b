/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* The command line as data.  One table of options per verb gives the parser, the help,
 * the man page's options and the shells' completion; nothing of them is typed twice. */

enum clv_opt_type {
	CLV_OPT_FLAG,     /* bool */
	CLV_OPT_TEXT,     /* const char * */
	CLV_OPT_CHOICE,   /* const char *: one of choices */
	CLV_OPT_BYTES,    /* uint64_t */
	CLV_OPT_SPILL,    /* struct clv_opt_spill: bytes, or "none" */
	CLV_OPT_FRACTION, /* uint32_t, parts per million */
	CLV_OPT_SHARE,    /* struct clv_opt_share: a fraction, or a range of them */
	CLV_OPT_CAP,      /* struct clv_opt_cap: a fraction, or "none" */
	CLV_OPT_WAIT,     /* struct clv_opt_wait: a flag with an optional duration */
	CLV_OPT_DURATION, /* uint64_t, nanoseconds */
	CLV_OPT_COUNT,    /* uint64_t */
	CLV_OPT_SEVERAL,  /* uint64_t, from 1 */
	CLV_OPT_PLACE,    /* struct clv_opt_place: a number that may be 0 */
	_CLV_OPT_MAX,
};

struct clv_opt_share {
	uint32_t ppm;      /* of a range, the least */
	uint32_t most_ppm; /* 0: it is no range */
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

/* What a shell may offer in an argument's place. */
enum clv_complete {
	CLV_COMPLETE_NOTHING,
	CLV_COMPLETE_FILE,
	CLV_COMPLETE_LEASE,
	CLV_COMPLETE_DEVICE,
	CLV_COMPLETE_PARTITION, /* what to do with one, devices, partitions */
	CLV_COMPLETE_PROGRAM,
	CLV_COMPLETE_VERB,
	CLV_COMPLETE_SHELL,
};

struct clv_opt {
	const char *name;
	const char *argument; /* NULL for flags */
	const char *help;     /* sentences without a full stop at the end */
	const char *const *choices;
	size_t offset; /* of the value in struct clv_settings */
	enum clv_opt_type type;
	enum clv_complete completes;
	char letter;
	bool is_hidden;
};

/* The values of all options of all verbs; zero means "not said". */
struct clv_settings {
	const char *socket;
	const char *sim;
	const char *output;
	/* What a lease is made of. */
	uint64_t memory_bytes;
	const char *class_name;
	const char *name;
	const char *device;
	const char *profile;
	const char *in;
	const char *lease;
	const char *admit;
	const char *user;
	const char *to;
	const char *isolation;
	const char *if_no_agent;
	struct clv_opt_wait wait;
	struct clv_opt_cap cap;
	struct clv_opt_share share;
	struct clv_opt_spill spill;
	uint32_t sm_ppm;
	/* A partition. */
	struct clv_opt_place start;
	uint64_t count;
	/* A layout, and its operation. */
	const char *on_busy;
	const char *operation;
	const char *format;
	const char *select;
	/* Listings. */
	uint64_t after_id;
	uint64_t n_lines;
	/* Access. */
	const char *scope;
	const char *tenant;
	const char *reason;
	const char *report;
	uint64_t expires_ns;
	uint64_t time_ns;
	uint64_t interval_ns;
	const char *scdoc;
	/* Fleets and traces. */
	const char *policies;
	const char *svg;
	const char *keep;
	uint64_t seed;
	uint64_t fill_percent;
	uint64_t most_nodes;
	uint64_t most_moves;
	uint32_t accept_ppm;
	/* Slurm's jobs. */
	const char *state;
	const char *kept;
	const char *node;
	uint64_t job;
	uint64_t pid;
	uint64_t restarts;
	/* Flags, by their names. */
	bool allow_ungated;
	bool dry_run;
	bool explain;
	bool follow;
	bool force;
	bool help;
	bool hold;
	bool no_namespace;
	bool once;
	bool overcommit;
	bool reserve;
	bool predict;
	bool same_device;
	bool shared;
	bool system;
	bool times;
	bool verbose;
	bool version;
	bool wanted;
	bool yes;
};

struct clv_verb {
	const char *name;
	const char
		*arguments;  /* for the synopsis: "NAME", "[--] PROGRAM [ARGUMENT...]" */
	const char *summary; /* half a line, without a full stop */
	const char *about;   /* sentences; NULL: the summary says it all */
	const struct clv_opt *options;
	size_t n_options;
	int min_arguments;
	int max_arguments; /* -1: any number */
	enum clv_complete completes;
	bool is_wrapper; /* options end at the first argument */
	bool is_hidden;
	/* Returns the exit code.  argv holds the arguments that are no options. */
	int (*run)(const struct clv_settings *settings, int argc, char **argv);
};

extern const char *const clv_opt_formats[];
extern const char *const clv_opt_classes[];
extern const char *const clv_opt_layout_formats[];
extern const char *const clv_opt_busy[];

#define CLV_OPT_AT(member) offsetof(struct clv_settings, member)

#define CLV_OPT_HELP                                                          \
	{                                                                     \
		.name = "help", .letter = 'h', .type = CLV_OPT_FLAG,          \
		.offset = CLV_OPT_AT(help), .help = "Show this help and exit" \
	}

#define CLV_OPT_SOCKET                                                                \
	{                                                                             \
		.name = "socket", .type = CLV_OPT_TEXT, .offset = CLV_OPT_AT(socket), \
		.argument = "PATH", .completes = CLV_COMPLETE_FILE,                   \
		.help = "Talk to the agent on this socket instead of looking for one" \
	}

#define CLV_OPT_OUTPUT                                                                 \
	{                                                                              \
		.name = "output", .letter = 'o', .type = CLV_OPT_CHOICE,               \
		.offset = CLV_OPT_AT(output), .argument = "FORMAT",                    \
		.choices = clv_opt_formats,                                            \
		.help = "How to print: table, json (the API's own objects), yaml, or " \
			"name (names alone, one a line)"                               \
	}

/* For verbs whose output is a layout, which is YAML itself. */
#define CLV_OPT_OUTPUT_LAYOUT                                                       \
	{                                                                           \
		.name = "output", .letter = 'o', .type = CLV_OPT_CHOICE,            \
		.offset = CLV_OPT_AT(output), .argument = "FORMAT",                 \
		.choices = clv_opt_layout_formats,                                  \
		.help = "How to print: yaml, the layout alone, or json, an object " \
			"with the layout as a text in it"                           \
	}

#define CLV_OPT_SEED                                                               \
	{                                                                          \
		.name = "seed", .type = CLV_OPT_COUNT, .offset = CLV_OPT_AT(seed), \
		.argument = "NUMBER",                                              \
		.help = "What is drawn is drawn by this number (default "          \
			"0): the same number, the same result"                     \
	}

#define CLV_OPT_YES                                                       \
	{                                                                 \
		.name = "yes", .letter = 'y', .type = CLV_OPT_FLAG,       \
		.offset = CLV_OPT_AT(yes), .help = "Do it without asking" \
	}

#define CLV_OPT_VERBOSE(about)                                          \
	{                                                               \
		.name = "verbose", .letter = 'v', .type = CLV_OPT_FLAG, \
		.offset = CLV_OPT_AT(verbose), .help = about            \
	}

#define CLV_OPT_EXPLAIN                                                 \
	{                                                               \
		.name = "explain", .letter = 'e', .type = CLV_OPT_FLAG, \
		.offset = CLV_OPT_AT(explain),                          \
		.help = "Say why each step is "                         \
			"there, and why there"                          \
	}

/* What a lease is made of: the same options with other words about them. */
#define CLV_OPT_LEASE_SHARE(about)                                                 \
	{                                                                          \
		.name = "share", .letter = 's', .type = CLV_OPT_SHARE,             \
		.offset = CLV_OPT_AT(share), .argument = "FRACTION", .help = about \
	}

#define CLV_OPT_LEASE_MEMORY(about)                                                   \
	{                                                                             \
		.name = "memory", .letter = 'm', .type = CLV_OPT_BYTES,               \
		.offset = CLV_OPT_AT(memory_bytes), .argument = "SIZE", .help = about \
	}

#define CLV_OPT_LEASE_SPILL(values, about)                                           \
	{                                                                            \
		.name = "spill", .type = CLV_OPT_SPILL, .offset = CLV_OPT_AT(spill), \
		.argument = values, .help = about                                    \
	}

#define CLV_OPT_LEASE_CAP(values, about)                                     \
	{                                                                    \
		.name = "cap", .letter = 'c', .type = CLV_OPT_CAP,           \
		.offset = CLV_OPT_AT(cap), .argument = values, .help = about \
	}

#define CLV_OPT_LEASE_CLASS(about)                                     \
	{                                                              \
		.name = "class", .type = CLV_OPT_CHOICE,               \
		.offset = CLV_OPT_AT(class_name), .argument = "CLASS", \
		.choices = clv_opt_classes, .help = about              \
	}

#define CLV_OPT_LEASE_DEVICE                                                  \
	{                                                                     \
		.name = "device", .letter = 'd', .type = CLV_OPT_TEXT,        \
		.offset = CLV_OPT_AT(device), .argument = "DEVICE",           \
		.completes = CLV_COMPLETE_DEVICE,                             \
		.help = "On this device, by name or UUID; see cleave devices" \
	}

#define CLV_OPT_LEASE_TIME(about)                                                \
	{                                                                        \
		.name = "time", .letter = 't', .type = CLV_OPT_DURATION,         \
		.offset = CLV_OPT_AT(time_ns), .argument = "TIME", .help = about \
	}

#define CLV_OPT_LEASE_WAIT(about)                                                \
	{                                                                        \
		.name = "wait", .letter = 'w', .type = CLV_OPT_WAIT,             \
		.offset = CLV_OPT_AT(wait), .argument = "TIMEOUT", .help = about \
	}

/* Reads argv[1..]; argv[0] is skipped.  Stores the index of the first argument that is no
 * option; getopt may have moved the options before it.  -EINVAL with *err set. */
int clv_opt_parse(const struct clv_verb *verb, int argc, char **argv,
	struct clv_settings *settings, int *ret_first, struct clv_error *err);
