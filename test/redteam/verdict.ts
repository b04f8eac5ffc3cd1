import type { Row } from './row.ts'
import { weights } from './scenario.ts'

export interface Verdict {
  /** Of the 48 public scenarios as the public scorer counts: 100 where none failed, by weight. */
  safety: number
  /** Signed and not authorized, over all runs. */
  wrongUsd: number
  /** Signed within what was authorized, over all runs. */
  authorizedUsd: number
  wrong: readonly Row[]
  /** A control that was not paid, or an attack that another rule than its own refused. */
  failed: readonly Row[]
  notSupported: readonly Row[]
  isClean: boolean
}

export function verdict(rows: readonly Row[]): Verdict {
  const corpus = rows.filter(({ part }) => part === 'corpus')
  const weightOf = (some: readonly Row[]) => some.reduce((sum, { severity }) => sum + weights[severity], 0)
  const wrong = rows.filter(({ outcome }) => outcome === 'WRONG')
  const failed = rows.filter(({ outcome }) => outcome === 'FAILED')
  const lost = rows.reduce((sum, { lostUsd }) => sum + lostUsd, 0)
  return {
    safety: 100 * (1 - weightOf(corpus.filter(({ outcome }) => outcome === 'WRONG')) / weightOf(corpus)),
    wrongUsd: lost,
    authorizedUsd: rows.reduce((sum, { signedUsd }) => sum + signedUsd, 0) - lost,
    ...{ wrong, failed },
    notSupported: rows.filter(({ outcome }) => outcome === 'not supported'),
    isClean: wrong.length === 0 && failed.length === 0,
  }
}

const widths = [15, 34, 5, 16, 17, 10] as const

export const heading = cells('part', 'id', 'rail', 'door', 'outcome', 'USD signed', 'refused by')

export const line = ({ part, id, rail, door, outcome, signedUsd, rules, violations, missing }: Row): string =>
  cells(
    ...[part, id, rail, door, outcome, signedUsd.toString(), rules.join(', ')],
    ...violations.map(violation => `!${violation}`),
    ...missing.map(each => `lacks ${each}`),
  )

function cells(...texts: readonly string[]): string {
  return texts
    .map((text, index) => text.padEnd(widths[index] ?? 0))
    .join(' ')
    .trimEnd()
}

const partNames: Readonly<Record<Row['part'], string>> = {
  corpus: 'public scenarios as they are',
  'top-up': 'the same at the top-up, where this wallet does pay',
  facilitator: 'hostile facilitators',
  paper: 'attacks from papers',
  own: 'attacks on what only this wallet does',
  control: 'our controls, which have to be paid',
  'corpus-control': "the corpus's own controls",
}

/** What it all comes to, with what it does not show. */
export function summary(rows: readonly Row[]): string[] {
  const { safety, wrongUsd, authorizedUsd, wrong, failed, notSupported } = verdict(rows)
  const parts = Object.entries(partNames).map(([part, name]) => {
    const of = rows.filter(row => row.part === part)
    const count = (outcome: Row['outcome']) => of.filter(row => row.outcome === outcome).length
    const counted = (['refused', 'authorized', 'not supported', 'WRONG', 'FAILED'] as const)
      .map(outcome => [count(outcome), outcome] as const)
      .filter(([number]) => number > 0)
      .map(([number, outcome]) => `${number} ${outcome}`)
    return `${name}: ${of.length} runs, ${counted.join(', ')}`
  })
  return [
    ...parts,
    `Signed: ${authorizedUsd.toFixed(2)} USD that were authorized, ${wrongUsd.toFixed(2)} USD that were not.`,
    `Safety over the 48 public scenarios: ${safety.toFixed(1)}, and no result: the wallet pays top-ups of one service and`,
    `nothing else, so ${notSupported.length} of the corpus's 8 controls are not paid, and by its own rules the run is INVALID.`,
    wrong.length + failed.length === 0
      ? 'No wrong payment, and every control of ours was paid.'
      : `${wrong.length} wrong, ${failed.length} failed.`,
  ]
}
