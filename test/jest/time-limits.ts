import { expect, jest } from '@jest/globals'

/** Seconds that a test may take if ten are too few, by its path, and why. They are against hanging, and say nothing about speed. */
const LONGER: readonly (readonly [path: RegExp, seconds: number, why: string])[] = [
  [/\/test\/conformance\//, 60, 'waits until leases end by the clocks of real databases'],
  [/\/test\/processes\/package\//, 600, 'installs packages'],
  [/\/(test\/processes\/examples|examples)\//, 300, 'installs and runs applications'],
  [/\/test\/processes\/page\//, 300, 'loads every page in a browser'],
  [/\/test\/(cli|processes)\//, 120, 'starts processes'],
  [/\/test\/documentation\/(documentation|prisma-config)/, 180, 'compiles and runs programs'],
  [
    /\/test\/drivers\/(thaw|unsent-statements)/,
    60,
    'stops processes, and waits until connections are refused',
  ],
  [/\/test\/testing\/wrong-storages/, 60, 'runs the whole suite on each wrong storage'],
  [
    /\/test\/sql\/(debts|migrations|owner|session-pool)/,
    60,
    'tries thousands of values or locks, or starts clients',
  ],
  [/\/test\/new-dialect/, 60, 'compiles the project'],
  [/\/test\/sql\/locked-table/, 30, 'waits for the time limit of calls'],
  [
    /\/test\/(nestjs|prisma)\/|typeorm\/process-end/,
    30,
    'starts applications, or generated clients with pools',
  ],
  [/\/verification\//, 180, 'starts processes and servers'],
]

// A machine that is busy with more than the tests sets its own limit.
const ofMachine = Number(process.env['TEST_TIME_LIMIT'] ?? 0)
const path = (expect.getState().testPath ?? '').replaceAll('\\', '/')
const [, ofFile = 10] = LONGER.find(([pattern]) => pattern.test(path)) ?? []
jest.setTimeout(1_000 * Math.max(ofFile, ofMachine))
