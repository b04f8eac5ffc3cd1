import type { z } from 'zod'
import { invalidRequest } from '#contract/errors/errors.ts'
import { describeIssues } from '#contract/errors/issues.ts'
import type { Operation } from '#contract/operations/operation.ts'

export interface RequestParts {
  params: unknown
  query: unknown
  body: unknown
}

/** Parses what an operation declares; a 400 names each field and its allowed values. */
export function parseRequest(operation: Operation, parts: RequestParts): RequestParts {
  const { params, query, body } = operation.request
  return {
    params: parsed(params, parts.params),
    query: parsed(query, parts.query),
    body: parsed(body, parts.body),
  }
}

function parsed(schema: z.ZodType | undefined, value: unknown): unknown {
  if (!schema) return undefined
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw invalidRequest(describeIssues(result.error, value))
}
