import { InvalidArgumentError } from 'commander'
import { aDuration } from '../core/internal'

export function readDuration(text: string): string {
  try {
    aDuration(text, 'It')
    return text
  } catch (error) {
    const { message } = error as Error
    const isNone = message.includes('not a duration')
    throw new InvalidArgumentError(isNone ? 'Write a duration such as 90s, 10m, 8h, 2d or PT1H.' : message)
  }
}

export function positiveDuration(text: string): string {
  if (aDuration(readDuration(text), 'It') > 0) return text
  throw new InvalidArgumentError('It must be longer than 0.')
}

export function notBlank(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.')
  return text
}

export function time(text: string): Date {
  const date = new Date(/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : NaN)
  if (Number.isNaN(date.getTime()))
    throw new InvalidArgumentError('It must be a time with its zone, such as 2026-11-21T02:00:00Z.')
  return date
}

export function port(text: string): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number < 65_536) return number
  throw new InvalidArgumentError('It must be a number from 0 to 65535.')
}

export function exitStatus(text: string): number {
  const code = Number(text)
  if (text === '' || !Number.isInteger(code) || code < 0 || code > 255)
    throw new InvalidArgumentError('It must be a number from 0 to 255.')
  return code
}
