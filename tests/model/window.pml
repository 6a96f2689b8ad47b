/* SPDX-License-Identifier: Apache-2.0 */
/* The window of work in flight inside one process (src/gate/flight.c: try_enter(),
 * wait_for_window(), clv_flight_leave(); the helper; src/gate/opencl/queues.c: markers
 * and custody).  The gate is open all the time: turns are in wake.pml.  No wait times
 * out, so an invalid end state is a lost wake-up.
 *
 * Held beside that: no more than WINDOW commands are ever with the vendor, and at the end
 * nothing is counted as in flight.
 */

#ifndef N_THREADS
#define N_THREADS 2
#endif
#ifndef N_COMMANDS
#define N_COMMANDS 2
#endif
#ifndef WINDOW
#define WINDOW 1
#endif

byte flight, unmarked, marked, n_window_waiters, sequence;
byte on_device, n_finished;
bool news, helper_sleeps, helper_blocked;

inline mark_tails()
{
	d_step {
		if
		:: unmarked > 0 ->
			marked = marked + unmarked;
			unmarked = 0;
			news = true;
			if
			:: helper_sleeps -> helper_blocked = false
			:: else
			fi
		:: else
		fi
	}
}

inline leave(n)
{
	flight = flight - n;
	if
	:: n_window_waiters > 0 -> sequence = sequence + 1 & 3 /* and FUTEX_WAKE */
	:: else
	fi
}

inline wait_for_window(seen)
{
#ifdef M_WAITER_LATE
	seen = sequence;
	mark_tails();
	if
	:: flight > 0 -> n_window_waiters++; sequence != seen; n_window_waiters--
	:: else
	fi
#else
	n_window_waiters++;
	seen = sequence;
#ifndef M_NO_MARK_BY_WAITER
	mark_tails();
#endif
	if
	:: flight > 0 -> sequence != seen /* FUTEX_WAIT */
	:: else
	fi;
	n_window_waiters--
#endif
}

#ifdef M_NO_MARK_FOR_WAITER
#define MUST_MARK false
#else
#define MUST_MARK (n_window_waiters > 0)
#endif

proctype submitter()
{
	byte i, before;

	do
	:: i < N_COMMANDS ->
		do
		:: atomic { before = flight; flight++ };
			if
			:: before < WINDOW -> break
			:: else ->
				flight--;
				before = 0;
				wait_for_window(before)
			fi
		od;
		before = 0;
		if
		:: leave(1) /* the vendor refused it */
		:: d_step { on_device++; assert(on_device <= WINDOW) };
			unmarked++;
			if
			:: mark_tails()
			:: !MUST_MARK
			fi
		fi;
		/* clFinish: custody of what has no marker. */
		if
		:: true
		:: atomic { before = unmarked; unmarked = 0 };
			if
			:: before > 0 ->
				on_device = on_device - before;
				leave(before)
			:: else
			fi
		fi;
		before = 0;
		i++
	:: else -> break
	od;
	n_finished++
}

proctype helper()
{
	byte n;

end:
	do
	:: true ->
		news = false;
		atomic {
			n = marked;
			marked = 0;
			on_device = on_device - n
		};
		if
		:: n > 0 -> leave(n)
		:: else ->
			helper_sleeps = true;
			helper_blocked = !news;
end_asleep:
			atomic { !helper_blocked -> helper_sleeps = false }
		fi
	od
}

init
{
	byte i;

	atomic {
		run helper();
		do
		:: i < N_THREADS -> run submitter(); i++
		:: else -> break
		od;
		i = 0
	};
	n_finished == N_THREADS;
	/* Whoever is done may have left a tail: the next wait or turn would mark it. */
	mark_tails();
	flight == 0
}
