import { userInfo } from 'node:os'
import type { OwnerDesk } from '#agent/wallet/owner-desk.ts'
import { displayUsd } from '#contract/money.ts'
import { parseArguments, wrongUsage } from '../arguments.ts'
import { CliError } from '../cli-error.ts'
import type { CommandIo } from '../command.ts'
import { atDesk } from './at-desk.ts'
import { confirmOwner } from './confirm-owner.ts'
import { askYes, plainText, requireTerminal } from './terminal.ts'

const command = 'farebox wallet approve'

type Approval = NonNullable<Awaited<ReturnType<OwnerDesk['approvals']['get']>>>
type Facts = Approval['facts']

/**
 * Shows what is asked, whole, and records the person's answer. Each of several questions has to be answered with yes, and
 * a yes takes the wallet's passphrase where there is one.
 */
export async function approveQuestion(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command,
    options: { data: { type: 'string' }, deny: { type: 'boolean', default: false } },
    maxPositionals: 1,
  })
  const [id] = positionals
  if (id === undefined) throw wrongUsage(command, 'The id of the question is missing')
  requireTerminal(io, command)
  return atDesk(io, values.data, async (desk, { consentStatements }) => {
    const question = await desk.approvals.get(id)
    if (question?.state !== 'pending')
      throw new CliError(
        question ? `The question ${id} ${endOf(question)}.` : `There is no question ${plainText(id).slice(0, 40)}.`,
        '`farebox wallet status` lists what waits for an answer.',
      )
    for (const line of shown(question.facts)) io.output.print(plainText(line))
    const isApproved = !values.deny && (await agrees(io, question.facts, consentStatements))
    if (isApproved) await confirmOwner(io, desk)
    await desk.approvals.resolve(id, { isApproved, by: `terminal, ${userInfo().username}` })
    io.output.print(isApproved ? 'Approved. The assistant may go on.' : 'Denied.')
    return isApproved || values.deny ? 0 : 1
  })
}

const endOf = ({ state, decidedBy }: Approval): string =>
  state === 'expired' && decidedBy !== null ? `has made room for ${decidedBy}` : `is ${state}`

function shown(facts: Facts): string[] {
  if (facts.kind === 'spend') {
    const amount =
      facts.amountMicroUsd === null ? 'a price that is not known beforehand' : displayUsd(facts.amountMicroUsd)
    return [`To be bought for ${amount}: ${facts.what}`, `Asked because: ${facts.because}`]
  }
  if (facts.kind === 'payee')
    return [
      `${facts.origin} wants ${displayUsd(facts.amountMicroUsd)}, paid to an address that this wallet has not paid before:`,
      `${facts.payTo} on ${facts.network}, token ${facts.asset}`,
      'A yes holds for later payments too, within the caps.',
    ]
  return [
    `The policy ${facts.provider}, version ${facts.policyVersion} (${facts.docsUrl}).`,
    `A face may be in: ${facts.faceMediaRoles.join(', ')}`,
    '----- the policy, as the service sent it -----',
    facts.policyText,
    '----- end of the policy -----',
  ]
}

async function agrees(io: CommandIo, facts: Facts, statements: readonly string[]): Promise<boolean> {
  if (facts.kind !== 'consent') return askYes(io, 'Do you approve this?')
  for (const statement of statements) if (!(await askYes(io, `${statement} Do you state this?`))) return false
  return true
}
