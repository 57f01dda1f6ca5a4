import { describe, expect, it } from '@jest/globals'
import { read } from '../project'
import { CLIENTS, RUNTIMES, WORKER } from '../processes/package/registry/runtimes'

const [heading = [], , ...rows] =
  read('docs/works-with.md')
    .split('\n\n')
    .filter((part) => part.startsWith('|'))
    .map((table) => table.split('\n').map((line) => line.split('|').map((cell) => cell.trim())))
    .at(0)
    ?.map((cells) => cells.slice(1, -1)) ?? []

describe('the table of docs/works-with.md', () => {
  it('has the runtimes that npm run check:package runs', () => {
    const runtimes = RUNTIMES.map(({ runtime, version }) => `${runtime} ${version}`)
    expect(heading).toEqual(['', ...runtimes, WORKER.runtime])
  })

  it('says of each client where it runs', () => {
    const tested = CLIENTS.map(({ client, refusedBy }) => [
      client,
      ...RUNTIMES.map(({ runtime }) => (refusedBy?.[runtime] ? 'does not load' : 'runs')),
      '',
    ])
    expect(rows).toEqual([...tested, [WORKER.client, ...RUNTIMES.map(() => ''), 'runs']])
  })
})
