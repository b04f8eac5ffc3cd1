import type { HeaderCodec } from '../wire/header-codec.ts'
import * as headers from '../wire/headers.ts'
import { isIdempotent, isPaid, type Operation, readsKey } from './operation.ts'

/** How the API description presents a header, regardless of the type of its value. */
export type DescribedHeader = Pick<HeaderCodec<unknown>, 'name' | 'when' | 'schema'>

/** The part of an answer that decides its headers: the operation, and a status that it documents. */
interface Answer {
  operation: Operation
  status: number
}

type Condition = (answer: Answer) => boolean

/** A response header: the section that requires it, and on which answers it appears, or why it is never sent. */
export type AnswerHeaderRow = { header: DescribedHeader; section: string } & (
  | { on: Condition; inContent?: boolean }
  | { notSent: string }
)

const always: Condition = () => true
const success: Condition = ({ status }) => status < 300
const failure: Condition = ({ status }) => status >= 400
const paid: Condition = ({ operation }) => isPaid(operation)
const authenticated: Condition = ({ operation }) => operation.auth.length > 0 || readsKey(operation)
const limited: Condition = answer => authenticated(answer) || answer.operation.limit === 'top-up'
const ofText: Condition = answer => authenticated(answer) && answer.operation.limit === 'text'
const ofImages: Condition = ({ operation }) => isPaid(operation) && operation.limit === 'image'
const ofNodes: Condition = ({ operation }) => operation.limit === 'crypto.rpc'
const both =
  (...conditions: Condition[]): Condition =>
  answer =>
    conditions.every(condition => condition(answer))
const status =
  (...statuses: number[]): Condition =>
  answer =>
    statuses.includes(answer.status)

/** Operations with which a wallet pays or fetches what it has paid for. */
const showsBalance: Condition = ({ operation }) =>
  isPaid(operation) || operation.limit === 'video.retrieve' || operation.limit === 'audio.retrieve'

/** Images are looked at before they are sold; all other content can only be refused, by an engine. */
const refusable: Condition = answer => ofImages(answer) || (answer.status === 422 && showsBalance(answer))

/** Headers that the operation names itself. */
const named =
  ({ name }: DescribedHeader): Condition =>
  ({ operation, status }) =>
    status < 300 && operation.answer.headers?.includes(name) === true

const files: Condition = answer =>
  answer.status < 300 && (answer.operation.answer.bytes !== undefined || named(headers.contentDisposition)(answer))

const retried: Condition = ({ operation, status }) =>
  status === 429 || status === 503 || (status === 409 && isIdempotent(operation))

const rows = (section: AnswerHeaderRow['section'], on: Condition, ...listed: DescribedHeader[]): AnswerHeaderRow[] =>
  listed.map(header => ({ header, section, on }))

/**
 * Every response header (brief §2.3, §8.4, §9, and further ones). The description and the checklist of
 * `docs/conformance.md` are generated from this table, and a test compares it with what the service sends.
 */
export const answerHeaderTable: readonly AnswerHeaderRow[] = [
  { header: headers.contentType, section: '§9', on: always, inContent: true },
  ...rows('§9', always, headers.contentEncoding),
  ...rows('§9', files, headers.contentDisposition),
  ...rows('§9', always, headers.date, headers.requestId, headers.version, headers.timestamp),
  ...rows('–', always, headers.ownRequestId),
  ...rows('§9', failure, headers.hostName),
  ...rows('§9', showsBalance, headers.modelId, headers.modelName, headers.modelRouter),
  ...rows('§9', paid, headers.deprecationWarning, headers.deprecationDate),
  ...rows('–', paid, headers.deprecated, headers.deprecatedReplacement),
  ...rows('§8.4', limited, headers.limitRequests, headers.remainingRequests, headers.resetRequests, headers.limitType),
  ...rows('§8.4', ofText, headers.limitTokens, headers.remainingTokens, headers.resetTokens),
  ...[headers.paginationLimit, headers.paginationPage, headers.paginationTotal, headers.paginationTotalPages].flatMap(
    header => rows('§9', named(header), header),
  ),
  ...rows('§9', authenticated, headers.balanceDiem, headers.balanceUsd),
  ...rows('§9', both(ofImages, success), headers.isBlurred),
  ...rows('§9', refusable, headers.isContentViolation),
  ...rows('§9', ofImages, headers.isAdultModelContentViolation, headers.containsMinor),
  { header: headers.middlefaceVersion, section: '§9', notSent: 'the service has no web client that calls it' },
  { header: headers.mobileVersion, section: '§9', notSent: 'the service has no mobile app' },
  ...rows('§9', always, headers.requestTimestamp),
  { header: headers.controlInstance, section: '§9', notSent: 'image engines have no control instances to debug' },
  { header: headers.authRefreshed, section: '§9', notSent: 'keys and sign-ins are never refreshed by an answer' },
  ...rows('§9', paid, headers.retryCount),
  ...rows(
    '§2.3',
    both(success, ({ operation }) => operation.charge === 'payment'),
    headers.paymentResponse,
  ),
  ...rows('§2.3', both(success, showsBalance), headers.balanceRemaining),
  ...rows('–', status(402), headers.paymentRequired),
  ...rows('–', retried, headers.retryAfter),
  ...rows('–', both(failure, paid), headers.shouldRetry),
  ...rows(
    '–',
    both(success, ({ operation }) => isIdempotent(operation)),
    headers.idempotentReplayed,
  ),
  ...rows(
    '–',
    both(success, ({ operation }) => operation.id === 'listModels'),
    headers.paidOncePerKey,
  ),
  ...rows('–', both(success, paid), headers.receipt),
  ...rows('–', both(ofNodes, success), headers.rpcUsedCredits, headers.rpcCost, headers.rpcRequestId),
  ...rows('–', both(ofNodes, status(429)), headers.rpcLimit, headers.rpcRemaining, headers.rpcReset),
  ...rows('–', named(headers.nextCursor), headers.nextCursor),
]

/** Returns the headers that an answer of this operation may carry; the server decides which it sends. */
export function answerHeaders(operation: Operation, status: number): readonly DescribedHeader[] {
  // The description shows the content type together with the content.
  return answerHeaderTable.flatMap(row =>
    'on' in row && !row.inContent && row.on({ operation, status }) ? [row.header] : [],
  )
}
