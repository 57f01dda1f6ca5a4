import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, test } from '@jest/globals'
import { pages } from '../../../documentation/documents'
import { programs } from '../../../documentation/programs'
import { generateClients } from '../../../prisma/generate-clients'
import { installed, installInto, node, npm, root, tarball, temporaryFolder } from '../packed-package'

/** The lowest that docs/works-with.md names, and the newest. */
const VERSIONS = ['5.2', '7']
const all = pages().flatMap(programs)
/** The files that the README asks for: they are beside each page. */
const shared = [
  ...all.filter(({ page, file }) => page === 'README.md' && file.endsWith('.ts')),
  { file: 'generated/prisma/client.ts', text: "export * from '#client'\n" },
]
const beside = [...new Set(all.map(({ page }) => page))].flatMap((page) =>
  shared.map(({ file, text }) => ({ page, file, text })),
)
let app: string

beforeAll(async () => {
  await generateClients()
  // Inside of the project, so that the frameworks are found; the package itself is the packed one.
  app = join(temporaryFolder(join(root, '.programs-')), 'app')
  installInto(app)
  const compilers = VERSIONS.map((version) => `typescript-${version}@npm:typescript@${version}`)
  npm(app, 'install', '--prefer-offline', '--omit=peer', tarball, ...compilers)
  writeFileSync(join(app, 'package.json'), '{ "private": true, "type": "module" }')
  for (const { page, file, text } of [...beside, ...all]) {
    const path = join(app, page, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  symlinkSync(join(root, 'test/prisma/generated/sqlite'), join(app, 'client'))
  const granted = readFileSync(join(root, 'test/documentation/taken-for-granted.ts'), 'utf8')
  const found = granted.replace('../prisma/generated/sqlite/client', './client/client')
  writeFileSync(join(app, 'granted.ts'), found)
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
})

test.each(VERSIONS)('what stands in the documentation compiles strictly with TypeScript %s', (version) => {
  node(app, `node_modules/typescript-${version}/bin/tsc`, '-p', 'tsconfig.json')
})
