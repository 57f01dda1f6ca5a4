import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { wrongUsage, type CommandError } from './command-error'
import { readEnvironment, usualFileWith } from './environment'
import type { Flags } from './options'
import { prismaProject, type PrismaProject } from './prisma-project'
import { Project } from './project'

/** The database of a command. */
export type Database = ({ readonly url: string } | { readonly dataSource: string }) & {
  /** How the command knows it, such as `DATABASE_URL of .env`. */
  readonly by: string
}

/**
 * Finds out which database a command is to work on: the URL of `--url`, the file of `--data-source`, the URL in DATABASE_URL, or the
 * one that the project's Prisma uses. Refuses what may mean two.
 *
 * @throws CommandError
 */
export async function whichDatabase(flags: Flags<'url' | 'dataSource' | 'env'>): Promise<Database> {
  const { url, dataSource, env } = flags
  if (url !== undefined && dataSource !== undefined) throw twice('--url', '--data-source')
  const variables = env === undefined ? {} : readEnvironment(env)
  const { DATABASE_URL: inFile } = variables
  if (url !== undefined && inFile !== undefined && inFile !== url)
    throw twice('--url', `DATABASE_URL of ${env}`)
  /** Returns where a variable comes from. Either value of two may mean the wrong database. */
  const check = (name: string): string => {
    const value = variables[name]
    if (value !== undefined && value !== process.env[name])
      throw twice(`${name} of the environment`, `${name} of ${env}`)
    return `${name} of ${value === undefined ? 'the environment' : env}`
  }
  if (dataSource !== undefined) {
    Object.keys(variables).forEach(check)
    return { dataSource, by: `--data-source ${dataSource}` }
  }
  if (url !== undefined && url !== '') return { url: await resolved(url), by: '--url' }
  const usual = process.env['DATABASE_URL'] ?? ''
  const by = check('DATABASE_URL')
  if (usual !== '') return { url: await resolved(usual), by }
  return ofPrisma(await prismaProject(new Project()), check)
}

/** The database that the project's Prisma uses. @param check called with the name of its variable */
async function ofPrisma(prisma: PrismaProject, check: (name: string) => string): Promise<Database> {
  const { main, config } = prisma
  const { variable, url = '' } = main ?? {}
  if (url !== '')
    return { url: await resolved(url, prisma), by: config ?? new Project().short(main?.path ?? '') }
  const by = variable === undefined ? '' : check(variable)
  const value = process.env[variable ?? ''] ?? ''
  if (value !== '') return { url: await resolved(value, prisma), by }
  const names = [...new Set(['DATABASE_URL', variable ?? 'DATABASE_URL'])]
  const file = usualFileWith(new Project(), ...names)
  const advice = file === undefined ? '' : ` ${file} sets it: add --env ${file}.`
  throw wrongUsage(
    `No database is named – set --url, ${names.join(' or ')} in the environment or in --env, or --data-source.${advice}`,
  )
}

/** Completes the path of a file. Prisma's engines, unlike its adapters, look for a relative one beside the schema. */
async function resolved(url: string, prisma?: PrismaProject): Promise<string> {
  const [, unknown] = /\$\{(\w+)/.exec(url) ?? []
  if (unknown !== undefined)
    throw wrongUsage(
      `The URL contains \${${unknown}} instead of its value – write the value: a file of variables is read as it is.`,
    )
  const [, path] = /^(?:file|sqlite):(?!\/)([^?]*)/.exec(url) ?? []
  if (path === undefined) return url
  const project = new Project()
  const isHere = existsSync(path)
  if (isHere && project.files('.prisma').length === 0) return url
  const { main } = prisma ?? (await prismaProject(project))
  const beside = join(main?.isFolder === true ? main.path : dirname(main?.path ?? 'x'), path)
  if (!existsSync(beside)) return url
  if (isHere && resolve(beside) !== resolve(path))
    throw wrongUsage(
      `${url} may mean ${path} or, as Prisma's engines read it, ${project.short(beside)} – name one with --url and its full path.`,
    )
  return `file:${beside}`
}

function twice(one: string, other: string): CommandError {
  return wrongUsage(`${one} and ${other} may mean two databases – set only one of them.`)
}
