import { numbered, type Driver } from './driver'

/** CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE and DATA_LOSS do not say what became of the statement. */
const UNKNOWN_OUTCOME = [1, 2, 4, 13, 14, 15]

/** @google-cloud/spanner, whose errors have the status of a gRPC call; the placeholder is TypeORM's. */
export const spannerDriver: Driver = {
  placeholder: numbered('@param', 0),
  errorCode: (error) => {
    const { code, details } = error as { code?: unknown; details?: unknown }
    if (typeof code !== 'number' || typeof details !== 'string') return undefined
    return UNKNOWN_OUTCOME.includes(code) ? undefined : String(code)
  },
}
