import { Marks } from '#access/identity/marks.ts'
import { type Clock, minuteMs } from '#contract/time.ts'
import { oneAtATime } from '#host/async.ts'
import type { Store } from '#ledger/store/store.ts'
import type { PasskeyCreation, PasskeyRequest, PasswordSetup } from '#pages/console/wire.ts'
import { refuse } from '../operator-refused.ts'
import {
  moveOperator,
  type NamedOperator,
  newEpoch,
  noProofs,
  orRefuse,
  type Passkey,
  type PasswordProof,
  type Proofs,
  proofsOf,
  readOperator,
  readOperators,
} from './operator-rows.ts'
import type { OperatorSession } from './operator-sessions.ts'
import {
  type Asserted,
  assertedOf,
  creationFor,
  isCountedOn,
  mostPasskeys,
  provenCounter,
  registeredPasskey,
  requestFor,
} from './passkeys.ts'
import { hashPassword, isPassword, newTotpSecret, totpStep, totpUri } from './password.ts'
import { Challenges, Devices, type ServiceSecrets, seal, unseal } from './sealed.ts'
import { Tries } from './tries.ts'

/** How long a user has to add the codes to an authenticator and to type a password. */
const setupMs = 15 * minuteMs

/** A password and the code that belongs to it now. */
export interface PasswordTry {
  password: string
  code: string
}

/** An origin of the console at which passkeys work. */
export interface PasskeyPlace {
  origin: string
  rpId: string
}

/** How often a change is tried, because another request may be faster. */
const moves = 5

/** Checked for operators without a password, so that the time does not reveal which have one. */
const absentSecret = 'A'.repeat(32)

type Me = Pick<OperatorSession, 'by' | 'role' | 'hash'>

/** Proves that users are the named operators that they claim to be, and registers their ways to sign in. */
export class SignIn {
  readonly #parts: { store: Store; clock: Clock }
  readonly #challenges: Challenges
  readonly tries: Tries
  readonly devices: Devices
  readonly #secrets: ServiceSecrets
  /** Each hash takes 32 MiB for a moment. */
  readonly #inTurn = oneAtATime()

  constructor({ store, clock, secrets }: { store: Store; clock: Clock; secrets: ServiceSecrets }) {
    this.#parts = { store, clock }
    this.#secrets = secrets
    const marks = new Marks({ store, clock })
    this.#challenges = new Challenges({ marks, clock, secrets })
    this.tries = new Tries({ marks, clock })
    this.devices = new Devices({ clock, secrets })
  }

  /** The browser's request to its authenticators, which know the operators of their passkeys. */
  passkeyRequest({ rpId }: PasskeyPlace, browser: string): PasskeyRequest {
    return requestFor(rpId, this.#challenges.give('sign-in', browser))
  }

  /** The operator whose passkey signed, or null. */
  async byPasskey(credential: unknown, place: PasskeyPlace, browser: string): Promise<NamedOperator | null> {
    const sent = assertedOf(credential)
    if (!sent) return null
    const known = await readOperators(this.#parts.store)
    const owner = known.find(({ proofs }) => proofs.passkeys.some(({ id }) => id === sent.id))
    return owner ? this.#usePasskey(owner, sent, { ...place, purpose: 'sign-in', browser }) : null
  }

  /** The session's passkeys at this place; null if there are none. */
  async proofRequest(me: Me, { rpId }: PasskeyPlace): Promise<PasskeyRequest | null> {
    const passkeys = (await this.#find(me.by))?.proofs.passkeys.filter(passkey => passkey.rpId === rpId) ?? []
    return passkeys.length > 0 ? requestFor(rpId, this.#challenges.give('prove', me.hash), passkeys) : null
  }

  /** Whether a passkey of the session's operator signed. */
  async provesByPasskey(me: Me, credential: unknown, place: PasskeyPlace): Promise<boolean> {
    const [sent, operator] = [assertedOf(credential), await this.#find(me.by)]
    if (!sent || !operator) return false
    return (await this.#usePasskey(operator, sent, { ...place, purpose: 'prove', browser: me.hash })) !== null
  }

  async passkeysOf(me: Me): Promise<readonly Passkey[]> {
    return (await this.#find(me.by))?.proofs.passkeys ?? []
  }

  async creation(me: Me, { rpId }: PasskeyPlace): Promise<PasskeyCreation> {
    const operator = await this.#own(me)
    if (operator.proofs.passkeys.length >= mostPasskeys)
      throw refuse(`An operator has at most ${mostPasskeys} passkeys; remove one first.`)
    return creationFor(operator, rpId, this.#challenges.give('register', me.hash))
  }

  async addPasskey(me: Me, credential: unknown, label: string, place: PasskeyPlace): Promise<void> {
    const spend = (challenge: string) => this.#challenges.spend(challenge, 'register', me.hash)
    const made = await registeredPasskey(credential, { ...place, spend })
    if (!made) throw refuse('This is not a new passkey for this console, or the request has expired.')
    if ((await readOperators(this.#parts.store)).some(({ proofs }) => proofs.passkeys.some(({ id }) => id === made.id)))
      throw refuse('This passkey is already registered.')
    const added = { ...made, label, addedAtMs: this.#parts.clock.now(), usedAtMs: null }
    await this.#change(me, proofs => {
      if (proofs.passkeys.length >= mostPasskeys) throw refuse('There are too many passkeys; remove one first.')
      return { ...proofs, passkeys: [...proofs.passkeys, added] }
    })
  }

  async removePasskey(me: Me, id: string): Promise<void> {
    await this.#change(me, proofs => {
      const passkeys = proofs.passkeys.filter(passkey => passkey.id !== id)
      if (passkeys.length === proofs.passkeys.length) throw refuse('There is no such passkey.')
      return { ...proofs, passkeys }
    })
  }

  /** When the operator's password was set; null if there is none. */
  async passwordSince(me: Me): Promise<number | null> {
    return (await this.#find(me.by))?.proofs.password?.setAtMs ?? null
  }

  /** A new secret for one-time codes. It is stored only once a code proves that the operator has it. */
  async passwordSetup(me: Me): Promise<Omit<PasswordSetup, 'qr'>> {
    const { name } = await this.#own(me)
    const secret = newTotpSecret()
    const setup = `${this.#parts.clock.now() + setupMs} ${secret}`
    return { secret, uri: totpUri(secret, name), setup: seal(setup, `setup ${me.hash}`, this.#secrets) }
  }

  async setPassword(me: Me, { password, code }: PasswordTry, setup: string): Promise<void> {
    const [untilMs, secret] = (unseal(setup, `setup ${me.hash}`, this.#secrets) ?? '').split(' ')
    const nowMs = this.#parts.clock.now()
    if (!secret || !(Number(untilMs) > nowMs)) throw refuse('This form has expired; open it again.')
    const lastStep = totpStep(secret, code, nowMs, -1)
    if (lastStep === null) throw refuse('The code is wrong. Type the one that your authenticator shows now.')
    const hash = await this.#inTurn(() => hashPassword(password))
    const sealedSecret = this.#sealed(secret, me.by)
    await this.#change(me, proofs => ({ ...proofs, password: { hash, sealedSecret, lastStep, setAtMs: nowMs } }))
  }

  async removePassword(me: Me): Promise<void> {
    await this.#change(me, proofs => {
      if (!proofs.password) throw refuse('You have no password.')
      return { ...proofs, password: null }
    })
  }

  /** The operator whose password and current code these are, or null. */
  async byPassword(name: string, given: PasswordTry): Promise<NamedOperator | null> {
    return this.#usePassword(await this.#find(name), given)
  }

  /** Whether these are the password and the current code of the session's operator. */
  async provesByPassword(me: Me, given: PasswordTry): Promise<boolean> {
    return (await this.byPassword(me.by, given)) !== null
  }

  #sealed(secret: string, name: string): string {
    return seal(secret, `password ${name}`, this.#secrets)
  }

  /** Returns the operator with the code recorded as used. Takes the same time whatever is wrong. */
  async #usePassword(operator: NamedOperator | null, { password, code }: PasswordTry): Promise<NamedOperator | null> {
    const stored = operator?.proofs.password ?? null
    const isRight = await this.#inTurn(() => isPassword(password, stored?.hash ?? null))
    const secret = stored && operator ? unseal(stored.sealedSecret, `password ${operator.name}`, this.#secrets) : null
    const nowMs = this.#parts.clock.now()
    for (let move = 1, seen = operator; move <= moves; move++) {
      const current: PasswordProof | null = seen?.proofs.password ?? null
      const lastStep = totpStep(secret ?? absentSecret, code, nowMs, current?.lastStep ?? -1)
      if (!isRight || !seen || !current || secret === null || lastStep === null || current.hash !== stored?.hash)
        return null
      // Encrypted again with the current secret, so that it outlives a replaced secret of the service.
      const used = { ...current, lastStep, sealedSecret: this.#sealed(secret, seen.name) }
      const why = await moveOperator(this.#parts, seen, { ...seen, proofs: { ...seen.proofs, password: used } })
      if (why === null) return seen
      seen = await this.#find(seen.name)
    }
    return null
  }

  #find(name: string): Promise<NamedOperator | null> {
    return readOperator(this.#parts.store, name)
  }

  /**
   * The operator whose ways to sign in this session may change. An owner whose link had no name becomes a named
   * operator. A session from a link with a lower role than the operator's may change none, because a passkey would
   * grant the full role.
   */
  async #own({ by, role }: Me): Promise<NamedOperator & { isNew?: boolean }> {
    const found = await this.#find(by)
    if (found?.role === role) return found
    if (!found && role === 'owner') {
      const { clock } = this.#parts
      const fresh = { name: by, role, epoch: newEpoch(), proofs: noProofs(), fence: 0, createdAtMs: clock.now() }
      return { ...fresh, isNew: true }
    }
    throw refuse(
      found
        ? `This session has a lower role than ${by}; sign in as ${by} first.`
        : 'This session belongs to no named operator; an owner can add one with `farebox console operators add`.',
    )
  }

  /** Writes the operator's ways to sign in, and the row of the log. */
  async #change(me: Me, change: (proofs: Proofs) => Proofs): Promise<void> {
    for (let move = 1; ; move++) {
      const operator = await this.#own(me)
      const after = { ...operator, proofs: change(operator.proofs) }
      const act = { actor: `console: ${me.by}`, act: operator.isNew ? 'operator.create' : 'operator.proof' } as const
      const noted = { ...act, before: proofsOf(operator), after: proofsOf(after) }
      const why = await moveOperator(this.#parts, operator, after, noted)
      if (why !== 'operator_moved' || move >= moves) return orRefuse(why)
    }
  }

  /** Returns the operator with the use recorded, or null if nothing was proved. */
  async #usePasskey(
    operator: NamedOperator,
    sent: Asserted,
    { purpose, browser, ...place }: PasskeyPlace & { purpose: string; browser: string },
  ): Promise<NamedOperator | null> {
    const passkey = operator.proofs.passkeys.find(({ id }) => id === sent.id)
    const spend = (challenge: string) => this.#challenges.spend(challenge, purpose, browser)
    const counter = passkey ? await provenCounter(sent, passkey, { ...place, spend }) : null
    if (counter === null) return null
    const usedAtMs = this.#parts.clock.now()
    for (let move = 1, seen: NamedOperator | null = operator; seen && move <= moves; move++) {
      const { proofs } = seen
      const before = proofs.passkeys.find(({ id }) => id === sent.id)
      if (!before || !isCountedOn(counter, before.counter)) return null
      const passkeys = proofs.passkeys.map(each => (each === before ? { ...each, counter, usedAtMs } : each))
      const why = await moveOperator(this.#parts, seen, { ...seen, proofs: { ...proofs, passkeys } })
      if (why === null) return seen
      seen = await this.#find(operator.name)
    }
    return null
  }
}
