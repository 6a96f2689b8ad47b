/* SPDX-License-Identifier: Apache-2.0 */
/* Markers in CUDA's legacy stream (src/gate/streams/legacy.h).  A command of the legacy
 * stream L waits for all that was submitted before it to the blocking streams, and what is
 * submitted to these afterwards waits for it.  Thread 1 launches a kernel in L, for which
 * the gate wants a marker.  Thread 2 lets blocking stream S wait for a word, and writes the
 * word in blocking stream T.  The program ends without a gate in every order, but one that
 * it excludes itself: the kernel between the wait and the write.
 *
 * It has no time: thread 2 waits for thread 1's marker however long that takes.  The gate
 * does for a second, within which a thread is assumed to get a processor; M_NO_ORDER is
 * what becomes of one that does not.
 *
 * An invalid end state is a circle that the marker has closed.
 */

#define L 0
#define S 1
#define T 2
#define MAX 5

byte n;
byte stream[MAX], after[MAX]; /* which of those before it a command waits for, as bits */
bool is_wait[MAX], is_write[MAX];
byte complete;                /* bits */
bool word, is_marking, has_blocking, is_unmarked;
bool first_done, second_done, is_locked;

/* In one step: the driver's own order. */
inline submit(s, waits, writes)
{
	d_step {
		i = 0;
		do
		:: i < n ->
			if
			:: s == L || stream[i] == L || stream[i] == s ->
				after[n] = after[n] | (1 << i)
			:: else
			fi;
			i++
		:: else -> break
		od;
		stream[n] = s;
		is_wait[n] = waits;
		is_write[n] = writes;
		n++;
		i = 0
	}
}

/* clv_queue_mark_at_once(): a marker that another thread is placing is there afterwards. */
inline mark()
{
#ifdef M_MARKS_WITHOUT_LOCK
	if
	:: is_unmarked -> atomic { !is_locked -> is_locked = true }
	:: else -> goto marked
	fi;
#else
	atomic { !is_locked -> is_locked = true };
#endif
	atomic { must_mark = is_unmarked; is_unmarked = false };
	if
	:: must_mark -> submit(L, false, false)
	:: else
	fi;
	is_locked = false;
marked:	skip
}

/* The kernel comes before the wait, or after the write. */
bool wait_is_in, write_is_in;

proctype first()
{
	byte i;
	bool must_mark;

	/* clv_legacy_submit(), the driver's call, clv_queue_book() */
	atomic {
		!wait_is_in || write_is_in;
		is_marking = true
	};
	atomic { !wait_is_in || write_is_in; submit(L, false, false) };
	is_unmarked = true;
#ifndef M_MARKS_LATE
	if
	:: has_blocking -> mark()
	:: else
	fi;
#endif
	is_marking = false;
	first_done = true
}

/* clv_legacy_submit_blocking(), before each call. */
proctype second()
{
	byte i;
	bool must_mark;

	has_blocking = true;
	!is_marking;
#ifndef M_FIRST_STREAM_UNSEEN
	mark();
#endif
	/* Looked at and submitted while no other thread is between command and marker. */
#ifndef M_NO_ORDER
	atomic { !is_marking -> submit(S, true, false); wait_is_in = true };
	atomic { !is_marking -> submit(T, false, true); write_is_in = true };
#else
	atomic { submit(S, true, false); wait_is_in = true };
	atomic { submit(T, false, true); write_is_in = true };
#endif
	second_done = true
}

/* At any turn's end: what has no marker gets one. */
proctype helper()
{
	byte i;
	bool must_mark;

	mark();
	first_done && second_done;
	mark()
}

#define READY(k) (k < n && !(complete & (1 << k)) && (complete & after[k]) == after[k] && \
	(!is_wait[k] || word))
#define RUN(k) \
	d_step { complete = complete | (1 << k); word = word || is_write[k] }

proctype device()
{
end:
	do
	:: READY(0) -> RUN(0)
	:: READY(1) -> RUN(1)
	:: READY(2) -> RUN(2)
	:: READY(3) -> RUN(3)
	:: READY(4) -> RUN(4)
	od
}

init
{
	atomic {
		run first();
		run second();
		run helper();
		run device()
	};
	first_done && second_done && !is_unmarked && !is_locked && complete == (1 << n) - 1
}
