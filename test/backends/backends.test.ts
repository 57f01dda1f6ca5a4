import { DataSource } from 'typeorm'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { availableBackends, describeBackends, type TestDatabase } from './index'

describeBackends(availableBackends())('backend $name', (backend) => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await backend.create()
  })
  afterAll(() => database.drop())

  it('makes an empty database to work in', async () => {
    const dataSource = await new DataSource(database.typeOrm).initialize()
    try {
      await dataSource.query('create table somebody (name varchar(64))')
      expect(await dataSource.query('select * from somebody')).toEqual([])
    } finally {
      await dataSource.destroy()
    }
  })

  it('makes another database for the next who asks', async () => {
    const other = await backend.create()
    const dataSource = await new DataSource(other.typeOrm).initialize()
    try {
      await expect(dataSource.query('select * from somebody')).rejects.toThrow()
    } finally {
      await dataSource.destroy()
      await other.drop()
    }
  })
})
