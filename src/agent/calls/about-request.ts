import { createHash } from 'node:crypto'
import type { MicroUsd } from '#contract/money.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { canonicalJson, isObject } from '#contract/wire/json.ts'
import { FormFile } from '#toolkit/values/form-file.ts'
import type { AskedAbout, AskedFile } from '#wallet/terms/about-call.ts'
import { askedFiles } from '../bounds.ts'
import { mediaItemGiven } from '../media/readable-files.ts'
import { askedModel } from '../prices/model-records.ts'

/** What a tool's call has read before the user is asked. */
export interface ToolAsking {
  tool: string | null
  /** Absent if their names are no longer known: then the body's content counts. */
  files?: readonly AskedFile[]
}

/** Describes a call for the user who decides on it; for a program's request, as far as its body shows. */
export function askedAbout(body: unknown, asking: ToolAsking | null, mostMicroUsd: MicroUsd | null): AskedAbout {
  const files = asking?.files ?? filesIn(body)
  const prompt = promptOf(body)
  const [first] = [body].flat()
  return {
    tool: asking?.tool ?? null,
    model: askedModel({ body: isObject(first) ? first : {} }) || null,
    prompt: prompt === '' ? null : prompt,
    files,
    moreFiles: 0,
    mostMicroUsd,
  }
}

/** Returns files of a form, and media in the body, in order. */
function filesIn(body: unknown): AskedFile[] {
  const found: AskedFile[] = []
  const look = (value: unknown, depth: number): void => {
    if (found.length >= askedFiles.most || depth > askedFiles.depth) return
    if (value instanceof File) found.push({ name: value.name, bytes: value.size })
    else if (typeof value === 'string') {
      const item = /^data:[a-z]+\//i.test(value) ? mediaItemGiven(value) : null
      if (item) found.push(item)
    } else if (typeof value === 'object' && value !== null)
      for (const each of Object.values(value)) look(each, depth + 1)
  }
  look(body, 0)
  return found
}

/**
 * Returns the main text of a body: its prompt, its first input, the last message of a conversation, what to search for
 * or read, or the first method of a batch; empty if there is none.
 */
function promptOf(body: unknown): string {
  const [first] = [body].flat()
  const { prompt, input, messages, query, url, method } = isObject(first) ? first : {}
  const texts = [prompt, textOf(input), textOf(messages), query, pageOf(url), method]
  return texts.find(text => typeof text === 'string') ?? ''
}

/** Removes anything that may be a key. */
function pageOf(url: unknown): string | undefined {
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

/** A list may contain texts, parts with a text, or messages. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return undefined
  const last = value.at(-1)
  if (isObject(last) && last.content !== undefined) return textOf(last.content)
  return value.map(part => (isObject(part) ? part.text : part)).find(part => typeof part === 'string')
}

/**
 * Returns a hash that identifies a paid call: the service, the payer, the operation and what is sent, with members in
 * any order. The user's consent is not part of the request, so it is left out.
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

/** A file counts by its bytes, hashed because they may be many; a form may have several with one name. */
function inShort(value: unknown): unknown {
  if (Array.isArray(value) && value.some(each => each instanceof FormFile)) return value.map(inShort)
  return value instanceof FormFile
    ? { name: value.name, type: value.type, sha256: createHash('sha256').update(value.content).digest('hex') }
    : value
}
