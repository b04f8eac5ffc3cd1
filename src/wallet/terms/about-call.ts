import { z } from 'zod'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { hiddenCharacters } from '#contract/wire/hidden-characters.ts'
import { maxFileNameLength, maxFilesNamed, maxNameLength, maxPromptLength } from '../limits.ts'

export interface AskedFile {
  /** Its path, or as much of its URL as may be shown; null for bytes alone. */
  name: string | null
  bytes: number | null
  /** The hash of a file on this machine, in hexadecimal, so that the user is shown the same file. */
  sha256?: string | undefined
}

/** The facts about a call for the user who decides on it. They never include its bytes, its headers or a key. */
export interface AskedAbout {
  /** The assistant's tool; null for a program's request. */
  tool: string | null
  model: string | null
  prompt: string | null
  files: readonly AskedFile[]
  /** How many more files there are than the named ones. */
  moreFiles: number
  /** Its maximum cost; null if unknown in advance. */
  mostMicroUsd: MicroUsd | null
}

const text = (most: number) => z.string().max(most).nullable()

const AskedFileKept = z.strictObject({
  name: text(maxFileNameLength),
  bytes: z.number().nullable(),
  sha256: z.string().length(64).optional(),
})

const Kept = z.strictObject({
  tool: text(maxNameLength),
  model: text(maxNameLength),
  prompt: text(maxPromptLength),
  files: z.array(AskedFileKept),
  moreFiles: z.number(),
  mostMicroUsd: z
    .string()
    .regex(/^\d{1,18}$/)
    .nullable(),
})

/** Shortens a description to what the user reads, for the approval's row. */
export function writeAbout(about: AskedAbout): string {
  const cut = (words: string | null, most: number) => words?.slice(0, most).toWellFormed() ?? null
  const named = about.files.slice(0, maxFilesNamed)
  const kept: z.output<typeof Kept> = {
    tool: cut(about.tool, maxNameLength),
    model: cut(about.model, maxNameLength),
    // A cut must be visible: a page of spaces could otherwise hide everything after it.
    prompt: about.prompt === null ? null : inOneLine(about.prompt, maxPromptLength),
    // The end of a path says more than its beginning.
    files: named.map(({ name, ...file }) => ({
      name: name?.slice(-maxFileNameLength).toWellFormed() ?? null,
      ...file,
    })),
    moreFiles: about.moreFiles + about.files.length - named.length,
    mostMicroUsd: about.mostMicroUsd?.toString() ?? null,
  }
  return JSON.stringify(kept)
}

/** Returns null if the call had no description, and from a day after its request has ended. */
export function readAbout(kept: unknown): AskedAbout | null {
  if (typeof kept !== 'string') return null
  const { mostMicroUsd, ...about } = Kept.parse(JSON.parse(kept))
  return { ...about, mostMicroUsd: mostMicroUsd === null ? null : microUsd(BigInt(mostMicroUsd)) }
}

/**
 * Quotes untrusted words within a sentence of ours, between two marks that nothing inside can close. The quotation is
 * one line, has no character that controls a terminal or changes the direction of text, and nothing as long and mixed
 * as a key. Empty if there are no words.
 */
export function quoted(text: string, mostCharacters: number): string {
  const words = inOneLine(text.slice(0, readCharacters), mostCharacters)
  return words === '' ? '' : `“${words}”`
}

/** Untrusted words in one line: spaces and invisible characters are collapsed, and a cut is visible. */
const inOneLine = (text: string, mostCharacters: number): string => shortened(oneLine(text), mostCharacters)

/** A name or an id: unchanged if it is plain, otherwise quoted. */
export const named = (text: string, mostCharacters: number): string =>
  plainName.test(text) && text.length <= mostCharacters ? text : quoted(text, mostCharacters)

const plainName = /^[\w@.:/\\+~…-]+$/

/** The rest is ignored: names are shorter, and a prompt comes in one line from its row. */
const readCharacters = 4_096

/** Hidden characters, formats, unassigned ones, and all white space. */
const unseen = new RegExp(`[${hiddenCharacters}\\p{C}\\s\\u2800]+`, 'gu')

/** Every mark that could be taken for the closing quotation mark, and the one around commands. */
const doubleMarks =
  /["`\u00ab\u00bb\u02ba\u02dd\u02ee\u05f4\u201c-\u201f\u2033\u2036\u275d\u275e\u2e42\u301d-\u301f\uff02\u{1f676}-\u{1f678}]/gu
const singleMarks = /['\u00b4\u02b9-\u02bf\u05f3\u2018-\u201b\u2032\u2035\u275b\u275c\uff07]{2,}/gu

/** Keys, tokens and hashes; words of any language are shorter, or have no digits. */
const keyLike = /[\w+=~-]{24,}/g

const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(unseen, ' ')
    .replace(doubleMarks, "'")
    .replace(singleMarks, "'")
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .replace(keyLike, word => (/\d/.test(word) ? '…' : word))
    .trim()

/** Keeps whole words as far as there is room; a single longer one is cut. */
function shortened(text: string, mostCharacters: number): string {
  if (text.length <= mostCharacters) return text
  const end = text.lastIndexOf(' ', mostCharacters - 1)
  return `${text
    .slice(0, end > 0 ? end : mostCharacters - 1)
    .trimEnd()
    .replace(/[\ud800-\udbff]$/, '')}…`
}
