const [guarantees, durations] = ['/docs/how-a-lock-behaves', '/docs/schedulers#how-long']
const cases = '/docs/schedulers#seven-cases'
const [slots, page] = ['/docs/schedulers#slots', '/docs/guides/page']
const signal = '/docs/how-a-lock-behaves#the-lease-and-the-signal'

/** For each action of the visitor, with instance A as the example: the button, what happens, and the page that promises it. */
export const sentences = {
  first: [
    '',
    'At each due time, one instance runs the job and the others skip. Play a case, or try it yourself.',
    guarantees,
  ],
  loading: ['', 'The database and the instances start …', guarantees],
  unlock: [
    'Switch the lock off',
    'Without a lock, every instance runs the job at every due time.',
    '/docs/guides/which-lock',
  ],
  lock: [
    'Switch the lock on',
    'One instance runs the job at each due time, and the others skip.',
    guarantees,
  ],
  kill: [
    'Kill',
    'A was not running, so its death changes nothing: the others run the job. The first case kills the one that runs.',
    guarantees,
  ],
  killInRun: ['', 'A was killed in the middle of its run. Its lock stays, and the others skip.', cases],
  start: [
    'Start',
    'A starts as a new process: it skips while the lock is held, even by its predecessor.',
    guarantees,
  ],
  pause: [
    'Freeze',
    'A stands still, and the others run the job. If it wakes when a run is over, it runs the job again, unless the lock has a slot.',
    slots,
  ],
  pauseInRun: [
    '',
    'A stands still in the middle of its run. Its lock expires after lockAtMostFor, and another instance runs.',
    signal,
  ],
  wake: ['Wake', 'A goes on. The timers that it has missed fire now.', slots],
  wakeInRun: [
    '',
    'A goes on with its run. If its lock has expired, its signal aborts now, and its late release changes nothing.',
    signal,
  ],
  late: [
    'Late clock',
    'The clock of A is 1 s late: A runs the job again after the others. Each of these options prevents that.',
    cases,
  ],
  lateSkips: [
    '',
    'The clock of A is 1 s late, and A skips what has run, because of lockAtLeastFor or the slot.',
    cases,
  ],
  right: [
    'Right clock',
    'The clock of A is right. For the lock, only the clock of the database counts.',
    guarantees,
  ],
  cut: [
    'Cut the database off',
    'No lock, no run: without an answer, each attempt ends with TIMEOUT.',
    guarantees,
  ],
  connect: [
    'Connect the database',
    'The database answers again: the job runs at the next due time at which the lock is free.',
    guarantees,
  ],
  jobPaused: ['', 'You paused the job on the page: all three instances skip until you resume it.', page],
  jobResumed: ['', 'You resumed the job: it runs at the next due time.', page],
  takes: ['', 'A run longer than lockAtMostFor loses its lock, and the next run begins beside it.', cases],
  lockAtMostFor: ['', 'After a kill during a run, nobody runs the job for this long.', durations],
  lockAtLeastFor: [
    '',
    'The lock stays held for this long, however short the run: late clocks skip.',
    durations,
  ],
  keepAlive: [
    '',
    'With keepAlive, a lock is extended for as long as its holder runs.',
    '/docs/how-a-lock-behaves#keep-alive',
  ],
  slot: ['', 'With a slot, each due time runs once, however late a clock is.', slots],
} as const

export type Sentence = keyof typeof sentences
