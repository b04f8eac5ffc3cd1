import { linesTold } from './bounds.ts'
import type { SeedResult } from './run-seed.ts'
import { replayOfSeed } from './shrink.ts'

/** What a sentence names that the lines of a trace name too: calls, keys, requests and units, wallets and nonces. */
const names = /\bcall-\d+\b|\bkey-\d+\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-f]{40,64}\b/g

/** What led to a failure, and how to see it again. `file` has the whole trace. */
export function toldFailure({ seed, steps, failure }: SeedResult, file: string): string[] {
  if (!failure) return []
  const { sentence, step, trace } = failure
  const named = namesIn(sentence, trace)
  const about = trace.filter(line => named.some(name => says(line, name)) && !line.startsWith('BROKEN'))
  const last = trace.slice(-linesTold)
  return [
    `Seed ${seed}, step ${step}: ${sentence}`,
    ...(about.length > 0 ? [`What its trace says of ${named.join(', ')}:`, ...indented(about.slice(-linesTold))] : []),
    `The last ${last.length} of its ${trace.length} lines, the others in ${file}:`,
    ...indented(last),
    `Again with: ${replayOfSeed({ seed, steps })}`,
  ]
}

/** Whole words only: call-1 is not call-12. */
const says = (line: string, name: string): boolean => line.split(/[^\w-]+/).includes(name)

const indented = (lines: readonly string[]): string[] => lines.map(line => `  ${line}`)

/** With the request of each call, because units are named for it. */
function namesIn(sentence: string, trace: readonly string[]): string[] {
  const named = new Set(sentence.match(names))
  for (const name of [...named]) {
    const requests = trace.filter(line => line.includes(` ${name} is `)).flatMap(line => line.match(names) ?? [])
    for (const request of requests) named.add(request)
  }
  return [...named]
}
