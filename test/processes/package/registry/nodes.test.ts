import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { entries, FRAMEWORKS, installed, installInto, root, temporaryFolder } from '../packed-package'
import { otherNode } from './other-node'

const SUPPORTED = [20, 22, 24, 26]
const current = Number.parseInt(process.versions.node)
const app = join(temporaryFolder(), 'app')

beforeAll(() => installInto(app))

// This one's own version is what `npm test` runs on.
describe.each(SUPPORTED.filter((major) => major !== current))('Node.js %i', (major) => {
  let other: Awaited<ReturnType<typeof otherNode>>

  /** @returns what it wrote to its standard error */
  async function run(cwd: string, ...args: string[]): Promise<string> {
    const options = { cwd, env: other.env, maxBuffer: 1e8 }
    const ended = promisify(execFile)(other.program, args, options)
    const { stderr } = await ended.catch((error: unknown) => {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      throw new Error(stdout + stderr)
    })
    return stderr
  }

  beforeAll(async () => {
    other = await otherNode(major)
  })

  test('loads all that needs no framework, by require and import, without a warning', async () => {
    const loadable = entries.filter((entry) => !(entry in FRAMEWORKS))
    const isThatVersion = `if (!process.version.startsWith('v${major}.')) throw new Error(process.version)`
    const requireAll = [isThatVersion, ...loadable.map((entry) => `require('${entry}')`)].join('\n')
    const importAll = loadable.map((entry) => `import '${entry}'`).join('\n')
    expect(await run(app, '-e', requireAll)).toBe('')
    expect(await run(app, '--input-type=module', '-e', importAll)).toBe('')
  })

  test('passes all tests that need no server', async () => {
    await run(root, installed('jest/bin/jest.js'), '--config', 'test/jest/quick.mjs')
  })
})
