const DURATIONS = '/docs/schedulers#seven-cases'

/** The cases that the playground stages: the settings of each, and the option that decides the figure to which it comes. */
export const CASES = [
  {
    /** The case's address on the page. */
    id: 'kill-it-in-the-middle',
    name: 'Kill it in the middle of a run',
    option: 'lockAtMostFor',
    settings: { takes: 3_000 },
    cure: {
      code: "lockAtMostFor: '2s', keepAlive: true",
      settings: { lockAtMostFor: '2s', keepAlive: true },
    },
    link: DURATIONS,
  },
  {
    id: 'two-clocks',
    name: 'Two clocks',
    option: 'lockAtLeastFor',
    settings: {},
    cure: { code: "lockAtLeastFor: '1800ms'", settings: { lockAtLeastFor: '1800ms' } },
    link: DURATIONS,
  },
  {
    id: 'a-slot',
    name: 'A slot',
    option: 'slot',
    settings: { lockAtLeastFor: '1s' },
    cure: { code: 'slot: slotOf', settings: { slot: true } },
    link: '/docs/schedulers#slots',
  },
] as const

export type Case = (typeof CASES)[number]
