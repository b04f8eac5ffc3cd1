/** Random units of every operation, from a seed. Names are few, so that units meet, and are replaced by others after a while. */
import { microUsd } from '#contract/money.ts'
import type { JobState, Op, PaymentState, Unit } from '#ledger/store/units.ts'
import { uuidV7Floor } from '#ledger/store/uuid-v7.ts'
import { type Seeded, seeded } from '../../faults/seeded.ts'
import * as sample from './sample-ops.ts'

const { dayMs, nowMs } = sample

/** Units that share their names: enough to wear each of them out. */
const unitsOfOneAge = 250

/** Texts that an engine could take for something else. */
const names = ['ada', 'b"o\\b', 'çınar 🙂', 'NULL', "{o'neil},", ' \u0001\t\n ']

const jobStates: JobState[] = ['queued', 'running', 'completed', 'failed', 'deleted']
const paymentStates: PaymentState[] = ['claimed', 'settling', 'unknown', 'credited', 'rejected', 'expired']

/** State and fence of a row, as it was after the last round. */
export type Seen = ReadonlyMap<string, { state: string; fence: number }>

export class UnitSource {
  readonly #random: Seeded
  readonly #sent: Unit[] = []
  /** Names as they were asked for, whether anything came of it or not. */
  readonly #lately = { holds: [] as string[], requests: [] as string[] }
  #made = 0

  constructor(seed: number) {
    this.#random = seeded(seed, 'units')
  }

  /** Some batches of units, to be committed at once. */
  round(seen: Seen): Unit[][] {
    const { below } = this.#random
    const most = this.#random.once(8) ? 120 : 12
    return Array.from({ length: 1 + below(4) }, () => Array.from({ length: 1 + below(most) }, () => this.#unit(seen)))
  }

  /** What to prune next, as an age in units. */
  get age(): number {
    return Math.floor(this.#made / unitsOfOneAge)
  }

  #unit(seen: Seen): Unit {
    const { below, once, pick } = this.#random
    const draw = new Draw(this.#random, `${this.age}/`, seen, this.#lately)
    const isFirst = this.#made % unitsOfOneAge === 0
    const own = `${uuidV7Floor(nowMs + this.#made++)}/${pick(names)}`
    if (isFirst) return { id: own, ops: draw.first() }
    const before = once(12) ? this.#sent[Math.max(0, this.#sent.length - 1 - below(60))] : undefined
    if (before && !once(3)) return before
    const length = once(200) ? 0 : once(3) ? 2 + below(4) : 1
    const ops = Array.from({ length }, () => (once(60) ? draw.invalid() : draw.op()))
    const unit = { id: before?.id ?? (once(200) ? `not time-ordered/${this.#made}` : own), ops }
    this.#sent.push(unit)
    return unit
  }
}

/** Draws operations over the names of one age. */
class Draw {
  readonly #random: Seeded
  readonly #age: string
  readonly #seen: Seen
  readonly #recent: string[]
  readonly #requests: string[]

  constructor(random: Seeded, age: string, seen: Seen, lately: { holds: string[]; requests: string[] }) {
    this.#random = random
    this.#age = age
    this.#seen = seen
    this.#recent = lately.holds
    this.#requests = lately.requests
  }

  /** So that the units of an age find something. */
  first(): Op[] {
    return names.slice(0, 3).flatMap((name, place) => {
      const of = this.#age + name
      const hash = `${this.#age}hash of ${place}`
      const opened = [sample.account(of), sample.grant(150n, `${of} starts`, of)]
      return [...opened, sample.key(`${this.#age}key ${place}`, hash, of, this.#budget())]
    })
  }

  op(): Op {
    const { below } = this.#random
    const drawn = below(100)
    if (drawn < 8) return sample.account(this.#account())
    if (drawn < 18) return this.#credit()
    if (drawn < 46) return this.#hold()
    if (drawn < 50) return sample.extend(this.#held(), this.#amount())
    if (drawn < 52) return sample.renew(this.#held(), this.#lease())
    if (drawn < 54) return sample.checkpoint(this.#held(), this.#amounts(), this.#lease())
    if (drawn < 70) return this.#capture()
    if (drawn < 73) return sample.release(this.#held(true), below(2) ? below(12) : undefined)
    if (drawn < 79) return sample.refund(this.#charged())
    return this.#rareOp(drawn)
  }

  #rareOp(drawn: number): Op {
    const { below, once, pick } = this.#random
    if (once(5)) return this.#customer()
    if (drawn < 81) return sample.nonce(this.#name('nonce', 4), below(1_000))
    if (drawn < 83) return sample.wallet(this.#name('wallet', 4), this.#account())
    if (drawn < 86) return this.#key()
    if (drawn < 88) return sample.keyBudget(this.#name('key', 3), this.#budget())
    if (drawn < 89)
      return once(3) ? sample.revokeKey(this.#name('key', 3)) : sample.limit(this.#account(), below(1_000))
    if (drawn < 90 && once(4)) {
      const [place, name] = [below(6), pick(names)]
      return place === 5 ? sample.receiptKey(`${name}`, `${this.#age}public`) : sample.secret(1 + place, name)
    }
    if (drawn < 90) return sample.ledger(pick(['open', 'open', 'open', 'open', 'read_only'] as const) ?? 'open')
    if (drawn < 93) return this.#job()
    if (drawn < 96) return this.#payment()
    return this.#claim()
  }

  /** Seldom suspended for long, so that units find accounts that pay. */
  #customer(): Op {
    const { below, pick } = this.#random
    const of = this.#account()
    const drawn = below(8)
    if (drawn < 2) return sample.suspend(of, below(1_000))
    if (drawn < 5) return sample.resume(of)
    if (drawn < 6) return sample.act('customer.credit', this.#maybe(of))
    const name = { name: this.#maybe(`${pick(names)}`) }
    return sample.customer(drawn < 7 ? name : { ...name, note: 'a note', plan: this.#maybe('partner') }, of)
  }

  /** What no store could apply, one way or another. */
  invalid(): Op {
    const op = this.op()
    const wrong: Op[] = [
      sample.hold(this.#name('hold', 80), -1n, this.#account()),
      sample.capture(this.#held(), [1n], this.#name('request', 40), { writeOff: 2n }),
      sample.nonce('\0'),
      sample.nonce('\ud800'),
      sample.account('system:grant'),
      sample.nonce(this.#name('nonce', 4), 0.5),
      { ...op, op: 'unheard-of' } as unknown as Op,
    ]
    return this.#random.pick(wrong) ?? op
  }

  #name = (kind: string, count: number): string => `${this.#age}${kind} ${this.#random.below(count)}`
  /** Most often a recent hold; ending it removes it from the list. */
  #held = (ends = false): string => {
    const { once, below } = this.#random
    const place = this.#recent.length - 1 - below(4)
    if (once(5) || place < 0) return this.#name('hold', 80)
    const name = this.#recent[place] ?? ''
    if (ends && !once(5)) this.#recent.splice(place, 1)
    return name
  }
  /** Most often a request that was charged lately, or was to be. */
  #charged = (): string =>
    (this.#random.once(4) ? undefined : this.#requests.at(-1 - this.#random.below(6))) ?? this.#name('request', 40)
  #account = (): string => this.#age + names[this.#random.below(4)]
  #amount = (): bigint => BigInt(this.#random.below(40))
  #amounts = (): bigint[] => Array.from({ length: this.#random.below(4) }, this.#amount)
  #lease = () => sample.lease(this.#random.below(12), this.#random.once(4) ? 'two' : 'one')
  #maybe = <Value>(value: Value): Value | null => (this.#random.once(2) ? value : null)
  #budget = () =>
    this.#maybe(
      sample.budget(
        this.#maybe(this.#amount() * 2n),
        this.#maybe(this.#amount()),
        this.#random.pick(['epoch', 'month', 'lifetime'] as const),
      ),
    )

  #credit(): Op {
    const { once, below } = this.#random
    const amount = once(20) ? 10n ** 15n : BigInt(below(120))
    const ref = this.#name('ref', 20)
    return once(3) ? sample.topUp(amount, ref, this.#account()) : sample.grant(amount, ref, this.#account())
  }

  /** Most often the account that has the key of this place. */
  #ownerOf = (key: number): string => (this.#random.once(5) ? this.#account() : `${this.#age}${names[key]}`)

  #key(): Op {
    const place = this.#random.below(3)
    const hash = this.#name('hash', 8)
    return sample.key(`${this.#age}key ${place}`, hash, this.#ownerOf(place), this.#budget())
  }

  #hold(): Op {
    const { once, below } = this.#random
    const place = below(3)
    const withKey = once(2)
    const terms = {
      ...(withKey ? sample.by(`${this.#age}key ${place}`, below(2) * dayMs, below(2) * dayMs) : {}),
      ...(once(2) ? sample.staked(this.#amount() * 2n, below(2)) : {}),
      ...(once(4) ? { mostOpen: below(5) } : {}),
    }
    const of = withKey ? this.#ownerOf(place) : this.#account()
    const name = this.#name('hold', 80)
    this.#recent.push(name)
    return sample.hold(name, this.#amount(), of, this.#lease(), terms)
  }

  #capture(): Op {
    const { once, below } = this.#random
    const lines = this.#amounts()
    const all = lines.reduce((sum, line) => sum + line, 0n)
    const loss = once(4) ? { writeOff: all === 0n ? 0n : BigInt(below(Number(all) + 1)) } : {}
    const expired = once(6) ? { onlyIfExpired: { atMs: below(12) } } : {}
    const request = this.#name('request', 40)
    this.#requests.push(request)
    return sample.capture(this.#held(true), lines, request, { ...loss, ...expired })
  }

  /** Most often what the row says, so that moves succeed; else anything. */
  #moveOf<State extends string>(
    name: string,
    states: readonly State[],
  ): { from: State | null; to: State; fence: number } {
    const { once, below, pick } = this.#random
    const seen = this.#seen.get(name)
    const to = pick(states) as State
    if (seen && !once(4)) return { from: seen.state as State, to, fence: seen.fence }
    return once(3) ? { from: pick(states) as State, to, fence: below(3) } : { from: null, to, fence: once(20) ? 1 : 0 }
  }

  #job(): Op {
    const { once, below, pick } = this.#random
    const name = this.#name('job', 4)
    const { from, to, fence } = this.#moveOf(name, jobStates)
    const fields = {
      ...(from === null ? { account: this.#account(), request: this.#name('job request', 5) } : {}),
      ...(once(2) ? { lease: this.#maybe(this.#lease()) } : {}),
      ...(once(3) ? { engineState: JSON.stringify({ at: below(9), say: pick(names) }) } : {}),
      ...(once(4) ? { result: pick(['null', '{"file":"a"}']) ?? '' } : {}),
      ...(once(4) ? { input: once(2) ? null : JSON.stringify(names) } : {}),
    }
    return sample.job(name, from, to, fence, from === null ? { ...fields, input: '{}' } : fields)
  }

  #payment(): Op {
    const { once, pick } = this.#random
    const name = this.#name('payment', 4)
    const { from, to, fence } = this.#moveOf(name, paymentStates)
    const fields = {
      ...(once(2) ? { network: 'eip155:8453', payer: pick(names) ?? '', amount: microUsd(this.#amount()) } : {}),
      ...(once(2) ? { payload: JSON.stringify(names), validBeforeSeconds: 1_800_000_000 } : {}),
      ...(once(3) ? { transaction: '0xab', answer: '{"ok":true}' } : {}),
      ...(once(2) ? { lease: this.#maybe(this.#lease()) } : {}),
    }
    return sample.payment(name, from, to, fence, fields)
  }

  #claim(): Op {
    const { once } = this.#random
    const name = this.#name('claim', 4)
    const { from, to, fence } = this.#moveOf(name, ['running', 'done', 'gone'] as const)
    const seen = from === null ? null : 'running'
    const lease = once(2) ? { lease: this.#maybe(this.#lease()) } : {}
    const answer = to === 'done' && !once(10) ? { answer: JSON.stringify(names) } : {}
    const identity = seen === null ? { account: this.#account() } : {}
    return sample.claim(name, seen, to, fence, { ...identity, ...lease, ...answer })
  }
}
