import { describe, expect, it } from '@jest/globals'
import { read } from '../project'
import { CLIENTS, RUNTIMES, WORKER } from '../processes/package/registry/runtimes'

const [, section = ''] = read('docs/works-with.md').split('## Runtimes, TypeScript, modules\n')
/** What follows the runtimes of an item, up to the next one. */
const clientsOf = (item: RegExp): string => (item.exec(section)?.[1] ?? '').replace(/\s+/g, ' ')

describe('docs/works-with.md', () => {
  it('has the runtimes that npm run check:package runs', () => {
    const [, listed = ''] = /^- \*\*(Node\.js 20.*?)\*\* run:/ms.exec(section) ?? []
    expect(listed.split(/, | and /)).toEqual(RUNTIMES.map(({ runtime, version }) => `${runtime} ${version}`))
  })

  it('says of each client where it runs', () => {
    const onAll = CLIENTS.filter(({ refusedBy }) => !refusedBy).map(({ client }) => client)
    const onSome = CLIENTS.filter(({ refusedBy }) => refusedBy).map(({ client }) => client)
    expect(clientsOf(/^- \*\*Node\.js 20.*?\*\* run: (.*?)\.\n-/ms).split('; ')).toEqual(onAll)
    expect(clientsOf(/^- \*\*Only Node\.js\*\* runs: (.*?)\. It does not load/ms).split('; ')).toEqual(onSome)
    expect(clientsOf(/^- \*\*workerd\*\* runs: (.*?)\.\n-/ms)).toBe(WORKER.client)
  })
})
