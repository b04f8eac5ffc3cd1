import { createHash } from 'node:crypto'
import { keyReused } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { Operation } from '#contract/operations/operation.ts'
import type { HeaderReader } from '#contract/wire/header-codec.ts'
import { idempotencyKey } from '#contract/wire/headers.ts'
import { canonicalJson } from '#contract/wire/json.ts'
import type { Exchange } from '../exchange.ts'
import type { Service } from '../service.ts'
import type { Claims } from './claims.ts'

/** A request that may have a key, with what its work needs. */
export interface KeyedRequest {
  operation: Operation
  exchange: Exchange
  /** As it was parsed. */
  request: { params: unknown; query: unknown; body: unknown }
  /** Throws where a caller may begin no new work: too little credit, or too many calls left. */
  requireNewWork: () => void
  service: Pick<Service, 'store' | 'clock' | 'log' | 'settings' | 'guards' | 'receipts' | 'unread'> & { claims: Claims }
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

/** Equal for equal requests, in whatever order their members were written; a file counts by its name, type and bytes. */
export const fingerprintOf = async ({ params, query, body }: KeyedRequest['request']): Promise<string> =>
  hash([params, query, await withoutFiles(body)])

/** Files are the fields of a form, or lie in a list of such a field. */
async function withoutFiles(value: unknown, depth = 2): Promise<unknown> {
  if (value instanceof File) {
    const sha256 = createHash('sha256')
      .update(new Uint8Array(await value.arrayBuffer()))
      .digest('hex')
    return { name: value.name, type: value.type, sha256 }
  }
  if (depth === 0 || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    return value.some(item => item instanceof File)
      ? Promise.all(value.map(item => withoutFiles(item, depth - 1)))
      : value
  }
  const members = Object.entries(value).map(async ([name, member]) => [name, await withoutFiles(member, depth - 1)])
  return Object.fromEntries(await Promise.all(members))
}

const hash = (parts: readonly unknown[]): string => createHash('sha256').update(canonicalJson(parts)).digest('hex')

const otherRequest = 'This key was sent with another request before; send a new key for new work.'

/** The same key with another request is a mistake of the caller, whatever became of the first. */
export const reusedKey = (operation: Operation): ServiceError =>
  operation.reusedKeyStatus === 400
    ? wrongKey(otherRequest)
    : keyReused({ error: otherRequest, code: 'IDEMPOTENCY_KEY_REUSED' })

const wrongKey = (message: string): ServiceError => fieldError(['Idempotency-Key'], message)
