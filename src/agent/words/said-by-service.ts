import { reasonCharacters, refusedArguments, saidCharacters } from '#toolkit/bounds.ts'
import type { RefusedValue } from '#toolkit/tool-failure.ts'
import { withoutHidden } from '#toolkit/values/untrusted.ts'

/** What an answer without success says: in one sentence or two, and of which of the request's members. */
export interface SaidByService {
  said: string
  refused: RefusedValue[]
}

/**
 * Reads a refusal in whatever shape it comes: ours (`error`, `details`, `issues`, `suggested_prompt`), that of OpenAI's
 * services (`error.message`, `error.param`), those that name a list of places (`detail`, `errors`), a plain text, a page.
 * All of it is a stranger's text, bounded and without what cannot be seen.
 */
export function saidByService(body: unknown): SaidByService {
  if (typeof body === 'string') return { said: bounded(textOfPage(body), saidCharacters), refused: [] }
  if (!isObject(body)) return { said: '', refused: [] }
  const refused = refusedIn(body).slice(0, refusedArguments)
  const sentences = sentencesIn(body).filter(sentence => !(refused.length > 0 && saysNothing.test(sentence)))
  return { said: bounded([...new Set(sentences)].join(' '), saidCharacters), refused }
}

/** A sentence that the reasons beside it make needless. */
const saysNothing = /^(?:invalid request(?: parameters)?|validation (?:error|failed)|bad request)\.?$/i

function sentencesIn(body: Fields): string[] {
  const { error, message, detail, title, suggested_prompt: suggested } = body
  const said = isObject(error)
    ? [error.message, error.recommended_model && `Recommended: ${error.recommended_model}`]
    : [error]
  const sentences = [...said, message, title, detail].filter(
    text => typeof text === 'string' && text !== '',
  ) as string[]
  return typeof suggested === 'string' ? [...sentences, `Suggested prompt: ${suggested}`] : sentences
}

function refusedIn(body: Fields): RefusedValue[] {
  const { issues, details, detail, errors, error } = body
  for (const list of [issues, detail, errors]) {
    const found = Array.isArray(list) ? list.slice(0, refusedArguments).flatMap(issueOf) : []
    if (found.length > 0) return found
  }
  if (isObject(details)) return detailsOf(details, [])
  // The sentence is said already.
  return isObject(error) && typeof error.param === 'string' ? named([error.param], '') : []
}

/** `{path, message}`, or `{loc: ['body', …], msg}`. */
function issueOf(issue: unknown): RefusedValue[] {
  if (!isObject(issue)) return []
  const { path, loc, message, msg, param, field } = issue
  const [given] = [path, loc, param, field].filter(place => place !== undefined)
  const places = Array.isArray(given) ? given : [given]
  const inBody = Array.isArray(loc) && placesOfRequests.has(String(places[0])) ? places.slice(1) : places
  const reason = [message, msg].find(text => typeof text === 'string')
  return named(inBody.map(String), typeof reason === 'string' ? reason : '')
}

const placesOfRequests: ReadonlySet<string> = new Set(['body', 'query', 'path', 'header'])

/** A tree by members, whose sentences stand under `_errors`. */
function detailsOf(level: Fields, path: readonly string[]): RefusedValue[] {
  if (path.length > deepest) return []
  const { _errors: errors, ...members } = level
  const own =
    path.length > 0 && Array.isArray(errors) && errors.length > 0 ? named(path, errors.map(String).join('; ')) : []
  const inner = Object.entries(members).flatMap(([name, member]) => {
    if (isObject(member)) return detailsOf(member, [...path, name])
    const isList = Array.isArray(member) && member.every(text => typeof text === 'string')
    return isList ? named([...path, name], member.join('; ')) : []
  })
  return [...own, ...inner]
}

/** Requests of tools nest less. */
const deepest = 8

/** One whose name is none of a request's member is nobody's argument: what is said of it is kept under no name. */
function named(path: readonly string[], reason: string): RefusedValue[] {
  const name = path.join('.')
  return memberName.test(name) ? [{ name, reason: bounded(reason, reasonCharacters) }] : []
}

const memberName = /^[a-z][a-zA-Z0-9_]{0,39}(?:\.[a-zA-Z0-9_]{1,40}){0,8}$/

/** What is read of a page: the patterns below take time by the square of it, and a service may send megabytes. */
const pageCharacters = 16_384

/** The words of a page: its title where it has one. */
function textOfPage(whole: string): string {
  const text = whole.slice(0, pageCharacters)
  if (!/<(?:!doctype|html|head|body|title)\b/i.test(text)) return text
  const title = /<title[^<>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim()
  return title || text.replaceAll(/<(script|style)\b[\s\S]*?<\/\1>/gi, ' ').replaceAll(/<[^<>]*>/g, ' ')
}

const bounded = (text: string, characters: number): string => {
  const line = withoutHidden(text).replaceAll(/\s+/g, ' ').trim()
  return line.length > characters ? `${line.slice(0, characters).toWellFormed()}…` : line
}

type Fields = Record<string, unknown>

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
