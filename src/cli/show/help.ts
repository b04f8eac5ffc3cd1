import type { Output } from '../output.ts'
import { examples } from './examples.ts'
import { paintFor } from './style.ts'

/** One line of a command's synopsis, such as `farebox keys list [--json]`. */
export interface Synopsis {
  line: string
  /** Its words, such as `approve` and `refuse`; empty for a command without words. */
  words: readonly string[]
}

/** The synopses of a usage text, which is the only list of a command's words and flags. */
export function synopsesOf(name: string, usage: string): Synopsis[] {
  const [first = ''] = usage.trim().split('\n\n')
  const lines = first.replace(/^Usage: /, '').split(new RegExp(`\\n +(?=farebox ${name}\\b)`))
  return lines.map(each => {
    const line = each.replaceAll(/\s*\n\s*/g, ' ').trim()
    const [, , third = ''] = line.split(' ')
    return { line, words: /^[a-z][a-z|-]*$/.test(third) ? third.split('|') : [] }
  })
}

interface Helped {
  name: string
  summary: string
  usage: string
}

/** The help of a command, or only what concerns one of its words; with examples. */
export function helpText(
  { name, summary, usage }: Helped,
  word: string | undefined,
  output: Pick<Output, 'isColoured'>,
): string {
  const own = synopsesOf(name, usage).filter(({ words }) => word !== undefined && words.includes(word))
  const isWord = word !== undefined && own.length > 0
  const begin = `farebox ${name}${isWord ? ` ${word}` : ''}`
  const shown = (examples[name] ?? []).filter(([line]) => new RegExp(`${begin}\\b`).test(line))
  const paint = paintFor(output)
  return [
    isWord ? wordHelp({ name, usage }, word, own) : `${summary}\n\n${usage.trim()}`,
    ...(shown.length > 0 ? [paint('heading', shown.length > 1 ? 'Examples:' : 'Example:')] : []),
    ...(shown.length > 0 ? [shown.map(([line, what]) => `  ${what}:\n    ${paint('accent', line)}`).join('\n')] : []),
    ...(isWord ? [`Run \`farebox help ${name}\` for its other subcommands.`] : []),
  ].join('\n\n')
}

function wordHelp({ name, usage }: Omit<Helped, 'summary'>, word: string, own: readonly Synopsis[]): string {
  const [, ...paragraphs] = usage.trim().split('\n\n')
  const all = synopsesOf(name, usage).flatMap(({ words }) => words)
  const lines = own.map(({ line }) => line)
  const names = new Set(lines.flatMap(line => line.match(/--[a-z][a-z-]*|\b[A-Z]{2,}\b/g) ?? []))
  const options = paragraphs.flatMap(rowsOf).filter(row => {
    const [first = ''] = row.trim().split(/ {2,}/)
    return (first.match(/--[a-z][a-z-]*|^[A-Z]+/g) ?? []).some(each => names.has(each) || isOfGroup(each, usage, names))
  })
  return [
    `Usage: ${lines.join('\n       ')}`,
    sentencesOf(paragraphs, word, all),
    ...(options.length > 0 ? [options.join('\n')] : []),
  ].join('\n\n')
}

/**
 * Whether a flag belongs to a group that the synopsis names in capitals, such as BUDGET, and which has its own
 * paragraph.
 */
const isOfGroup = (flag: string, usage: string, names: ReadonlySet<string>): boolean =>
  [...names].some(group => /^[A-Z]+$/.test(group) && (usage.split(`\n${group} is `)[1] ?? '').includes(`  ${flag}`))

/** The rows of a paragraph that explains flags, each with the lines that continue it. */
const rowsOf = (paragraph: string): string[] =>
  /^ {2}\S/.test(paragraph) ? paragraph.split(/\n(?= {2}\S)/).filter(row => /^ {2}(--|[A-Z]{2})/.test(row)) : []

/**
 * Returns the usage's text about one word: its row in a table of words, or the sentences from the one that begins with
 * it.
 */
function sentencesOf(paragraphs: readonly string[], word: string, words: readonly string[]): string {
  for (const paragraph of paragraphs) {
    const row = paragraph.split(/\n(?=\S)/).find(each => new RegExp(`^${word} {2,}`).test(each))
    if (row) return `${oneLine(row).replace(/ {2,}/, ' ')}.`
    const sentences = oneLine(paragraph).split(/(?<=\.) (?=\S)/)
    const from = sentences.findIndex(sentence => sentence.startsWith(`${word} `))
    if (from < 0) continue
    const isOther = (sentence: string) => words.some(each => each !== word && sentence.startsWith(`${each} `))
    const to = sentences.findIndex((sentence, at) => at > from && isOther(sentence))
    return sentences.slice(from, to < 0 ? undefined : to).join(' ')
  }
  return ''
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').trim()
