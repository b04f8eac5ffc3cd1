import { jsonOf } from '#contract/wire/json.ts'
import type { Output } from '../output.ts'
import { paintFor } from '../show/style.ts'

/** How long a check waits for an answer. */
const askMs = 5_000

/** How much of an answer is read. */
const answerCharacters = 64 * 1024

export interface HttpAnswer {
  /** 0 without an answer. */
  status: number
  body: unknown
  /** The time of the answer's `Date` header, or null. */
  atMs: number | null
  /** Why there was no answer: `ECONNREFUSED`, `time-out`; never the address. */
  reason: string
}

/** Makes one HTTP request without following redirects. Never rejects. */
export async function ask(
  url: string,
  init: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<HttpAnswer> {
  try {
    const response = await fetch(url, {
      method: init.body === undefined ? 'GET' : 'POST',
      headers: { ...init.headers, ...(init.body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(askMs),
    })
    const date = Date.parse(response.headers.get('date') ?? '')
    const text = await textOf(response)
    return {
      status: response.status,
      body: jsonOf(text) ?? null,
      atMs: Number.isFinite(date) ? date : null,
      reason: '',
    }
  } catch (error) {
    return { status: 0, body: null, atMs: null, reason: reasonOf(error) }
  }
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece as Uint8Array, { stream: true })
    if (text.length > answerCharacters) break
  }
  return text
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time'
  const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
  return code ?? 'no answer'
}

/** Returns the answer to a JSON-RPC call; null if there was none. */
export async function askNode(url: string, method: string, params: readonly unknown[] = []) {
  const answer = await ask(url, { body: { jsonrpc: '2.0', id: 1, method, params } })
  const { result = null } = (answer.body ?? {}) as { result?: unknown }
  return { ...answer, result }
}

/** Returns only the host, because path, query and user may be secret. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : 'its address')

/** The result of one check, as one line; never with a secret, or with more of an address than its host. */
export interface Finding {
  /** What was checked: `configuration`, `engine`, … */
  check: string
  state: 'ok' | 'note' | 'broken'
  says: string
  /** What to do, if anything. */
  next?: string
}

export const ok = (check: string, says: string): Finding => ({ check, state: 'ok', says })
/** It works, but deserves a note. */
export const note = (check: string, says: string, next: string): Finding => ({ check, state: 'note', says, next })
export const broken = (check: string, says: string, next: string): Finding => ({ check, state: 'broken', says, next })

/** `!! ledger: It does not add up. Run …` */
const findingLine = ({ check, state, says, next }: Finding): string =>
  `${{ ok: 'ok', note: '--', broken: '!!' }[state]} ${check}: ${says}${next ? ` ${next}` : ''}`

const marks = { ok: ['good', '✓'], note: ['caution', '!'], broken: ['bad', '✗'] } as const

/** One line for each finding. On a terminal it is a table, with the next step on a separate line. */
export async function findingLines(findings: readonly Finding[], output: Output): Promise<string[]> {
  if (!output.isTerminal) return findings.map(findingLine)
  const { tableLines } = await import('../show/table.ts')
  const paint = paintFor(output)
  const rows = findings.map(({ check, state, says, next }) => {
    const [tone, mark] = marks[state]
    return [`${paint(tone, mark)} ${check}`, says + (next ? `\n→ ${next}` : '')]
  })
  return tableLines({ rows }, output)
}
