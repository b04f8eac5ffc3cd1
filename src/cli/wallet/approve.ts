import type { OwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { displayUntil } from '#contract/time.ts'
import { userName } from '#host/user-name.ts'
import { CliError, type CommandIo, parseArguments } from '../command.ts'
import { withOwnerWallet } from './owner-wallet.ts'
import { askYes, confirmOwner, plainText, requireTerminal } from './terminal.ts'

type Module = typeof import('#agent/wallet/owner-wallet.ts')
type Approval = NonNullable<Awaited<ReturnType<OwnerWallet['approvals']['get']>>>

/**
 * Shows the whole request and records the user's decision. Each of several statements must be answered with yes, and an
 * approval needs the wallet's passphrase if there is one. Approving also reverses a denial that is still valid.
 */
export const approveRequest = (
  args: readonly string[],
  io: CommandIo,
  addressed: (sentence: string) => string = sentence => sentence,
): Promise<number> => decide('farebox wallet approve', args, io, { denies: false, addressed })

/** Shows the request and records a denial. */
export const denyRequest = (args: readonly string[], io: CommandIo): Promise<number> =>
  decide('farebox wallet deny', args, io, { denies: true, addressed: sentence => sentence })

interface Deciding {
  denies: boolean
  /** Tells the user at a terminal, or a program, the consequence of the decision. */
  addressed(sentence: string): string
}

async function decide(
  command: string,
  args: readonly string[],
  io: CommandIo,
  { denies, addressed }: Deciding,
): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command,
    options: { data: { type: 'string' }, deny: { type: 'boolean', default: denies } },
    maxPositionals: 1,
  })
  requireTerminal(io, command)
  return withOwnerWallet(io, values.data, async (ownerWallet, module) => {
    const [id] = positionals
    const approval = id === undefined ? await onlyOne(ownerWallet, command, io) : await asked(ownerWallet, id)
    if (approval.state === 'denied') io.output.print(sayTakingBack(approval, values.deny))
    io.output.print(plainText(ownerWallet.sayApproval(approval)))
    const isApproved = !values.deny && (await agrees(io, approval.facts, module))
    if (!isApproved && approval.state === 'denied') {
      io.output.print('The request stays denied.')
      return 1
    }
    if (isApproved) await confirmOwner(io, ownerWallet)
    const by = `terminal, ${userName()}`
    const answered = await ownerWallet.approvals.resolve(approval.id, { isApproved, by, takesBack: true })
    io.output.print(addressed(ownerWallet.sayAnswer(answered)))
    return isApproved || values.deny ? 0 : 1
  })
}

/** Without an id, uses the only pending approval; among several it does not guess. */
async function onlyOne(ownerWallet: OwnerWallet, command: string, { output, env }: CommandIo): Promise<Approval> {
  const waiting = await ownerWallet.pendingApprovals()
  const [first, ...others] = waiting
  if (!first) throw new CliError('Nothing is pending.', '`farebox wallet status` lists recent denials.')
  if (others.length === 0) return first
  const { asTyped } = await import('#agent/words/typed-commands.ts')
  const place = { folder: ownerWallet.folder, isJournalShared: Boolean(env.FAREBOX_JOURNAL_URL?.trim()) }
  const typed = (line: string) => asTyped(line, place)
  for (const approval of waiting) output.print(plainText(approvalLine(approval, command, typed)))
  throw new CliError(`${waiting.length} requests are pending.`, 'Give the id of one of those listed above.', 2)
}

/** Finds an approval by its id, with or without the prefix. */
async function asked(ownerWallet: OwnerWallet, id: string): Promise<Approval> {
  const approval = (await ownerWallet.approvals.get(id)) ?? (await ownerWallet.approvals.get(`ask_${id}`))
  if (approval && (approval.state === 'pending' || isRefusedStill(approval))) return approval
  throw new CliError(
    approval ? `The request ${approval.id} ${endOf(approval)}.` : `There is no request ${plainText(id).slice(0, 40)}.`,
    '`farebox wallet status` lists pending requests.',
  )
}

const isRefusedStill = ({ state, expiresAtMs }: Approval): boolean => state === 'denied' && expiresAtMs > Date.now()

function sayTakingBack({ id, expiresAtMs }: Approval, denies: boolean): string {
  const until = displayUntil(expiresAtMs, Date.now())
  if (denies) throw new CliError(`The request ${id} is already denied, until ${until}.`, 'There is nothing to do.')
  return `You denied this until ${until}. Approving it now reverses that.`
}

const endOf = ({ state, decidedBy }: Approval): string =>
  state === 'expired' && decidedBy !== null ? `was replaced by ${decidedBy}` : ends[state]

const ends: Readonly<Record<Approval['state'], string>> = {
  pending: 'is pending',
  approved: 'is already approved',
  denied: 'was denied, and the denial has expired: the same call asks you again',
  expired: 'expired without a decision: the same call asks you again',
}

async function agrees(
  io: CommandIo,
  facts: Approval['facts'],
  { consentStatements: statements }: Module,
): Promise<boolean> {
  if (facts.kind !== 'consent') return askYes(io, 'Do you approve this?')
  for (const statement of statements) if (!(await askYes(io, `${statement} Do you confirm this?`))) return false
  return true
}

type Listed = Awaited<ReturnType<OwnerWallet['pendingApprovals']>>[number]

/**
 * Returns one line for a list, with the command for the decision. The summary may quote untrusted words, so only this
 * command is turned into the one that works here.
 */
export const approvalLine = (
  { id, summary, expiresAtMs }: Listed,
  command: string,
  typed: (command: string) => string,
): string => `${summary}; until ${displayUntil(expiresAtMs, Date.now())}: ${typed(`\`${command} ${id}\``)}`
