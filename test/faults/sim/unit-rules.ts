import { holdLeaseMs, recoveryIntervalMs } from '#ledger/bounds.ts'
import type { Outcome, Refusal } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import type { Machine } from './virtual-machine.ts'
import type { World } from './world.ts'

type Of<Name extends Op['op']> = Extract<Op, { op: Name }>

/** What the service must never ask of its ledger, whatever happens around it. */
const neverRefused: ReadonlySet<Refusal> = new Set(['invalid', 'over_hold', 'hold_exists', 'not_owner', 'job_exists'])

interface HeldHold {
  reserved: bigint
  untilMs: number
  machine: Pick<Machine, 'isAlive'>
}

/** Rules of single units, which sums of the ledger alone would not show. */
export class UnitRules {
  readonly #world: World
  readonly #applied = new Set<string>()
  readonly #holds = new Map<string, HeldHold>()
  /** Of jobs, payments and keys: the number of their last move. */
  readonly #fences = new Map<string, number>()
  #isReadOnly = false

  constructor(world: World) {
    this.#world = world
  }

  judge(unit: Unit, outcome: Outcome, machine: Pick<Machine, 'isAlive'>): void {
    if (!outcome.ok) this.#judgeRefusal(unit, outcome.why)
    if (!outcome.ok || outcome.again) return
    this.#applied.add(unit.id)
    for (const op of unit.ops) this.#judgeOp(op, unit, machine)
  }

  #judgeRefusal({ id, ops }: Unit, why: Refusal): void {
    const told = `Unit ${id} (${ops.map(({ op }) => op).join('+')})`
    if (this.#applied.has(id)) this.#world.broken(`${told} was applied, and came again as ${why}.`)
    if (neverRefused.has(why)) this.#world.broken(`${told} was refused as ${why}.`)
  }

  #judgeOp(op: Op, unit: Unit, machine: Pick<Machine, 'isAlive'>): void {
    switch (op.op) {
      case 'ledger':
        this.#isReadOnly = op.state === 'read_only'
        break
      case 'hold':
        this.#notReadOnly(unit)
        this.#holds.set(op.hold, { reserved: op.amount, untilMs: op.lease.untilMs, machine })
        break
      case 'extend':
        this.#notReadOnly(unit)
        this.#change(op.hold, held => ({ ...held, reserved: held.reserved + op.amount }))
        break
      case 'renew':
        if ((this.#holds.get(op.hold)?.untilMs ?? 0) < op.lease.untilMs - holdLeaseMs - recoveryIntervalMs)
          this.#world.sometimes.reached('a hold had lapsed, and was left to its owner to renew')
        this.#change(op.hold, held => ({ ...held, untilMs: op.lease.untilMs }))
        break
      case 'release':
        this.#judgeEnd(op, unit)
        break
      case 'capture':
        this.#judgeCapture(op, unit)
        this.#judgeEnd(op, unit)
        break
      case 'job':
        this.#judgeMove(`job ${op.job}`, op.fence)
        if (op.to === 'failed') this.#judgeVerdict(op.job)
        break
      case 'payment':
        this.#judgeMove(`payment ${op.payment}`, op.fence)
        if (op.to === 'rejected' || op.to === 'expired') this.#judgeRejection(op)
        break
      case 'claim':
        // Old keys are forgotten, so one may begin anew.
        if (op.from === null) this.#fences.delete(`key ${op.claim}`)
        this.#judgeMove(`key ${op.claim}`, op.fence)
        break
    }
  }

  #change(hold: string, change: (held: HeldHold) => HeldHold): void {
    const held = this.#holds.get(hold)
    if (held) this.#holds.set(hold, change(held))
  }

  #notReadOnly({ id }: Unit): void {
    if (this.#isReadOnly) this.#world.broken(`Unit ${id} took a hold while the ledger was read-only.`)
  }

  #judgeCapture({ hold, lines, writeOff }: Of<'capture'>, { id }: Unit): void {
    const lost: bigint = writeOff ?? 0n
    const charged = lines.reduce((total, { amount }) => total + amount, -lost)
    const reserved = this.#holds.get(hold)?.reserved ?? 0n
    if (charged > reserved) this.#world.broken(`Unit ${id} charged ${charged} of a hold of ${reserved}.`)
  }

  /** Recovery ends what is past its lease, or what a process left that is certainly dead. */
  #judgeEnd({ hold, onlyIfExpired }: Of<'capture' | 'release'>, { id }: Unit): void {
    const held = this.#holds.get(hold)
    this.#holds.delete(hold)
    if (!held || !id.endsWith('/recover')) return
    const isLapsed = onlyIfExpired !== undefined && onlyIfExpired.atMs >= held.untilMs
    const isDead = this.#world.soleOwner && !held.machine.isAlive
    if (!isLapsed && !isDead) this.#world.broken(`Unit ${id} recovered a hold whose lease was live.`)
  }

  /** A process that changes a row has read its current state. */
  #judgeMove(row: string, fence: number): void {
    const known = this.#fences.get(row) ?? 0
    if (known !== fence) this.#world.broken(`${row} was moved from ${fence}, but it was at ${known}.`)
    this.#fences.set(row, fence + 1)
  }

  /** A failure is the engine's verdict, or the end of a day without one. */
  #judgeVerdict(job: string): void {
    const { farm, trueMs } = this.#world
    const render = farm.renders.get(job)
    const isVerdict = render?.fate === 'fails' || render?.fate === 'is refused for its content'
    const queuedMs = this.#world.units.queuedAtMs.get(job) ?? trueMs()
    if (!isVerdict && trueMs() - queuedMs < shortestDayMs)
      this.#world.broken(`Job ${job} failed, and its engine never said so.`)
  }

  /** What the service itself has brought to the chain may still come, or has. */
  #judgeRejection({ payment, to }: Of<'payment'>): void {
    const order = this.#world.orders.get(payment.slice(payment.lastIndexOf(':') + 1))
    if (order && this.#world.chainOf(order).isBrought(order))
      this.#world.broken(`Payment ${payment} was ${to}, though it had been sent and could land.`)
  }
}

/** A day, less what clocks may be off by. */
const shortestDayMs = 23 * 3_600_000
