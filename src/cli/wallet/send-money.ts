import type { OwnerWallet } from '#agent/wallet/owner-wallet.ts'
import type { ConfirmedSend, OwnerSends } from '#agent/wallet/send-from-wallet.ts'
import { lastCharacters, transferEnd, transferLine } from '#agent/words/transfer-words.ts'
import { displayUsd } from '#contract/money.ts'
import { displayUntil } from '#contract/time.ts'
import { chainName } from '#contract/wire/networks.ts'
import { userName } from '#host/user-name.ts'
import { CliError, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import type { Fact } from '../show/table.ts'
import { dataFlag, withOwnerWallet } from './owner-wallet.ts'
import { askHidden, askLine, plainText, requireTerminal } from './terminal.ts'

const command = 'farebox wallet send'

type Prepared = Awaited<ReturnType<OwnerSends['prepare']>>
type NewTransfer = Exclude<Prepared, { kind: 'arrived' }>
type Transfer = Awaited<ReturnType<OwnerSends['send']>>

/**
 * Sends money back to its owner: shown in full, confirmed by typing, authorized by the passphrase, and only at a
 * terminal.
 */
export async function sendMoney(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command,
    options: { ...dataFlag, facilitator: { type: 'string' }, print: { type: 'boolean', default: false } },
    maxPositionals: 2,
  })
  const [to, amount] = positionals
  if (to === undefined || amount === undefined) throw wrongUsage(command, 'Give an address and an amount')
  if (values.print && values.facilitator !== undefined)
    throw wrongUsage(command, 'Use either `--print` or `--facilitator`, not both')
  requireTerminal(io, command)
  return withOwnerSends(io, values.data, async (sends, ownerWallet, place) => {
    const settler = values.print ? null : await settlerFor(values.facilitator, place)
    const prepared = await sends.prepare({ to, amount })
    if (prepared.kind === 'arrived') return sayArrived(io, prepared.transfer)
    if (values.print && prepared.network.startsWith('solana:'))
      throw new CliError(
        'On Solana, the account that pays the fee is part of what is signed, so nothing can be printed for another wallet.',
        'Run the command without `--print`.',
      )
    await confirm(io, prepared, settler)
    const passphrase = (await ownerWallet.isGuarded()) ? await askHidden(io, 'Wallet passphrase (not shown):') : null
    const transfer = await sends.send(prepared, { passphrase, settler, by: `terminal, ${userName()}` })
    return settler === null && transfer.state === 'sent' ? print(io, sends, transfer) : sayEnd(io, transfer)
  })
}

interface Place {
  /** The service of the wallet's folder. */
  baseUrl: string
  folder: string
}

/** With the nodes of the local chains, if the wallet is one of `farebox up`. */
async function withOwnerSends(
  io: CommandIo,
  data: string | undefined,
  work: (sends: OwnerSends, ownerWallet: OwnerWallet, place: Place) => Promise<number>,
): Promise<number> {
  const [{ openOwnerSends }, { besideChain }, { baseUrlOf }] = await Promise.all([
    import('#agent/wallet/send-from-wallet.ts'),
    import('./local-nodes.ts'),
    import('#agent/settings/wallet-settings.ts'),
  ])
  const beside = await besideChain(io, data)
  return withOwnerWallet(beside, data, async ownerWallet => {
    const env = { ...beside.env, FAREBOX_DATA: ownerWallet.folder }
    const sends = openOwnerSends(ownerWallet, env)
    try {
      return await work(sends, ownerWallet, { baseUrl: baseUrlOf(env), folder: ownerWallet.folder })
    } finally {
      await sends.close()
    }
  })
}

/** Returns the facilitator that the user named, the local chain's own, or a public one. */
export async function settlerFor(
  url: string | undefined,
  { baseUrl, folder }: Place,
): Promise<NonNullable<ConfirmedSend['settler']>> {
  const [{ remoteSettler }, { folderOfUp }] = await Promise.all([
    import('#agent/wallet/send-from-wallet.ts'),
    import('./local-nodes.ts'),
  ])
  const root = url === undefined ? folderOfUp(baseUrl, folder) : null
  if (root === null) return remoteSettler(url)
  const { settlerOfUp } = await import('./local-settler.ts')
  return settlerOfUp(root)
}

async function confirm(io: CommandIo, prepared: NewTransfer, settler: ConfirmedSend['settler']): Promise<void> {
  const { earlierId, from, payTo, network, amountMicroUsd, balanceMicroUsd, heldMicroUsd, notes } = prepared
  const held = heldMicroUsd > 0n ? `, ${displayUsd(heldMicroUsd)} of it reserved for pending payments` : ''
  const lines = [
    `Send    ${displayUsd(amountMicroUsd)} in USDC on ${chainName(network)} (${network})`,
    `from    ${from} (holds ${displayUsd(balanceMicroUsd)}${held})`,
    `to      ${payTo}`,
    settler
      ? `through ${settler.shown}, which pays the network fee. It learns both addresses and the amount, and cannot change them.`
      : 'through another wallet: the signed transfer is printed here.',
    ...notes,
    ...(earlierId !== null
      ? ['An earlier transfer of this amount to this address is still pending. It will be continued.']
      : []),
    'A transfer cannot be undone.',
  ]
  for (const line of lines) io.output.note(plainText(line))
  const expected = `${displayUsd(amountMicroUsd).replace(/ USD$/, '')} ${payTo.slice(-lastCharacters)}`
  const typed = await askLine(
    io,
    `To continue, type the amount and the last ${lastCharacters} characters of the address (${expected}):`,
  )
  if (typed.toLowerCase() === expected.toLowerCase()) return
  throw new CliError('Nothing was sent.', `To send it, run the command again and type exactly: ${expected}`)
}

function sayArrived(io: CommandIo, transfer: Transfer): number {
  io.output.print(plainText(`The earlier transfer has arrived: ${transferLine(transfer)}`))
  io.output.note('Nothing more was sent. To send the same amount once more, run the command again.')
  return 0
}

function sayEnd(io: CommandIo, transfer: Transfer): number {
  const { happened, next } = transferEnd(transfer)
  if (next !== null) throw new CliError(happened, next)
  io.output.print(plainText(happened))
  return 0
}

/** The arguments in the order of the token's function. */
async function print(io: CommandIo, sends: OwnerSends, transfer: Transfer): Promise<number> {
  const { token, ...fields } = await sends.printed(transfer)
  io.output.print(`transferWithAuthorization on ${token}, ${chainName(transfer.network)} (${transfer.network})`)
  for (const [name, value] of Object.entries(fields)) io.output.print(`${name.padEnd(12)}${value}`)
  const until = displayUntil(transfer.validBeforeMs ?? 0, Date.now())
  io.output.note(
    `Submit it from a wallet that holds ETH, for example on the token's page of a block explorer, before ${until}. Anyone can submit it, and it can only move this amount to this address.`,
  )
  io.output.note('`farebox wallet status` shows when it has arrived or expired.')
  return 0
}

/** One transfer whose outcome is unknown, for a list. */
export function openSendFact({ id, amountMicroUsd, payTo, network, settler, reason, validBeforeMs }: Transfer): Fact {
  const until = validBeforeMs === null ? '' : `, until ${new Date(validBeforeMs).toISOString()}`
  const why = reason === null ? '' : ` (${reason})`
  const what = `${id}, ${displayUsd(amountMicroUsd)} to ${payTo} on ${chainName(network)}, ${settler}${why}`
  return ['sent back, not on the chain yet', `${what}; it can be settled${until}`]
}
