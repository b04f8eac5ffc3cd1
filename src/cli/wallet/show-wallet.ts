import type { OwnerDesk } from '#agent/wallet/owner-desk.ts'
import { displayUsd } from '#contract/money.ts'
import { parseArguments } from '../arguments.ts'
import type { CommandIo } from '../command.ts'
import { asJson } from './as-json.ts'
import { addressesOf, atDesk } from './at-desk.ts'
import { questionLine } from './question-line.ts'
import { railName } from './rail-name.ts'
import { plainText } from './terminal.ts'

const approve = 'farebox wallet approve'

const options = { data: { type: 'string' }, json: { type: 'boolean', default: false } } as const

export async function showStatus(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command: 'farebox wallet status', options })
  return atDesk(io, values.data, async desk => {
    const status = await desk.status(await addressesOf(desk))
    const [questions, refused] = [await desk.questions(), await desk.refused()]
    if (values.json) io.output.print(asJson({ ...status, questions, refused }))
    else {
      const { asTyped } = await import('#agent/words/as-typed.ts')
      const place = { folder: desk.folder, isJournalShared: Boolean(io.env.FAREBOX_JOURNAL_URL?.trim()) }
      const typed = (line: string) => asTyped(line, place)
      for (const line of [
        ...statusLines(status, io.env).map(typed),
        ...questions.map(each => `waits for a person: ${questionLine(each, approve, typed)}`),
        ...refused.map(each => `refused, and may be taken back: ${questionLine(each, approve, typed)}`),
      ])
        io.output.print(plainText(line))
    }
    return 0
  })
}

type Status = Awaited<ReturnType<OwnerDesk['status']>>

function statusLines(status: Status, env: CommandIo['env']): string[] {
  const { caps } = status
  return [
    ...status.addresses.map(address => `wallet: ${address} on ${railName(address)}`),
    ...payerLines(status),
    ...serviceLines(status, env),
    ...stoppedLines(status),
    ...(status.isDryRun ? ['dry run: no payment is signed'] : []),
    `paid or reserved in 24 hours: ${displayUsd(status.spentDayMicroUsd)} of ${displayUsd(caps.maxDayMicroUsd)}${ofItReserved(status.reservedDayMicroUsd)}`,
    `paid or reserved in all: ${displayUsd(status.spentTotalMicroUsd)} of ${displayUsd(caps.maxTotalMicroUsd)}${ofItReserved(status.reservedTotalMicroUsd)}`,
    `at most for a payment ${displayUsd(caps.maxPaymentMicroUsd)}, for a call ${displayUsd(caps.maxCallMicroUsd)}; asks above ${displayUsd(caps.askAboveMicroUsd)}`,
    ...refillLines(status),
    ...status.payees.map(({ payTo, network, asset }) => `may pay: ${payTo} on ${network}, token ${asset}`),
    ...status.openPayments.map(openLine),
    ...status.heldPayments.map(
      ({ receiptId, amountMicroUsd }) =>
        `refused by the service and still counted: ${receiptId}, ${displayUsd(amountMicroUsd)}; look at the chain, then \`farebox wallet resolve ${receiptId}\``,
    ),
  ]
}

const ofItReserved = (reserved: Status['reservedDayMicroUsd']): string =>
  reserved > 0n ? `, of it only reserved ${displayUsd(reserved)}` : ''

/** A wallet is made for the service that its owner names; which one an assistant uses is said by its environment alone. */
function serviceLines({ origin, otherServices }: Status, env: CommandIo['env']): string[] {
  const why = env.FAREBOX_BASE_URL ? '' : ', because FAREBOX_BASE_URL names no other one'
  return [
    `service: ${origin}${why}`,
    ...otherServices.map(other => `may be paid too: ${other}; to use it, set FAREBOX_BASE_URL to its address`),
  ]
}

function refillLines({ refill }: Status): string[] {
  if (!refill) return []
  const { belowMicroUsd, byMicroUsd, isHalted, note, againAtMs } = refill
  const rule = `refills credit below ${displayUsd(belowMicroUsd)} by ${displayUsd(byMicroUsd)}`
  if (isHalted)
    return [
      `${rule}; it has stopped: ${note ?? ''} Look at what the service charges, then run \`farebox wallet start\` to go on`,
    ]
  const again = againAtMs === null ? '' : ` The next one is thought of after ${new Date(againAtMs).toISOString()}`
  return [note === null ? rule : `${rule}; the last one was not paid: ${note}${again}`]
}

const stoppedLines = ({ isStopped, stop }: Status): string[] => {
  if (stop) return [`switched off for all on this journal by ${stop.by}, ${new Date(stop.atMs).toISOString()}`]
  return isStopped ? ['switched off by the file `stop` in the data folder'] : []
}

/** Which address pays, and why; a wallet of one key has no choice. */
function payerLines({ addresses, address, isPayerDecided }: Status): string[] {
  if (addresses.length < 2) return []
  return isPayerDecided
    ? [`pays from: ${address}, because its last payment or its credit is there`]
    : ['pays from: the address with enough USDC at the first payment, Base where both have it or nobody can tell']
}

function openLine({ receiptId, amountMicroUsd, validBeforeMs, isRejected }: Status['openPayments'][number]): string {
  const until = validBeforeMs === null ? '' : ` after ${new Date(validBeforeMs).toISOString()}`
  const what = isRejected ? 'refused by the service, could still be collected' : 'outcome unknown'
  return `${what}: ${receiptId}, ${displayUsd(amountMicroUsd)}; it is sent again before anything else is paid, or look at the chain and run \`farebox wallet resolve ${receiptId}\`${until}`
}
