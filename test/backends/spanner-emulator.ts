import { createRequire } from 'node:module'
import type { DataSourceOptions } from 'typeorm'
import { folderOf, installPackage } from './install-package'

const CLIENT = ['@google-cloud/spanner', '8.13.0'] as const
const PROJECT = 'shedlock'
const INSTANCE = 'test'

/** What is used of `@google-cloud/spanner`. */
interface Client {
  Spanner: new (options: { projectId: string }) => { instance(name: string): Instance }
}
interface Instance {
  create(options: { config: string; nodes: number }): Creation
  createDatabase(name: string): Creation
  database(name: string): { delete(): Promise<unknown> }
}
type Creation = Promise<readonly [unknown, { promise(): Promise<unknown> }]>

/** Installs the client, and makes an instance with a database. */
export async function prepareSpanner(url: string): Promise<void> {
  await installPackage(...CLIENT)
  await unlessThere(instanceAt(url).create({ config: 'emulator-config', nodes: 1 }))
  await administerSpanner(url, [`create ${new URL(url).pathname.slice(1)}`])
}

async function unlessThere(creation: Creation): Promise<void> {
  const ALREADY_EXISTS = 6
  try {
    const [, made] = await creation
    await made.promise()
  } catch (error) {
    if ((error as { code?: number }).code !== ALREADY_EXISTS) throw error
  }
}

export function spannerOptions(url: string): DataSourceOptions {
  const { host, pathname } = new URL(url)
  return {
    type: 'spanner',
    driver: client(host),
    projectId: PROJECT,
    instanceId: INSTANCE,
    databaseId: pathname.slice(1),
  }
}

/** Databases are no matter of SQL there. */
export async function administerSpanner(url: string, orders: readonly string[]): Promise<void> {
  const instance = instanceAt(url)
  for (const order of orders) {
    const [what, name = ''] = order.split(' ')
    if (what === 'create') await unlessThere(instance.createDatabase(name))
    else await instance.database(name).delete()
  }
}

let spanner: InstanceType<Client['Spanner']> | undefined

/** One client for all: it is not to be closed while an answer of its own pool may still come. */
function instanceAt(url: string): Instance {
  spanner ??= new (client(new URL(url).host).Spanner)({ projectId: PROJECT })
  return spanner.instance(INSTANCE)
}

function client(host: string): Client {
  process.env['SPANNER_EMULATOR_HOST'] = host
  // Which an emulator of 2025 does not know.
  process.env['GOOGLE_CLOUD_SPANNER_MULTIPLEXED_SESSIONS'] = 'false'
  return createRequire(__filename)(folderOf(...CLIENT)) as Client
}
