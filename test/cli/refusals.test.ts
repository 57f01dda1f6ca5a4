import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { hideUrl, notConnected, scrub } from '../../src/cli/command-error'
import { failed, project, runCli } from './built-cli'

const EXEC = ['exec', 'job', '--lock-at-most-for']
const PAUSE = ['pause', 'job', '--duration']

it.each([
  [['frobnicate'], /unknown command 'frobnicate'/],
  [['unlock', 'job'], /use release/],
  [['sql', 'db2'], /db2.*Allowed choices are postgres/],
  [['sql'], /missing required argument 'dialect'/],
  [['sql', 'postgres', '--table-name', ''], /^shedlock-orm: --table-name: tableName is empty/],
  [['sql', 'postgres', '--table-name', 'two\nlines'], /control characters/],
  [['sql', 'mysql', '--column-names', 'lockedAt='], /: --column-names: columnNames.lockedAt is empty/],
  [['sql', 'mysql', '--column-names', 'until'], /It must be role=name/],
  [['sql', 'mysql', '--column-names', 'until=x'], /Unknown option 'until' in the columnNames/],
  [['list', '--url', 'hunter2:admin@db/app'], /^(?!.*hunter2).*does not begin with a known scheme/],
  [['list'], /set --url, DATABASE_URL in the environment or in --env, or --data-source/],
  [['list', '--url', ''], /^shedlock-orm: No database is named/],
  [['list', '--data-source', 'missing.js'], /There is no file .*missing\.js/],
  [['check', 'job'], /name=duration/],
  [['lst'], /unknown command 'lst'\n\(Did you mean list\?\)/],
  [['list', '--jsn'], /unknown option '--jsn'\n\(Did you mean --json\?\)/],
  [['exec'], /\n\(The command comes after --: shedlock-orm exec report --lock-at-most-for 10m -- /],
  [['check'], /\(Such as: shedlock-orm check report=25h vacuum=7d\)/],
  [['check', 'job=soon', '--url', 'file:x.sqlite'], /'job=soon' is invalid/],
  [PAUSE.concat('8h'), /--reason/],
  [['pause', 'job', '--reason', 'r'], /--duration/],
  [PAUSE.concat('8h', '--reason', ' '), /It must not be empty/],
  [['exec', 'job', '--', 'true'], /--lock-at-most-for/],
  [EXEC.concat('10m'), /command/],
  [['exec', 'job', 'echo', '-n', 'x'], /comes after --: shedlock-orm exec report/],
  [EXEC.concat('-5m', '--', 'true'), /negative/],
  [EXEC.concat('10m', '--', ''), /The command is empty/],
  [EXEC.concat('10', '--', 'true'), /no unit – write 10s or 10m/],
  [
    EXEC.concat('10m', '--lock-at-least-for', '1h', '--url', 'file:x.sqlite', '--', 'true'),
    /^shedlock-orm: --lock-at-least-for: /,
  ],
  [EXEC.concat('10m', '--skipped-exit-code', '256', '--', 'true'), /0 to 255/],
  [
    EXEC.concat('10m', '--keep-alive-at-most', 'soon', '--url', 'file:x.sqlite', '--', 'true'),
    /'--keep-alive-at-most <duration>' argument 'soon' is invalid. Write a duration such as 90s/,
  ],
  [['exec', 'job', '--wait', '1m', '--slot', '2026-11-21', '--', 'true'], /a time with its zone/],
  [['exec', 'job', '--slot', '2026-11-21T02:00:00', '--', 'true'], /a time with its zone/],
])('%j is refused with exit status 2 and one line, and perhaps a hint in brackets', async (args, message) => {
  const { status, stdout, stderr } = await runCli(args)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr.trim()).toMatch(message)
  expect(stderr).toMatch(/^.+\n(\(.+\)\n)?$/)
})

it.each([
  ['postgres://app@127.0.0.1:1/app', 'ECONNREFUSED 127.0.0.1:1'],
  ['postgres://app@/app?connect_timeout=9&host=/no/such', 'ENOENT /no/such/.s.PGSQL.5432'],
  // Without IPv6 the code is another.
  ['postgres://app@[::1]:1/app', ' ::1:1'],
  ['MySQL://app@[::1]:1/app', ' ::1:1'],
  ['sqlserver://127.0.0.1:1;user=app;password=x', ' 127.0.0.1:1'],
])('a database that cannot be reached is reported with what to do: %s', async (url, reason) => {
  const { status, stderr } = await runCli(['list', '--url', url])
  expect(stderr).toMatch(/^shedlock-orm: The connection .* – check whether the server runs, and its /)
  expect({ status, stderr }).toEqual({ status: 3, stderr: expect.stringContaining(reason) })
})

it('a server that asks for another TLS is reported with what to do', () => {
  expect(notConnected('self-signed certificate', false).message).toContain('check which TLS the server has')
})

it.each([
  'sorry, too many clients already',
  'remaining connection slots are reserved for roles with the SUPERUSER attribute',
  'too many connections for role "app"',
  'no more connections allowed (max_client_conn)',
  'Too many connections',
  "User app already has more than 'max_user_connections' active connections",
  "User 'app' has exceeded the 'max_user_connections' resource (current value: 1)",
])('a server without room for another connection is reported with what to do: %s', (why) => {
  expect(notConnected(why, false).message).toBe(
    `The connection to the database failed: ${why} – close other connections or make pools smaller, or raise the limit, then try again.`,
  )
})

it('a DataSource of a database that has no dialect is refused', async () => {
  const dataSource = "{ '@instanceof': Symbol.for('DataSource'), options: { type: 'mongodb' } }"
  const folder = project({ 'mongodb.cjs': `exports.dataSource = ${dataSource}` })
  expect(await runCli(['list', '--data-source', join(folder, 'mongodb.cjs')])).toEqual(
    failed(2, /: A DataSource of type 'mongodb' cannot keep locks – it has no SQL: .*\.\n$/),
  )
})

it.each([
  "password: 'hunter2'",
  "url: 'postgres://app:hunter2@db/app'",
  "replication: { master: { password: 'hunter2' }, slaves: [] }",
])('no password of a DataSource is printed: %s', async (options) => {
  const source = `exports.source = { '@instanceof': Symbol.for('DataSource'), options: { type: 'postgres', ${options} },
    createQueryRunner() {}, setOptions() { throw new AggregateError([new Error('no role\\n  with hunter2')]) } }`
  const file = join(project({ 'source.cjs': source }), 'source.cjs')
  expect(await runCli(['list', '-d', file])).toEqual(failed(3, ' failed: no role with *** – '))
})

it.each([
  ['before a piece of it, so that what is left does not show', '//app:hunter2!@w1@db/app', 'hunter2!@w1'],
  ['in pieces, where a parser took one for the host', '//app:otter@weasel/@db/app', 'weasel'],
  ['as it is without escapes', '//app:bad%21ger@db/app', 'bad!ger'],
  ['with escapes', '//app:mar ten@db/app', 'mar%20ten'],
  ['as a parameter, with what would end it', '//db;password={x;ferret};user=sa', 'ferret'],
])('a password is hidden %s', (_, url, secret) => {
  hideUrl(`postgres:${url}`)
  expect(scrub(`no role with ${secret}`)).toBe('no role with ***')
})

/** With characters that should have been escaped: each parser ends the password at another one. */
const UNESCAPED = ['x@hunter2/y', 'x/y@hunter2', '1/x@hunter2', '1?x@hunter2/y', '1#hunter2@y', '%hunter2']

it.each([
  ...['hunter2!', ...UNESCAPED].flatMap((password) => [
    [`--url=postgres://app:${password}@127.0.0.1:1/app`],
    [`--url=mysql://app:${password}@127.0.0.1:1/app`],
  ]),
  ['--url=postgres://app:hunter2!@[bad/app'],
  ['--url=mysql://app:1/hunter2@127.0.0.1:1/app', 'percent-encode special characters'],
  ['--url=mysql://app:%hunter2@127.0.0.1:1/app', 'percent-encode special characters'],
  ...['hunter2!', 'x@/y@hunter2', 'x@/hunter2@', ...UNESCAPED].map((password) => [
    `--url=postgres://app:${password}@/app?host=/no/such`,
  ]),
  ['--url=hunter2!://app:hunter2!@127.0.0.1/app'],
  ['--url=postgres://app:hunter2@/app?host=/no/hunter2'],
  ['--urll=postgres://app:x@hunter2@127.0.0.1/app'],
  ['--urll=sqlserver://127.0.0.1:1;user=app;password=hunter2'],
  ['--url=sqlserver://127.0.0.1:1;user=app;password=hunter2!'],
  ['--url=sqlserver://127.0.0.1:1;user=app;password={x;hunter2}'],
  ['--url=sqlserver://127.0.0.1;password={x;hunter2', 'write sqlserver'],
  ['--url=sqlserver://127.0.0.1;password={x}hunter2;user=sa', 'user=…;password={…};…, or use'],
  ['--url=mssql://sa:x;hunter2@127.0.0.1/app', 'write sqlserver'],
  ['--url=mssql://sa:hunter2@127.0.0.1/app', 'write sqlserver'],
  ['--url=mysql://sa:hunter2@127.0.0.1:1/app?ssl={bad}'],
  ['--url=prisma+postgres://localhost:51213/?api_key=hunter2', "only Prisma's own client can use"],
])('no password is printed of %s', async (flag = '', advice = '') => {
  const { status, stdout, stderr } = await runCli(['list', flag])
  if (advice === '') expect(status).toBeGreaterThan(1)
  else expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(advice) })
  expect(stdout + stderr).not.toContain('hunter2')
  // One line, and no stack.
  expect(stderr.trim().split('\n')).toHaveLength(1)
})
