import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '#contract/time.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { attestations, sayRequest } from '#toolkit/approval.ts'
import { type Approval, type Approvals, openApprovals, recordExpired } from '#wallet/approvals/approvals.ts'
import {
  type CreatedKeys,
  changePassphrase,
  keyFileAddresses,
  refuseSecondKeyFile,
  unlockKeyFile,
} from '#wallet/keys/key-file.ts'
import type { WalletKey } from '#wallet/keys/keys.ts'
import { localKey } from '#wallet/keys/local-key-file.ts'
import { resolvePayment } from '#wallet/payment/settle.ts'
import { findPayment, listPayments, type Payment } from '#wallet/records/journal.ts'
import {
  comparedWithNote,
  defaultNotesFolder,
  moveJournal,
  ownJournal,
  refuseOther,
} from '#wallet/records/journal-of-key.ts'
import { openRecords } from '#wallet/records/open-records.ts'
import { stateFileName } from '#wallet/records/state.ts'
import { addPayee } from '#wallet/rules/payees.ts'
import { defaultRails, isAddressOn, sameAddress, sameRail, serviceOrigin } from '#wallet/rules/policy.ts'
import {
  listRefusals,
  type RefusalRecord,
  refusalStatement,
  type SignedStatement,
  signStatement,
} from '#wallet/rules/refusals.ts'
import { tightenByFile } from '#wallet/rules/settings-file.ts'
import { start, stop } from '#wallet/rules/stop-switch.ts'
import { approvalSummary } from '#wallet/terms/approval.ts'
import type { Payee } from '#wallet/terms/order.ts'
import { type WalletStatus, walletStatus } from '#wallet/wallet-status.ts'
import { type CapInEffect, capsInEffect, lowerCap } from '../settings/caps-in-effect.ts'
import {
  type AgentEnvironment,
  baseUrlOf,
  journalUrlOf,
  nodesOf,
  pinService,
  policyOf,
} from '../settings/wallet-settings.ts'
import { openAgentState } from '../state/schema.ts'
import { approvalRequired, sayAnswer } from '../words/approval-words.ts'
import { asTyped, typedRequest } from '../words/typed-commands.ts'
import { createKeys, environmentKeys, exportKeys, folderKeys, knownAddresses } from './wallet-keys.ts'

/** The wallet as its owner uses it at a terminal. Nothing here signs; every method throws the wallet's refusal. */
export interface OwnerWallet {
  readonly folder: string
  /** Refuses if the folder has encrypted keys, which are never replaced. */
  refuseSecond(): void
  /** Creates new encrypted keys; with `isForKeychain`, also in the system's keychain. */
  create(passphrase: string, isForKeychain: boolean): Promise<CreatedKeys>
  /** Creates an unencrypted key for the test money of a service on this machine, and returns its address. */
  createLocal(serviceUrl: string): Promise<string>
  /**
   * Returns the addresses of the environment's keys, the encrypted file or the local one, in this order; one per rail,
   * empty if there is none.
   */
  addresses(): Promise<readonly string[]>
  /** Whether the folder has encrypted keys. */
  hasKeyFile(): boolean
  /**
   * Whether a passphrase distinguishes the owner from a program here: the journal belongs to an encrypted wallet, or
   * the folder contains one. Refuses if the journal belongs to a wallet whose keys are not in the folder.
   */
  isGuarded(): Promise<boolean>
  /** Refuses if the passphrase does not open the keys of the journal's owner. */
  proveOwner(passphrase: string): Promise<void>
  /** Refuses if the passphrase does not open the folder's key. */
  provePassphrase(passphrase: string): Promise<void>
  /** Encrypts the folder's keys with another passphrase; returns false if the folder has none. */
  changePassphrase(present: string, next: string): Promise<boolean>
  /** Returns the secret keys themselves; null if the folder has none. */
  exportKeys(passphrase: string): ReturnType<typeof exportKeys>
  status(addresses: readonly [string, ...string[]]): Promise<WalletStatus>
  /** Each cap in force, with what sets it. */
  caps(): readonly CapInEffect[]
  /**
   * Takes effect for every process on this folder when it next starts, and for a running `farebox mcp` at its next
   * call.
   */
  lowerCap(name: string, usd: string): CapInEffect
  receipts(limit: number): Promise<Payment[]>
  /** Returns a payment of any age; null if no payment has this id. */
  payment(id: string): Promise<Payment | null>
  /** Returns what the wallet refused to pay, newest first. */
  refusals(limit: number): Promise<RefusalRecord[]>
  /**
   * Returns the keys of the environment, of a local chain, or those that the passphrase or the system's keychain opens;
   * for statements.
   */
  openKeys(passphrase: string | null): Promise<readonly WalletKey[]>
  approvals: Approvals
  /** Returns the pending approvals, newest first, each with a line for a list. */
  pendingApprovals(): Promise<readonly ListedApproval[]>
  /** Returns the approvals that the user denied and may still reverse; newest first. */
  refused(): Promise<readonly ListedApproval[]>
  /** The approval in full, for the user at a terminal. */
  sayApproval(approval: Approval): string
  /** How long the user's decision applies. */
  sayAnswer(answered: Approval): string
  pin(payee: Payee, by: string): Promise<void>
  /** Records the service for this folder's wallet, if the environment names no other. */
  useService(baseUrl: string): void
  /** Records the user's decision about a payment whose outcome cannot be found out otherwise. */
  resolve(id: string, hasLeft: boolean, by: string): Promise<Payment>
  /** Stops every process on this journal from signing. */
  stop(by: string): Promise<void>
  start(): Promise<void>
  /**
   * Returns where this machine has recorded another journal for the keys, or a longer one: what was recorded, and what
   * is here.
   */
  moved(): Promise<readonly { address: string; noted: string; present: string }[]>
  /** From now on, this journal counts the payments of the wallet's keys on this machine. */
  move(): Promise<void>
  close(): Promise<void>
}

type ListedApproval = Approval & { summary: string }

const listed = (approval: Approval): ListedApproval => ({
  ...approval,
  summary: approvalSummary(approval.facts, approval),
})

const creatingIn = (
  folder: string,
  records: ReturnType<typeof openRecords>,
): Pick<OwnerWallet, 'create' | 'createLocal'> => ({
  async create(passphrase, isForKeychain) {
    const created = await createKeys(folder, passphrase, isForKeychain)
    await records.decide(nowMs => ownJournal(created.address, nowMs))
    return created
  },
  async createLocal(serviceUrl) {
    const key = await localKey(folder, { isLocal: isLoopback(new URL(serviceUrl).hostname) })
    return key.address
  },
})

export function openOwnerWallet(folder: string, env: AgentEnvironment): OwnerWallet {
  const records = openRecords(openAgentState(folder), systemClock, journalUrlOf(env))
  const approvals = openApprovals(records, folder)
  const place = { folder, isJournalShared: records.folder === null }
  return {
    folder,
    ...creatingIn(folder, records),
    addresses: () => knownAddresses(folder, env),
    async isGuarded() {
      const held = keyFileAddresses(folder)
      await records.read(() => refuseOther(held ?? [], folder))
      return held !== null
    },
    async proveOwner(passphrase) {
      const addresses = (await unlockKeyFile(folder, passphrase))?.map(key => key.address) ?? []
      const [first] = addresses
      await records.decide(function* (nowMs) {
        if (first !== undefined) yield* ownJournal(first, nowMs)
        yield* refuseOther(addresses, folder)
      })
    },
    status(addresses) {
      const policy = tightenByFile(policyOf(env), folder)
      return records.read(nowMs => walletStatus({ folder, policy, addresses }, nowMs))
    },
    caps: () => capsInEffect(env, folder).caps,
    lowerCap: (name, usd) => lowerCap(env, folder, name, usd),
    receipts: limit => records.read(() => listPayments(limit)),
    payment: id => records.read(() => findPayment(id)),
    refusals: limit =>
      records.decide(function* (nowMs) {
        yield* recordExpired(nowMs)
        return yield* listRefusals(limit)
      }),
    async openKeys(passphrase) {
      const given = await environmentKeys(env)
      return given.length > 0 ? given : (await folderKeys(folder, baseUrlOf(env), passphrase)).keys
    },
    approvals,
    pendingApprovals: async () => (await approvals.list('pending')).map(listed),
    async refused() {
      const nowMs = systemClock.now()
      return (await approvals.list('denied')).filter(({ expiresAtMs }) => expiresAtMs > nowMs).map(listed)
    },
    sayApproval: approval =>
      sayRequest(typedRequest(approvalRequired(approvals.asPending(approval)).request, place), systemClock.now()),
    sayAnswer: answered => asTyped(sayAnswer(answered, approvals, systemClock.now()), place),
    pin: (payee, by) =>
      records.decide(function* (nowMs) {
        yield* refuseOther(keyFileAddresses(folder) ?? [], folder)
        yield* addPayee(payee, by, nowMs)
      }),
    useService: baseUrl => pinService(folder, baseUrl),
    resolve: (id, hasLeft, by) => resolvePayment({ records, nodes: nodesOf(env) }, id, hasLeft, by),
    stop: by => records.decide(nowMs => stop(by, nowMs)),
    start: () => records.decide(start),
    ...keyFileOf(folder),
    ...movingOf(folder, env, records),
    close: () => records.close(),
  }
}

/**
 * Returns the wallet's status according to the journal; null without a wallet, and if nothing was written yet, because
 * reading creates no journal.
 */
export async function journalStatus(folder: string, env: AgentEnvironment): Promise<WalletStatus | null> {
  if (journalUrlOf(env) === undefined && !existsSync(join(folder, stateFileName))) return null
  const ownerWallet = openOwnerWallet(folder, env)
  try {
    const [first, ...others] = await ownerWallet.addresses()
    return first === undefined ? null : await ownerWallet.status([first, ...others])
  } finally {
    await ownerWallet.close()
  }
}

const keyFileOf = (
  folder: string,
): Pick<OwnerWallet, 'refuseSecond' | 'hasKeyFile' | 'provePassphrase' | 'changePassphrase' | 'exportKeys'> => ({
  refuseSecond: () => refuseSecondKeyFile(folder),
  hasKeyFile: () => keyFileAddresses(folder) !== null,
  async provePassphrase(passphrase) {
    await unlockKeyFile(folder, passphrase)
  },
  changePassphrase: (present, next) => changePassphrase(folder, present, next),
  exportKeys: passphrase => exportKeys(folder, passphrase),
})

function movingOf(
  folder: string,
  env: AgentEnvironment,
  records: ReturnType<typeof openRecords>,
): Pick<OwnerWallet, 'moved' | 'move'> {
  const notes = defaultNotesFolder()
  return {
    async moved() {
      const addresses = await knownAddresses(folder, env)
      const compared = addresses.map(async address => {
        const differing = await comparedWithNote(notes, address, records)
        return differing ? [{ address, ...differing }] : []
      })
      return (await Promise.all(compared)).flat()
    },
    async move() {
      for (const address of await knownAddresses(folder, env)) await moveJournal(notes, address, records)
    },
  }
}

/** What the user declares when they consent, to be confirmed one by one at a terminal. */
export const consentStatements: readonly string[] = Object.values(attestations)

/** Returns the offered payees that the wallet could pay: known chain, known token, valid address. */
export function payeesOffered(serviceUrl: string, accepts: readonly PaymentOption[]): Payee[] {
  const origin = serviceOrigin(serviceUrl)
  return accepts
    .filter(option => defaultRails.some(rail => sameRail(rail, option)) && isAddressOn(option.network, option.payTo))
    .map(({ network, asset, payTo }) => ({ origin, network, asset, payTo }))
}

/** A refusal that others can verify. */
export interface SignedRefusal extends RefusalRecord, Pick<SignedStatement, 'statement'> {
  /** Null if the key of its address is not open here, or if an API key would have paid. */
  scheme: SignedStatement['scheme'] | null
  signature: string | null
}

/** Each statement is signed with the key that would have paid. */
export async function signedRefusals(
  refusals: readonly RefusalRecord[],
  keys: readonly WalletKey[],
): Promise<SignedRefusal[]> {
  const signed: SignedRefusal[] = []
  for (const refusal of refusals) {
    const { address } = refusal
    const key = address === null ? undefined : keys.find(each => sameAddress(each.address, address))
    const statement = refusalStatement(refusal)
    const unsigned = { statement, scheme: null, signature: null }
    signed.push({ ...refusal, ...(key ? await signStatement(key, statement) : unsigned) })
  }
  return signed
}
