import { DataSource } from 'typeorm'
import { expect, it } from '@jest/globals'
import { dialects, spell } from '../../src/sql'
import { availableBackends, describeBackends } from '../backends'

/** Values under which a crash of the server may forget a lock; they are the server's own, so that no test sets them. */
const FORGETFUL = {
  'flush of the binary log': { wrong: ['0', '100'], right: ['1'] },
  'flush at commit': { wrong: ['0', '2'], right: ['1'] },
}

describeBackends(availableBackends().filter(({ dialect }) => ['mysql', 'mariadb'].includes(dialect)))(
  'Settings of $name that a lock needs',
  (backend) => {
    const { settings = [] } = dialects[backend.dialect].inspection ?? {}

    it.each(Object.entries(FORGETFUL))('%s is asked for and judged', async (name, { wrong, right }) => {
      const setting = settings.find((each) => each.name === name)
      if (!setting) throw new Error(`There is no setting '${name}'.`)
      for (const value of wrong) expect(value).toMatch(setting.wrong)
      for (const value of right) expect(value).not.toMatch(setting.wrong)

      const database = await backend.create()
      const dataSource = await new DataSource(database.typeOrm).initialize()
      try {
        const rows = await dataSource.query<object[]>(spell(setting.ask, () => '?').text)
        expect(String(Object.values(rows[0] ?? {}).at(-1))).toMatch(/^\d+$/)
      } finally {
        await dataSource.destroy()
        await database.drop()
      }
    })
  },
)
