import { resolve } from 'node:path'
import { addressProblem } from '#agent/settings/settings.ts'
import { quoted } from '#agent/words/typed-commands.ts'
import { parseJson } from '#contract/wire/json.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { evmNetwork, solanaNetwork, tokenName, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'
import { type PaymentOption, TopUpRequired } from '#contract/wire/payment.ts'
import { userName } from '#host/user-name.ts'
import { CliError, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { dataFlag, withOwnerWallet } from './owner-wallet.ts'
import {
  askTwice,
  askYes,
  givenPassphrase,
  offerBytes,
  offerTimeoutMs,
  passphraseFlags,
  plainText,
  requireTerminal,
} from './terminal.ts'

const command = 'farebox wallet create'

/** Nothing is written before the service has answered and the user has agreed to its payee. */
export async function createWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command,
    options: {
      service: { type: 'string' },
      keychain: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      ...dataFlag,
      ...passphraseFlags,
    },
  })
  const wrongService = addressProblem('`--service`', values.service)
  if (wrongService !== null) throw wrongUsage(command, wrongService.replace(/\.$/, ''))
  const given = await givenPassphrase(command, values, {})
  if (given === null) requireTerminal(io, command, '; or give the passphrase with `--passphrase-file FILE`')
  return withOwnerWallet(io, values.data, async (ownerWallet, { payeesOffered }) => {
    const { service } = values
    // Checked before the user answers any prompt.
    ownerWallet.refuseSecond()
    // Only the owner may add payees, so no keys are created for a wallet that could not.
    if (service !== undefined) await ownerWallet.isGuarded()
    const payees = service === undefined ? [] : payeesOffered(service, await readOffer(service))
    if (service !== undefined) await confirmPayees(io, payees, given === null)
    const { address, solanaAddress, path } = await ownerWallet.create(
      given ?? (await askTwice(io, 'Passphrase for the new wallet (not shown):')),
      values.keychain,
    )
    for (const payee of payees) await ownerWallet.pin(payee, `wallet create, ${userName()}`)
    if (service !== undefined) ownerWallet.useService(service)
    if (values.json) io.output.printJson({ address, solanaAddress, file: path, service: service ?? null })
    else for (const each of [address, solanaAddress]) io.output.print(each)
    io.output.note(`The keys are in ${path}, encrypted. Store the passphrase safely: it cannot be recovered.`)
    const { asTyped } = await import('#agent/words/typed-commands.ts')
    const networks = payees.map(({ network }) => network)
    const wallet = {
      address,
      solanaAddress,
      service,
      networks,
      isInKeychain: values.keychain,
      ...fileOf(values['passphrase-file']),
    }
    const place = { folder: ownerWallet.folder, isJournalShared: Boolean(io.env.FAREBOX_JOURNAL_URL?.trim()) }
    for (const line of nextSteps(wallet)) io.output.note(plainText(asTyped(line, place)))
    return 0
  })
}

/** A file that a shell opens for one command is gone afterwards. */
const fileOf = (path: string | undefined) =>
  path === undefined || path.startsWith('/dev/') ? {} : { passphraseFile: path }

async function confirmPayees(
  io: CommandIo,
  payees: readonly { network: string; asset: string; payTo: string; origin: string }[],
  asksPerson: boolean,
): Promise<void> {
  if (payees.length === 0)
    throw new CliError(
      'The service offers no payment option that this wallet supports.',
      'The wallet pays USDC on Base and Solana; ask the operator of the service.',
    )
  for (const payee of payees)
    io.output.note(plainText(`${payee.origin} accepts payments at ${payee.payTo}, in ${tokenName(payee)}.`))
  if (!asksPerson || (await askYes(io, 'May the wallet pay there within its caps without further approval?'))) return
  throw new CliError(
    'No wallet was created.',
    'Compare the payee with the one that the service publishes, then run the command again.',
  )
}

interface NewWallet {
  address: string
  solanaAddress: string
  /** Absent if the service names none. */
  service: string | undefined
  /** CAIP-2 networks on which the service is paid; empty if it names none. */
  networks: readonly string[]
  isInKeychain: boolean
  /** The file with its passphrase, if it came from one. */
  passphraseFile?: string | undefined
}

/** Lists what is left to do before an assistant can pay, one step per line, in order. */
export const nextSteps = (wallet: NewWallet): string[] => [
  `1. ${funding(wallet)}`,
  `2. ${starting(wallet)}`,
  `3. Run \`farebox wallet status\` to see the caps, how much of them is used, and pending approvals.`,
]

/** A service on this machine is paid on a local chain, even if the chain looks like Base. */
function funding({ service, address, solanaAddress, networks }: NewWallet): string {
  if (service !== undefined && isLoopback(new URL(service).hostname))
    return `Fund it with test money: \`farebox local fund ${address} --usd 10 --data FOLDER\`. FOLDER is the data folder that \`farebox up\` printed ("Everything is kept in"). The service is on this machine, so its chain is probably a local one; do not send it real USDC.`
  const rails = [
    { network: evmNetwork, place: `to ${address} on Base (${evmNetwork}, token ${usdcOnEvm})` },
    { network: solanaNetwork, place: `to ${solanaAddress} on Solana (token ${usdcOnSolana})` },
  ]
  const taken = rails.filter(({ network }) => networks.length === 0 || networks.includes(network))
  const places = taken.map(({ place }) => place).join(', or ')
  const first =
    taken.length > 1
      ? ' If you have no preference, fund Base first: the wallet pays from there when no node answers.'
      : ''
  return `Send USDC ${places}. Send only what you are willing to lose.${first}`
}

function starting({ service, isInKeychain, passphraseFile }: NewWallet): string {
  const install = `farebox install CLIENT${service === undefined ? ' --service URL' : ''}`
  if (isInKeychain) return `Add farebox to your assistant: \`${install}\`. The system keychain unlocks the wallet.`
  return passphraseFile !== undefined
    ? `Add farebox to your assistant: \`${install} --passphrase-file ${quoted(resolve(passphraseFile))}\`.`
    : `Write the passphrase to a file that only you may read (chmod 600), and add farebox to your assistant: \`${install} --passphrase-file FILE\`.`
}

/**
 * Fetches a service's top-up offer (brief §4.1: a POST without a payment is answered with 402). Follows no redirect.
 */
export async function readOffer(serviceUrl: string): Promise<readonly PaymentOption[]> {
  const text = await fetchOffer(serviceUrl)
  const json = parseJson(text, 16)
  const offer = TopUpRequired.safeParse(json.ok ? json.value : undefined)
  if (offer.success) return offer.data.accepts
  throw new CliError(`${serviceUrl} is not a service with this API.`, 'Check the address; it usually ends in /api/v1.')
}

async function fetchOffer(serviceUrl: string): Promise<string> {
  try {
    const response = await fetch(`${serviceUrl.replace(/\/+$/, '')}/x402/top-up`, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(offerTimeoutMs),
    })
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length
      if (bytes > offerBytes) break
      chunks.push(chunk)
    }
    return response.status === 402 ? Buffer.concat(chunks).toString() : ''
  } catch {
    throw new CliError(`${serviceUrl} cannot be reached.`, 'Check the address, and whether the service is running.')
  }
}
