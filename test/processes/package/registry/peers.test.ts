import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, test } from '@jest/globals'
import { installed, node, root, tarball, temporaryFolder } from '../packed-package'
import { generatePrismaClient } from './generate-prisma-client'
import { PEER_VERSIONS, type PeerVersion } from './peers'
import { newProject } from './project'

const folder = temporaryFolder()
/** Who installs the newest of all has the newest compiler too. */
const NEWEST_TYPESCRIPT = join(root, 'test/processes/package/node_modules/typescript/bin/tsc')

const MODULE_KINDS = [
  { type: 'commonjs', moduleFormat: 'cjs' },
  { type: 'module', moduleFormat: 'esm' },
] as const
type ModuleKind = (typeof MODULE_KINDS)[number]

function writeSources(project: string, { fixture, skipLibCheck }: PeerVersion): void {
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2022', outDir: 'build', rootDir: '.', strict: true },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true, skipLibCheck: skipLibCheck === true },
    ...{ types: ['node'], typeRoots: [installed('@types')] },
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [`${fixture}.ts`] }))
  for (const name of [fixture, 'run-once'])
    copyFileSync(join(__dirname, 'fixtures', `${name}.ts`), join(project, `${name}.ts`))
}

describe.each(PEER_VERSIONS)('$fixture, $version', (peer) => {
  const project = join(folder, `${peer.fixture} ${peer.version}`.replaceAll(/[^\w.]+/g, '-'))

  beforeAll(() => {
    newProject(project, [tarball, ...peer.packages], ['better-sqlite3'])
    writeSources(project, peer)
  })

  test.each(MODULE_KINDS)('compiles and runs as $type', ({ type, moduleFormat }: ModuleKind) => {
    writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type }))
    if (peer.prismaSchema)
      generatePrismaClient(project, {
        ...{ provider: 'sqlite', datasource: peer.prismaSchema.datasource },
        generator: `moduleFormat = "${moduleFormat}"`,
      })
    mkdirSync(join(project, type))
    const compiler = peer.version.startsWith('newest') ? NEWEST_TYPESCRIPT : installed('typescript/bin/tsc')
    node(project, compiler, '-p', 'tsconfig.json', '--outDir', type)
    node(project, join(type, `${peer.fixture}.js`))
  })
})
