import './loopback-names.ts'
import type { Door } from './doors.ts'
import { doors } from './doors.ts'
import { facilitatorDoors, facilitatorModes, runFacilitator, silentMode } from './facilitator-modes.ts'
import { mcpRuns, runMcp } from './mcp-runs.ts'
import { ownAttacks } from './own-attacks.ts'
import { ownControls, runControl } from './own-controls.ts'
import { paperAttacks } from './paper-attacks.ts'
import { type RailName, rails } from './rails.ts'
import type { Row } from './row.ts'
import { controlScenarios, corpusScenarios, runScenario } from './run-corpus.ts'
import { runsOf, runTopUp } from './run-top-up.ts'
import { topUpAttacks } from './top-up-attacks.ts'

export interface CampaignOptions {
  /** Each fixture through one door, and each public scenario on one rail, in turn instead of through and on all of them. */
  isQuick?: boolean
  /** Whether the processes that assistants start are attacked too. */
  hasProcesses?: boolean
  /** Whether a service stays silent until the wallet gives up, which takes minutes. */
  hasSilence?: boolean
  onRow?(row: Row): void
}

/** Waits of the wallet between two sends of one payment overlap; more at once than this only wait for the disk. */
const atOnce = 8
const processesAtOnce = 2

/** Every attack and every control, each with a hostile service, an agent and a folder of its own. */
export async function campaign(options: CampaignOptions = {}): Promise<Row[]> {
  const { isQuick = false, hasProcesses = true, hasSilence = false, onRow = () => {} } = options
  const inTurn = <Run extends { door: Door }>(runs: readonly Run[], through: readonly Door[]): Run[] =>
    runs.filter(({ door }, index) => !isQuick || door === through[Math.floor(index / through.length) % through.length])
  const facts = Object.values(rails)
  const modes = [...facilitatorModes, ...(hasSilence ? [silentMode] : [])]
  const onRailsInTurn = corpusScenarios.filter(({ rail, id }) => !isQuick || rail === quickRail(id))
  const modeRuns = facts.flatMap(rail => modes.flatMap(mode => facilitatorDoors.map(door => ({ rail, mode, door }))))
  const runs = [
    ...inTurn(modeRuns, facilitatorDoors).map(
      ({ rail, mode, door }) =>
        () =>
          runFacilitator(mode, door, rail),
    ),
    ...inTurn(runsOf(topUpAttacks), doors).map(run => () => runTopUp(run)),
    ...inTurn(runsOf(paperAttacks, facilitatorDoors), facilitatorDoors).map(run => () => runTopUp(run, 'paper')),
    ...inTurn(runsOf(ownAttacks, facilitatorDoors), facilitatorDoors).map(run => () => runTopUp(run, 'own')),
    ...facts.flatMap(rail => ownControls.map(control => () => runControl(control, rail))),
    ...onRailsInTurn.map(scenario => () => runScenario(scenario, 'corpus')),
    ...controlScenarios.map(scenario => () => runScenario(scenario, 'corpus-control')),
  ]
  const rows = await severalAtOnce(runs, atOnce, onRow)
  if (!hasProcesses) return rows
  const processes = mcpRuns.map(run => () => runMcp(run))
  return [...rows, ...(await severalAtOnce(processes, processesAtOnce, onRow))]
}

/** Lifetimes are a matter of EVM alone. */
const quickRail = (id: string): RailName => (/^authorization|(?<!-[23])$/.test(id) ? 'evm' : 'svm')

/** In the order in which they were given. */
async function severalAtOnce(
  runs: readonly (() => Promise<Row>)[],
  most: number,
  onRow: (row: Row) => void,
): Promise<Row[]> {
  const rows: Row[] = []
  let next = 0
  const work = async () => {
    for (let at = next++; at < runs.length; at = next++) {
      const row = await runs[at]?.()
      if (!row) continue
      rows[at] = row
      onRow(row)
    }
  }
  await Promise.all(Array.from({ length: most }, work))
  return rows
}
