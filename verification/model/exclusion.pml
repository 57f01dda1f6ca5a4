/*
 * No two acquisitions hold the lock at the same time, however late the statements of three acquisitions arrive.
 *
 * There is one row. Its statements are acquire, extend and release, as in ../sql/golden. Each acquisition has an
 * owner of its own. A statement arrives at any time after it was sent, or never. An extension and a release are sent again while
 * they have no answer, so they may arrive any number of times. An answer arrives at any time after its statement, or never. A
 * process may stop at any point, so no step has to happen.
 *
 * Time is modelled as what is left of the row's lease (lock_until - now), and of the lease that each holder counts for itself. A tick
 * subtracts one from all of them. The database truncates its clock, so a lease in the row may last one tick less than requested.
 *
 * safety: three acquisitions
 * safety, large -DLEASE=4: with longer leases
 * mutant ACQUIRES_HELD -DACQUISITIONS=2 -DONLY_EXCLUSION: acquire does not check lock_until <= now
 * mutant EXTENDS_OTHERS -DACQUISITIONS=2: extend does not check the owner
 * mutant EXTENDS_EXPIRED -DACQUISITIONS=2: extend does not check lock_until > now
 * mutant EXTEND_SHORTENS -DACQUISITIONS=2 -DONLY_EXCLUSION: extend sets lock_until even if it is later already
 * mutant RELEASES_OTHERS -DONLY_EXCLUSION: release does not check the owner
 * mutant RELEASE_KEEPS_OWNER -DACQUISITIONS=2: release leaves locked_by unchanged
 * mutant RELEASE_PROLONGS -DACQUISITIONS=2: release sets lock_until even if it is earlier already
 * mutant ONE_OWNER -DONLY_EXCLUSION: all acquisitions have the same owner, which is that of their process
 * mutant LEASE_FROM_ANSWER -DACQUISITIONS=2 -DONLY_EXCLUSION: the holder counts its lease from the answer, not from before the request
 * mutant EXTENSION_FROM_ANSWER -DACQUISITIONS=2 -DONLY_EXCLUSION: the holder counts an extension from its answer, not from before the request
 * mutant NO_CLOCK_STEP -DACQUISITIONS=2 -DONLY_EXCLUSION: the holder does not subtract the step of the database's clock from its lease
 */
#ifndef ACQUISITIONS
#define ACQUISITIONS 3 /* at most */
#endif
#ifndef LEASE
#define LEASE 3 /* lockAtMostFor */
#endif
#define SHORT 2 /* lockAtMostFor of a short extension */
#define KEPT 2 /* what is left of lockAtLeastFor at the release */
#define NOBODY 255

#ifndef NO_CLOCK_STEP
#define lease_of(lockAtMostFor) (lockAtMostFor - 1)
#else
#define lease_of(lockAtMostFor) (lockAtMostFor)
#endif
#ifndef ONE_OWNER
#define owner_of(me) (me)
#else
#define owner_of(me) 0
#endif

/* ---- The row */

byte locked_by = NOBODY /* NOBODY: not acquired yet, or released by its owner */
byte left /* lock_until - now; 0 if lock_until <= now */
byte holder = NOBODY /* not in the row: the last acquisition */
bool released[3] /* not in the row: whether this acquisition's release has changed the row */

#ifndef ACQUIRES_HELD
#define is_free (left == 0)
#else
#define is_free true
#endif
#if defined(EXTENDS_OTHERS)
#define may_extend(me) (left > 0)
#elif defined(EXTENDS_EXPIRED)
#define may_extend(me) (locked_by == owner_of(me))
#else
#define may_extend(me) (locked_by == owner_of(me) && left > 0)
#endif
#ifndef RELEASES_OTHERS
#define may_release(me) (locked_by == owner_of(me))
#else
#define may_release(me) true
#endif

/* ---- The statements in transit, and what each acquisition knows */

mtype = { none, waits, changed, unchanged } /* the state of a statement's answer */
bool acquire_sent[3], long_sent[3], short_sent[3], release_sent[3];
mtype acquire_answer[3] = none, extend_answer[3] = none;
byte extends_for[3] /* lockAtMostFor of the extension whose answer is awaited */
byte lease[3], longer[3] /* what is left, on the holder's own clock, of its lease and of the lease that the extension would give */
bool is_held[3] /* from the answer to the acquisition until the end of the task */

#define trusts(me) (is_held[me] && lease[me] > 0)
#define has_row(me) (!trusts(me) || (holder == me && left >= lease[me]))
#define letter(me) ('A' + me)

#define must(property, words) if :: property :: else -> printf(words); assert(property) fi

inline check() {
  d_step {
    must(trusts(0) + trusts(1) + trusts(2) <= 1, "WRONG: two hold the lock at the same time\n");
#ifndef ONLY_EXCLUSION
    must(has_row(0) && has_row(1) && has_row(2), "WRONG: a holder considers the lock held for longer than the row does\n");
#endif
  }
}

/* What must hold after an extension or a release by `me`; `before` is what was left of the row's lease before it. */
inline check_late(me) {
#ifndef ONLY_EXCLUSION
  d_step {
    must(before == left || holder == me, "WRONG: a late statement changed the row of another acquisition\n");
    must(before > 0 || left == 0, "WRONG: a late statement revived an expired lease\n");
    must(!released[me] || left <= before, "WRONG: a late statement prolonged a released lock\n");
  }
#endif
  before = 0;
}

/* ---- The statements, when they arrive */

inline plus_now(lockAtMostFor) {
  if
  :: until = lockAtMostFor;
  :: until = lockAtMostFor - 1 /* the database's clock is truncated */
  fi;
}

inline arrive_acquire(me) {
  atomic {
    acquire_sent[me] ->
    acquire_sent[me] = false;
    if
    :: is_free ->
      plus_now(LEASE);
      left = until; locked_by = owner_of(me); holder = me; acquire_answer[me] = changed;
      printf("%c's acquire arrives: acquired, lock_until is %d ticks ahead\n", letter(me), left);
    :: else ->
      acquire_answer[me] = unchanged;
      printf("%c's acquire arrives: held\n", letter(me));
    fi;
    until = 0;
    check();
  }
}

inline arrive_extend(me, sent, lockAtMostFor) {
  atomic {
    sent ->
    before = left;
    if
    :: may_extend(me) ->
      plus_now(lockAtMostFor);
#ifndef EXTEND_SHORTENS
      if
      :: until > left -> left = until;
      :: else
      fi;
#else
      left = until;
#endif
      if
      :: extends_for[me] == lockAtMostFor -> extend_answer[me] = changed;
      :: else
      fi;
      printf("%c's extension by %d arrives: lock_until is %d ticks ahead\n", letter(me), lockAtMostFor, left);
    :: else ->
      if
      :: extends_for[me] == lockAtMostFor -> extend_answer[me] = unchanged;
      :: else
      fi;
      printf("%c's extension by %d arrives, and changes nothing\n", letter(me), lockAtMostFor);
    fi;
    until = 0;
    check_late(me);
    check();
  }
}

inline arrive_release(me, keepFor) {
  atomic {
    release_sent[me] ->
    before = left;
    if
    :: may_release(me) ->
#ifndef RELEASE_PROLONGS
      if
      :: keepFor < left -> left = keepFor;
      :: else
      fi;
#else
      left = keepFor;
#endif
#ifndef RELEASE_KEEPS_OWNER
      locked_by = NOBODY;
#endif
      printf("%c's release arrives: lock_until is %d ticks ahead\n", letter(me), left);
      must(left <= before, "WRONG: a release prolonged the lock\n");
      check_late(me);
      released[me] = true;
    :: else ->
      printf("%c's release arrives, and changes nothing\n", letter(me));
    fi;
    before = 0;
    check();
  }
}

byte until, before;

proctype Network(byte me) {
  do
  :: arrive_acquire(me);
  :: arrive_extend(me, long_sent[me], LEASE);
  :: arrive_extend(me, short_sent[me], SHORT);
  :: arrive_release(me, 0);
  :: arrive_release(me, KEPT);
  od;
}

/* ---- An acquisition: provider.lock(), then extend() and unlock() of its lock */

inline send_extend(me, sent, lockAtMostFor) {
  atomic {
    trusts(me) && extend_answer[me] == none ->
    sent = true; extends_for[me] = lockAtMostFor; extend_answer[me] = waits;
    longer[me] = lease_of(lockAtMostFor);
    printf("%c sends its extension by %d\n", letter(me), lockAtMostFor);
  }
}

inline end_extend(me) {
  extend_answer[me] = none; extends_for[me] = 0; longer[me] = 0;
}

proctype Acquisition(byte me) {
  atomic {
    /* Acquisitions are sent in the order of their letters. They are symmetric, so this only reduces the number of states. */
    me == 0 || acquire_answer[me - 1] != none ->
    acquire_sent[me] = true; acquire_answer[me] = waits; lease[me] = lease_of(LEASE);
    printf("%c sends its acquire\n", letter(me));
  }
  if
  :: atomic {
      acquire_answer[me] == changed ->
#ifdef LEASE_FROM_ANSWER
      lease[me] = lease_of(LEASE);
#endif
      is_held[me] = true;
      printf("%c learns that it acquired the lock, and holds it for %d ticks\n", letter(me), lease[me]);
      check();
    }
    do
    :: send_extend(me, long_sent[me], LEASE);
    :: send_extend(me, short_sent[me], SHORT);
    :: atomic {
        trusts(me) && extend_answer[me] == changed ->
#ifdef EXTENSION_FROM_ANSWER
        longer[me] = lease_of(extends_for[me]);
#endif
        if
        :: longer[me] > lease[me] -> lease[me] = longer[me];
        :: else
        fi;
        end_extend(me);
        printf("%c learns that its lock was extended, and holds it for %d ticks\n", letter(me), lease[me]);
        check();
      }
    :: atomic { extend_answer[me] == waits -> end_extend(me); printf("%c gives up its extension\n", letter(me)) }
    :: break /* the task has ended, the lease is over, or an extension was refused */
    od;
  :: acquire_answer[me] != none /* no answer in time, or a refusal, after which there is nothing to release */
  fi;
  atomic {
    is_held[me] = false; lease[me] = 0; end_extend(me); release_sent[me] = true;
    printf("%c stops, and sends its release\n", letter(me));
  }
}

active proctype Clock() {
  byte i;
  do
  :: atomic {
      left > 0 || lease[0] > 0 || lease[1] > 0 || lease[2] > 0 || longer[0] > 0 || longer[1] > 0 || longer[2] > 0 ->
      left = (left > 0 -> left - 1 : 0);
      for (i : 0 .. 2) {
        lease[i] = (lease[i] > 0 -> lease[i] - 1 : 0);
        longer[i] = (longer[i] > 0 -> longer[i] - 1 : 0);
      }
      i = 0;
      printf("a tick\n");
      check();
    }
  od;
}

init {
  byte me;
  atomic {
    for (me : 0 .. ACQUISITIONS - 1) {
      run Acquisition(me);
      run Network(me);
    }
    me = 0;
  }
}
