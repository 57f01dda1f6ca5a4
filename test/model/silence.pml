/*
 * No silence: no lock stays free while an instance tries to acquire it, not even a dead holder's. What got no answer is cleaned up,
 * but not for ever.
 *
 * There is one row. Its statements are acquire (read, then write) and release, as in ../sql/golden. Two instances keep acquiring. A
 * may die at any point, and may be shut down, which drains its clean-up as in ../../src/sql/background-releases.ts. The number of
 * faults is limited: a statement that is late, lost or not answered, a busy database, a death. By weak fairness for each process of
 * the model, every statement that is not lost arrives eventually, every task ends, and every lease expires. Time is modelled as
 * what is left, as in exclusion.pml. While A is drained no lease ends, because leases may last for hours.
 *
 * safety: nothing is forgotten, and only a lock that was seen held is refused as held; with two faults
 * safety, large -DFAULTS=3: the same with three
 * liveness acquired_again -DFAULTS=1: no lock stays free while an instance tries to acquire it, not even a dead holder's
 * liveness acquired_again, large: the same with two faults
 * liveness cleaned -DFAULTS=1: nothing is cleaned up for ever
 * liveness cleaned, large: the same with two faults
 * liveness drained -DFAULTS=1: a shutdown ends
 * liveness drained, large: the same with two faults
 * mutant NEVER_EXPIRES of acquired_again -DFAULTS=1 -DFIRST=1: acquire sees only that the owner released the lock, not that a lease is over
 * mutant CLEANS_FOREVER of cleaned -DFAULTS=1 -DFIRST=1: the clean-up does not end with the lease
 * mutant DRAIN_WAITS of drained -DFAULTS=1 -DLAST=0: a shutdown waits for an acquisition that may still arrive
 * mutant SENDS_AFTER_DRAIN: a shutdown does not end the clean-up
 * mutant BUSY_IS_HELD: an acquisition that found the database busy, or lost a race, is refused as held
 * mutant CLEANS_NOTHING: an acquisition without an answer is not cleaned up
 * mutant CLEANS_UP_ONCE: an acquisition without an answer is released only once
 * mutant LOOKS_AFTERWARDS: a release that found nothing is the last one if its acquisition was answered meanwhile, although the release arrived first
 * mutant STEPS_GO_ON: the next step of an abandoned acquisition is still sent
 * mutant KEEPS_LATE: a lock whose answer arrived after its lease is not released
 * mutant RELEASES_ONCE: a release without an answer is not sent again
 */
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef FIRST
#define FIRST 0 /* 1: only B */
#endif
#ifndef LAST
#define LAST 1 /* 0: only A */
#endif
#define LEASE 2 /* lockAtMostFor */
#define TIME_LIMIT 1
#define NOBODY 255

/* ---- The row */

byte left; /* lock_until - now; 0 if lock_until <= now */
byte locked_by = NOBODY;

#ifndef NEVER_EXPIRES
#define is_free (left == 0)
#else
#define is_free (locked_by == NOBODY)
#endif

/* ---- The statements in transit, and what each instance knows */

mtype = { none, waits, acquired, held, busy };
byte faults = FAULTS;
bool look_sent[2], write_sent[2];
mtype answer[2] = none;
bool is_wanted[2]; /* whether a caller waits for the acquisition */
byte lease[2];
bool changes; /* toggled by each acquisition that gets its answer in time */
bool is_cleaning[2], may_arrive_later[2], is_left[2]; /* is_left: left to expire, because the clean-up's own lease is over */
byte clean_lease[2];
bool is_draining, is_drained;

#ifndef CLEANS_FOREVER
#define is_over(me) (clean_lease[me] == 0)
#else
#define is_over(me) false
#endif
#define is_late(me) (is_wanted[me] && lease[me] == 1)
#define letter(me) ('A' + me)
#define must(property, words) if :: property :: else -> printf(words); assert(property) fi

ltl acquired_again { ([]<> changes) && ([]<> !changes) }
ltl cleaned { ([]<> !is_cleaning[0]) && ([]<> !is_cleaning[1]) }
ltl drained { [] (is_draining -> <> is_drained) }

/* ---- The statements, when they arrive */

inline arrive_look(me) {
  atomic {
    look_sent[me] ->
    look_sent[me] = false;
    if
    :: !is_free -> answer[me] = held; printf("%c's read arrives: held\n", letter(me));
#ifndef STEPS_GO_ON
    :: is_free && !is_wanted[me] -> printf("%c's read arrives too late\n", letter(me));
    :: is_free && is_wanted[me] ->
#else
    :: is_free ->
#endif
      write_sent[me] = true; printf("%c's read arrives: free; it sends its write\n", letter(me));
    :: faults > 0 && is_wanted[me] -> faults--; answer[me] = busy; printf("%c's read arrives: busy\n", letter(me));
    fi;
  }
}

inline arrive_write(me) {
  atomic {
    write_sent[me] ->
    write_sent[me] = false;
    if
    :: is_free ->
      left = LEASE; locked_by = me; answer[me] = acquired; printf("%c's write arrives: acquired\n", letter(me));
    :: else -> answer[me] = busy; printf("%c's write arrives, and changes nothing\n", letter(me));
    fi;
  }
}

/* The clean-up learns that the acquisition's write has been answered. */
inline hear_write(me) {
  atomic {
    is_cleaning[me] && may_arrive_later[me] && answer[me] != waits ->
    may_arrive_later[me] = false; printf("%c's write is answered\n", letter(me));
  }
}

proctype Network(byte me) {
  do
  :: arrive_look(me)
  :: arrive_write(me)
  :: hear_write(me)
  :: atomic { (look_sent[me] || write_sent[me]) && !is_wanted[me] ->
      look_sent[me] = false; write_sent[me] = false; printf("%c's statement is lost\n", letter(me)); }
  od
}

/* ---- An instance */

inline release(me) {
  if
  :: locked_by == me && left > 0 -> left = 0; locked_by = NOBODY; changed = true;
  :: else -> changed = false;
  fi
}

inline clean_up(me, may_arrive) {
  is_cleaning[me] = true; may_arrive_later[me] = may_arrive; clean_lease[me] = LEASE + TIME_LIMIT;
}

proctype Instance(byte me) {
  bool changed;
again:
  atomic {
    /* Each acquisition would have an owner of its own. Here the next one starts only when nothing is left of the one before. */
    !look_sent[me] && !write_sent[me] && !(locked_by == me && left > 0) ->
    look_sent[me] = true; answer[me] = waits; is_wanted[me] = true; lease[me] = LEASE; is_left[me] = false;
    printf("%c sends its read\n", letter(me));
  }
  if
  :: atomic {
      answer[me] == acquired && lease[me] > 0 ->
      is_wanted[me] = false; changes = !changes; printf("%c runs\n", letter(me));
    }
  :: atomic {
      answer[me] == acquired && lease[me] == 0 ->
      is_wanted[me] = false; printf("%c's lock arrives after its lease\n", letter(me));
#ifndef KEEPS_LATE
      clean_up(me, false);
#endif
      goto done;
    }
  :: atomic { answer[me] == held -> is_wanted[me] = false; printf("%c skips: held\n", letter(me)); goto again; }
  :: atomic {
      answer[me] == busy ->
      is_wanted[me] = false;
#ifdef BUSY_IS_HELD
      printf("%c skips: held\n", letter(me));
      must(!is_free, "WRONG: a lock was refused as held, but is free\n");
#endif
      goto again;
    }
  :: atomic {
      faults > 0 && (answer[me] == waits || answer[me] == acquired) ->
      faults--; is_wanted[me] = false; printf("%c gets no answer\n", letter(me));
#ifndef CLEANS_NOTHING
      if
      :: !look_sent[me] -> clean_up(me, true); /* a read changes nothing, so it needs no clean-up */
      :: else
      fi;
#endif
      goto done;
    }
  :: atomic { me == 0 && faults > 0 -> faults--; is_wanted[me] = false; printf("A dies\n"); goto dead; }
  fi;
  if
  :: atomic { release(me); printf("%c has released\n", letter(me)); }
  :: atomic {
      faults > 0 ->
      faults--; printf("%c's release gets no answer\n", letter(me));
#ifndef RELEASES_ONCE
      clean_up(me, false);
#endif
    }
  :: atomic { me == 0 && faults > 0 -> faults--; printf("A dies\n"); goto dead; }
  fi;
done:
  if
  :: atomic {
      !is_cleaning[me] ->
      must(is_left[me] || !(locked_by == me && left > 0), "WRONG: an unused lock is never released\n");
      must(is_left[me] || !write_sent[me], "WRONG: the clean-up forgets an acquisition that may still arrive\n");
      goto again;
    }
  :: atomic { me == 0 -> is_draining = true; printf("A is shut down\n"); }
  fi;
  if
  :: !is_cleaning[me]
#ifndef SENDS_AFTER_DRAIN
  :: atomic { faults > 0 -> faults--; is_cleaning[me] = false; printf("the shutdown of A stops waiting\n"); }
#else
  :: atomic { faults > 0 -> faults--; printf("the shutdown of A stops waiting\n"); }
#endif
  fi;
  atomic { is_drained = true; is_draining = false; printf("A has shut down\n"); }
dead: skip
}

/* Models src/sql/background-releases.ts for the single row that an instance may have to clean up. */
proctype BackgroundRelease(byte me) {
  bool changed, may_arrive;
  do
  :: atomic { is_cleaning[me] && is_over(me) -> is_cleaning[me] = false; is_left[me] = true; printf("%c's row is left to expire\n", letter(me)); }
  :: atomic {
      is_cleaning[me] && !is_over(me) ->
      may_arrive = may_arrive_later[me]; printf("%c's clean-up sends a release\n", letter(me));
      must(me != 0 || !is_drained, "WRONG: a statement is sent after the shutdown\n");
    }
    if
    :: atomic { release(me); printf("%c's release arrives\n", letter(me)); }
      if
      :: atomic {
          /* The clean-up may have ended meanwhile. */
          printf("%c's release is answered\n", letter(me));
#ifdef LOOKS_AFTERWARDS
          may_arrive = may_arrive_later[me];
#endif
          if
          :: changed -> is_cleaning[me] = false;
#ifdef CLEANS_UP_ONCE
          :: !changed -> is_cleaning[me] = false;
#elif defined(DRAIN_WAITS)
          :: !changed && !may_arrive -> is_cleaning[me] = false;
          :: !changed && may_arrive
#else
          :: !changed && (!may_arrive || (me == 0 && is_draining)) -> is_cleaning[me] = false;
          :: !changed && may_arrive && !(me == 0 && is_draining)
#endif
          fi;
        }
      :: atomic { faults > 0 -> faults--; printf("%c's release gets no answer\n", letter(me)); }
      fi;
    :: atomic { faults > 0 -> faults--; printf("%c's release is lost\n", letter(me)); }
    fi;
    atomic { changed = false; may_arrive = false; }
  od
}

active proctype Clock() {
  byte i;
  do
  :: atomic {
      !is_draining && faults >= is_late(0) + is_late(1) ->
      faults = faults - is_late(0) - is_late(1); /* an answer that arrives after its lease counts as a fault */
      left = (left > 0 -> left - 1 : 0);
      for (i : 0 .. 1) {
        lease[i] = (lease[i] > 0 -> lease[i] - 1 : 0);
        clean_lease[i] = (clean_lease[i] > 0 -> clean_lease[i] - 1 : 0);
      }
      i = 0;
      printf("a tick\n");
    }
  od
}

init {
  byte me;
  atomic {
    for (me : FIRST .. LAST) {
      run Instance(me);
      run Network(me);
      run BackgroundRelease(me);
    }
    me = 0;
  }
}
