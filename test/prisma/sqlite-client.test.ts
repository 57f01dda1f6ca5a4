import { expect, it } from '@jest/globals'
import { raw } from '../../src/sql/sql'
import { availableBackends, describeBackends } from '../backends'
import { prismaClient } from '../conformance/sql-clients'
import { senderOf } from '../statement-sender'
import { prismaBackends } from './clients'
import { openPrisma } from './lock-table'

describeBackends(prismaBackends(availableBackends('sqlite')))('locks by $adapter', (backend) => {
  it('never wait in the driver for a busy file, because nothing else would run meanwhile', async () => {
    const locks = senderOf(prismaClient((await openPrisma(backend)).prisma, 'sqlite'))
    expect(await locks.query(raw('pragma busy_timeout'), {})).toEqual([{ timeout: 0 }])
  })
})
