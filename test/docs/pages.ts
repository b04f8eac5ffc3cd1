import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..', '..')

/** A fenced block of a document. */
export interface Block {
  /** `sh`, `js`, … */
  language: string
  /** What follows the language: `background`, or the name of a file. */
  info: string
  text: string
}

export const blocksOf = (path: string): Block[] =>
  [...readFileSync(join(root, path), 'utf8').matchAll(/^( *)```(\w+)(?: (\S+))?\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = '', language = '', info = '', text = '']) => ({
      language,
      info,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '').trimEnd(),
    }),
  )

/** The commands of a shell block, one a line; a line that ends with a backslash goes on. */
export const commandsOf = ({ text }: Block): string[] =>
  text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter(line => line.trim() !== '' && !line.trim().startsWith('#'))
