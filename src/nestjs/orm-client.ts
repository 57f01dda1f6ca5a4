import { LockError } from '../core'
import { instancesOf, type ApplicationInstance, type Modules } from './application-instances'

/**
 * The client of an ORM that the application has: the one of this token, or else the only one. Of several the one under a
 * class counts, as TypeORM's default DataSource is; named ones are under texts.
 *
 * @throws LockError `INVALID_CONFIGURATION` when there is none, or it is not clear which
 */
export function ormClient(modules: Modules, token: unknown): object {
  if ([...modules.values()].length === 0) throw invalid(UNSEEN)
  const all = [...instancesOf(modules)].filter(({ isStatic }) => isStatic)
  const found =
    token === undefined ? all.filter(({ instance }) => isOrmClient(instance)) : all.filter(isUnder(token))
  const [client, ...more] = distinct(found)
  if (client && more.length === 0) return client
  const [ofClass, ...moreOfClasses] = distinct(found.filter(({ token: each }) => typeof each === 'function'))
  if (ofClass && moreOfClasses.length === 0) return ofClass
  throw invalid(problem(token, found))
}

const UNSEEN =
  'ShedLockModule cannot look into the application, because @nestjs/core is loaded twice, as some loaders of TypeScript do – make the lock provider in forRootAsync.'

/** A DataSource of TypeORM, or a PrismaClient. */
function isOrmClient(instance: object): boolean {
  try {
    const { isInitialized, createQueryRunner, $connect, $executeRawUnsafe } = instance as Record<
      string,
      unknown
    >
    return isInitialized !== undefined
      ? typeof createQueryRunner === 'function'
      : typeof $connect === 'function' && typeof $executeRawUnsafe === 'function'
  } catch {
    // A proxy may stand for something that is not there yet.
    return false
  }
}

function isUnder(token: unknown): (each: ApplicationInstance) => boolean {
  return (each) => each.token === token
}

function distinct(found: readonly ApplicationInstance[]): object[] {
  return [...new Set(found.map(({ instance }) => instance))]
}

function problem(token: unknown, found: readonly ApplicationInstance[]): string {
  if (token !== undefined)
    return `ShedLockModule finds nothing under its client ${nameOf(token)} – provide it in a module of the application, for no request.`
  const names = [...new Set(found.map((each) => nameOf(each.token)))].join(', ')
  return names === ''
    ? 'ShedLockModule finds no DataSource and no PrismaClient in the application – import TypeOrmModule.forRoot(…) or the module of your PrismaService, or give it the lock provider itself.'
    : `ShedLockModule finds several clients: ${names} – name one with the option client, such as getDataSourceToken('reports') or PrismaService.`
}

function invalid(message: string): LockError {
  return new LockError('INVALID_CONFIGURATION', message)
}

function nameOf(token: unknown): string {
  return typeof token === 'function' ? token.name : String(token)
}
