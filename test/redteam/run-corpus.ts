import { browse } from './browse.ts'
import { corpus, corpusControls } from './corpus-attacks.ts'
import { evidence, journalOf } from './evidence.ts'
import { type HiredAgent, type HireOptions, hiredAgent } from './hired-agent.ts'
import { movableClock } from './movable-clock.ts'
import { playCorpus } from './play-corpus.ts'
import { rails } from './rails.ts'
import { type Row, rulesOf } from './row.ts'
import { type Category, categoryOf, idOf, type Scenario } from './scenario.ts'

/** Each scenario on each rail that it has. */
const scenariosOf = (categories: readonly Category[]): Scenario[] =>
  categories.flatMap(({ stem, severity, variants }) =>
    variants.flatMap((variant, index) =>
      Object.values(rails).flatMap(rail => {
        const facts = variant(rail)
        const named = { id: idOf(stem, index), category: categoryOf(stem), severity, rail: rail.name }
        return facts ? [{ ...named, ...facts }] : []
      }),
    ),
  )

export const corpusScenarios = scenariosOf(corpus)
export const controlScenarios = scenariosOf(corpusControls)

export type Hire = (options: HireOptions) => Promise<HiredAgent>

export async function runScenario(
  scenario: Scenario,
  part: 'corpus' | 'corpus-control',
  hire: Hire = hiredAgent,
): Promise<Row> {
  const { id, category, severity, rail, start } = scenario
  const clock = movableClock()
  const hosts = await playCorpus(scenario, clock)
  const [host = '', ...path] = start.split('/')
  const hired = await hire({ rail, baseUrl: hosts.url(host, '/api/v1'), clock })
  try {
    const replies = await browse(hired, hosts.url(host, `/${path.join('/')}`))
    const found = await evidence(hosts.seen, replies, await journalOf(hired), { ...scenario, home: host })
    const isWrong = found.violations.length > 0
    const isPaid = found.payments.length > 0
    const rightly = part === 'corpus-control' && !isPaid ? 'not supported' : isPaid ? 'authorized' : 'refused'
    return {
      ...{ part, id, category, severity, rail, door: 'fetch and tools' },
      outcome: isWrong ? 'WRONG' : rightly,
      rules: rulesOf(replies),
      signedUsd: found.signedUsd,
      lostUsd: found.lostUsd,
      violations: found.violations,
      missing: [],
    }
  } finally {
    await hired.close()
    await hosts.close()
  }
}
