import { setTimeout as sleep } from 'node:timers/promises'
import { displayUsd, type MicroUsd } from '#contract/money.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { userName } from '#host/user-name.ts'
import { balanceAndTime } from '#wallet/chains/balance.ts'
import { nodesInUse, tokenNamesIn } from '#wallet/chains/nodes.ts'
import { unlockKeyFile } from '#wallet/keys/key-file.ts'
import { systemKeychain } from '#wallet/keys/keychain.ts'
import { localKey } from '#wallet/keys/local-key-file.ts'
import { withTopUpLease } from '#wallet/payment/top-up-lease.ts'
import { namespaceOf, type Policy, readUsdCap } from '#wallet/rules/policy.ts'
import { narrowFile } from '#wallet/rules/settings-file.ts'
import type { Payee } from '#wallet/terms/order.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import type { OpenAgent } from '../open-agent.ts'
import type { AgentEnvironment } from '../settings/wallet-settings.ts'
import { openOwnerWallet, payeesOffered } from '../wallet/owner-wallet.ts'

/** Where new keys are stored. `local` is a plain file, only for a service on this machine. */
export type KeyPlace = 'local' | 'keychain' | 'passphrase'

/** Sends test money of a local chain to an address. */
export type TestMoney = (address: string) => Promise<void>

/** Caps that the user may lower, by their names in `policy.json`. */
export const capFields = [
  ['maxPaymentUsd', 'maxPaymentMicroUsd', 'One payment, at most'],
  ['maxDayUsd', 'maxDayMicroUsd', 'Payments in 24 hours, at most'],
  ['maxTotalUsd', 'maxTotalMicroUsd', 'All payments together, at most'],
  ['maxCallUsd', 'maxCallMicroUsd', 'One call, at most'],
  ['askAboveUsd', 'askAboveMicroUsd', 'Ask for my approval above'],
] as const

type CapName = (typeof capFields)[number][0]

export interface WalletChoice {
  place: KeyPlace
  /** Null for `local`. */
  passphrase: string | null
  caps: Readonly<Record<CapName, string>>
  asksFirstTopUp: boolean
}

/** Everything that is needed to make a wallet for the agent's service. */
export interface WalletPlan {
  service: string
  payees: readonly Payee[]
  /** The service's payment offer, which may name a site that sells USDC. */
  accepts: readonly PaymentOption[]
  /** The caps of the environment and of `policy.json`, which the choice can only lower. */
  policy: Policy
  places: readonly KeyPlace[]
  /** Whether the service's money exists only on this machine. */
  isLocal: boolean
}

/** Asks the service for its payees, and the system for a keychain. Throws the client's errors. */
export async function planWallet(agent: OpenAgent): Promise<WalletPlan> {
  const { baseUrl } = agent.client.address
  const { accepts } = await agent.topUps.offer()
  const isLocal = isLoopback(new URL(baseUrl).hostname)
  const hasKeychain = await isKeychainThere()
  const places: KeyPlace[] = [...(isLocal ? ['local' as const] : []), ...(hasKeychain ? ['keychain' as const] : [])]
  return {
    service: baseUrl,
    payees: payeesOffered(baseUrl, accepts),
    accepts,
    policy: agent.policy,
    places: [...places, 'passphrase'],
    isLocal,
  }
}

/** How long a keychain may take to answer, in milliseconds. A locked one asks its user, who may be away. */
const keychainMs = 3_000

/** Reads a name that is never written. */
async function isKeychainThere(): Promise<boolean> {
  const reading = systemKeychain().then(keychain => keychain.read('farebox-probe'))
  const answer = reading.then(
    () => true,
    () => false,
  )
  return Promise.race([answer, sleep(keychainMs, false, { ref: false })])
}

/**
 * Creates the wallet: first its caps, then its keys, then its payees. Only one process of the machine does so at a
 * time, and the next one finds the wallet that the first one made. Throws the wallet's refusal. Returns the addresses,
 * Base first.
 */
export async function makeWallet(
  agent: OpenAgent,
  env: AgentEnvironment,
  plan: WalletPlan,
  choice: WalletChoice,
): Promise<readonly string[]> {
  const narrowed = loweredCaps(plan.policy, choice.caps)
  const ownerWallet = openOwnerWallet(agent.state.folder, env)
  try {
    return await withTopUpLease(
      agent.records,
      ms => agent.pause(ms, new AbortController().signal),
      async () => {
        if ((await ownerWallet.addresses()).length > 0)
          throw refusal('There is already a wallet', 'Go back to your assistant')
        const addresses = await newKeys(ownerWallet, plan, choice, narrowed)
        const by = `page, ${userName()}`
        for (const payee of plan.payees) await ownerWallet.pin(payee, by)
        ownerWallet.useService(plan.service)
        return addresses
      },
    )
  } finally {
    await ownerWallet.close()
  }
}

async function newKeys(
  ownerWallet: ReturnType<typeof openOwnerWallet>,
  plan: WalletPlan,
  { place, passphrase, asksFirstTopUp }: WalletChoice,
  narrowed: Partial<Record<CapName, string>>,
): Promise<readonly string[]> {
  // Written before the keys, so that a process that dies in between leaves no wallet with higher caps.
  const undo = narrowFile(ownerWallet.folder, { ...narrowed, ...(asksFirstTopUp && { askFirstTopUp: true as const }) })
  try {
    if (place === 'local') return [(await localKey(ownerWallet.folder, { isLocal: plan.isLocal })).address]
    const { address, solanaAddress } = await ownerWallet.create(passphrase ?? '', place === 'keychain')
    return [address, solanaAddress]
  } catch (error) {
    undo()
    throw error
  }
}

/**
 * Returns the caps that differ from those in force. Throws for an invalid amount, and for one above the cap in force.
 */
function loweredCaps(policy: Policy, caps: WalletChoice['caps']): Partial<Record<CapName, string>> {
  const lowered: Partial<Record<CapName, string>> = {}
  for (const [name, member, title] of capFields) {
    const amount: MicroUsd = readUsdCap(`"${title}"`, caps[name])
    if (amount > policy[member])
      throw refusal(
        `"${title}" is ${displayUsd(amount)}; the settings allow at most ${displayUsd(policy[member])}`,
        'Choose less',
      )
    if (amount < policy[member]) lowered[name] = caps[name]
  }
  return lowered
}

/** Throws if the passphrase does not open the folder's keys. */
export async function checkPassphrase({ state: { folder } }: OpenAgent, passphrase: string): Promise<void> {
  await unlockKeyFile(folder, passphrase)
}

/** Returns the highest balance of the new addresses; null if no node answers. */
export async function depositAt(
  { nodes, topUps }: OpenAgent,
  { policy, payees }: WalletPlan,
  addresses: readonly string[],
): Promise<bigint | null> {
  const { accepts } = await topUps.offer()
  const used = nodesInUse(nodes, { origin: policy.origin, rails: policy.rails, tokenNames: tokenNamesIn(accepts) })
  const held = await Promise.all(
    payees.map(async payee => {
      const address = addresses.find(each => payee.network.startsWith(namespaceOf(each)))
      return address === undefined ? null : (await balanceAndTime(used, payee, address)).balance
    }),
  )
  return held.reduce((most, balance) => (most === null || (balance !== null && balance > most) ? balance : most), null)
}

/** Whether a deposit covers the smallest top-up. */
export const isEnough = (held: bigint): boolean => held >= smallestTopUpMicroUsd

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'key', sentence: `${sentence}.`, nextStep: `${nextStep}.` })
