/* SPDX-License-Identifier: Apache-2.0 */
/* Markers of CUDA's legacy stream (src/gate/streams/legacy.h).  A command of the legacy
 * stream L waits for all that was submitted before it to the blocking streams, and what is
 * submitted to these afterwards waits for it.  G is a blocking stream of the gate's own,
 * for markers.  Thread 1 launches a kernel in L, for which the gate wants a marker.  Thread
 * 2 lets blocking stream S wait for a word, and writes the word in blocking stream T.  The
 * program ends without a gate in every order, but one that it excludes itself: the kernel
 * between the wait and the write.
 *
 * BLOCKING_CALL: thread 1's call of the driver returns only when the word is written, as a
 * first launch that loads its kernel may.  A thread that waits for the end of such a call
 * (M_WAITS_FOR_CALL) waits for ever.
 *
 * S may wait for the word by an event of a stream that is not blocking, and no call but
 * the creation of S and T tells the gate that they are in use: it is told nothing later.
 * M_AT_FIRST_KERNEL: the gate notes a blocking stream at its first kernel.
 *
 * It has no time: thread 2 waits however long it takes thread 1 to record one event in L,
 * which happens only before the first blocking stream is created.  The gate does for a
 * second, within which a thread is assumed to get a processor; M_NO_ORDER is what becomes
 * of one that does not.
 *
 * An invalid end state is a circle that the marker, or a wait of the gate's, has closed.
 */

#define L 0
#define S 1
#define T 2
#define G 3
#define MAX 5

byte n;
byte stream[MAX], after[MAX]; /* which of those before it a command waits for, as bits */
bool is_wait[MAX], is_write[MAX];
byte complete;                /* bits */
byte n_marking;
bool word, is_calling, has_blocking, is_unmarked;
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

/* clv_legacy_mark(), the event, clv_legacy_mark_done(). */
inline record()
{
#ifndef M_LOOKS_FIRST
	n_marking++;
	aside = has_blocking;
#else
	aside = has_blocking;
	n_marking++;
#endif
#ifdef M_ALWAYS_IN_LEGACY
	aside = false;
#endif
	if
	:: aside -> n_marking--; submit(G, false, false)
	:: else -> submit(L, false, false); n_marking--
	fi
}

/* clv_queue_mark_at_once() */
inline mark()
{
	atomic { !is_locked -> is_locked = true };
	atomic { must_mark = is_unmarked; is_unmarked = false };
	if
	:: must_mark -> record()
	:: else
	fi;
	is_locked = false
}

/* The kernel comes before the wait, or after the write. */
bool wait_is_in, write_is_in;

proctype first()
{
	byte i;
	bool must_mark, aside;

	atomic {
		!wait_is_in || write_is_in;
		is_calling = true
	};
#ifdef BLOCKING_CALL
	/* It is in the stream when the call returns. */
	word;
	submit(L, false, false);
#else
	atomic { !wait_is_in || write_is_in; submit(L, false, false) };
#endif
	is_calling = false;
	is_unmarked = true;
	/* It gets its marker now, or by the helper. */
	if
	:: mark()
	:: skip
	fi;
	first_done = true
}

/* clv_legacy_submit_blocking(), when the streams are created. */
inline submit_blocking()
{
	has_blocking = true;
#ifndef M_NO_ORDER
	n_marking == 0;
#endif
#ifdef M_WAITS_FOR_CALL
	!is_calling;
#endif
}

proctype second()
{
	byte i;

#ifndef M_AT_FIRST_KERNEL
	submit_blocking();
#endif
	atomic { submit(S, true, false); wait_is_in = true };
	atomic { submit(T, false, true); write_is_in = true };
	second_done = true
}

/* At any turn's end: what has no marker gets one. */
proctype helper()
{
	byte i;
	bool must_mark, aside;

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
