import type { ChatCompletionRequest, ChatMessage } from '#contract/operations/chat.ts'
import { countedNumbers, quotedCharacters } from '../bounds.ts'

/** What a demonstration can honestly say about a request: facts of the request, and who is speaking. */
export function composeAnswer(request: ChatCompletionRequest, choice: number): string {
  const facts = factsOf(request)
  if (request.response_format?.type === 'json_object') return JSON.stringify({ demonstration: true, ...facts })
  const counted = countTo(facts.message)
  const sum = arithmetic(facts.message)
  const choices = request.n ?? 1
  return [
    'This is demo-chat, a demonstration: no language model is behind it, and this answer is made from your request.',
    choices > 1 ? `It is choice ${choice + 1} of ${choices}.` : '',
    `The last message has ${plural(facts.words, 'word')} and ${plural(facts.characters, 'character')}: “${facts.message}”`,
    facts.messages > 1 ? `It is the end of ${plural(facts.messages, 'message')}.` : '',
    facts.instructions ? `The instructions begin with “${facts.instructions}”` : '',
    facts.pictures ? `It carries ${plural(facts.pictures, 'picture')}, which a demonstration does not look at.` : '',
    facts.tools.length ? `Offered tools, of which a demonstration calls none: ${facts.tools.join(', ')}.` : '',
    sum ? `The arithmetic in it: ${sum}.` : '',
    counted ? `Counting: ${counted}.` : '',
  ]
    .filter(Boolean)
    .join('\n')
}

/** Thinking that is as much a demonstration as the answer. */
export const composeThinking = (request: ChatCompletionRequest): string =>
  `<think>\nA demonstration does not think. The last message has ${plural(factsOf(request).words, 'word')}; the answer lists facts of the request.\n</think>\n\n`

function factsOf(request: ChatCompletionRequest) {
  const asked = request.messages.findLast(({ role }) => role === 'user') ?? request.messages.at(-1)
  const text = asked ? textOf(asked) : ''
  const instructions = request.messages.filter(({ role }) => role === 'system' || role === 'developer').map(textOf)
  return {
    message: shortened(text),
    words: text.split(/\s+/).filter(Boolean).length,
    characters: [...text].length,
    messages: request.messages.length,
    instructions: shortened(instructions.join(' ')),
    pictures: Array.isArray(asked?.content) ? asked.content.filter(({ type }) => type === 'image_url').length : 0,
    tools: (request.tools ?? []).flatMap(({ function: called }) => namesOf(called)).slice(0, 16),
  }
}

const namesOf = (called: unknown): string[] =>
  typeof called === 'object' && called !== null && 'name' in called && typeof called.name === 'string'
    ? [shortened(called.name)]
    : []

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** The beginning of a text, on one line. */
function shortened(text: string): string {
  const line = text
    .slice(0, quotedCharacters * 4)
    .replaceAll(/\s+/g, ' ')
    .trim()
  const characters = [...line]
  return characters.length > quotedCharacters ? `${characters.slice(0, quotedCharacters).join('').trimEnd()}…` : line
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

const countRequest = /\bcount (?:from 1 )?to (\d{1,9})\b/i

/** `count to 20`: the one way to ask for an answer of a known length. */
function countTo(text: string): string {
  const asked = Number(countRequest.exec(text)?.[1] ?? 0)
  return Array.from({ length: Math.min(asked, countedNumbers) }, (_, index) => index + 1).join(' ')
}

const expression = /(?<![\d.])(-?\d{1,9}) ?([+\-*/×x]) ?(-?\d{1,9})(?![\d.])/

function arithmetic(text: string): string {
  const [, left = '', operator = '', right = ''] = expression.exec(text) ?? []
  if (operator === '') return ''
  const [a, b] = [Number(left), Number(right)]
  switch (operator) {
    case '+':
      return `${a} + ${b} = ${a + b}`
    case '-':
      return `${a} − ${b} = ${a - b}`
    case '/':
      return b === 0 ? `${a} / 0 has no value` : `${a} / ${b} = ${Number((a / b).toPrecision(12))}`
    default:
      return `${a} × ${b} = ${BigInt(a) * BigInt(b)}`
  }
}
