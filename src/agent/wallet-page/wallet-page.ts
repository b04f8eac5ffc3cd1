import { setTimeout as sleep } from 'node:timers/promises'
import { displayUsd, microUsd } from '#contract/money.ts'
import { chainName, smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import { onRampOf } from '#contract/wire/on-ramp.ts'
import type { WalletOffer } from '#toolkit/tool-host.ts'
import { minPassphraseLength } from '#wallet/limits.ts'
import { namespaceOf } from '#wallet/rules/policy.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import {
  type BrowserPage,
  documentOf,
  escaped,
  noticeHtml,
  type OpenPage,
  openBrowserPage,
  paragraph,
  tokenHtml,
} from '../loopback/one-browser.ts'
import type { OpenAgent } from '../open-agent.ts'
import type { AgentEnvironment } from '../settings/wallet-settings.ts'
import { toTheUser } from '../words/to-the-user.ts'
import { asTyped, placeOf } from '../words/typed-commands.ts'
import {
  capFields,
  checkPassphrase,
  depositAt,
  isEnough,
  type KeyPlace,
  makeWallet,
  planWallet,
  type TestMoney,
  type WalletChoice,
  type WalletPlan,
} from './make-wallet.ts'
import { svgQr } from './qr.ts'

/** How often the page checks for the deposit. */
const lookSeconds = 4

interface Ports {
  /** Receives the passphrase, for this process only. */
  onPassphrase(passphrase: string): void
  /** Null unless the service's money is test money of a chain on this machine. */
  testMoney: TestMoney | null
}

/** The page on which the user creates a wallet or unlocks one. A process has at most one at a time. */
export class WalletPages {
  readonly #ports: Ports
  #open: { page: OpenPage; making: MakingPage } | null = null

  constructor(ports: Ports) {
    this.#ports = ports
  }

  /** Null if a page would not help: the agent can already pay, the service does not answer, or it names no payee. */
  async offer(agent: OpenAgent, env: AgentEnvironment): Promise<WalletOffer | null> {
    if (agent.pays !== 'nothing') return null
    const isForAnother = this.#open !== null && this.#open.making.lockedWallet !== agent.lockedWallet
    if (isForAnother || this.#open?.making.isDone) await this.close()
    if (!this.#open) {
      const isLocked = agent.lockedWallet !== null
      const plan = isLocked ? null : await planWallet(agent).catch(() => null)
      if (!isLocked && (plan === null || plan.payees.length === 0)) return null
      const making = new MakingPage(agent, env, plan, this.#ports)
      this.#open = { making, page: await openBrowserPage(making) }
    }
    const { page, making } = this.#open
    return { link: page.link(), asks: making.asks }
  }

  /** Resolves when the user has finished on the newest page, or after `timeoutMs`. */
  async made(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const late = sleep(timeoutMs, undefined, { signal, ref: false }).catch(() => {})
    await Promise.race([this.#open?.making.done, late])
  }

  async close(): Promise<void> {
    const open = this.#open
    this.#open = null
    await open?.page.close()
  }
}

/** A page that makes or unlocks one wallet. `plan` is null if it unlocks one. */
class MakingPage implements BrowserPage {
  readonly asks: string
  readonly done: Promise<void>
  readonly usedLink = 'This link was already used or is invalid. Ask your assistant for a new one.'
  readonly newLink = 'For a new link, ask your assistant.'
  isDone = false
  readonly #agent: OpenAgent
  readonly #env: AgentEnvironment
  readonly #plan: WalletPlan | null
  readonly #ports: Ports
  #addresses: readonly string[] | null = null
  #finish: () => void = () => {}

  constructor(agent: OpenAgent, env: AgentEnvironment, plan: WalletPlan | null, ports: Ports) {
    this.#agent = agent
    this.#env = env
    this.#plan = plan
    this.#ports = ports
    this.asks = plan
      ? `Create a wallet that pays ${plan.service} for this? A page on this machine shows the addresses that it may pay, and its caps. Keys and passphrases do not pass through this conversation.`
      : `Unlock the wallet ${agent.lockedWallet}? Enter its passphrase on a page on this machine; it does not pass through this conversation.`
    this.done = new Promise(resolve => {
      this.#finish = () => {
        this.isDone = true
        resolve()
      }
    })
  }

  /** The wallet to unlock; null if the page makes a new one. */
  get lockedWallet(): string | null {
    return this.#agent.lockedWallet
  }

  async show(formToken: string, notice: string | null): Promise<string> {
    if (this.isDone && !this.#addresses)
      return documentOf('Your wallet is unlocked', paragraph('Go back to your assistant.'))
    if (this.#addresses && this.#plan) return this.#made(this.#addresses, this.#plan, notice)
    return this.#plan ? makeHtml(this.#plan, formToken, notice) : unlockHtml(this.#agent, formToken, notice)
  }

  async take(form: URLSearchParams): Promise<string | null> {
    try {
      if (this.isDone || this.#addresses) return null
      return this.#plan ? await this.#make(this.#plan, form) : await this.#unlock(form)
    } catch (error) {
      if (error instanceof WalletRefusal) return toTheUser(`${error.sentence} ${error.nextStep}`)
      throw error
    }
  }

  async #unlock(form: URLSearchParams): Promise<null> {
    const passphrase = form.get('passphrase') ?? ''
    await checkPassphrase(this.#agent, passphrase)
    this.#ports.onPassphrase(passphrase)
    this.#finish()
    return null
  }

  async #make(plan: WalletPlan, form: URLSearchParams): Promise<string | null> {
    const choice = choiceIn(form, plan)
    if (typeof choice === 'string') return choice
    this.#addresses = await makeWallet(this.#agent, this.#env, plan, choice)
    if (choice.place === 'passphrase') this.#ports.onPassphrase(choice.passphrase ?? '')
    const [first] = this.#addresses
    const { testMoney } = this.#ports
    if (!plan.isLocal || !testMoney || first === undefined) return null
    const isFunded = await testMoney(first).then(
      () => true,
      () => false,
    )
    return isFunded ? 'The wallet has test money.' : 'The local chain could not send test money.'
  }

  async #made(addresses: readonly string[], plan: WalletPlan, notice: string | null): Promise<string> {
    const held = await depositAt(this.#agent, plan, addresses).catch(() => null)
    // If no node answers, the page does not wait for a deposit.
    if (!this.isDone && (held === null || isEnough(held))) this.#finish()
    const showing = asTyped(
      'Later, `farebox wallet open` in a terminal shows balances, caps and what was spent.',
      placeOf(this.#agent),
    )
    return madeHtml({ addresses, plan, held, notice, showing })
  }
}

/** Returns a sentence if the form is invalid. */
function choiceIn(form: URLSearchParams, { places }: WalletPlan): WalletChoice | string {
  const place = places.find(each => each === form.get('place'))
  if (!place) return 'Choose where the keys are kept.'
  const passphrase = form.get('passphrase') ?? ''
  if (place !== 'local' && passphrase !== form.get('again')) return 'The two passphrases differ. Type them again.'
  const first = form.get('first')
  if (first !== 'ask' && first !== 'allow') return 'Choose one of the two buttons.'
  const caps = Object.fromEntries(capFields.map(([name]) => [name, (form.get(name) ?? '').trim()]))
  return {
    place,
    passphrase: place === 'local' ? null : passphrase,
    caps: caps as WalletChoice['caps'],
    asksFirstTopUp: first === 'ask',
  }
}

const placeTitles: Readonly<Record<KeyPlace, string>> = {
  local: 'In a plain file: the service and its test money are on this machine',
  keychain: 'In the system keychain, with an encrypted file as the backup',
  passphrase: 'Only in an encrypted file. After each start, the assistant asks for the passphrase on this page',
}

/** Lets a password manager tell this passphrase from others. */
const userName = '<input type="text" name="username" value="farebox wallet" autocomplete="username" hidden>'

const usdText = (amount: bigint): string => displayUsd(microUsd(amount)).replace(/ USD$/, '')

const smallest = displayUsd(smallestTopUpMicroUsd)

function makeHtml(plan: WalletPlan, formToken: string, notice: string | null): string {
  const payees = plan.payees.map(
    ({ network, payTo }) => `<dt>USDC on ${escaped(chainName(network))}</dt><dd>${escaped(payTo)}</dd>`,
  )
  const places = plan.places.map(
    (place, index) =>
      `<label><input type="radio" name="place" value="${place}"${index === 0 ? ' checked' : ''}> ${placeTitles[place]}</label>`,
  )
  const caps = capFields.map(([name, member, title]) => {
    const most = usdText(plan.policy[member])
    return `<label class="field">${title} (USD)<input type="number" name="${name}" min="0" max="${most}" step="0.01" value="${most}" required></label>`
  })
  return documentOf(
    'A wallet for your assistant',
    `${noticeHtml(notice)}
<form method="post" action="answer" autocomplete="off">
${tokenHtml(formToken)}
${userName}
<p>It pays only <strong>${escaped(plan.service)}</strong>, at these addresses:</p>
<dl>${payees.join('')}</dl>
<fieldset><legend>Keys</legend>${places.join('\n')}
<label class="field wide">Passphrase (${minPassphraseLength} characters or more${plan.places[0] === 'local' ? '; leave it empty for a plain file' : ''})<input type="password" name="passphrase" autocomplete="new-password"></label>
<label class="field wide">Repeat the passphrase<input type="password" name="again" autocomplete="new-password"></label>
<p class="small">Store the passphrase safely: it cannot be recovered. It opens the backup and proves that you are the owner.</p></fieldset>
<fieldset><legend>Caps</legend>${caps.join('\n')}
<p class="small">Nothing in a conversation can raise them. If a call needs credit, the wallet buys ${smallest} without asking, or more if the call costs more, within these caps.</p></fieldset>
<p class="buttons"><button name="first" value="ask">Create it; ask me before the first payment</button>
<button name="first" value="allow">Create it and allow a first payment of ${smallest}</button></p>
</form>`,
  )
}

function unlockHtml({ lockedWallet }: OpenAgent, formToken: string, notice: string | null): string {
  return documentOf(
    'Unlock your wallet',
    `${noticeHtml(notice)}
<form method="post" action="answer" autocomplete="off">
${tokenHtml(formToken)}
${userName}
<p>The keys of <code>${escaped(lockedWallet ?? '')}</code> are encrypted. The passphrase stays in the memory of farebox until your assistant stops it.</p>
<label class="field wide">Passphrase<input type="password" name="passphrase" autocomplete="current-password" required></label>
<p class="buttons"><button>Unlock it</button></p>
</form>`,
  )
}

interface Made {
  addresses: readonly string[]
  plan: WalletPlan
  held: bigint | null
  notice: string | null
  /** Says how the owner can see the wallet later. */
  showing: string
}

function madeHtml({ addresses, plan, held, notice, showing }: Made): string {
  const isFunded = held !== null && isEnough(held)
  const state = isFunded
    ? `It holds ${usdText(held)} USDC. Go back to your assistant; you can close this page.`
    : held === null
      ? 'This page cannot see the chain. Go back to your assistant once the money has arrived.'
      : `It holds ${usdText(held)} USDC. This page shows when a deposit arrives.`
  const ways = plan.payees.flatMap(({ network }) => {
    const address = addresses.find(each => network.startsWith(namespaceOf(each)))
    return address === undefined ? [] : [wayHtml({ address, network }, plan)]
  })
  return documentOf(
    'Your wallet is ready',
    [
      noticeHtml(notice),
      `<p role="status">${escaped(state)}</p>`,
      ...(isFunded ? [] : ways),
      `<p class="small">${withCommands(showing)}</p>`,
    ].join('\n'),
    isFunded || held === null ? undefined : lookSeconds,
  )
}

/** Shows text between backticks as code. */
const withCommands = (text: string): string => escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')

/** For a chain that this process does not know. */
const faucet = (address: string): string =>
  asTyped(`For test money, run \`farebox local fund ${address} --usd 25\` in the folder where \`farebox up\` runs.`)

function wayHtml(terms: { address: string; network: string }, { isLocal, accepts }: WalletPlan): string {
  const { address, network } = terms
  const chain = escaped(chainName(network))
  const onRamp = isLocal ? null : onRampOf(accepts, terms)
  const how = isLocal
    ? `<p>The service is on this machine, and so is its chain: send it no real USDC. ${withCommands(faucet(address))}</p>`
    : `<p>Send the USDC that you mean to spend, ${smallest} or more, on ${chain}: from another wallet, or withdraw from an exchange and choose this network there. Tokens sent on another network are lost.</p>`
  return `<section class="question">
<h2>${chain}</h2>
${how}
<p><code>${escaped(address)}</code></p>
${isLocal ? '' : svgQr(address)}
${onRamp ? `<p>The service suggests buying USDC at <a href="${escaped(onRamp.url)}" target="_blank" rel="noopener noreferrer">${escaped(onRamp.host)}</a>. farebox has not checked that site.</p>` : ''}
</section>`
}
