import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The slowest test files, the slowest first. A file that is missing here only runs later. */
const longest = [
  'bench/short-runs',
  'docs/start',
  'faults/kills',
  'faults/points/points',
  'build/package',
  'security/security',
  'service/outage',
  'faults/sim/open-calls',
  'faults/sim/sim',
  'redteam/redteam',
  'conformance/mcp/conformance',
  'conformance/fuzz/fuzz',
  'faults/twins/twins',
  'agent/kills/killed-mcp',
  'faults/wallet/wallet',
  'faults/open-holds/open-holds',
  'faults/disk-full/disk-full',
  'examples/examples',
  'build/mcpb',
  'misuse/misuse',
  'faults/nth/nth',
  'faults/power/power',
  'faults/network/network',
  'faults/download/download',
].map(name => `test/${name}.test.ts`)

/** A long file that begins late runs alone at the end, while the other workers have nothing to do. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex(path => moduleId.endsWith(path))
      return place < 0 ? longest.length : place
    }
    return (await super.sort(files)).sort((one, other) => placeOf(one) - placeOf(other))
  }
}
