import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { migrationFiles } from './migration-files'
import { prismaFiles } from './prisma-files'

const FOLDERS = { migrations: migrationFiles(), prisma: prismaFiles() }

for (const [folder, files] of Object.entries(FOLDERS)) {
  for (const [path, text] of files) {
    const file = join(__dirname, '..', folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}
