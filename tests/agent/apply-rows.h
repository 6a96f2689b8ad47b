/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines of operations: a letter for each event, and one for the state after it. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#define STATES "UWRBDFK" /* as enum state */

/* Events:
 *   s  a survey succeeds                        S  a survey fails
 *   +  the step succeeds                        -  the step fails
 *   n  the driver has no room for the step      c  a caller cancels the operation
 *   w  a second passes                          W  two minutes pass
 *   h  a lease a is on the last partition       r  it ends
 *   d  the disk is full from now on             D  the disk has room again
 *   g  the device is gone                       G  it is back
 *   A  another agent starts
 * States:
 *   U surveying  W waiting  R running  B rolling back  D done  F failed  K rolled back */
struct row {
	const char *name;
	const char *node;
	const char *rules;
	bool waits; /* on-busy */
	const char *happens;
	const char *states; /* the first is the state before the events */
	int code;           /* the error of the operation */
};

#define EMPTY "A100-40GB on"
#define ONE "A100-40GB on 1g.5gb@0"
#define HELD "A100-40GB on 1g.5gb@0!a"
#define BOTH "A100-40GB on 1g.5gb@0 1g.5gb@4"
#define WANT_NONE "- {select: {name: gpu0}, partitions: []}"
#define WANT_NEITHER "- {select: {name: gpu0}, mig: on, partitions: []}"
#define WANT_ONE "- {select: {name: gpu0}, partitions: [{profile: 1g.5gb, start: [0]}]}"
#define WANT_TWO \
	"- {select: {name: gpu0}, partitions: [{profile: 1g.5gb, start: [0, 1]}]}"

#define SEVEN(text) text text text text text text text

/* clang-format off */
static const struct row rows_of_layouts[] = {
	{"nothing is to be done", ONE, WANT_ONE, false, "s", "UD"},
	{"one step", EMPTY, WANT_ONE, false, "s+", "URD"},
	{"two steps", EMPTY, WANT_TWO, false, "s++", "URRD"},
	{"one less", ONE, WANT_NONE, false, "s+", "URD"},
	{"a wrong layout", EMPTY, "- {select: {name: gpu0}, partitions: [{profile: 9g.5gb}]}", false, "s", "UF", -EBADMSG},
	{"a layout that does not fit", EMPTY, "- {select: {name: gpu0}, partitions: [{profile: 3g.20gb, count: 3}]}",
		false, "s", "UF", -EBADMSG},
	{"a rule for no device", EMPTY, "- {select: {name: gpu7}, partitions: []}", false, "s",
		"UF", -EBADMSG},

	{"the drivers cannot be asked", EMPTY, WANT_ONE, false, "S", "UF", -EIO},
	{"the first step fails", EMPTY, WANT_TWO, false, "s-s", "URBK", -EIO},
	{"the second step fails", EMPTY, WANT_TWO, false, "s+-s+", "URRBBK", -EIO},
	{"the driver has no room", EMPTY, WANT_ONE, false, "sns", "URBK", -EBUSY},
	{"to go back fails too", EMPTY, WANT_TWO, false, "s+-s-s", "URRBBBF", -EIO},
	{"the drivers cannot be asked at once how to go back", EMPTY, WANT_ONE, false, "s-SwSws", "URBBBBBK", -EIO},
	{"the drivers cannot be asked how to go back", EMPTY, WANT_ONE, false, "s-" SEVEN("SW") "SWS",
		"URB" SEVEN("BB") "BBF", -EIO},
	{"the device is gone when it is to be put back", EMPTY, WANT_TWO, false, "s+-gs", "URRBBF",
		-EIO},

	{"in use", HELD, WANT_NONE, false, "s", "UF", -EADDRINUSE},
	{"in use, and it waits", HELD, WANT_NONE, true, "swsws", "UWWWWW"},
	{"until the lease ends", HELD, WANT_NONE, true, "swsrws+", "UWWWWWRD"},
	{"the drivers cannot be asked at once while it waits", HELD, WANT_NONE, true, "swSws", "UWWWWW"},
	{"the drivers cannot be asked while it waits", HELD, WANT_NONE, true, "swS" SEVEN("WS") "WS",
		"UWWW" SEVEN("WW") "WF", -EIO},
	{"the device is gone for a moment while it waits", HELD, WANT_NONE, true, "swgswGs", "UWWWWWWW"},
	{"another agent waits on", HELD, WANT_NONE, true, "sAswsrws+", "UWUWWWWWRD"},
	{"another agent waits on for what an index selected", HELD, "- {select: {index: 0}, partitions: []}", true,
		"sAsrws+", "UWUWWWRD"},
	{"it is cancelled in another agent", HELD, WANT_NONE, true, "sAsc", "UWUWF", -ECANCELED},
	{"another agent waits on, and the one after it goes back", HELD, WANT_NONE, true, "sAsrws-As", "UWUWWWRBBK", -EIO},
	{"to go back waits for no lease", HELD, WANT_NONE, true, "srws-s",
		"UWWWRBK", -EIO},

	{"cancelled at once", EMPTY, WANT_ONE, false, "c", "UF", -ECANCELED},
	{"cancelled while it waits", HELD, WANT_NONE, true, "sc", "UWF", -ECANCELED},
	{"cancelled while it is asked again", HELD, WANT_NONE, true, "swc", "UWWF", -ECANCELED},
	{"not while it runs", EMPTY, WANT_ONE, false, "sc+", "URRD"},
	{"not while it goes back", EMPTY, WANT_ONE, false, "s-cs", "URBBK", -EIO},
	{"when it has ended it stays", EMPTY, WANT_ONE, false, "s+c", "URDD"},

	{"a full disk: no step is begun", EMPTY, WANT_ONE, false, "dss", "UUBK", -ENOSPC},
	{"a full disk: steps back are made", EMPTY, WANT_TWO, false, "sd+s+", "URRBBK", -ENOSPC},
	{"a full disk at the end", EMPTY, WANT_ONE, false, "sd+", "URRD"},
	{"and another agent finds it done", EMPTY, WANT_ONE, false, "sd+DAs", "URRDDUD"},

	{"another agent begins with it", EMPTY, WANT_ONE, false, "As+", "UURD"},
	{"another agent, and the drivers fail when it starts", EMPTY, WANT_ONE, false, "ASws+", "UUWWRD"},
	{"another agent, which does not see the device at first", EMPTY, WANT_ONE, false, "AgswGs+", "UUUWWWRD"},
	{"another agent, and it is cancelled before it begins", EMPTY, WANT_ONE, false, "Ac", "UUF", -ECANCELED},
	{"another agent, and in use", HELD, WANT_NONE, true, "Aswsrws+", "UUWWWWWRD"},
	{"another agent goes on", EMPTY, WANT_TWO, false, "s+As+", "URRURD"},
	{"another agent finds it done", EMPTY, WANT_ONE, false, "sAs", "URUR"},
	{"the drivers fail when another agent starts", EMPTY, WANT_TWO, false, "s+ASwSws+", "URRUWWWWRD"},
	{"and go on failing until it gives up", EMPTY, WANT_TWO, false, "s+A" SEVEN("SW") "SWSs+",
		"URRU" SEVEN("WW") "WWBBK", -EIO},
	{"another agent does not see the device at first", EMPTY, WANT_TWO, false, "s+AgswGws+", "URRUUWWWWRD"},
	{"another agent never sees the device", EMPTY, WANT_TWO, false, "s+Ag" SEVEN("sW") "sWss",
		"URRUU" SEVEN("WW") "WWBF", -EBADMSG},
	{"a lease is in the way of another agent", BOTH, WANT_NEITHER, false, "s+Ahswrws+", "URRUUWWWWRD"},
	{"and stays there", BOTH, WANT_NEITHER, false, "s+Ah" SEVEN("sW") "sWss+", "URRUU" SEVEN("WW") "WWBBK", -EADDRINUSE},
	{"cancelled while it waits for the drivers", EMPTY, WANT_TWO, false, "s+AScs+", "URRUWBBK", -ECANCELED},
	{"a lease is in the way of another agent that goes back", EMPTY, WANT_TWO, false, "s+-Ahswrws+",
		"URRBBBBBBBBK", -EIO},
	{"another agent does not see the device that it is to put back", EMPTY, WANT_TWO, false, "s+-AgswGws+",
		"URRBBBBBBBBK", -EIO},
	{"another agent goes on back", EMPTY, WANT_TWO, false, "s+-As+", "URRBBBK", -EIO},
	{"another agent fails and goes back", EMPTY, WANT_TWO, false, "s+As-s+", "URRURBBK", -EIO},
};
/* clang-format on */

/* --- One partition more or less --- */

struct edit_row {
	const char *name;
	const char *node;
	const char *device, *profile, *partition;
	int32_t start;
	const char *happens;
	const char *states;
	const char *created;
	int code;
};

static const struct edit_row edits[] = {
	{"one more", ONE, "gpu0", "1g.5gb", "", -1, "s+", "URD", "gpu0/1g.5gb@*"},
	{"one more at a place", ONE, "gpu0", "1g.5gb", "", 4, "s+", "URD",
		"gpu0/1g.5gb@4"},
	{"where one is already", ONE, "gpu0", "1g.5gb", "", 0, "s", "UF", "", -EBUSY},
	{"of no device", ONE, "gpu9", "1g.5gb", "", -1, "s", "UF", "", -ENODEV},
	{"of no such profile", ONE, "gpu0", "9g.5gb", "", -1, "s", "UF", "", -EINVAL},
	{"one that does not fit now", ONE, "gpu0", "7g.40gb", "", -1, "s", "UF", "",
		-EBUSY},
	{"one less", ONE, "", "", "gpu0/1g.5gb@0", -1, "s+", "URD", ""},
	{"one less that is held", HELD, "", "", "gpu0/1g.5gb@0", -1, "s", "UF", "",
		-EADDRINUSE},
	{"one less that is not there", ONE, "", "", "gpu0/1g.5gb@3", -1, "s", "UF", "",
		-ENODEV},
	{"one less by a wrong name", ONE, "", "", "gpu0", -1, "s", "UF", "", -EINVAL},
};

/* --- Partitions that go with their lease --- */

/* Seconds, of which some begin with a change:
 *   u  the lease that it was created for exists      -  it does not
 *   x  the drivers fail: no device is shown          h  the device is half read
 *   e  the device is shown without it                o  all is shown again */
struct made_row {
	const char *name;
	const char *seconds;
	bool is_destroyed, is_forgotten;
};

static const struct made_row made_rows[] = {
	{"no lease takes it", "----------", false, false},
	{"no lease takes it in time", "-----------", true, false},
	{"a lease has it", "uuuuuuuuuuuuuuu", false, false},
	{"a lease had it", "-uu-", true, false},
	{"a lease takes it late", "---------uuuu", false, false},
	{"it is gone", "-e", false, true},
	{"it is gone before its lease", "ueu", false, false},
	{"it is gone, and then its lease", "ue-", false, true},
	{"the drivers fail while a lease has it", "uxuo-", true, false},
	{"the drivers fail while the lease ends", "ux-o", true, false},
	{"the drivers fail at first", "xxxxxxxxxxxxo----------", true, false},
	{"the drivers go on failing", "ux------------", false, false},
	{"the device is half read", "uh-o", true, false},
};

/* A partition that was made for a lease, when the lease ends after the events. */
struct kept_row {
	const char *name;
	const char *node;
	const char *rules; /* of a layout; NULL: "gpu0/1g.5gb@0" is created */
	const char *happens;
	bool is_kept;
};

static const struct kept_row kept_rows[] = {
	{"a layout keeps it", ONE, WANT_TWO, "s+", true},
	{"a layout finds it as it wants it", ONE, WANT_ONE, "s", true},
	{"a next agent completes the layout", ONE, WANT_TWO, "sAs+", true},
	{"a layout fails", ONE, WANT_TWO, "s-s", false},
	{"a layout is for another device", ONE "\n" ONE,
		"- {select: {name: gpu1}, partitions: [{profile: 1g.5gb, start: [0, "
		"1]}]}",
		"s+", false},
	{"it was lost and is made again", EMPTY, NULL, "s+", true},
};

/* --- The kept layout, compared with the node --- */

struct changed_row {
	const char *name;
	const char *node;
	bool is_made; /* gpu0/1g.5gb@4 was made for a lease */
	const char *state;
	const char *why; /* a part of it */
};

static const struct changed_row changed_rows[] = {
	{"nothing changed", ONE, false, "applied", ""},
	{"the partition is gone", EMPTY, false, "changed", "apply the layout again"},
	{"another was added", "A100-40GB on 1g.5gb@0 1g.5gb@4", false, "changed",
		"changed"},
	{"another was made for a lease", "A100-40GB on 1g.5gb@0 1g.5gb@4", true,
		"applied", ""},
	{"one was made for a lease, and that of the layout is gone",
		"A100-40GB on 1g.5gb@4", true, "changed", "changed"},
	{"the device is gone", "", false, "gone", "it is gone"},
};
