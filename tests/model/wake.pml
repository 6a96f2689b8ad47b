/* SPDX-License-Identifier: Apache-2.0 */
/* How a process and the arbiter wake each other (src/gate/window/flight.c and helper.c,
 * src/arbiter/turns.c): the phase word, the doorbell, the helper's futex.  No wait here
 * ever times out: the gate's waits of 25 ms and more are there for deaths alone, so whoever
 * is left waiting when nothing can move any more has missed a wake-up, and the search
 * reports an invalid end state.  One step is one access to what is shared; a futex wait
 * compares and blocks at once.
 *
 * Lease 0 has one process with N_THREADS submitters and a helper, lease 1 is a rival in
 * few large steps.  The window is in window.pml.  The policy is any: where it may choose,
 * both are tried.  Deadlines pass at any time; the arbiter's timer for them is the only
 * clock.  Mutations (-DM_...) must be found: see run.py.
 *
 * -DENDLESS: no command of lease 0 is complete before its last one was submitted.  So the
 * lease does not drain, and the rival gets the device beside its work.
 *
 * Numbers that only grow would make the search endless.  The counts entered and done
 * stand here as their difference, turn numbers are even or odd, and for whoever compares
 * with an earlier look a flag says whether anything has changed since.
 */

#ifndef N_THREADS
#define N_THREADS 1
#endif
#ifndef N_COMMANDS
#define N_COMMANDS 2
#endif
#ifndef N_RIVAL
#define N_RIVAL 1
#endif

#define CLOSED 0
#define SHARED 1
#define GRANTED 2
#define PHASE(word) ((word) & 3)
#define NOBODY 2

byte phase[2];  /* control pages */
bool expired;   /* lease 0's deadline */
byte open[2];   /* report pages: entered - done */
byte waiting[2];
bool bell[2];

/* The process of lease 0: commands that are in, of these without a marker, and with one. */
byte in_flight, unmarked, marked;
bool helper_sleeps, helper_blocked;
bool blocked[N_THREADS]; /* in FUTEX_WAIT on the phase */

/* Since the helper's look at: its futex word, the arbiter's call, the phase and
 * done before it reports; and since it told: the phase, entered. */
bool news, called, word_moved, done_moved, told_moved = true, entered_moved;

/* Since the arbiter's look at the first of the two counts. */
bool count_moved;

byte on_device[2]; /* the truth */

#ifdef ENDLESS
byte n_left = N_THREADS * N_COMMANDS; /* commands of lease 0 that were not submitted yet */
bool stray; /* as the arbiter knows: lease 0 has work in flight without a turn */
#define IS_COMPLETE (n_left == 0)
#define SUBMITTED n_left--
#define IS_ALONE(l) true
#define MAY_BE_OVERDUE(l) (l == 0)
#define IS_STRAY stray
#define SET_STRAY(is) stray = (is)
#else
#define IS_COMPLETE true
#define SUBMITTED skip
#define IS_ALONE(l) (on_device[1 - l] == 0)
#define MAY_BE_OVERDUE(l) false
#define IS_STRAY false
#define SET_STRAY(is) skip
#endif

/* The arbiter polls a stray, and wakes it if a thread of it is in line. */
#ifdef M_STRAY_WAKES_NOBODY
#define WAKES_STRAY false
#else
#define WAKES_STRAY IS_STRAY
#endif

#define IS_OPEN(word) (PHASE(word) == SHARED || (PHASE(word) == GRANTED && !expired))

#ifdef M_ENTERED_BEFORE_DONE
#define IN_MOVES count_moved = true
#define OUT_MOVES skip
#else
#define IN_MOVES skip
#define OUT_MOVES count_moved = true
#endif

inline count_in() { d_step { open[0]++; entered_moved = true; IN_MOVES } }

inline count_out(n) { d_step { open[0] = open[0] - n; done_moved = true; OUT_MOVES } }

/* Under the queue's mark_lock: the vendor's marker, and the helper is woken. */
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

inline try_enter(word, ok)
{
#ifdef M_PHASE_BEFORE_ENTERED
	word = phase[0];
	count_in();
	ok = IS_OPEN(word);
#else
	count_in();
	atomic { word = phase[0]; ok = IS_OPEN(word) };
#endif
	if
	:: !ok -> count_out(1)
	:: ok -> in_flight++
	fi
}

inline leave_line(in_line)
{
	atomic {
		if
		:: in_line -> in_line = false; waiting[0]--
		:: else
		fi
	}
}

inline ring(word, may_ring)
{
	if
	:: PHASE(word) == CLOSED && may_ring && in_flight == 0 -> bell[0] = true
	:: else
	fi
}

/* enter_slowly() and clv_line_wait(): until let in.  In line while it waits for a turn and
 * until it went in; rings once at a closed gate, and again after a try that failed, for
 * its counting itself in may be what kept the lease from draining; but not while work is
 * out, the end of which rings. */
inline enter_slowly(me, word, ok, in_line, may_ring)
{
	may_ring = true;
	do
	:: ok -> break
	:: else ->
		word = phase[0];
		if
		:: IS_OPEN(word) ->
			leave_line(in_line)
		:: else ->
#ifdef M_RING_BEFORE_WAITING
			ring(word, may_ring);
#endif
			atomic {
				if
				:: !in_line -> in_line = true; waiting[0]++
				:: else
				fi
			};
#ifndef M_RING_BEFORE_WAITING
			ring(word, may_ring);
#endif
			may_ring = may_ring && PHASE(word) != CLOSED;
			/* FUTEX_WAIT; a close wakes nobody in line. */
			atomic { blocked[me] = phase[0] == word };
			!blocked[me]
		fi;
		try_enter(word, ok);
#ifndef M_RING_ONCE
		may_ring = true
#endif
	od;
	leave_line(in_line)
}

/* What the estimates say is left open, both ways; but a closed gate has no window, so
 * that whatever is submitted fills it (clv_flight_fills_marker()). */
#ifdef ENDLESS
#define MUST_MARK true /* markers do not matter there, and the search is shorter */
#elif defined(M_NO_MARK_WHEN_CLOSED)
#define MUST_MARK false
#else
#define MUST_MARK (PHASE(phase[0]) == CLOSED)
#endif

proctype submitter(byte me)
{
	byte i, word;
	bool ok, in_line, may_ring;

	do
	:: i < N_COMMANDS ->
		try_enter(word, ok);
		if
		:: ok
		:: else -> enter_slowly(me, word, ok, in_line, may_ring)
		fi;
		skip;
		d_step {
			/* The vendor's call. */
			assert(IS_ALONE(0));
			on_device[0]++;
			SUBMITTED;
			ok = false;
			may_ring = false;
			word = 0
		};
		unmarked++;
		if
		:: mark_tails()
		:: !MUST_MARK
		fi;
		i++
	:: else -> break
	od
}

proctype helper()
{
	byte n, w;
	bool got;

end:
	do
	:: true ->
		news = false;
		atomic {
			/* clWaitForEvents: what is flushed completes. */
			marked == 0 || IS_COMPLETE;
			n = marked;
			marked = 0;
			on_device[0] = on_device[0] - n
		};
		if
		:: n > 0 ->
			/* mark_if_contended() */
			if
			:: PHASE(phase[0]) != SHARED -> mark_tails()
			:: else
			fi;
			/* clv_flight_leave() */
#ifdef M_IN_FLIGHT_UNTIL_TOLD
			atomic { count_out(n); got = true }
#else
			in_flight = in_flight - n;
			atomic { count_out(n); n = 0; got = true }
#endif
		:: else ->
			/* tend() */
			atomic { w = phase[0]; called = false };
			atomic {
				if
				:: PHASE(w) == CLOSED && unmarked > 0 -> mark_tails(); goto again
				:: else
				fi
			}
		fi;
		/* clv_flight_report_idle(): closed and drained, or granted and idle, is
		 * told once for each word and count. */
		atomic { w = phase[0]; word_moved = false };
		if
		:: PHASE(w) != SHARED ->
			done_moved = false; /* reads done */
			atomic {
				if
				:: open[0] == 0 && !done_moved &&
#ifndef M_DRAINED_NEEDS_NO_WAITER
					(PHASE(w) == CLOSED || waiting[0] == 0) &&
#else
					waiting[0] == 0 &&
#endif
					(told_moved || entered_moved) ->
					entered_moved = false;
					told_moved = word_moved;
					bell[0] = true
				:: else
				fi
			}
		:: else
		fi;
		atomic {
#ifdef M_IN_FLIGHT_UNTIL_TOLD
			in_flight = in_flight - n;
			n = 0;
#endif
			w = 0;
			if
			:: got -> got = false; goto again
			:: else -> helper_sleeps = true
			fi
		};
		atomic {
			/* FUTEX_WAITV */
#ifdef M_WAITS_FOR_MARKERS_ONLY
			helper_blocked = !news
#else
			helper_blocked = !news && !called
#endif
		};
end_asleep:
		atomic { !helper_blocked -> helper_sleeps = false };
again:
		skip
	od
}

/* The other lease.  The arbiter never takes its turn away. */
proctype rival()
{
	byte i;

	do
	:: i < N_RIVAL ->
		atomic { waiting[1] = 1; bell[1] = true };
		atomic {
			PHASE(phase[1]) != CLOSED ->
			assert(IS_ALONE(1));
			open[1]++;
			on_device[1]++;
			waiting[1] = 0
		};
		atomic { on_device[1]--; open[1]--; bell[1] = true };
		i++
	:: else -> break
	od
}

/* A deadline passes when it likes. */
proctype clock()
{
end:
	do
	:: atomic { PHASE(phase[0]) == GRANTED && !expired -> expired = true }
	od
}

/* The two looks at lease 0's counts, and one at who is in line. */
inline observe()
{
	d_step { seen[0] = open[0] > 0; count_moved = false };
	/* Read in the right order, what is done in between looks like work in flight; in
	 * the wrong order, what enters in between is not seen. */
#ifdef M_ENTERED_BEFORE_DONE
	d_step { seen[0] = seen[0] && open[0] > 0 && !(count_moved && open[0] == 1) };
#else
	d_step { seen[0] = open[0] > 0 || count_moved };
#endif
	in_line[0] = waiting[0]
}

inline observe_rival() { d_step { seen[1] = open[1] > 0; in_line[1] = waiting[1] > 0 } }

inline publish(l, new_phase)
{
	d_step {
		phase[l] = (phase[l] & 4 ^ 4) | new_phase;
		if
		:: l == 0 ->
			expired = false;
			word_moved = true;
			told_moved = true;
			/* FUTEX_WAKE: whoever is in line for a turn, the helper for its
			 * end, or if nobody is. */
			if
			:: new_phase != CLOSED ->
				blocked[0] = false;
#if N_THREADS > 1
				blocked[1] = false
#endif
			:: else
			fi;
			if
#ifdef M_CALLS_FOR_NO_CLOSE
			:: new_phase != CLOSED && waiting[0] == 0 ->
#else
			:: new_phase == CLOSED || waiting[0] == 0 ->
#endif
				helper_blocked = false;
				called = true
			:: else
			fi
		:: else
		fi
	}
}

/* A granted turn that goes on is told only if somebody was seen in line; the others find
 * the new deadline. */
inline hold(l, new_phase)
{
	goes_on = holder == l && PHASE(phase[l]) == new_phase;
	holder = l;
	if
	:: l == 0 -> SET_STRAY(false)
	:: else
	fi;
	if
	:: goes_on && (new_phase == SHARED || !in_line[l]) ->
		if
		:: l == 0 -> expired = false
		:: l == 1
		fi
	:: else -> publish(l, new_phase)
	fi
}

/* Takes the device from its holder, whose slots are then read. */
inline close_holder() { publish(holder, CLOSED); closing = true }

inline lose_device()
{
	/* Who is not in line may linger awake for a moment. */
	if
	:: in_line[holder]
	:: !in_line[holder] -> awake[holder] = false
	:: !in_line[holder]
	fi;
	closing = false;
	holder = NOBODY
}

inline finish_close()
{
	if
	:: !seen[holder] -> lose_device()
	:: seen[holder] && MAY_BE_OVERDUE(holder) -> SET_STRAY(true); lose_device()
	:: seen[holder]
	fi
}

inline review()
{
	if
	:: holder != NOBODY && !closing ->
		if
		:: !awake[1 - holder] -> hold(holder, SHARED)
		:: awake[1 - holder] && !seen[holder] && !in_line[holder] ->
			awake[holder] = false;
			close_holder()
		:: else ->
			if
			:: holder == 0 && (PHASE(phase[0]) == SHARED || expired) ->
				if
				:: hold(0, GRANTED)
				:: close_holder()
				fi
			:: holder == 1 && PHASE(phase[1]) == SHARED -> hold(1, GRANTED)
			:: else
			fi
		fi
	:: else
	fi
}

inline grant_next()
{
	if
	:: holder == NOBODY && awake[0] && !awake[1] -> hold(0, SHARED)
	:: holder == NOBODY && awake[1] && !awake[0] -> hold(1, SHARED)
	:: holder == NOBODY && awake[0] && awake[1] ->
		if
		:: hold(0, GRANTED)
		:: hold(1, GRANTED)
		fi
	:: else
	fi
}

proctype arbiter()
{
	byte holder = NOBODY;
	bool seen[2], in_line[2], rung[2], awake[2], closing, was_closing, goes_on;

end:
	do
	:: atomic {
		bell[0] || bell[1] || (holder == 0 && !closing && expired) ||
			(closing && MAY_BE_OVERDUE(holder)) ||
			(WAKES_STRAY && waiting[0] > 0 && !awake[0]) ->
		rung[0] = bell[0];
		rung[1] = bell[1];
		bell[0] = false;
		bell[1] = false
	   };
		if
		:: rung[0] || holder == 0 || IS_STRAY -> observe()
		:: else
		fi;
		atomic {
			observe_rival();
			SET_STRAY(IS_STRAY && seen[0]);
			was_closing = closing;
			if
			:: closing -> finish_close()
			:: else
			fi;
			/* Who woke, and whether the holder has to go for it. */
			if
			:: (rung[0] || WAKES_STRAY) && holder != 0 && in_line[0] && !awake[0] ->
				awake[0] = true
			:: else
			fi;
			if
			:: rung[1] && holder != 1 && in_line[1] && !awake[1] ->
				awake[1] = true;
				if
				:: holder == 0 && !closing -> close_holder()
				:: true
				fi
			:: else
			fi;
			review()
		};
		if
		:: closing && !was_closing ->
			if
			:: holder == 0 -> observe()
			:: else -> observe_rival()
			fi;
			finish_close()
		:: else
		fi;
		atomic {
			grant_next();
			seen[0] = false;
			seen[1] = false;
			in_line[0] = false;
			in_line[1] = false;
			rung[0] = false;
			rung[1] = false;
			was_closing = false;
			goes_on = false
		}
	od
}

init
{
	byte i;

	atomic {
		run arbiter();
		run clock();
		run helper();
		run rival();
		do
		:: i < N_THREADS -> run submitter(i); i++
		:: else -> break
		od
	}
}
