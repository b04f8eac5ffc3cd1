import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longest, the longest first. One that is missing here only runs later. */
const longest = [
  'bench/short-runs',
  'service/outage',
  'faults/kills',
  'faults/points/points',
  'faults/twins/twins',
  'faults/wallet/wallet',
  'faults/disk-full/disk-full',
  'faults/sim/sim',
  'faults/sim/open-calls',
  'faults/nth/nth',
  'faults/power/power',
  'faults/network/network',
  'faults/download/download',
  'faults/open-holds/open-holds',
  'conformance/mcp/conformance',
  'conformance/fuzz/fuzz',
  'docs/start',
  'redteam/redteam',
  'agent/kills/killed-mcp',
  'security/security',
  'misuse/misuse',
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
