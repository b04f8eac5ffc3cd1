import { createHash, randomBytes } from 'node:crypto'
import { createRequestStateCodec, type RequestStateCodec } from '@modelcontextprotocol/server'
import { canonicalJson } from '#contract/wire/json.ts'
import type { Question } from '#toolkit/approval.ts'
import type { FormValues } from '#toolkit/define.ts'
import { stateSeconds } from './bounds.ts'

/** What a question leaves with the client until the answer comes: which call asked, and for which approval. */
export interface AskedState {
  tool: string
  argumentsHash: string
  /** What the person decides; null where they fill in a form. */
  decides: Pick<Question, 'approvalId' | 'kind'> | null
  /** The first question of a call is 1. */
  round: number
  /** What the person had filled in before. */
  filled?: FormValues
}

/** Signs states; a random key is right where one process serves all rounds of a call, as on stdio. */
export const stateCodec = (key: Uint8Array = randomBytes(32)): RequestStateCodec<AskedState> =>
  createRequestStateCodec<AskedState>({ key, ttlSeconds: stateSeconds, bind: context => context.mcpReq.method })

/** Whether an answer belongs to this very call. */
export const belongsTo = (state: AskedState, tool: string, given: unknown): boolean =>
  state.tool === tool && state.argumentsHash === argumentsHash(given)

/** The same for equal arguments, in whatever order they were written. */
export const argumentsHash = (given: unknown): string =>
  createHash('sha256').update(canonicalJson(given)).digest('base64url')
