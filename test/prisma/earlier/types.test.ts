import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { root } from '../../project'
import { generated, PRISMA } from './version'

test(`the types of clients of Prisma ${PRISMA} fit, as those of Prisma 7 do`, async () => {
  const folder = generated('types')
  await mkdir(folder, { recursive: true })
  const clients = await readFile(join(__dirname, '../types/clients.ts'), 'utf8')
  const imported = clients
    .replace(/'(\.\.\/)+src/g, `'${root}/src`)
    .replace(/'\.\.\/generated\/(\w+)\/client'/g, "'../$1/client'")
    // The type parameters of a client are others.
    .replace('PrismaClient<', "PrismaClient<{ log: [{ level: 'query'; emit: 'event' }] }, ")
  expect(imported).not.toBe(clients)
  await writeFile(join(folder, 'clients.ts'), imported)
  const tsconfig = { extends: join(root, 'tsconfig.json'), include: ['.'], exclude: [] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  const compiler = join(root, 'node_modules/typescript-7/bin/tsc')
  const compiled = promisify(execFile)(process.execPath, [compiler, '--noEmit', '-p', folder])
  expect(await compiled.catch((error: unknown) => error)).toMatchObject({ stdout: '' })
})
