import { createHash } from 'node:crypto'
import type { Operation } from '#contract/operations/operation.ts'
import { canonicalJson } from '#contract/wire/json.ts'
import { FormFile } from '#toolkit/values/form-file.ts'

/**
 * What makes two paid calls the same one: the service, who pays, the operation and what is sent, in whatever order it was
 * written. A person's consent is not part of what is asked, so it is left out.
 */
export function requestHash(
  service: string,
  principal: string,
  operation: Pick<Operation, 'id'>,
  call: unknown,
): string {
  const text = canonicalJson([service, principal, operation.id, withoutConsents(call)])
  return createHash('sha256').update(text).digest('hex')
}

function withoutConsents(call: unknown): unknown {
  const { params, query, body } = call as { params?: unknown; query?: unknown; body?: unknown }
  if (typeof body !== 'object' || body === null) return { params, query, body }
  const { consents: _, ...rest } = body as Record<string, unknown>
  return {
    params,
    query,
    body: Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, inShort(value)])),
  }
}

/** A file is known by its bytes, which may be many; a form may have several of one name. */
function inShort(value: unknown): unknown {
  if (Array.isArray(value) && value.some(each => each instanceof FormFile)) return value.map(inShort)
  return value instanceof FormFile
    ? { name: value.name, type: value.type, sha256: createHash('sha256').update(value.content).digest('hex') }
    : value
}
