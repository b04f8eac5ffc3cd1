/** `npm run conformance`: the protocol's own suite, on our server with its fixtures and on `farebox mcp --http`. */

import { spawnProduct } from './spawn-product.ts'
import {
  isSuiteThere,
  onTheProduct,
  type Revision,
  revisions,
  runRevision,
  runScenario,
  type ScenarioResult,
  serveFixtures,
} from './suite.ts'

const say = (line: string) => void process.stdout.write(`${line}\n`)

function tell(results: readonly ScenarioResult[]): void {
  for (const { scenario, isScored, passed, faults, warnings } of results) {
    const verdict = faults.length > 0 ? 'FAILED' : 'passed'
    say(`  ${verdict} ${scenario}${isScored ? '' : ' (not scored)'}: ${passed} checks`)
    for (const fault of faults) say(`    ${fault}`)
    for (const warning of warnings) say(`    warned: ${warning}`)
  }
}

const scoredFailing = (results: readonly ScenarioResult[]) =>
  results.filter(({ isScored, faults }) => isScored && faults.length > 0)

async function onFixtures(revision: Revision, url: string): Promise<number> {
  const results = await runRevision(url, revision)
  const scored = results.filter(({ isScored }) => isScored)
  say(`\n${revision} on our frame`)
  tell(results)
  const failing = scoredFailing(results)
  say(`  ${scored.length - failing.length} of ${scored.length} scored scenarios pass`)
  return failing.length
}

if (!isSuiteThere()) {
  say('The suite is not installed; `npm run peers` brings it.')
  process.exit(1)
}
let failing = 0
const fixtures = await serveFixtures(() => {})
for (const revision of revisions) failing += await onFixtures(revision, fixtures.url)
await fixtures.close()

const product = await spawnProduct()
say('\nWithout fixtures, on farebox mcp --http')
for (const [revision, scenario] of onTheProduct) {
  const result = await runScenario(product.openUrl, revision, scenario, { lacksFixtures: true })
  tell([{ ...result, scenario: `${revision} ${scenario}` }])
  failing += scoredFailing([result]).length
}
await product.close()
process.exitCode = failing > 0 ? 1 : 0
