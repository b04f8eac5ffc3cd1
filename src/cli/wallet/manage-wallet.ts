import { userInfo } from 'node:os'
import { displayUsd } from '#contract/money.ts'
import { CliError, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { withLocalNodes } from './local-nodes.ts'
import { addressesOf, withDataFlag, withOwnerWallet } from './owner-wallet.ts'
import { askHidden, askLine, askYes, confirmOwner, plainText, requireTerminal } from './terminal.ts'

const resolveCommand = 'farebox wallet resolve'

/** For a payment that neither service nor chain node answers about: a person has looked, and says whether it has left. */
export async function resolvePayment(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command: resolveCommand,
    options: { data: { type: 'string' } },
    maxPositionals: 1,
  })
  const [id] = positionals
  if (id === undefined) throw wrongUsage(resolveCommand, 'The id of the payment is missing')
  requireTerminal(io, resolveCommand)
  return withOwnerWallet(await besideChain(io, values.data), values.data, async desk => {
    const payment = await desk.payment(id)
    if (!payment) throw new CliError('There is no such payment.', '`farebox wallet status` names what can be resolved.')
    const { address, payTo, network, nonce, amountMicroUsd } = payment
    io.output.print(
      plainText(`${displayUsd(amountMicroUsd)} from ${address} to ${payTo} on ${network}, nonce ${nonce}`),
    )
    const answer = await askLine(io, 'Look at the chain. Has it left the wallet? Type left or stayed:')
    if (answer !== 'left' && answer !== 'stayed')
      throw new CliError('Nothing was recorded.', 'Answer with the word left or the word stayed.')
    await confirmOwner(io, desk)
    await desk.resolve(id, answer === 'left', `terminal, ${userInfo().username}`)
    io.output.print(answer === 'left' ? 'Recorded as spent.' : 'Recorded as not spent; the caps have its amount back.')
    return 0
  })
}

/** Of a payment on Solana the chain says whether it is over; where the folder is one of `farebox up`, that chain is known. */
async function besideChain(io: CommandIo, data: string | undefined): Promise<CommandIo> {
  const { baseUrlOf, stateFolderOf } = await import('#agent/settings/wallet-settings.ts')
  const env = await withLocalNodes(io.env, baseUrlOf(io.env), stateFolderOf(withDataFlag(io.env, data)))
  return { ...io, env: { ...io.env, ...env } }
}

const exportCommand = 'farebox wallet export'

const confirmation = 'show my keys'

/** Prints the secret keys: to a person's eyes alone, never into a pipe or a file. */
export async function exportWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command: exportCommand, options: { data: { type: 'string' } } })
  requireTerminal(io, exportCommand)
  if (!io.output.isTerminal)
    throw new CliError(`\`${exportCommand}\` shows keys on a terminal alone.`, 'Run it without redirecting its output.')
  return withOwnerWallet(io, values.data, async desk => {
    const [address] = await addressesOf(desk)
    if (!desk.hasKeyFile())
      throw new CliError(
        'The keys of this wallet are not encrypted by farebox.',
        'They are where you put them: in the environment, or in the file of a local chain.',
      )
    const passphrase = await askHidden(io, 'Passphrase of the wallet (it is not shown):')
    await desk.provePassphrase(passphrase)
    io.output.note(`Anyone who sees the keys of ${address} can take everything the wallet holds, on both chains.`)
    if ((await askLine(io, `To go on, type "${confirmation}":`)) !== confirmation)
      throw new CliError('Nothing was shown.', `Type the words ${confirmation}, without anything else.`)
    const keys = await desk.exportKeys(passphrase)
    if (!keys) throw new CliError('The wallet is gone.', 'Look for its file wallet.json.')
    io.output.print(`Base:   ${keys.evm}`)
    if (keys.solana !== null) io.output.print(`Solana: ${keys.solana}`)
    io.output.note('Clear the screen and its history when you have them.')
    return 0
  })
}

const options = { data: { type: 'string' } } as const
const byPerson = () => `terminal, ${userInfo().username}`

/** Anybody may stop a wallet, a script too. */
export async function stopWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command: 'farebox wallet stop', options })
  return withOwnerWallet(
    io,
    values.data,
    async desk => {
      await desk.stop(byPerson())
      io.output.print('Switched off: nothing is signed and nothing is sent by any process on this journal.')
      return 0
    },
    { takesAnyVariable: true },
  )
}

/** Only its owner starts it again. */
export async function startWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const command = 'farebox wallet start'
  const { values } = parseArguments(args, { command, options })
  requireTerminal(io, command)
  return withOwnerWallet(io, values.data, async desk => {
    await confirmOwner(io, desk)
    await desk.start()
    io.output.print('Switched on. A file `stop` in a data folder still stops the processes on that folder.')
    return 0
  })
}

/** For a key whose journal was left behind, or restored from a copy: the present one counts from now on. */
export async function moveWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const command = 'farebox wallet move'
  const { values } = parseArguments(args, { command, options })
  requireTerminal(io, command)
  return withOwnerWallet(io, values.data, async desk => {
    const addresses = await addressesOf(desk)
    const found = await desk.moved()
    if (found.length === 0) {
      io.output.print(
        `The journal of ${desk.folder} counts already what ${addresses.join(' and ')} pay here; nothing was changed.`,
      )
      return 0
    }
    for (const { address, noted, present } of found) {
      io.output.note(`Noted for ${address}: ${noted}.`)
      io.output.note(`This one is ${present}.`)
    }
    io.output.note('From now on this one counts. Payments that it does not hold count no more against the caps.')
    if (!(await askYes(io, 'Is the other journal, or the newer copy of this one, out of use for good?'))) {
      io.output.print('Nothing was changed.')
      return 1
    }
    await confirmOwner(io, desk)
    await desk.move()
    io.output.print('Noted.')
    return 0
  })
}
