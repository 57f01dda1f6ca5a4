import { expect, it } from '@jest/globals'
import { dialects, SqlLockProvider } from '../../src/sql/internal'
import { describeBackends } from '../backends'
import { everyClient, openedClient } from '../conformance/every-client'
import { itIf } from '../it-if'
import { lockError } from '../lock-error'
import { withRows } from '../statement-sender'

const job = { name: 'job', lockAtMostFor: '10m' }
const typeOrms = everyClient().filter(({ orm }) => orm === 'TypeORM')

describeBackends(typeOrms)('$title whose values are changed on their way', (each) => {
  const client = openedClient(each)

  /** A provider whose client returns another value in a column. */
  function providerWith(column: string, value: (original: unknown) => unknown): SqlLockProvider {
    const changing = withRows(client.sqlClient, (row) =>
      column in row ? { ...row, [column]: value(row[column]) } : row,
    )
    return new SqlLockProvider(changing, dialects[each.dialect])
  }

  it('quotes an outcome that it does not know, and leaves no lock behind', async () => {
    const padding = providerWith('outcome', (outcome) => `${String(outcome)}      `)
    const locking = padding.lock({ ...job, slot: Date.now() })
    await expect(locking).rejects.toEqual(
      lockError('INVALID_CLIENT', /'outcome' is '(free|acquired|null) {6}'/),
    )
    await padding.drain()
    const left = await client.createProvider().table.find('job')
    expect(left?.held ?? false).toBe(false)
  })

  it.each([
    ['now', 'soon'],
    ['now', null],
    ['lock_until', 'soon'],
    ['locked_at', ''],
    ['locked_at', 9e15],
    ['is_held', 'yes'],
    ['is_held', 2],
  ])("quotes a value of '%s' that it does not know: '%s'", async (column, value) => {
    await client.createProvider().lock(job)
    const quoted = new RegExp(`'${column}' is ${typeof value === 'string' ? `'${value}'` : String(value)}`)
    const { table } = providerWith(column, () => value)
    await expect(table.list()).rejects.toEqual(lockError('INVALID_CLIENT', quoted))
    await expect(table.find('job')).rejects.toEqual(lockError('INVALID_CLIENT', quoted))
  })

  it('quotes an owner that is not a string', async () => {
    await client.createProvider().lock(job)
    const [column, value, quoted] = dialects[each.dialect].hex
      ? ['owner_hex', 'no hex', /'owner_hex' is 'no hex'/]
      : ['owner', 5, /'owner' is 5/]
    const { table } = providerWith(column, () => value)
    await expect(table.list()).rejects.toEqual(lockError('INVALID_CLIENT', quoted))
  })

  itIf(dialects[each.dialect].unfit !== undefined, 'a session that may be unfit')(
    'quotes an answer to whether the session is fit',
    async () => {
      const locking = providerWith('unfit', () => 'OFF').lock(job)
      await expect(locking).rejects.toEqual(lockError('INVALID_CLIENT', /'unfit' is 'OFF'/))
    },
  )
})
