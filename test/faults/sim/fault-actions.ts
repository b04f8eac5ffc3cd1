import type { Action, Scene } from './actions.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { World } from './world.ts'

const processOf = ({ world, draws }: Scene): SimulatedProcess | undefined => draws.pick(world.processes)

const onProcess =
  (act: (process: SimulatedProcess, scene: Scene) => string) =>
  (scene: Scene): string => {
    const process = processOf(scene)
    return process ? `${process.name}: ${act(process, scene)}` : 'no process'
  }

/** A clock that is set: mostly by a little, sometimes by minutes, in either direction. */
function jumpClock(process: SimulatedProcess, { world, draws }: Scene): string {
  const most = draws.once(3) ? 600_000 : 5_000
  process.skewMs += draws.below(2 * most) - most
  process.skewMs = Math.max(-600_000, Math.min(600_000, process.skewMs))
  world.sometimes.reached(process.skewMs < 0 ? 'a clock went backward' : 'a clock went forward')
  return `clock off by ${process.skewMs} ms`
}

function leap({ world, draws }: Scene): string {
  const ms = draws.once(12) ? 25 * 3_600_000 : draws.below(90_000)
  world.time.leap(ms)
  world.sometimes.reached(ms > 3_600_000 ? 'a day passed at once' : 'the machine slept')
  return `${ms} ms pass at once`
}

function kill(process: SimulatedProcess, { world }: Scene): string {
  world.sometimes.reached(process.isServing ? 'a process was killed' : 'a process was killed while it started')
  world.endProcess(process)
  return 'killed'
}

function stop(process: SimulatedProcess, { world }: Scene): string {
  if (!process.isServing) return 'is not serving'
  process.stop().then(
    () => world.forget(process),
    () => undefined,
  )
  world.sometimes.reached('a process was stopped')
  return 'stops'
}

/** As many as may share the store: one, or two. */
export function startMissing({ world, draws }: Scene): string {
  const most = world.soleOwner ? 1 : 2
  if (world.processes.length >= most) return 'enough run'
  const skewMs = draws.once(6) ? draws.below(20_000) - 10_000 : 0
  return world.startProcess(skewMs).name
}

function weather({ world, draws }: Scene): string {
  const onceIn = () => draws.pick([0, 0, 2, 3, 5]) ?? 0
  world.chatWeather.troubleOnceIn = onceIn()
  world.paymentWeather.troubleOnceIn = onceIn()
  world.farm.troubleOnceIn = onceIn()
  return `trouble once in ${world.chatWeather.troubleOnceIn}, ${world.paymentWeather.troubleOnceIn}, ${world.farm.troubleOnceIn}`
}

function chainDown({ world, draws }: Scene): string {
  const forMs = 1_000 + draws.below(60_000)
  world.paymentWeather.isChainDown = true
  world.time.after(forMs, () => {
    world.paymentWeather.isChainDown = false
  })
  world.sometimes.reached('the chain was down')
  return `the chain is down for ${forMs} ms`
}

function reorganize({ world, draws }: Scene): string {
  const chain = draws.once(2) ? world.chains.evm : world.chains.svm
  const dropped = chain.reorganize(1 + draws.below(Math.max(5, chain.confirmations)))
  if (dropped) world.sometimes.reached('the chain dropped a block with a payment')
  return `${dropped} transactions dropped`
}

/** The operator, or an audit that found something wrong, closes the ledger for a while. */
function readOnly({ world, draws }: Scene): string {
  const forMs = 1_000 + draws.below(30_000)
  setLedger(world, 'read_only')
  world.time.after(forMs, () => setLedger(world, 'open'))
  return `for ${forMs} ms`
}

export function setLedger(world: World, state: 'open' | 'read_only'): void {
  const atMs = world.trueMs()
  world.commit(`ledger-${state}`, [{ op: 'ledger', state, reason: 'Simulated.', atMs }])
}

export const faultActions: readonly Action[] = [
  ['store fault', 6, onProcess(({ faults }) => faults.arm())],
  ['read fault', 2, onProcess(({ faults }) => faults.armRead())],
  ['disk full', 1, onProcess(({ faults }, { draws }) => faults.outage(500 + draws.below(20_000)))],
  ['slow store', 1, onProcess(({ faults }, { draws }) => faults.slow(draws.below(20_000)))],
  ['clock', 2, onProcess(jumpClock)],
  ['leap', 2, leap],
  ['kill', 3, onProcess(kill)],
  ['kill in a commit', 4, onProcess(({ faults }) => faults.armKill())],
  ['stop', 1, onProcess(stop)],
  ['start', 5, startMissing],
  ['weather', 4, weather],
  ['read-only books', 1, readOnly],
  ['chain down', 1, chainDown],
  ['reorganization', 2, reorganize],
]
