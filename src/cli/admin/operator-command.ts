import { displayUsd, parseUsd } from '#contract/money.ts'
import { type CommandIo, integerFlag } from '../command.ts'
import { asJson } from '../output.ts'

/** What operators' commands share: flags, and how they print what they get. */

export const text = { type: 'string' } as const
/** Where the service is, and how to print. */
export const place = { data: text, json: { type: 'boolean', default: false } } as const
export const paging = { limit: text, after: text } as const

/** Without the members that were not given. */
export const given = <Value extends object>(value: Value): { [Name in keyof Value]: Exclude<Value[Name], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never

export const pageOf = (
  command: string,
  { limit, after }: { limit?: string | undefined; after?: string | undefined },
): { limit: number; after: string } => given({ limit: integerFlag(command, 'limit', limit, 1, 200), after })

/** Prints how many rows a page has, and how to get the next one. */
export function notePage(
  { rows, total, next }: { rows: unknown[]; total: number | null; next: string | null },
  io: CommandIo,
): void {
  const more = next === null ? '' : ` For the next page, add \`--after '${next}'\`.`
  io.output.note(`Showing ${rows.length}${total === null ? '' : ` of ${total}`}.${more}`)
}

/** Prints the result of an action: as data for a program, or as a sentence. */
export async function printed(
  values: { json: boolean },
  io: CommandIo,
  answer: object,
  sentence: string,
): Promise<number> {
  if (values.json) io.output.printJson({ ...answer, message: sentence })
  else io.output.print((await import('#agent/words/typed-commands.ts')).asTyped(sentence))
  return 0
}

/** Operators may have pasted these texts from anywhere, so control characters are escaped. */
export const shown = (value: string | null): string => (value === null ? '' : asJson(value))

/** The same without quotes, for ids, payers and names of models. */
export const plain = (value: string | null): string => shown(value).slice(1, -1)

/** Formats an amount of a query's answer for a sentence: `4.230000` becomes `4.23 USD`. */
export function money(decimalUsd: string): string {
  const amount = parseUsd(decimalUsd)
  return amount === null ? `${decimalUsd} USD` : displayUsd(amount)
}

/** UTC, without saying so. */
export const timeOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')
