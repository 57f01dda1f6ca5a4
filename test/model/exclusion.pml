/*
 * No two trust the lock, however late the statements of three acquisitions arrive.
 *
 * One row; acquire, extend, release and releaseLater as in ../sql/golden. Each acquisition has an owner of its own. A statement that was
 * sent arrives at any time later, or never. An extension and a release are sent again while they have no answer, so they may arrive
 * any number of times. An answer is heard at any time after that, or never. A process may stop at any point: nothing here has to happen.
 *
 * Time is what is left: of the row's lease (lock_until - now), and of the lease that each holder counts for itself. A tick takes one from
 * all of them. The database cuts its clock, so that what it writes may last one tick less than it was told.
 *
 * safety: three acquisitions
 * safety, large -DLEASE=4: with longer leases
 * mutant ACQUIRES_HELD -DACQUISITIONS=2 -DONLY_EXCLUSION: acquire does not look at lock_until <= now
 * mutant EXTENDS_OTHERS -DACQUISITIONS=2: extend does not look at the owner
 * mutant EXTENDS_EXPIRED -DACQUISITIONS=2: extend does not look at lock_until > now
 * mutant EXTEND_SHORTENS -DACQUISITIONS=2 -DONLY_EXCLUSION: extend sets lock_until even where it was later
 * mutant RELEASES_OTHERS -DONLY_EXCLUSION: release does not look at the owner
 * mutant RELEASE_KEEPS_OWNER -DACQUISITIONS=2: release leaves locked_by as it was
 * mutant RELEASE_PROLONGS -DACQUISITIONS=2: releaseLater sets lock_until even where it was earlier
 * mutant ONE_OWNER -DONLY_EXCLUSION: all acquisitions have the same owner, that of their process
 * mutant LEASE_FROM_ANSWER -DACQUISITIONS=2 -DONLY_EXCLUSION: the holder counts its lease from the answer, not from before the request
 * mutant EXTENSION_FROM_ANSWER -DACQUISITIONS=2 -DONLY_EXCLUSION: the same of an extension
 * mutant NO_CLOCK_STEP -DACQUISITIONS=2 -DONLY_EXCLUSION: the holder does not take the step of the database's clock from its lease
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

byte locked_by = NOBODY /* NOBODY: nobody acquired it yet, or its owner released it */
byte left /* lock_until - now; 0 where lock_until <= now */
byte holder = NOBODY /* not in the row: who acquired it last */
bool released[3] /* not in the row: which release changed it */

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

/* ---- What is on its way, and what each acquisition knows */

mtype = { none, waits, changed, unchanged } /* what it knows of its statement */
bool acquire_sent[3], long_sent[3], short_sent[3], release_sent[3];
mtype acquire_answer[3] = none, extend_answer[3] = none;
byte extends_for[3] /* lockAtMostFor of the extension that it waits for */
byte lease[3], longer[3] /* what is left of its lease on its own clock, and of the one that the extension would give */
bool is_held[3] /* from the answer to the end */

#define trusts(me) (is_held[me] && lease[me] > 0)
#define has_row(me) (!trusts(me) || (holder == me && left >= lease[me]))
#define letter(me) ('A' + me)

#define must(property, words) if :: property :: else -> printf(words); assert(property) fi

inline check() {
  d_step {
    must(trusts(0) + trusts(1) + trusts(2) <= 1, "WRONG: two trust the lock\n");
#ifndef ONLY_EXCLUSION
    must(has_row(0) && has_row(1) && has_row(2), "WRONG: somebody trusts the lock for longer than the row says\n");
#endif
  }
}

/* What must be true of an extension or a release by `me` after `before` was left of the row's lease, which `of` held. */
inline check_late(me) {
#ifndef ONLY_EXCLUSION
  d_step {
    must(before == left || holder == me, "WRONG: a late statement changed the row of another acquisition\n");
    must(before > 0 || left == 0, "WRONG: a late statement revived a lease that was over\n");
    must(!released[me] || left <= before, "WRONG: a late statement prolonged a lock that was released\n");
  }
#endif
  before = 0;
}

/* ---- The statements, when they arrive */

inline plus_now(lockAtMostFor) {
  if
  :: until = lockAtMostFor;
  :: until = lockAtMostFor - 1 /* the database's clock is cut */
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
    /* The first is A: it does not matter which one is called so. */
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
      printf("%c hears that it acquired the lock, and trusts it for %d ticks\n", letter(me), lease[me]);
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
        printf("%c hears that its lock was extended, and trusts it for %d ticks\n", letter(me), lease[me]);
        check();
      }
    :: atomic { extend_answer[me] == waits -> end_extend(me); printf("%c gives its extension up\n", letter(me)) }
    :: break /* the task has ended, or the lease is over, or an extension was refused */
    od;
  :: acquire_answer[me] != none /* no answer in time; or it was refused, and there is nothing to release */
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
