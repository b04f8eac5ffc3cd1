import { z } from 'zod'
import { CodedError } from '../errors/failures.ts'
import type { LimitName } from '../limits.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** Who may call (brief §5.1, §5.2): with an API key, or with a wallet's sign-in. An empty list means anyone. */
export type AuthScheme = 'apiKey' | 'wallet'

/**
 * How a call costs: `usage` is held before and captured after (brief §5.2), `quote` is captured when it is accepted,
 * `payment` is the payment itself, `free` moves no money.
 */
export type Charge = 'free' | 'usage' | 'quote' | 'payment'

export type BodyType = 'json' | 'multipart'

export interface RequestShape {
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  /** A body that may be left out, content type included (brief §4.1). */
  bodyOptional?: boolean
  /** How the body may come; absent: as JSON. A form's fields are parsed by the same schema, its files as `UploadedFile`. */
  bodyTypes?: readonly BodyType[]
  /** Names of request headers that this operation reads beyond the credentials. */
  headers?: readonly string[]
}

/** What one status carries: JSON, and beside it a stream of events or the bytes of a file. */
export interface AnswerShape {
  json?: z.ZodType
  /** Each `data:` event of a `text/event-stream`. */
  events?: z.ZodType
  /** Content type of raw bytes, or each that there may be. */
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
  /** A second path of the published contract that answers the same. */
  aliasPath?: string
  tag: string
  summary: string
  auth: readonly AuthScheme[]
  charge: Charge
  limit: LimitName
  /** Only for ADMIN keys: it manages keys, or tells what the account spent. */
  adminKey?: boolean
  /** Farebox's own: not of the published contract, so other services of it do not have it. */
  isOwn?: boolean
  /** Whether it takes an `Idempotency-Key`; absent: where it costs. */
  idempotent?: boolean
  /** The status of a key that is reused with another request; 422 where absent. */
  reusedKeyStatus?: 400 | 422
  request: Request
  /** The 200. */
  answer: Answer
  /** Schemas of the other statuses; several kinds of one status are a union. */
  failures: Readonly<Record<number, z.ZodType>>
}

/** The one place where an operation is written: routes, client, description and tests come out of it. */
export const defineOperation = <const Id extends string, Request extends RequestShape, Answer extends AnswerShape>(
  operation: Operation<Request, Answer, Id>,
): Operation<Request, Answer, Id> =>
  isIdempotent(operation) ? { ...operation, failures: withKeyFailures(operation) } : operation

export const bodyTypesOf = ({ request }: Pick<Operation, 'request'>): readonly BodyType[] =>
  request.bodyTypes ?? ['json']

/** Whether a caller's API key is read: where it is required, and on free public operations, where one that is valid identifies its caller. */
export const readsKey = ({ auth, charge }: Pick<Operation, 'auth' | 'charge'>): boolean =>
  auth.includes('apiKey') || (auth.length === 0 && charge === 'free')

/** Whether the operation costs a caller credit. */
export const isPaid = ({ charge }: Pick<Operation, 'charge'>): boolean => charge === 'usage' || charge === 'quote'

/** Whether the operation takes an `Idempotency-Key`: a repeat gets the first answer, and is not charged. */
export const isIdempotent = (operation: Pick<Operation, 'charge' | 'idempotent'>): boolean =>
  operation.idempotent ?? isPaid(operation)

/** 409 for a key whose work is in flight, and what a key with another request is answered (a 400 has its shape anyway). */
function withKeyFailures({ failures, reusedKeyStatus }: Pick<Operation, 'failures' | 'reusedKeyStatus'>) {
  const statuses = reusedKeyStatus === 400 ? [409] : [409, 422]
  const added = statuses.map(status => {
    const known = failures[status]
    return [status, known ? z.union([known, CodedError]) : CodedError]
  })
  return { ...failures, ...Object.fromEntries(added) }
}

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined
type Written<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined

/** What a route reads, after parsing. */
export interface RequestOf<O extends Operation> {
  params: Parsed<O['request']['params']>
  query: Parsed<O['request']['query']>
  body: Parsed<O['request']['body']>
}

/** What a caller writes, before defaults. */
export interface CallOf<O extends Operation> {
  params: Written<O['request']['params']>
  query: Written<O['request']['query']>
  body: Written<O['request']['body']>
}

export type AnswerOf<O extends Operation> = Parsed<O['answer']['json']>
