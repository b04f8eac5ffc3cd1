import { readFile } from 'node:fs/promises'
import { type AnswerHeaderRow, answerHeaderTable } from '#contract/operations/answer-headers.ts'

const page = new URL('../../docs/conformance.md', import.meta.url)
const [begin, end] = ['<!-- headers: written by npm run generate -->', '<!-- end of headers -->']

/** The page on conformance with its table of headers as the contract has them; all else stays as it is. */
export async function headerChecklist(): Promise<string> {
  const text = await readFile(page, 'utf8')
  const [before, rest] = split(text, begin)
  const [, after] = split(rest, end)
  return `${before}${begin}\n${headerLines().join('\n')}\n${end}${after}`
}

export const headerLines = (): string[] => [
  '| Header | § | Sent |',
  '|---|---|---|',
  ...answerHeaderTable.map(row => `| \`${row.header.name}\` | ${row.section} | ${sentWhen(row)} |`),
]

const sentWhen = (row: AnswerHeaderRow): string => ('on' in row ? row.header.when : `Never: ${row.notSent}.`)

function split(text: string, mark: string): [before: string, after: string] {
  const at = text.indexOf(mark)
  if (at < 0) throw new Error(`docs/conformance.md lacks the line ${mark}; put it back.`)
  return [text.slice(0, at), text.slice(at + mark.length)]
}
