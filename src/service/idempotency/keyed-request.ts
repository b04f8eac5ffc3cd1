import { createHash } from 'node:crypto'
import { canonicalJson } from '#contract/canonical-json.ts'
import { invalidRequest, keyReused } from '#contract/errors.ts'
import { idempotencyKey } from '#contract/headers.ts'
import type { Operation } from '#contract/operation.ts'
import type { ServiceError } from '#contract/service-error.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderReader, Service } from '../service.ts'
import type { Claims } from './claims.ts'

/** A request that may have a key, with what its work needs. */
export interface KeyedRequest {
  operation: Operation
  exchange: Exchange
  /** As it was parsed. */
  request: { params: unknown; query: unknown; body: unknown }
  /** Throws where a caller has too little credit for new work. */
  requireCredit: () => void
  service: Pick<Service, 'store' | 'clock' | 'log' | 'settings' | 'guards' | 'receipts'> & { claims: Claims }
}

/** The key of a request; null where it has none. Throws `invalidRequest`. */
export function readKey(header: HeaderReader): string | null {
  const [first, ...others] = new Set(header(idempotencyKey.name))
  if (first === undefined) return null
  const key = others.length ? null : idempotencyKey.parse(first)
  if (key === null) throw wrongKey('send one value of 1 to 255 characters out of A–Z, a–z, 0–9, "_" and "-"')
  return key
}

/** The id of a claim: a caller's key means something only to the account and the operation that it came with. */
export const claimId = (account: string, operation: Operation, key: string): string =>
  hash([account, operation.id, key])

/** Equal for equal requests, in whatever order their members were written. */
export const fingerprintOf = (request: KeyedRequest['request']): string =>
  hash([request.params, request.query, request.body])

const hash = (parts: readonly unknown[]): string => createHash('sha256').update(canonicalJson(parts)).digest('hex')

const otherRequest = 'This key was sent with another request before; send a new key for new work.'

/** The same key with another request is a mistake of the caller, whatever became of the first. */
export const reusedKey = (operation: Operation): ServiceError =>
  operation.reusedKeyStatus === 400
    ? wrongKey(otherRequest)
    : keyReused({ error: otherRequest, code: 'IDEMPOTENCY_KEY_REUSED' })

function wrongKey(message: string): ServiceError {
  const name = 'Idempotency-Key'
  return invalidRequest({
    error: 'Invalid request parameters',
    details: { [name]: { _errors: [message] } },
    issues: [{ path: [name], message }],
  })
}
