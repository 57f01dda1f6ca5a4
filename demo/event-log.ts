import { EntitySchema, EntitySchemaOptions, type DataSource } from 'typeorm'
import { connect } from './database'
import type { Settings } from './settings'

export interface Event {
  /** Assigned by the database: the order of events, independent of clocks. */
  readonly id: number
  readonly kind: 'begin' | 'end' | 'killed'
  readonly process: string
  /** The second that the run was scheduled for, in milliseconds since 1970. */
  readonly tick: number
  readonly at: number
}

function eventEntity(tableName: string): EntitySchema<Event> {
  const number = { type: 'bigint', transformer: { to: (value: number) => value, from: Number } } as const
  const options = new EntitySchemaOptions<Event>()
  options.name = 'Event'
  options.tableName = tableName
  options.columns = {
    id: { type: 'integer', primary: true, generated: 'increment' },
    kind: { type: 'varchar', length: 10 },
    process: { type: 'varchar', length: 10 },
    tick: number,
    at: number,
  }
  return new EntitySchema(options)
}

/**
 * The evidence: a table in which each run records its start and its end. It does not depend on the lock, so it can prove the lock
 * wrong.
 */
export class EventLog {
  private constructor(private readonly dataSource: DataSource) {}

  static async open(
    { url, eventTable }: Pick<Settings, 'url' | 'eventTable'>,
    create = false,
  ): Promise<EventLog> {
    return new EventLog(await connect(url, { entities: [eventEntity(eventTable)], synchronize: create }))
  }

  async write(kind: Event['kind'], process: string, tick: number): Promise<void> {
    await this.dataSource.getRepository<Event>('Event').insert({ kind, process, tick, at: Date.now() })
  }

  read(): Promise<Event[]> {
    return this.dataSource.getRepository<Event>('Event').find({ order: { id: 'ASC' } })
  }

  async drop(): Promise<void> {
    const queryRunner = this.dataSource.createQueryRunner()
    await queryRunner.dropTable(this.dataSource.getMetadata('Event').tablePath, true)
    await queryRunner.release()
  }

  async close(): Promise<void> {
    await this.dataSource.destroy()
  }
}
