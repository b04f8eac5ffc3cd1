import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { type HttpServing, serveHttp } from '#mcp/http/serve.ts'
import { fakeHost } from '../../mcp/fake-host.ts'
import { catalogue, listing } from './fixture-catalogue.ts'
import { taskHost } from './task-host.ts'
import { wireDeprecated } from './wire-deprecated.ts'

/** Where `npm run peers` puts the protocol's own suite; its package exports nothing, it is a program. */
const home = join(import.meta.dirname, '../../../node_modules/@modelcontextprotocol/conformance')

export const isSuiteThere = (): boolean => existsSync(home)

export const revisions = ['2025-11-25', '2026-07-28'] as const
export type Revision = (typeof revisions)[number]

export interface ScenarioResult {
  scenario: string
  /** Whether the revision requires it; what it does not is run for the sight of it. */
  isScored: boolean
  passed: number
  /** What failed or was warned of, in the suite's words. */
  faults: string[]
  warnings: string[]
}

const Requirements = z.object({ server: z.array(z.string()) })
const Checks = z.array(
  z.object({
    id: z.string(),
    status: z.string(),
    errorMessage: z.string().optional(),
    details: z.looseObject({ untestable: z.boolean().optional() }).optional(),
  }),
)

/** Every scenario of a revision against one server. */
export async function runRevision(url: string, revision: Revision): Promise<ScenarioResult[]> {
  const { server: scored } = Requirements.parse(
    parse(await readFile(join(home, 'requirements', `${revision}.yaml`), 'utf8')),
  )
  const results = await runSubprocess(['--url', url, '--requirements', revision], scored)
  const missing = scored.filter(name => !results.some(({ scenario }) => scenario === name))
  return [...results, ...missing.map(name => notRun(name, true))]
}

/** One scenario of a revision. `lacksFixtures` leaves out checks that the suite itself says it could not make without them. */
export async function runScenario(
  url: string,
  revision: Revision,
  scenario: string,
  { lacksFixtures = false } = {},
): Promise<ScenarioResult> {
  const flags = ['--url', url, '--scenario', scenario, '--spec-version', revision, '--force']
  const [result] = await runSubprocess(flags, [scenario], lacksFixtures)
  return result ?? notRun(scenario, true)
}

const notRun = (scenario: string, isScored: boolean): ScenarioResult => ({
  scenario,
  isScored,
  passed: 0,
  faults: ['It was not run.'],
  warnings: [],
})

async function runSubprocess(
  flags: string[],
  scored: readonly string[],
  lacksFixtures = false,
): Promise<ScenarioResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-conformance-'))
  try {
    const program = [join(home, 'dist/index.js'), 'server', ...flags, '-o', folder]
    const child = spawn(process.execPath, program, { stdio: 'ignore' })
    await once(child, 'close')
    const results: ScenarioResult[] = []
    for (const name of (await readdir(folder)).sort()) {
      const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\dZ-]+$/, '')
      const checks = Checks.parse(JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')))
      const counted = lacksFixtures ? checks.filter(({ details }) => !details?.untestable) : checks
      const of = (status: string) => counted.filter(check => check.status === status)
      const say = (check: (typeof checks)[number]) => `${check.id}: ${check.errorMessage ?? 'no reason given'}`
      results.push({
        scenario,
        isScored: scored.includes(scenario),
        passed: of('SUCCESS').length,
        faults: of('FAILURE').map(say),
        warnings: of('WARNING').map(say),
      })
    }
    return results
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Our own frame over the suite's names, on a port of loopback. The suite shows no token. */
export async function serveFixtures(log: (line: string) => void): Promise<HttpServing> {
  const stateKey = randomBytes(32)
  wireDeprecated(stateKey)
  let nowMs = Date.now()
  return serveHttp({
    name: 'farebox-fixtures',
    version: '0.0.0',
    catalogue,
    listing,
    stateKey,
    host: async () => ({ ...fakeHost().host, ...taskHost }),
    port: 0,
    isToken: () => true,
    // Each look is a second later, so that reports in a row are not dropped for coming too fast.
    clock: { now: () => (nowMs += 1000) },
    log,
  })
}

/** Scenarios that need no fixture, so that they run on `farebox mcp --http` as it is. */
export const onTheProduct: readonly (readonly [Revision, string])[] = [
  ['2025-11-25', 'server-initialize'],
  ['2025-11-25', 'ping'],
  ['2025-11-25', 'tools-list'],
  ['2025-11-25', 'resources-list'],
  ['2025-11-25', 'prompts-list'],
  ['2025-11-25', 'server-sse-multiple-streams'],
  ['2025-11-25', 'server-session-lifecycle'],
  ['2025-11-25', 'dns-rebinding-protection'],
  ['2026-07-28', 'server-stateless'],
  ['2026-07-28', 'tools-list'],
  ['2026-07-28', 'resources-list'],
  ['2026-07-28', 'sep-2164-resource-not-found'],
  ['2026-07-28', 'prompts-list'],
  ['2026-07-28', 'caching'],
  ['2026-07-28', 'server-sse-multiple-streams'],
  ['2026-07-28', 'dns-rebinding-protection'],
  ['2026-07-28', 'http-header-validation'],
  ['2026-07-28', 'input-required-result-unsupported-methods'],
]
