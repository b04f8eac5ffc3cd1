import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The slowest test files, the slowest first. A file that is missing here only runs later. */
const longest = [
  // Of the unit layer.
  'operator/queries/operator',
  'operator/console/console-matrix',
  'service/charge-unknown',
  'account/account-api',
  'agent/refusals-of-others',
  'ledger/store/sqlite',
  'architecture',
  // Of the integration layer.
  'cli/serve/shared-media',
  'bench/short-runs',
  'media/bucket-media-store',
  'build/package',
  'browser/console',
  'browser/account-wallet-top-up',
  'cli/serve/workers',
  'browser/misuse',
  'conformance/mcp/conformance',
  'agent/kills/killed-mcp',
  'redteam/redteam',
  'faults/sim/sim',
  'browser/wallet-page-states',
  'browser/account',
  'faults/sim/open-calls',
  'faults/twins/twins',
  'docs/start',
  'agent/published-requests',
  'service/outage',
  'payments/remote-facilitator',
  'browser/operators-hour',
  'misuse/misuse',
  'payments/svm-failures',
  'browser/account-wallet-sign-in',
  'faults/kills',
  'wallet/processes',
  'payments/svm-remote',
  'build/mcpb',
  'examples/examples',
  'cli/doctor/doctor',
  'conformance/fuzz/fuzz',
  'browser/apps',
  'contributing',
  'cli/keys',
  'cli/data-folder',
  'faults/open-holds/open-holds',
  'security/security',
  'cli/serve/console',
  'wallet/send/send-money',
  'payments/top-up-crashes',
  'faults/points/points',
  'faults/wallet/wallet',
  'faults/disk-full/disk-full',
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
