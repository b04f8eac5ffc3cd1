import { userInfo } from 'node:os'
import { displayUsd } from '#contract/money.ts'
import { CliError, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { withLocalNodes } from './local-nodes.ts'
import { withDataFlag, withOwnerWallet } from './owner-wallet.ts'
import { askLine, confirmOwner, plainText, requireTerminal } from './terminal.ts'

const command = 'farebox wallet resolve'

/** For a payment that neither service nor chain node answers about: a person has looked, and says whether it has left. */
export async function resolvePayment(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command,
    options: { data: { type: 'string' } },
    maxPositionals: 1,
  })
  const [id] = positionals
  if (id === undefined) throw wrongUsage(command, 'The id of the payment is missing')
  requireTerminal(io, command)
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
