import { describe, expect, it } from '@jest/globals'
import { shedLockEntity, typeOrmLockProvider } from '../../src/typeorm/internal'
import { column, FREE, NOTHING, scriptedClient, TAKEN } from './scripted-client'
import { fakeSpannerClient } from './spanner-client-fake'

const COLUMNS = [
  column('name', 'STRING(64)', 64, 1),
  column('lock_until', 'TIMESTAMP', null),
  column('locked_at', 'TIMESTAMP', null),
  column('locked_by', 'STRING(255)', 255),
]

describe('Spanner through the real TypeORM, answered by a fake client', () => {
  const script = scriptedClient({
    dialect: 'spanner',
    options: (answer) => ({
      ...{ type: 'spanner', driver: fakeSpannerClient(answer) },
      entities: [shedLockEntity({ dialect: 'spanner' })],
    }),
    catalog: 'information_schema',
    columns: COLUMNS,
    refusal: { code: 7, message: 'PERMISSION_DENIED' },
    broken: [4, 14],
    made: [
      'shedlock',
      'name string(64)',
      'lock_until timestamp',
      'locked_at timestamp',
      'locked_by string(255)',
    ],
  })
  const { lock } = script

  it('reads without a transaction, and acquires in one of its own, with values bound by name', async () => {
    script.answers = [FREE, TAKEN]
    expect(await lock()).toBeDefined()
    expect(script.asked.map(({ by }) => by)).toEqual(['read', 'transaction'])
    expect(script.asked[1]?.text).toMatch(/^update `shedlock` set .* interval @param0 millisecond\)/)
    expect(Object.values(script.asked[1]?.values as object)).toEqual([
      60 * 86_400_000,
      60 * 86_400_000,
      expect.any(String),
      'job',
      expect.any(String),
    ])
  })

  it('creates the table with a schema change without a migration, unless it exists', async () => {
    script.columns = []
    script.answers = [NOTHING, NOTHING]
    const provider = typeOrmLockProvider(script.dataSource)
    await provider.table.create()
    expect(script.asked.map(({ by }) => by)).toEqual(['schema', 'transaction'])
    script.columns = COLUMNS
    await provider.table.create()
    expect(script.answers).toEqual([])
  })
})
