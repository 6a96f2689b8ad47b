/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shared by the programs that make every kind of call and tolerate any error.
 *
 * usage: PROGRAM [`neighbour`]
 *
 * They are driven by lines, which sweep.py writes and reads. With `neighbour` a program
 * gives the device a little work for each line, waits for it, and answers with a line.
 * Otherwise:
 *
 *	each line of input   a child makes all the calls once, and says `began PID`
 *	at WHERE MEMORY SPILLED GIVEN
 *	                     so much is charged to the child, and as much the device
 *	                     gave it, where it can tell; it waits for a line
 *	drained ENTERED DONE WORKED
 *	                     its work in flight, and how many submissions the driver
 *	                     took; it goes on at a line, and says it again at `again`
 *	beyond SYMBOL        it got more memory than the lease has
 *	strange WHAT         what it had was changed behind its back
 *	tried SYMBOL CALLS TAKEN CODE...
 *	                     the calls of a symbol, how many of them were no error, and
 *	                     the errors of the others
 *	ended STATUS         the child did, as wait() says
 *
 * The programs share no code with cleave. */

#define ERRORS_MIB ((size_t)1 << 20)

struct errors_program {
	void (*run)(void);
	/* Of the `neighbour`, which exits at any error. */
	void (*begin)(void);
	void (*step)(void);
};
extern const struct errors_program errors_program; /* each program's own */

/* Ends the `neighbour` that gets an error. */
void errors_must(int result);
/* Runs that in a thread, and waits for it. */
void errors_in_thread(void *(*run)(void *unused));

/* The call, and what it returned is noted. */
#define TRY(symbol, ...) errors_note(#symbol, symbol(__VA_ARGS__))
int errors_note(const char *symbol, int result);

/* The same of one that gives the device work. */
#define WORK(symbol, ...) errors_worked(TRY(symbol, __VA_ARGS__))
int errors_worked(int result);

/* The same of one that ends something, and may only fail for a while. */
#define END(symbol, ...)                                                            \
	do {                                                                        \
		for (int n_ = 0; n_ < ERRORS_ENDS && TRY(symbol, __VA_ARGS__) != 0; \
			n_++)                                                       \
			;                                                           \
	} while (0)
#define ERRORS_ENDS 4

/* A memory that must not be had, for the lease has not so much. */
#define BEYOND(symbol, ...) errors_beyond(#symbol, symbol(__VA_ARGS__))
void errors_beyond(const char *symbol, int result);

void errors_strange(const char *what);

/* Whether nothing that it submitted is in flight, as far as the gate knows. */
bool errors_is_drained(void);

/* Of the program, if its device is its own: what it gave. */
uint64_t errors_given(void) __attribute__((weak));

/* Says what is charged, and what is in flight, as long as that is asked. */
void errors_at(const char *where);
