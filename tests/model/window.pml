/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of work in flight inside one process (src/gate/window/flight.c: try_enter(),
 * clv_line_wait(), clv_flight_leave(); src/gate/queue/queues.c: markers, custody, looking aside;
 * src/gate/window/helper.c).  Each thread submits to a queue of its own, or all to one (-DSHARED),
 * and waits for room in that queue alone.  With -DPERSISTENT the first queue's work runs
 * until the other thread has done all of its own.  The gate is open all the time: turns are
 * in wake.pml, and what queues wait for of each other is in circle.pml.
 *
 * No wait times out but that of who looks aside, so an invalid end state is a lost wake-up.
 * Held beside that: what a queue has with the vendor is in its window, but for one command
 * of each further thread that uses it; and at the end nothing is counted as in flight.
 */

#define N_THREADS 2
#ifndef N_COMMANDS
#define N_COMMANDS 2
#endif
#ifndef WINDOW
#define WINDOW 1
#endif

#ifdef SHARED
#define N_QUEUES 1
#define QUEUE_OF(thread) 0
#define AT_MOST (WINDOW + N_THREADS - 1)
#else
#define N_QUEUES 2
#define QUEUE_OF(thread) (thread)
#define AT_MOST WINDOW
#endif
#define NONE 255
#define MARKERS 4 /* of a queue, ever */

byte flight, sequence, n_in_line;
byte n_finished;
bool all_is_submitted; /* by the second thread */

/* Of each queue: how many commands the vendor has had and has completed, and where they are
 * booked. */
byte submitted[N_QUEUES], completed[N_QUEUES];
byte unmarked[N_QUEUES], awaited[N_QUEUES];

/* Its markers in order: behind which command, and for how many.  One line for all. */
byte behind[8], amount[8], first[N_QUEUES], last[N_QUEUES];
chan line = [8] of { byte };
byte waited_for = NONE;
bool news, helper_sleeps, helper_blocked;

#define IN_FLIGHT(q) (unmarked[q] + awaited[q])
#define AT(q, i) ((q) * MARKERS + (i))
#define HAS_COMPLETE(q) \
	(first[q] < last[q] && completed[q] >= behind[AT(q, first[q])])

#ifdef M_ONE_WINDOW_FOR_ALL
#define HAS_ROOM(q, before) (before < WINDOW)
#else
#define HAS_ROOM(q, before) (IN_FLIGHT(q) < WINDOW)
#endif

/* Under the queue's lock. */
inline mark(q)
{
	d_step {
		if
		:: unmarked[q] > 0 ->
			behind[AT(q, last[q])] = submitted[q];
			amount[AT(q, last[q])] = unmarked[q];
			last[q]++;
			awaited[q] = awaited[q] + unmarked[q];
			unmarked[q] = 0;
			line!q;
			news = true;
			if
			:: helper_sleeps -> helper_blocked = false
			:: else
			fi
		:: else
		fi
	}
}

inline mark_tails()
{
	mark(0);
#ifndef SHARED
	mark(1)
#endif
}

inline leave(n)
{
	flight = flight - n;
	if
	:: n_in_line > 0 -> sequence = sequence + 1 & 7 /* and FUTEX_WAKE */
	:: else
	fi
}

inline book(q, n)
{
#ifdef M_LEAVES_BEFORE_BOOKING
	leave(n);
	awaited[q] = awaited[q] - n
#else
	awaited[q] = awaited[q] - n;
	leave(n)
#endif
}

/* The helper waits for a marker of another queue: who waits books his own. */
#ifdef M_NO_LOOK_ASIDE
#define MAY_LOOK_ASIDE(q) false
#else
#define MAY_LOOK_ASIDE(q) (waited_for != NONE && waited_for != q && HAS_COMPLETE(q))
#endif

inline wait_for_window(q, seen, n)
{
#ifdef M_REGISTERS_LATE
	n_in_line++;
	seen = sequence;
#endif
#ifndef M_NO_MARK_BY_WAITER
	mark_tails();
#endif
	if
	:: sequence != seen /* FUTEX_WAIT */
	:: atomic {
			MAY_LOOK_ASIDE(q) ->
			line ?? eval(q);
			n = amount[AT(q, first[q])];
			first[q]++
		};
		book(q, n);
		n = 0
	fi;
#ifdef M_REGISTERS_LATE
	n_in_line--
#endif
}

proctype submitter(byte thread)
{
	byte i, n, seen;
	bool is_in_line;

	do
	:: i < N_COMMANDS ->
		do
		:: atomic {
				n = flight;
				flight++;
				if
				:: HAS_ROOM(QUEUE_OF(thread), n) -> n = 1
				:: else -> flight--; n = 0
				fi
			};
			if
			:: n == 1 -> break
			:: else
			fi;
#ifdef M_REGISTERS_LATE
			wait_for_window(QUEUE_OF(thread), seen, n)
#else
			/* Counted as waiting first, and tried again. */
			if
			:: !is_in_line -> is_in_line = true; n_in_line++
			:: else -> wait_for_window(QUEUE_OF(thread), seen, n)
			fi;
			seen = sequence
#endif
		od;
		n = 0;
		seen = 0;
		if
		:: is_in_line -> is_in_line = false; n_in_line--
		:: else
		fi;
		if
		:: leave(1) /* the vendor refused it */
		:: d_step {
				submitted[QUEUE_OF(thread)]++;
				assert(submitted[QUEUE_OF(thread)] -
					completed[QUEUE_OF(thread)] <= AT_MOST)
			};
			unmarked[QUEUE_OF(thread)]++;
			if
			:: mark(QUEUE_OF(thread))
			:: true
			fi
		fi;
		/* clFinish: custody of what has no marker. */
		if
		:: true
		:: atomic {
				n = unmarked[QUEUE_OF(thread)];
				unmarked[QUEUE_OF(thread)] = 0;
				awaited[QUEUE_OF(thread)] = awaited[QUEUE_OF(thread)] + n;
				seen = submitted[QUEUE_OF(thread)]
			};
			completed[QUEUE_OF(thread)] >= seen;
			if
			:: n > 0 -> book(QUEUE_OF(thread), n)
			:: else
			fi
		fi;
		n = 0;
		seen = 0;
		i++
	:: else -> break
	od;
	if
	:: thread == 1 -> all_is_submitted = true
	:: else
	fi;
	n_finished++
}

active proctype device()
{
end:
	do
#ifdef PERSISTENT
	:: completed[0] < submitted[0] && all_is_submitted -> completed[0]++
#else
	:: completed[0] < submitted[0] -> completed[0]++
#endif
#ifndef SHARED
	:: completed[1] < submitted[1] -> completed[1]++
#endif
	od
}

active proctype helper()
{
	byte q, n, target;

end:
	do
	:: true ->
		news = false;
		if
		:: atomic {
				line?q ->
				target = behind[AT(q, first[q])];
				n = amount[AT(q, first[q])];
				first[q]++;
				waited_for = q
			};
end_waiting:
			completed[q] >= target;
			waited_for = NONE;
			book(q, n);
			q = 0;
			n = 0;
			target = 0
		:: empty(line) ->
			helper_sleeps = true;
			helper_blocked = !news;
end_asleep:
			atomic { !helper_blocked -> helper_sleeps = false }
		fi
	od
}

init
{
	atomic {
		run submitter(0);
		run submitter(1)
	};
	n_finished == N_THREADS;
	/* Whoever is done may have left a tail: the next wait or turn would mark it. */
	mark_tails();
	flight == 0 && IN_FLIGHT(0) == 0
}
