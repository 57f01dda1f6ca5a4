import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, test } from '@jest/globals'
import { pages } from '../../../documentation/documents'
import { programs } from '../../../documentation/programs'
import { generateClients } from '../../../prisma/generate-clients'
import { installed, installInto, node, npm, root, tarball } from '../packed-package'

/** The lowest that docs/works-with.md names, and the newest. */
const VERSIONS = ['5.2', '7']
const all = pages(root).flatMap((page) => programs(root, page))
let folder: string

beforeAll(async () => {
  await generateClients()
  // Inside of the project, so that the frameworks are found; the package itself is the packed one.
  folder = mkdtempSync(join(root, '.programs-'))
  const app = join(folder, 'app')
  installInto(app)
  npm(app, 'install', '--prefer-offline', '--omit=peer', tarball, ...VERSIONS.map(aliased))
  writeFileSync(join(app, 'package.json'), '{ "private": true, "type": "module" }')
  for (const { page, file, text } of [...shared(), ...all]) {
    const path = join(app, page, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  symlinkSync(join(root, 'test/prisma/generated/sqlite'), join(app, 'client'))
  const granted = readFileSync(join(root, 'test/documentation/taken-for-granted.ts'), 'utf8')
  writeFileSync(
    join(app, 'granted.ts'),
    granted.replace('../prisma/generated/sqlite/client', './client/client'),
  )
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const aliased = (version: string): string => `typescript-${version}@npm:typescript@${version}`

/** The files that the README asks for, beside each page. */
function shared(): { page: string; file: string; text: string }[] {
  const files = all.filter(({ page, file }) => page === 'README.md' && file.endsWith('.ts'))
  const client = { file: 'generated/prisma/client.ts', text: "export * from '#client'\n" }
  return [...new Set(all.map(({ page }) => page))].flatMap((page) =>
    [...files, client].map(({ file, text }) => ({ page, file, text })),
  )
}

test.each(VERSIONS)('what stands in the documentation compiles strictly with TypeScript %s', (version) => {
  const app = join(folder, 'app')
  const compilerOptions = {
    ...{
      target: 'es2022',
      lib: ['es2022', 'esnext.disposable'],
      module: 'esnext',
      moduleResolution: 'bundler',
    },
    ...{ moduleDetection: 'force', strict: true, skipLibCheck: true, noEmit: true },
    ...{ experimentalDecorators: true, allowImportingTsExtensions: true },
    ...{ types: ['node'], typeRoots: [installed('@types')], paths: { '#client': ['./client/client.ts'] } },
  }
  const files = ['granted.ts', ...all.map(({ page, file }) => join(page, file))]
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  node(app, join(app, 'node_modules', `typescript-${version}`, 'bin/tsc'), '-p', 'tsconfig.json')
})
