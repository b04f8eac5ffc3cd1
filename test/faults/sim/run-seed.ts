import { loadChat } from '#service/capabilities/routes.ts'
import { type Action, callActions, type Scene } from './actions.ts'
import type { SentPayment } from './call-records.ts'
import { sendKeyed } from './calls/keyed.ts'
import { sendPayment } from './calls/top-up.ts'
import { begin, Visit } from './calls/visit.ts'
import { openCast } from './cast.ts'
import { checkLedger } from './checks/ledger-checks.ts'
import { checkAtRest, isQuiet, unacknowledged, unrest } from './checks/rest-checks.ts'
import { faultActions, setLedger, startMissing } from './fault-actions.ts'
import { slowSettlementMs } from './simulated-facilitator.ts'
import type { Sometimes } from './sometimes.ts'
import { installVirtualMachines, watchForReal } from './virtual-machine.ts'
import { BrokenInvariant, World, type WorldOptions, wordsOf } from './world.ts'

export interface SeedResult {
  seed: number
  steps: number
  /** Null where all is well. The trace is whole. */
  failure: { sentence: string; step: number; trace: readonly string[] } | null
  /** Of everything that happened; the same seed gives the same. */
  digest: string
}

export interface SeedOrder {
  seed: number
  steps: number
  sometimes: Sometimes
  alterStore?: WorldOptions['alterStore']
}

/** Virtual milliseconds that everything has to come to rest in, once faults have stopped: a payment's life, and clocks that were off. */
const restMs = 45 * 60_000
/** How often payers ask again who are owed a credit. */
const lastRounds = 5
/** Between two looks for rest, at first and at most. What is due meanwhile runs once, as after a short sleep. */
const firstLookMs = 2_000
const mostLookMs = 30_000
const lookGrowth = 1.05
/** Virtual milliseconds that a process at rest may take to stop: less than it would wait for a call that never ends. */
const mostStopMs = 20_000

/** One life of a service under faults, from an empty store to rest. */
export async function runSeed(order: SeedOrder): Promise<SeedResult> {
  installVirtualMachines()
  // What the service reads from disk with its first chat would come at a moment of the machine's, not of the seed's.
  await loadChat()
  const world = await World.open(order)
  const onReal = (what: string) =>
    world.broken(`Outside of every process there was ${what}, on real time or by chance.`)
  return watchForReal(onReal, () => liveIn(world, order))
}

async function liveIn(world: World, { seed, steps }: SeedOrder): Promise<SeedResult> {
  let step = 0
  const unhandled = (error: unknown) => world.broken(`Nobody handled ${wordsOf(error)}, which would end a process.`)
  process.on('unhandledRejection', unhandled)
  try {
    const scene: Scene = { world, cast: openCast(world), draws: world.draws('steps'), calls: 0, checkedUnits: 0 }
    startMissing(scene)
    await world.time.runTo(200)
    for (step = 1; step <= steps; step++) await takeStep(scene, step)
    await comeToRest(scene)
    return { seed, steps, failure: null, digest: world.trace.digest() }
  } catch (error) {
    if (!(error instanceof BrokenInvariant)) throw error
    const failure = { sentence: error.message, step: Math.min(step, steps), trace: [...world.trace.lines] }
    return { seed, steps, failure, digest: world.trace.digest() }
  } finally {
    process.off('unhandledRejection', unhandled)
    for (const each of [...world.processes]) world.endProcess(each)
    world.database.close()
  }
}

const actions = [...callActions, ...faultActions]
const weights = actions.reduce((sum, [, weight]) => sum + weight, 0)

async function takeStep(scene: Scene, step: number): Promise<void> {
  const { world, draws } = scene
  const [name, , act] = drawn(draws.below(weights))
  const told = act(scene)
  world.trace.tell(`step ${step} at ${world.time.nowMs} ms: ${name}: ${told}`)
  // A service that is not restarted tests nothing.
  if (world.processes.length === 0 && draws.once(2)) startMissing(scene)
  await passTime(scene)
  world.throwIfBroken()
  if (scene.checkedUnits === world.units.applied) return
  scene.checkedUnits = world.units.applied
  checkLedger(world)
  world.throwIfBroken()
}

function drawn(ticket: number): Action {
  let rest = ticket
  for (const action of actions) {
    rest -= action[1]
    if (rest < 0) return action
  }
  throw new Error('The weights of the actions do not add up.')
}

/** A few events, so that what is under way stays so, or some time. */
async function passTime({ world, draws }: Scene): Promise<void> {
  const { time } = world
  if (draws.once(2)) {
    for (let left = draws.below(15); left > 0 && time.isDueBy(time.nowMs + 2_000); left--) await time.runNext()
    return
  }
  const ms = draws.pick([5, 50, 500, 2_000, 2_000, 8_000]) ?? 0
  await time.runTo(time.nowMs + draws.below(ms))
}

/** Faults stop; everything that was begun must end, every payer asks once more, and the ledger must be right. */
async function comeToRest(scene: Scene): Promise<void> {
  const { world } = scene
  world.trace.tell(`faults stop at ${world.time.nowMs} ms`)
  heal(scene)
  await untilQuiet(scene)
  await askAgain(scene, world.book.payments)
  await askKeysAgain(scene)
  // What had to wait for more blocks, or for its own time, is credited by one of the next.
  for (let round = 0; round < lastRounds; round++) {
    const owed = unacknowledged(world)
    if (owed.length > 0) await askAgain(scene, owed)
  }
  world.throwIfBroken()
  await checkAtRest(world)
  await stopAll(world)
  world.trace.tell(`at rest at ${world.time.nowMs} ms`)
  world.throwIfBroken()
}

/** Whose calls have all ended stops at once: nothing of them is left open inside. */
async function stopAll(world: World): Promise<void> {
  const { time } = world
  // A payment may still be with a facilitator that is slower than its request was patient.
  await time.runTo(time.nowMs + slowSettlementMs)
  for (const process of [...world.processes]) {
    let hasStopped = false
    const stopping = process.stop().then(() => {
      hasStopped = true
    })
    stopping.catch(() => undefined)
    await time.runTo(time.nowMs + mostStopMs)
    if (!hasStopped) world.broken(`${process.name} did not stop within ${mostStopMs} ms, though no call was open.`)
  }
}

async function askAgain(scene: Scene, payments: readonly SentPayment[]): Promise<void> {
  const { world, cast } = scene
  for (const payment of payments) {
    const [process] = world.serving
    const caller = cast.find(({ wallet, solana }) => [wallet, solana?.address].includes(payment.order.from))
    if (!process || !caller) continue
    begin(new Visit(world, `call-${++scene.calls}`, caller, process), visit => sendPayment(visit, payment, true))
    await world.time.runTo(world.time.nowMs + 100)
  }
  await untilQuiet(scene)
}

/** An answer under a key is repeated with the same bytes for as long as the key is valid. */
async function askKeysAgain(scene: Scene): Promise<void> {
  const { world } = scene
  for (const keyed of world.book.keyed.filter(({ answer }) => answer !== null)) {
    const [process] = world.serving
    if (!process) continue
    begin(new Visit(world, `call-${++scene.calls}`, keyed.caller, process), visit => sendKeyed(visit, keyed, true))
    await world.time.runTo(world.time.nowMs + 50)
  }
  await untilQuiet(scene)
}

function heal(scene: Scene): void {
  const { world } = scene
  world.chatWeather.troubleOnceIn = 0
  setLedger(world, 'open')
  Object.assign(world.paymentWeather, { troubleOnceIn: 0, isChainDown: false })
  Object.assign(world.farm, { troubleOnceIn: 0, isHealed: true })
  for (const process of world.processes) {
    process.faults.heal()
    process.skewMs = 0
  }
  startMissing(scene)
}

async function untilQuiet(scene: Scene): Promise<void> {
  const { world } = scene
  const { time } = world
  const deadlineMs = time.nowMs + restMs
  for (let lookMs = firstLookMs; time.nowMs < deadlineMs; lookMs = Math.min(mostLookMs, lookMs * lookGrowth)) {
    time.leap(Math.trunc(lookMs))
    await time.runTo(time.nowMs)
    // A start that failed in the last moments of the faults.
    if (world.processes.length === 0) startMissing(scene)
    world.throwIfBroken()
    if (world.serving.length > 0 && isQuiet(world)) return
  }
  world.broken(`Not at rest after ${restMs} ms without faults: ${unrest(world)}.`)
  world.throwIfBroken()
}
