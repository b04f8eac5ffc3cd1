import { userInfo } from 'node:os'
import { displayUsd } from '#contract/money.ts'
import { parseArguments, wrongUsage } from '../arguments.ts'
import { CliError } from '../cli-error.ts'
import type { CommandIo } from '../command.ts'
import { atDesk } from './at-desk.ts'
import { confirmOwner } from './confirm-owner.ts'
import { shownReceipts } from './limits.ts'
import { askLine, plainText, requireTerminal } from './terminal.ts'

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
  return atDesk(io, values.data, async desk => {
    const payment = (await desk.receipts(shownReceipts)).find(each => each.id === id)
    if (!payment)
      throw new CliError('There is no such payment among the last ones.', '`farebox wallet receipts` lists them.')
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
