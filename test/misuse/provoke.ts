import { typedInto } from '../cli/at-terminal.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import type { Mistake, Place } from './places.ts'

/** What the terminal answers to a mistake, with the names of this run taken out of it. */
export async function provoke({ typed, env = {}, answers, before }: Mistake) {
  const folder = temporaryFolder('misuse')
  const place: Place = { folder, closing: [] }
  const here = process.cwd()
  process.chdir(folder)
  try {
    const known: Record<string, string> = { folder, ...(await before?.(place)) }
    const fill = (text: string) => text.replace(/\{(\w+)\}/g, (whole, name) => known[name] ?? whole)
    const settings = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)]))
    const stopping = new AbortController()
    const run = typedInto(
      typed.split(' ').map(fill),
      answers ?? null,
      { HOME: folder, ...settings },
      { signal: stopping.signal },
    )
    const late = setTimeout(() => stopping.abort(), mostMs)
    const { code, stdout, stderr } = await run.finally(() => clearTimeout(late))
    const said = (stderr || stdout).replaceAll(/node \S+farebox\.mjs/g, 'farebox')
    return { code, said, fill, golden: withoutNames(stderr || stdout, known) }
  } finally {
    process.chdir(here)
    for (const close of place.closing) await close()
  }
}

/** A mistake is told at once; a command that runs on has not seen it. */
const mostMs = 20_000

function withoutNames(text: string, { folder = '', port, url }: Record<string, string>): string {
  let said = text
    .replaceAll(folder, 'DIR')
    .replaceAll(/node \S+farebox\.mjs/g, 'farebox')
    .replaceAll(/0x[0-9a-fA-F]{40}/g, '0xADDRESS')
    // A long list of names changes with the product; its first ones show what it lists.
    .replaceAll(/((?:`?[\w-]+`?, ){3})(?:`?[\w-]+`?, ){4,}`?[\w-]+`?/g, '$1…')
    .trimEnd()
  if (url !== undefined) said = said.replaceAll(new URL(url).host, '127.0.0.1:PORT')
  if (port !== undefined) said = said.replaceAll(port, 'PORT')
  return said
}
