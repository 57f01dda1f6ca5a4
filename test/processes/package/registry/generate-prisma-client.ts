import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface PrismaSchema {
  readonly provider: 'sqlite' | 'postgresql'
  /** Lines of the generator, beside where the client goes. */
  readonly generator: string
  readonly datasource?: string
  /** Default: `./generated`. */
  readonly output?: string
}

/** Generates a client with the model that the installed package has. */
export function generatePrismaClient(project: string, schema: PrismaSchema): void {
  const { provider, generator, datasource = '', output = './generated' } = schema
  const models = join(project, 'node_modules/shedlock-orm/prisma')
  const text = `
generator client {
  provider   = "prisma-client"
  engineType = "client"
  output     = "${output}"
  ${generator}
}
datasource db {
  provider = "${provider}"
  ${datasource}
}
${readFileSync(join(models, provider, 'shedlock.prisma'), 'utf8')}`
  writeFileSync(join(project, 'schema.prisma'), text)
  // It looks for an engine before it does anything, and does not use it. Any file will do.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath }
  const generate = ['node_modules/prisma/build/index.js', 'generate', '--schema', 'schema.prisma']
  execFileSync(process.execPath, generate, { cwd: project, env, stdio: ['ignore', 'ignore', 'inherit'] })
}
