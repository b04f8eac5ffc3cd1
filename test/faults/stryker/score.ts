import type { Change } from './instrument.ts'

export type Fate = 'noticed' | 'missed' | 'not judged'

export interface Judged extends Change {
  fate: Fate
}

/** What became of each change, by the log of those who tried them. Never reached is missed; left-out kinds are not in it. */
export function judged(changes: readonly Change[], log: string): Judged[] {
  const noticed = new Set(log.match(/(?<=^(?:killed|hung) )\d+$/gm))
  const reached = new Set((log.match(/(?<=^reached ).+$/gm) ?? []).flatMap(line => line.split(',')))
  const atImport = new Set((log.match(/(?<=^at-import ).+$/gm) ?? []).flatMap(line => line.split(',')))
  const fateOf = (id: string): Fate => {
    if (noticed.has(id)) return 'noticed'
    return atImport.has(id) && !reached.has(id) ? 'not judged' : 'missed'
  }
  return changes.filter(({ status }) => status !== 'Ignored').map(change => ({ ...change, fate: fateOf(change.id) }))
}

/** The ids of changes that an earlier run noticed, where the source says the same in the same place. */
export function noticedBefore(changes: readonly Change[], earlier: readonly Judged[]): string[] {
  const nameOf = ({ fileName, replacement, location }: Change) => JSON.stringify([fileName, location, replacement])
  const noticed = new Set(earlier.filter(({ fate }) => fate === 'noticed').map(nameOf))
  return changes.filter(change => noticed.has(nameOf(change))).map(({ id }) => id)
}

export function printScore(changes: readonly Judged[], room: string): void {
  const files = Map.groupBy(changes, ({ fileName }) => fileName)
  for (const [file, own] of [...files].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const lines = own.filter(({ fate }) => fate === 'missed').map(({ location }) => location.start.line + 1)
    const where = lines.length ? `, missed in lines ${[...new Set(lines)].join(', ')}` : ''
    process.stdout.write(`${file}: ${told(own)}${where}\n`)
  }
  process.stdout.write(`${room}: ${told(changes)}\n`)
}

function told(changes: readonly Judged[]): string {
  const count = (fate: Fate) => changes.filter(change => change.fate === fate).length
  const [noticed, all] = [count('noticed'), count('noticed') + count('missed')]
  const rest = count('not judged') ? `, ${count('not judged')} that act while a file is read not judged` : ''
  return `${noticed} of ${all} noticed, ${((100 * noticed) / Math.max(1, all)).toFixed(1)} %${rest}`
}
