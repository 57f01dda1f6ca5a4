import type { Driver } from '../../dialect'
import { allBut, isUnknownHost, notConnected, numbered, type ErrorLike } from '../../driver'

/** Excludes CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE and DATA_LOSS. */
const spannerCode = allBut(/^(1|2|4|13|14|15)$/)

/** @google-cloud/spanner, whose errors have the status of a gRPC call; the placeholders are those of TypeORM. */
export const spannerDriver: Driver = {
  placeholder: numbered('@param', 0),
  errorCode: ({ code, details }: ErrorLike) =>
    typeof code === 'number' && typeof details === 'string' ? spannerCode(String(code)) : undefined,
  notSent: notConnected,
  lasts: isUnknownHost,
}
