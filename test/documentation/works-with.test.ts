import { spawnSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/internal'
import { read, root } from '../project'

const worksWith = read('docs/works-with.md')

describe('docs/works-with.md', () => {
  it('has the tables that npm run works-with writes', () => {
    const { stderr, status } = spawnSync('node', ['scripts/write-works-with.mjs', '--check'], {
      cwd: root,
      encoding: 'utf8',
    })
    expect({ stderr: status === 0 ? '' : stderr }).toEqual({ stderr: '' })
  })

  it('calls as many databases written as there are dialects that have never met a server', () => {
    const written = worksWith.split('\n').filter((line) => / written +\|/.test(line))
    expect(written).toHaveLength(Object.values(dialects).filter(({ untried }) => untried).length)
  })

  it.each(
    [...read('docs/schedulers.md').matchAll(/^\| (\S.*?) +\| (\d+\.\d+\.\d+) +\|/gm)].map(
      ([, ...cells]) => cells,
    ),
  )('has the scheduler of docs/schedulers.md: %s', (scheduler = '', version = '') => {
    const rows = worksWith.split('\n').filter((line) => line.startsWith(`| ${scheduler} `))
    const versions = rows.flatMap((row) => row.split('|')[2]?.split(',') ?? [])
    expect(versions.map((each) => each.trim())).toContain(version)
  })

  it.each(
    [...read('docs/works-with.md').matchAll(/^- \*\*(\S.*?)\*\* \(.*; run\)/gm)].map(
      ([, ...cells]) => cells,
    ),
  )('has the server of docs/works-with.md: %s', (server = '') => {
    const row = worksWith.split('\n').find((line) => line.startsWith(`| ${server} `))
    expect(row).toContain(' passed')
  })
})
