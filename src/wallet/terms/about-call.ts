import { z } from 'zod'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { hiddenCharacters } from '#contract/wire/hidden-characters.ts'
import { maxFileNameLength, maxFilesNamed, maxNameLength, maxPromptLength } from '../limits.ts'

/** A file that goes along with a call. */
export interface AskedFile {
  /** Its path, or as much of an address as may be shown; null for bytes alone. */
  name: string | null
  bytes: number | null
}

/** What a call is about, for the user who decides. Never its bytes, its headers or a key. */
export interface AskedAbout {
  /** The assistant's tool; null for a request of a program. */
  tool: string | null
  model: string | null
  /** How the caller's own words begin. */
  prompt: string | null
  files: readonly AskedFile[]
  /** Files beside those that are named. */
  moreFiles: number
  /** The most that it can cost; null where that is not known beforehand. */
  mostMicroUsd: MicroUsd | null
}

const text = (most: number) => z.string().max(most).nullable()

const Kept = z.strictObject({
  tool: text(maxNameLength),
  model: text(maxNameLength),
  prompt: text(maxPromptLength),
  files: z.array(z.strictObject({ name: text(maxFileNameLength), bytes: z.number().nullable() })),
  moreFiles: z.number(),
  mostMicroUsd: z
    .string()
    .regex(/^\d{1,18}$/)
    .nullable(),
})

/** As the row of a question keeps it: what is longer than the user reads is left out. */
export function writeAbout(about: AskedAbout): string {
  const cut = (words: string | null, most: number) => words?.slice(0, most).toWellFormed() ?? null
  const named = about.files.slice(0, maxFilesNamed)
  const kept: z.output<typeof Kept> = {
    tool: cut(about.tool, maxNameLength),
    model: cut(about.model, maxNameLength),
    // What is left out may not look like the end: a page of blanks would hide all that stands behind it.
    prompt: about.prompt === null ? null : inOneLine(about.prompt, maxPromptLength),
    // The end of a path tells more than its beginning.
    files: named.map(({ name, bytes }) => ({ name: name?.slice(-maxFileNameLength).toWellFormed() ?? null, bytes })),
    moreFiles: about.moreFiles + about.files.length - named.length,
    mostMicroUsd: about.mostMicroUsd?.toString() ?? null,
  }
  return JSON.stringify(kept)
}

/** Null for a question of an earlier version. */
export function readAbout(kept: unknown): AskedAbout | null {
  if (typeof kept !== 'string') return null
  const { mostMicroUsd, ...about } = Kept.parse(JSON.parse(kept))
  return { ...about, mostMicroUsd: mostMicroUsd === null ? null : microUsd(BigInt(mostMicroUsd)) }
}

/**
 * Words of others within a sentence of ours, between two marks that nothing inside can close: one line, no character that
 * a terminal obeys or that turns the direction of text, and nothing that is as long and mixed as a key. Empty for none.
 */
export function quoted(text: string, mostCharacters: number): string {
  const words = inOneLine(text.slice(0, readCharacters), mostCharacters)
  return words === '' ? '' : `“${words}”`
}

/** The same words without the marks, for a row: blanks and what nobody sees take no room, and a cut shows. */
const inOneLine = (text: string, mostCharacters: number): string => shortened(oneLine(text), mostCharacters)

/** A name or an id: as it is where it is plain, else quoted. */
export const named = (text: string, mostCharacters: number): string =>
  plainName.test(text) && text.length <= mostCharacters ? text : quoted(text, mostCharacters)

const plainName = /^[\w@.:/\\+~…-]+$/

/** More is not looked at: names are shorter, and a prompt comes in one line from its row. */
const readCharacters = 4_096

/** Hidden characters, formats, what is unassigned, and all that is blank. */
const unseen = new RegExp(`[${hiddenCharacters}\\p{C}\\s\\u2800]+`, 'gu')

/** Every mark that could be taken for the end of the quotation, and the one that stands round commands. */
const doubleMarks =
  /["`\u00ab\u00bb\u02ba\u02dd\u02ee\u05f4\u201c-\u201f\u2033\u2036\u275d\u275e\u2e42\u301d-\u301f\uff02\u{1f676}-\u{1f678}]/gu
const singleMarks = /['\u00b4\u02b9-\u02bf\u05f3\u2018-\u201b\u2032\u2035\u275b\u275c\uff07]{2,}/gu

/** Keys, tokens and hashes; words of any language are shorter, or without digits. */
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

/** Whole words as far as there is room; a single one that is longer is cut. */
function shortened(text: string, mostCharacters: number): string {
  if (text.length <= mostCharacters) return text
  const end = text.lastIndexOf(' ', mostCharacters - 1)
  return `${text
    .slice(0, end > 0 ? end : mostCharacters - 1)
    .trimEnd()
    .replace(/[\ud800-\udbff]$/, '')}…`
}
