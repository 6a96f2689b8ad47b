/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines of operations: a letter for each event, and one for the state after it. */
#pragma once

#include <errno.h>
#include <stdbool.h>

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
	{"it is cancelled in another agent", HELD, WANT_NONE, true, "sAsc", "UWUWF", -ECANCELED},
	{"another agent waits on, and the one after it goes back", HELD, WANT_NONE, true, "sAsrws-As", "UWUWWWRBBK", -EIO},
	{"to go back is in nobody's way to wait for", HELD, WANT_NONE, true, "srws-s",
		"UWWWRBK", -EIO},

	{"cancelled at once", EMPTY, WANT_ONE, false, "c", "UF", -ECANCELED},
	{"cancelled while it waits", HELD, WANT_NONE, true, "sc", "UWF", -ECANCELED},
	{"cancelled while it is asked again", HELD, WANT_NONE, true, "swc", "UWWF", -ECANCELED},
	{"not while it runs", EMPTY, WANT_ONE, false, "sc+", "URRD"},
	{"not while it goes back", EMPTY, WANT_ONE, false, "s-cs", "URBBK", -EIO},
	{"when it has ended it stays", EMPTY, WANT_ONE, false, "s+c", "URDD"},

	{"a full disk: no step is begun", EMPTY, WANT_ONE, false, "dss", "UUBK", -ENOSPC},
	{"a full disk: nor is a step back", EMPTY, WANT_TWO, false, "sd+s", "URRBF", -ENOSPC},
	{"a full disk at the end", EMPTY, WANT_ONE, false, "sd+", "URRD"},
	{"and another agent finds it done", EMPTY, WANT_ONE, false, "sd+DAs", "URRDDUD"},

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
