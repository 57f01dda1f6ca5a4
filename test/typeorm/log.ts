import { AbstractLogger, type LogLevel, type LogMessage } from 'typeorm'

type Message = LogMessage | string | number

/** Notes what TypeORM says of these types, as `type: message`. */
export class Log extends AbstractLogger {
  readonly seen: string[] = []

  protected writeLog(level: LogLevel, message: Message | Message[]): void {
    for (const each of [message].flat())
      this.seen.push(
        typeof each === 'object' ? `${each.type ?? level}: ${each.message}` : `${level}: ${each}`,
      )
  }
}
