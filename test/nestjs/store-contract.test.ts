import { afterAll, beforeAll, describe, test } from '@jest/globals'
import { InMemoryLockProvider, type LockProvider } from '../../src/core'
import { ShedLockStore } from '../../src/nestjs'
import { describeBackends } from '../backends'
import { everyClient, type OpenClient } from '../conformance/every-client'
import { storeContract } from './store-contract'

const { source, cases } = storeContract()

function register(provider: () => LockProvider): void {
  for (const { name, run } of cases(() => new ShedLockStore(provider()))) test(name, async () => run())
}

describe(`The store, by ${source}`, () => {
  describeBackends(everyClient())('$title', ({ open }) => {
    let client: OpenClient
    let provider: LockProvider

    beforeAll(async () => {
      client = await open()
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
