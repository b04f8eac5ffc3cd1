import { z } from 'zod'
import { CodedError } from '../errors/failures.ts'
import { bodyBytes, bodyValues, jsonDepth, type LimitName } from '../limits.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** Who may call (brief §5.1, §5.2): with an API key or with a wallet sign-in. An empty list means anyone. */
export type AuthScheme = 'apiKey' | 'wallet'

/**
 * How a call is charged: `usage` is held before and captured after (brief §5.2), `quote` is captured when the call is
 * accepted, `payment` is itself a payment, `free` moves no money.
 */
export type Charge = 'free' | 'usage' | 'quote' | 'payment'

export type BodyType = 'json' | 'multipart'

export interface RequestShape {
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  /** A body that may be omitted together with its content type (brief §4.1). */
  bodyOptional?: boolean
  /**
   * The accepted formats of the body; JSON if absent. A form's fields are parsed by the same schema, its files as
   * `UploadedFile`.
   */
  bodyTypes?: readonly BodyType[]
  /** Names of request headers that this operation reads, besides credentials. */
  headers?: readonly string[]
}

/** The content of one status, in each form that it can have: JSON, a stream of events, or the bytes of a file. */
export interface AnswerShape {
  json?: z.ZodType
  /** Each `data:` event of a `text/event-stream`. */
  events?: z.ZodType
  /** Content types of raw bytes. */
  bytes?: string | readonly string[]
  headers?: readonly string[]
}

export interface Operation<
  Request extends RequestShape = RequestShape,
  Answer extends AnswerShape = AnswerShape,
  Id extends string = string,
> {
  id: Id
  method: Method
  /** Relative to the base URL, parameters as `{name}`. */
  path: string
  /** A second path in the published contract with the same behaviour. */
  aliasPath?: string
  tag: string
  summary: string
  auth: readonly AuthScheme[]
  charge: Charge
  limit: LimitName
  /** Only for ADMIN keys: it manages keys, or shows what the account spent. */
  adminKey?: boolean
  /** Specific to farebox: not in the published contract, so other services do not have it. */
  isOwn?: boolean
  /** Whether it accepts an `Idempotency-Key`; by default, if it costs something. */
  idempotent?: boolean
  /** The status if a key is reused with a different request; 422 by default. */
  reusedKeyStatus?: 400 | 422
  request: Request
  /** The answer with status 200. */
  answer: Answer
  /** Schemas of the other statuses; several kinds with one status form a union. */
  failures: Readonly<Record<number, z.ZodType>>
}

/** The single definition of an operation: routes, client, description and tests derive from it. */
export const defineOperation = <const Id extends string, Request extends RequestShape, Answer extends AnswerShape>(
  operation: Operation<Request, Answer, Id>,
): Operation<Request, Answer, Id> => ({ ...operation, failures: withAddedFailures(operation) })

export const bodyTypesOf = ({ request }: Pick<Operation, 'request'>): readonly BodyType[] =>
  request.bodyTypes ?? ['json']

/**
 * Whether a caller's API key is read: it is if the operation requires one, and on free public operations, where a valid
 * key identifies its caller.
 */
export const readsKey = ({ auth, charge }: Pick<Operation, 'auth' | 'charge'>): boolean =>
  auth.includes('apiKey') || (auth.length === 0 && charge === 'free')

/** Whether the operation costs credit. */
export const isPaid = ({ charge }: Pick<Operation, 'charge'>): boolean => charge === 'usage' || charge === 'quote'

/** Whether the operation accepts an `Idempotency-Key`: a repeat gets the first answer and is not charged. */
export const isIdempotent = (operation: Pick<Operation, 'charge' | 'idempotent'>): boolean =>
  operation.idempotent ?? isPaid(operation)

/**
 * 409 for a key whose work is in flight; the status for a key that is used with another request (a 400 has its shape
 * anyway); 403 for purchases of a suspended account.
 */
function withAddedFailures(operation: Pick<Operation, 'failures' | 'reusedKeyStatus' | 'idempotent' | 'charge'>) {
  const { failures, reusedKeyStatus } = operation
  const ofKeys = reusedKeyStatus === 400 ? [409] : [409, 422]
  const statuses = [...(isPaid(operation) ? [403] : []), ...(isIdempotent(operation) ? ofKeys : [])]
  const added = statuses.map(status => {
    const known = failures[status]
    return [status, known ? z.union([known, CodedError]) : CodedError]
  })
  return { ...failures, ...Object.fromEntries(added) }
}

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined
type Written<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined

/** What a route receives, after parsing. */
export interface RequestOf<O extends Operation> {
  params: Parsed<O['request']['params']>
  query: Parsed<O['request']['query']>
  body: Parsed<O['request']['body']>
}

/** What a caller passes, before defaults. */
export interface CallOf<O extends Operation> {
  params: Written<O['request']['params']>
  query: Written<O['request']['query']>
  body: Written<O['request']['body']>
}

export type AnswerOf<O extends Operation> = Parsed<O['answer']['json']>

const mib = 1024 * 1024

/** Callers without credentials, and key management, may send only small bodies. */
export function mostBodyBytes(operation: Operation): number {
  if (!operation.auth.length || operation.adminKey) return bodyBytes.small
  if (operation.limit === 'video.queue' || operation.path === '/video/quote') return bodyBytes.video
  if (bodyTypesOf(operation).includes('multipart')) return bodyBytes.form
  return bodyBytes.json
}

/** Only embeddings have long lists, of a model's own tokens. */
export const mostBodyValues = ({ limit }: Pick<Operation, 'limit'>) => ({
  values: limit === 'embedding' ? bodyValues.embeddings : bodyValues.usual,
  members: bodyValues.usual,
})

/** The limits of a body, in a sentence for its callers. */
export function describeBodyLimits(operation: Operation): string {
  const bytes = mostBodyBytes(operation)
  const size = bytes < mib ? `${bytes / 1024} KiB` : `${bytes / mib} MiB`
  if (!bodyTypesOf(operation).includes('json')) return `At most ${size}.`
  const values = mostBodyValues(operation).values.toLocaleString('en-US')
  return `At most ${size}. JSON may have ${values} values (members and items at all levels) and ${jsonDepth} levels.`
}
