import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { itIf } from '../../it-if'
import { packRevision, revisionBefore, unpack } from '../versions/pack-revision'
import { runVersions } from '../versions/run-versions'
import { tarball, temporaryFolder } from './packed-package'

const folder = temporaryFolder()
const revision = revisionBefore()
const itIfKnown = itIf(revision !== undefined, 'more than a shallow clone')

itIfKnown('shares a table with the version before it: no overlap, nothing misread', async () => {
  const folders = { before: join(folder, 'before'), after: join(folder, 'after') }
  mkdirSync(folders.after)
  packRevision(revision ?? '', folders.before)
  unpack(tarball, folders.after)
  const { violations, figures } = await runVersions(folders, 'sqlite', { milliseconds: 5_000 })
  expect(violations).toEqual([])
  for (const { acquired = 0, slot = 0, paused = 0, read = 0 } of Object.values(figures))
    for (const count of [acquired, slot, paused, read]) expect(count).toBeGreaterThan(0)
})
