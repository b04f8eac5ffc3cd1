import type { Seeded } from '../seeded.ts'
import type { Caller } from './callers.ts'
import { streamedChat, wholeChat } from './calls/chat.ts'
import { misuseKey, newKeyedRequest, sendKeyed } from './calls/keyed.ts'
import { flawOf, sendPayment, signPayment } from './calls/top-up.ts'
import { queueVideo, retrieveVideo } from './calls/video.ts'
import { begin, Visit } from './calls/visit.ts'
import { readBalance, signInTwice } from './calls/wallet.ts'
import type { World } from './world.ts'

export interface Scene {
  world: World
  cast: readonly Caller[]
  draws: Seeded
  /** Counts calls, so that each has a name. */
  calls: number
  /** How many units had been applied when the ledger was last checked. */
  checkedUnits: number
}

/** What it is, how often it is drawn, and what it does; the answer is for the trace. */
export type Action = readonly [name: string, weight: number, act: (scene: Scene) => string]

/** A random caller's call to a random process; nothing if no process serves. */
function visit(scene: Scene, caller: Caller, run: (visit: Visit) => Promise<void>): string {
  const { world, draws } = scene
  const process = draws.pick(world.serving)
  if (!process) return 'nobody serves'
  const name = `call-${++scene.calls}`
  begin(new Visit(world, name, caller, process), run)
  return `${name} of ${caller.name} on ${process.name}`
}

const anybody = ({ draws, cast }: Scene): Caller => draws.pick(cast) as Caller

function newPayment(scene: Scene): string {
  const caller = anybody(scene)
  const payment = signPayment(scene.world, caller, scene.draws)
  return visit(scene, caller, each => sendPayment(each, payment))
}

function flawedPayment(scene: Scene): string {
  const caller = anybody(scene)
  const flaw = flawOf(scene.draws)
  const payment = signPayment(scene.world, caller, scene.draws, flaw)
  return `${flaw}, ${visit(scene, caller, each => sendPayment(each, payment))}`
}

/** One of the last payments; older ones have come to their end. */
function resend(scene: Scene, times: number): string {
  const payment = scene.draws.pick(scene.world.book.payments.slice(-8))
  if (!payment) return 'no payment yet'
  return Array.from({ length: times }, () => visit(scene, anybody(scene), each => sendPayment(each, payment))).join(
    ', ',
  )
}

/** Another party submits a payment to the chain, before or after the service gets it. */
function submittedByStranger(scene: Scene): string {
  const { world, draws } = scene
  const caller = anybody(scene)
  const payment = signPayment(world, caller, draws)
  const { transaction } = world.chainOf(payment.order).send(payment.order, 'stranger')
  world.sometimes.reached('a stranger submitted a payment')
  if (draws.once(2)) return `${transaction}, and the payer keeps it`
  return `${transaction}, ${visit(scene, caller, each => sendPayment(each, payment))}`
}

/** A payer who has second thoughts. */
function undoPayment(scene: Scene): string {
  const { world, draws } = scene
  const payment = draws.pick(world.book.payments.slice(-4))
  if (!payment) return 'no payment yet'
  const { order } = payment
  const chain = world.chainOf(order)
  if (order.rail === 'svm' || draws.once(2)) {
    chain.drain(order.from)
    world.time.after(60_000, () => chain.mint(order.from, 50_000_000n))
    return `${order.from} is emptied for a minute`
  }
  chain.send(order, 'stranger', 'cancel')
  world.sometimes.reached('a payer cancelled an authorization')
  return `${order.id} is cancelled`
}

function retrieve(scene: Scene): string {
  const { world, draws, cast } = scene
  const found = draws.pick([...world.book.jobs].slice(-6))
  if (!found) return 'no job yet'
  const [id, job] = found
  const caller = cast.find(({ account }) => account === job.account)
  return caller ? visit(scene, caller, each => retrieveVideo(each, id, job)) : 'nobody'
}

function newKeyed(scene: Scene): string {
  const { world, draws } = scene
  const caller = anybody(scene)
  const keyed = newKeyedRequest(world, caller, draws)
  const times = draws.once(3) ? 2 : 1
  const sent = Array.from({ length: times }, () => visit(scene, caller, each => sendKeyed(each, keyed)))
  return `${keyed.key}, ${keyed.kind}: ${sent.join(', ')}`
}

function keyedAgain(scene: Scene): string {
  const { world, draws } = scene
  const keyed = draws.pick(world.book.keyed.slice(-6))
  if (!keyed) return 'no key yet'
  if (draws.once(6)) return `other under ${keyed.key}: ${visit(scene, keyed.caller, each => misuseKey(each, keyed))}`
  return `${keyed.key}: ${visit(scene, keyed.caller, each => sendKeyed(each, keyed))}`
}

/** More at once than one caller may have. */
function burst(scene: Scene): string {
  const caller = anybody(scene)
  return Array.from({ length: 8 }, () => visit(scene, caller, streamedChat)).join(', ')
}

const aWallet = ({ draws, cast }: Scene): Caller => draws.pick(cast.filter(({ secret }) => !secret)) as Caller

function copiedSignIn(scene: Scene): string {
  const { world, draws } = scene
  const caller = aWallet(scene)
  const other = draws.pick(world.serving)
  if (!other) return 'nobody serves'
  const twin = new Visit(world, `call-${++scene.calls}`, caller, other)
  return visit(scene, caller, each => signInTwice(each, twin))
}

export const callActions: readonly Action[] = [
  ['whole chat', 16, scene => visit(scene, anybody(scene), wholeChat)],
  ['streamed chat', 18, scene => visit(scene, anybody(scene), streamedChat)],
  ['queue video', 6, scene => visit(scene, anybody(scene), queueVideo)],
  ['retrieve video', 6, retrieve],
  ['new payment', 8, newPayment],
  ['flawed payment', 2, flawedPayment],
  ['payment again', 5, scene => resend(scene, 1)],
  ['twins of a payment', 3, scene => resend(scene, 2 + scene.draws.below(3))],
  ['payment by another payer', 2, submittedByStranger],
  ['payment undone', 3, undoPayment],
  ['request under a key', 5, newKeyed],
  ['key again', 6, keyedAgain],
  ['burst', 1, burst],
  ['balance', 2, scene => visit(scene, aWallet(scene), async each => void (await readBalance(each)))],
  ['copied sign-in', 1, copiedSignIn],
]
