import { z } from 'zod'
import { type MicroUsd, microUsd } from '#contract/money.ts'
import { maxFileNameLength, maxFilesNamed, maxNameLength, maxPromptLength } from '../limits.ts'
import { inOneLine } from './quoted.ts'

/** A file that goes along with a call. */
export interface AskedFile {
  /** Its path, or as much of an address as may be shown; null for bytes alone. */
  name: string | null
  bytes: number | null
}

/** What a call is about, for the person who decides. Never its bytes, its headers or a key. */
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

/** As the row of a question keeps it: what is longer than a person reads is left out. */
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
