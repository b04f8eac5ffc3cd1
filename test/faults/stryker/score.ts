/** What of Stryker's report is read. */
export interface StrykerReport {
  files: Record<string, { mutants: { status: string; mutatorName: string; location: { start: { line: number } } }[] }>
}

const found = new Set(['Killed', 'Timeout'])
const missed = new Set(['Survived', 'NoCoverage'])

/** Mutants that were noticed, of those that could be. */
export function scoreOf(report: StrykerReport): { noticed: number; all: number } {
  const statuses = Object.values(report.files).flatMap(({ mutants }) => mutants.map(({ status }) => status))
  const noticed = statuses.filter(status => found.has(status)).length
  return { noticed, all: noticed + statuses.filter(status => missed.has(status)).length }
}

export function printScore(report: StrykerReport, room: string): void {
  for (const [file, { mutants }] of Object.entries(report.files)) {
    const { noticed, all } = scoreOf({ files: { [file]: { mutants } } })
    const lines = mutants.filter(({ status }) => missed.has(status)).map(({ location }) => location.start.line)
    const where = lines.length ? `, missed in lines ${[...new Set(lines)].join(', ')}` : ''
    process.stdout.write(`${file}: ${noticed} of ${all}${where}\n`)
  }
  const { noticed, all } = scoreOf(report)
  process.stdout.write(`${room}: ${noticed} of ${all} noticed, ${((100 * noticed) / Math.max(1, all)).toFixed(1)} %\n`)
}
