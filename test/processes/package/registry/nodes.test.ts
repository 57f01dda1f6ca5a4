import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { entries, FRAMEWORKS, installed, installInto, root, temporaryFolder } from '../packed-package'
import { otherNode, type OtherNode } from './other-node'

const SUPPORTED = [20, 22, 24, 26]
const current = Number.parseInt(process.versions.node)
const folder = temporaryFolder()
const app = join(folder, 'app')

beforeAll(() => {
  installInto(app)
})

// This one's own version is what `npm test` runs on.
describe.each(SUPPORTED.filter((major) => major !== current))('Node.js %i', (major) => {
  let other: OtherNode

  async function run(cwd: string, ...args: string[]): Promise<Record<'stdout' | 'stderr', string>> {
    const options = { cwd, env: other.env, maxBuffer: 1e8 }
    return promisify(execFile)(other.program, args, options).catch((error: unknown) => {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      throw new Error(stdout + stderr)
    })
  }

  beforeAll(async () => {
    other = await otherNode(major)
  })

  test('is that version', async () => {
    expect((await run(app, '--version')).stdout).toMatch(new RegExp(`^v${major}\\.`))
  })

  test('loads all that needs no framework, by require and import, without a warning', async () => {
    const loadable = entries.filter((entry) => !(entry in FRAMEWORKS))
    const requireAll = loadable.map((entry) => `require('${entry}')`).join('\n')
    const importAll = loadable.map((entry) => `import '${entry}'`).join('\n')
    expect((await run(app, '-e', requireAll)).stderr).toBe('')
    expect((await run(app, '--input-type=module', '-e', importAll)).stderr).toBe('')
  })

  test('passes all tests that need no server', async () => {
    await run(root, installed('jest/bin/jest.js'), '--config', 'test/jest/quick.mjs')
  })
})
