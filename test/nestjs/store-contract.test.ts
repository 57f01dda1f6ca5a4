import { afterAll, beforeAll, describe, test } from '@jest/globals'
import { InMemoryLockProvider, type LockProvider } from '../../src/core'
import { ShedLockStore } from '../../src/nestjs'
import { describeBackends } from '../backends'
import { everyClient, type OpenClient } from '../conformance/every-client'
import { storeContract } from './store-contract'

const { source, cases } = storeContract()

function register(provider: () => LockProvider): void {
  // Beside each other, because most of the time is spent waiting for locks to expire.
  for (const { name, run } of cases(() => new ShedLockStore(provider()))) test.concurrent(name, run)
}

describe(`The store, by ${source}`, () => {
  describeBackends(everyClient())('$title', (one) => {
    let client: OpenClient
    let provider: LockProvider

    beforeAll(async () => {
      client = await one.open()
      provider = client.createProvider()
    })
    afterAll(() => client.close())

    register(() => provider)
  })

  describe('in memory', () => {
    const provider = new InMemoryLockProvider()
    register(() => provider)
  })
})
