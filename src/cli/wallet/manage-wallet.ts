import type { OwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { displayUsd } from '#contract/money.ts'
import { networkName } from '#contract/wire/networks.ts'
import { userName } from '#host/user-name.ts'
import { CliError, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { besideChain } from './local-nodes.ts'
import { addressesOf, withOwnerWallet } from './owner-wallet.ts'
import { askHidden, askLine, askTwice, askYes, confirmOwner, plainText, requireTerminal } from './terminal.ts'

const resolveCommand = 'farebox wallet resolve'

/**
 * For a payment whose outcome neither the service nor a node can determine: records whether the user found that the
 * money has left.
 */
export async function resolvePayment(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command: resolveCommand,
    options: { data: { type: 'string' } },
    maxPositionals: 1,
  })
  const [id] = positionals
  if (id === undefined)
    throw wrongUsage(
      resolveCommand,
      'The ID of the payment is missing; `farebox wallet status` lists those that can be resolved',
    )
  requireTerminal(io, resolveCommand)
  // On Solana the chain shows whether a payment is over; the nodes of `farebox up` are known.
  return withOwnerWallet(await besideChain(io, values.data), values.data, async ownerWallet => {
    const payment = await ownerWallet.payment(id)
    if (!payment)
      throw new CliError(
        `There is no payment ${plainText(id).slice(0, 40)}.`,
        '`farebox wallet status` lists the payments that can be resolved.',
      )
    const { address, payTo, network, nonce, amountMicroUsd } = payment
    io.output.print(
      plainText(`${displayUsd(amountMicroUsd)} from ${address} to ${payTo} on ${networkName(network)}, nonce ${nonce}`),
    )
    const answer = await askLine(io, 'Check the chain. Did the money leave the wallet? Type left or stayed:')
    if (answer !== 'left' && answer !== 'stayed') throw new CliError('Nothing was recorded.', 'Type left or stayed.')
    await confirmOwner(io, ownerWallet)
    await ownerWallet.resolve(id, answer === 'left', `terminal, ${userName()}`)
    io.output.print(
      answer === 'left' ? 'Recorded as spent.' : 'Recorded as not spent; its amount no longer counts against the caps.',
    )
    return 0
  })
}

const exportCommand = 'farebox wallet export'

const confirmation = 'show my keys'

/** Prints the secret keys only to a terminal, never into a pipe or a file. */
export async function exportWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command: exportCommand, options: { data: { type: 'string' } } })
  requireTerminal(io, exportCommand)
  if (!io.output.isTerminal)
    throw new CliError(`\`${exportCommand}\` shows keys only in a terminal.`, 'Run it without redirecting its output.')
  return withOwnerWallet(io, values.data, async ownerWallet => {
    const address = await encryptedAddress(ownerWallet)
    const passphrase = await askHidden(io, 'Wallet passphrase (not shown):')
    await ownerWallet.provePassphrase(passphrase)
    io.output.note(`Anyone who sees the keys of ${address} can take all the money in the wallet, on both chains.`)
    if ((await askLine(io, `To continue, type "${confirmation}":`)) !== confirmation)
      throw new CliError('Nothing was shown.', `Type exactly: ${confirmation}`)
    const keys = await ownerWallet.exportKeys(passphrase)
    if (!keys) throw new CliError('The wallet’s file is missing.', 'Look for wallet.json.')
    io.output.print(`Base:   ${keys.evm}`)
    if (keys.solana !== null) io.output.print(`Solana: ${keys.solana}`)
    io.output.note('When you have copied them, clear the screen and its history.')
    return 0
  })
}

/** The wallet's first address; refuses if a passphrase does not protect its keys. */
async function encryptedAddress(ownerWallet: OwnerWallet): Promise<string> {
  const [address] = await addressesOf(ownerWallet)
  if (ownerWallet.hasKeyFile()) return address
  throw new CliError(
    'The keys of this wallet are not encrypted by farebox.',
    'They are in the environment, or in the key file of a local chain.',
  )
}

const options = { data: { type: 'string' } } as const

/** Keeps the keys and the addresses. Processes that run have already opened the keys, and continue. */
export async function changePassphrase(args: readonly string[], io: CommandIo): Promise<number> {
  const command = 'farebox wallet passphrase'
  const { values } = parseArguments(args, { command, options })
  requireTerminal(io, command)
  return withOwnerWallet(io, values.data, async ownerWallet => {
    const address = await encryptedAddress(ownerWallet)
    const present = await askHidden(io, 'Current wallet passphrase (not shown):')
    await ownerWallet.provePassphrase(present)
    await ownerWallet.changePassphrase(present, await askTwice(io, 'New wallet passphrase (not shown):'))
    io.output.print(`The keys of ${address} are now encrypted with the new passphrase.`)
    io.output.note('Update the file that your assistants read with `--passphrase-file`.')
    io.output.note('Copies of the old wallet.json, such as backups, still open with the old passphrase.')
    return 0
  })
}

const byPerson = () => `terminal, ${userName()}`

/** Any user of the folder may stop a wallet, even a script. */
export async function stopWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command: 'farebox wallet stop', options })
  return withOwnerWallet(
    io,
    values.data,
    async ownerWallet => {
      await ownerWallet.stop(byPerson())
      io.output.print('Stopped: no process that uses this journal signs or sends anything.')
      return 0
    },
    { takesAnyVariable: true },
  )
}

/** Only its owner can start it again. */
export async function startWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const command = 'farebox wallet start'
  const { values } = parseArguments(args, { command, options })
  requireTerminal(io, command)
  return withOwnerWallet(io, values.data, async ownerWallet => {
    await confirmOwner(io, ownerWallet)
    await ownerWallet.start()
    io.output.print('Started. A file `stop` in a data folder still stops the processes that use that folder.')
    return 0
  })
}

/** For a key whose journal was left behind or restored from a copy: from now on the current one counts. */
export async function moveWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const command = 'farebox wallet move'
  const { values } = parseArguments(args, { command, options })
  requireTerminal(io, command)
  return withOwnerWallet(io, values.data, async ownerWallet => {
    const addresses = await addressesOf(ownerWallet)
    const found = await ownerWallet.moved()
    if (found.length === 0) {
      io.output.print(
        `The journal of ${ownerWallet.folder} is already in use for ${addresses.join(' and ')}; nothing was changed.`,
      )
      return 0
    }
    for (const { address, noted, present } of found) {
      io.output.note(`Recorded for ${address}: ${noted}.`)
      io.output.note(`This journal: ${present}.`)
    }
    io.output.note(
      'If you continue, the wallet uses this journal, and payments that are missing from it no longer count against the caps.',
    )
    if (
      !(await askYes(
        io,
        'Do you confirm that the other journal, or the newer copy of this one, will never be used again?',
      ))
    ) {
      io.output.print('Nothing was changed.')
      return 1
    }
    await confirmOwner(io, ownerWallet)
    await ownerWallet.move()
    io.output.print('The wallet now uses this journal.')
    return 0
  })
}
