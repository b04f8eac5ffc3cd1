import type { OwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { displayUsd } from '#contract/money.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import type { SeenAmount } from '#toolkit/tool-context.ts'
import { type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { asJson, railName } from '../output.ts'
import { questionLine } from './approve.ts'
import type { Holdings } from './holdings.ts'
import { addressesOf, dataFlag, withDataFlag, withOwnerWallet } from './owner-wallet.ts'
import { givenPassphrase, passphraseFlags, plainText } from './terminal.ts'

const approve = 'farebox wallet approve'

const command = 'farebox wallet status'
const options = { ...dataFlag, ...passphraseFlags, json: { type: 'boolean', default: false } } as const

export async function showStatus(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command, options })
  const passphrase = await givenPassphrase(command, values, io.env)
  return withOwnerWallet(io, values.data, async desk => {
    const addresses = await addressesOf(desk)
    const status = await desk.status(addresses)
    const [questions, refused] = [await desk.questions(), await desk.refused()]
    const env = withDataFlag(io.env, values.data)
    const holdings = await holdingsOf(env, addresses, passphrase)
    if (values.json) io.output.print(asJson({ ...status, ...holdings, questions, refused }))
    else {
      const [{ asTyped }, { isServiceNamed }] = await Promise.all([
        import('#agent/words/typed-commands.ts'),
        import('#agent/settings/wallet-settings.ts'),
      ])
      const place = { folder: desk.folder, isJournalShared: Boolean(io.env.FAREBOX_JOURNAL_URL?.trim()) }
      const typed = (line: string) => asTyped(line, place)
      for (const line of [
        ...statusLines(status, holdings, namedBy(env, isServiceNamed(env))).map(typed),
        ...questions.map(each => `pending approval: ${questionLine(each, approve, typed)}`),
        ...refused.map(each => `denied, can be reversed: ${questionLine(each, approve, typed)}`),
      ])
        io.output.print(plainText(line))
    }
    return 0
  })
}

type Status = Awaited<ReturnType<OwnerWallet['status']>>

/** With the nodes of the local chains, where the wallet is one of `farebox up`. */
async function holdingsOf(
  env: CommandIo['env'],
  addresses: readonly string[],
  passphrase: string | null,
): Promise<Holdings> {
  const [{ lookAtHoldings }, { baseUrlOf, stateFolderOf }, { withLocalNodes }] = await Promise.all([
    import('./holdings.ts'),
    import('#agent/settings/wallet-settings.ts'),
    import('./local-nodes.ts'),
  ])
  return lookAtHoldings(await withLocalNodes(env, baseUrlOf(env), stateFolderOf(env)), addresses, passphrase)
}

function statusLines(status: Status, holdings: Holdings, serviceNamedBy: string): string[] {
  const { caps } = status
  return [
    ...status.addresses.map(address => `wallet: ${address} on ${railName(address)}${holds(address, holdings)}`),
    ...payerLines(status),
    `service: ${status.origin} (${serviceNamedBy})`,
    ...status.otherServices.map(other => `may also be paid: ${other}; to use it, set FAREBOX_BASE_URL to its address`),
    `credit at the service: ${seenAmount({ amountMicroUsd: holdings.creditMicroUsd, ...holdings.creditSeen })}`,
    ...stoppedLines(status),
    ...(status.isDryRun ? ['dry run: no payment is signed'] : []),
    `paid or reserved in 24 hours: ${displayUsd(status.spentDayMicroUsd)} of ${displayUsd(caps.maxDayMicroUsd)}${ofItReserved(status.reservedDayMicroUsd)}`,
    `paid or reserved in total: ${displayUsd(status.spentTotalMicroUsd)} of ${displayUsd(caps.maxTotalMicroUsd)}${ofItReserved(status.reservedTotalMicroUsd)}`,
    `caps: a payment ${displayUsd(caps.maxPaymentMicroUsd)}, for a call ${displayUsd(caps.maxCallMicroUsd)}; approval above ${displayUsd(caps.askAboveMicroUsd)}`,
    ...refillLines(status),
    ...status.payees.map(({ payTo, network, asset }) => `may pay: ${payTo} on ${network}, token ${asset}`),
    ...status.openPayments.map(openLine),
    ...status.heldPayments.map(
      ({ receiptId, amountMicroUsd }) =>
        `refused by the service, still counts against the caps: ${receiptId}, ${displayUsd(amountMicroUsd)}; check the chain, then run \`farebox wallet resolve ${receiptId}\``,
    ),
  ]
}

const ofItReserved = (reserved: Status['reservedDayMicroUsd']): string =>
  reserved > 0n ? `, of which reserved ${displayUsd(reserved)}` : ''

function holds(address: string, { onChain }: Holdings): string {
  const seen = onChain.find(each => each.address === address)
  return seen === undefined ? '' : `, balance ${seenAmount(seen)}`
}

const seenAmount = ({ amountMicroUsd, unknown }: Omit<SeenAmount, 'atMs'>): string =>
  amountMicroUsd === null ? `unknown${unknown === null ? '' : ` (${unknown})`}` : displayUsd(amountMicroUsd)

/** What says which service is used. */
function namedBy(env: CommandIo['env'], isNamed: boolean): string {
  if (env.FAREBOX_BASE_URL) return 'set by FAREBOX_BASE_URL'
  return isNamed ? 'set by `wallet create --service`' : 'the default, because FAREBOX_BASE_URL is not set'
}

function refillLines({ refill }: Status): string[] {
  if (!refill) return []
  const { belowMicroUsd, byMicroUsd, isHalted, note, againAtMs } = refill
  const rule = `refills credit below ${displayUsd(belowMicroUsd)} by ${displayUsd(byMicroUsd)}`
  if (isHalted)
    return [
      `${rule}; refills have stopped: ${note ?? ''} Check what the service charges, then run \`farebox wallet start\` to resume them`,
    ]
  const again = againAtMs === null ? '' : ` The next one is possible after ${new Date(againAtMs).toISOString()}`
  return [note === null ? rule : `${rule}; the last one failed: ${note}${again}`]
}

const stoppedLines = ({ isStopped, stop }: Status): string[] => {
  if (stop) return [`stopped for all processes on this journal by ${stop.by}, ${new Date(stop.atMs).toISOString()}`]
  return isStopped ? ['stopped by the file `stop` in the data folder'] : []
}

/** Which address pays, and why; a wallet of one key has no choice. */
function payerLines({ addresses, address, isPayerDecided }: Status): string[] {
  if (addresses.length < 2) return []
  return isPayerDecided
    ? [`pays from: ${address}, because it paid last or has credit`]
    : ['pays from: the address with enough USDC at the first payment, otherwise Base']
}

function openLine({ receiptId, amountMicroUsd, validBeforeMs, isRejected }: Status['openPayments'][number]): string {
  const until = validBeforeMs === null ? '' : ` after ${new Date(validBeforeMs).toISOString()}`
  const what = isRejected ? 'refused by the service, could still be collected' : 'outcome unknown'
  return `${what}: ${receiptId}, ${displayUsd(amountMicroUsd)}; it is sent again before any other payment, or check the chain and run \`farebox wallet resolve ${receiptId}\`${until}`
}

const addressCommand = 'farebox wallet address'

const rails = ['base', 'solana'] as const

export async function showAddress(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: addressCommand,
    options: { ...dataFlag, rail: { type: 'string' }, qr: { type: 'boolean', default: false } },
  })
  const { rail } = values
  if (rail !== undefined && !rails.some(name => name === rail))
    throw wrongUsage(addressCommand, `\`--rail\` is ${rails.join(' or ')}`)
  return withOwnerWallet(io, values.data, async desk => {
    const addresses = (await addressesOf(desk)).filter(
      address => rail === undefined || railName(address).toLowerCase() === rail,
    )
    if (values.qr && isLocal(io.env.FAREBOX_BASE_URL))
      io.output.note('The service of this wallet is on this machine and uses test money: do not send it real USDC.')
    for (const address of addresses) {
      if (values.qr) await printQr(address, io)
      io.output.print(address)
    }
    return addresses.length > 0 ? 0 : 1
  })
}

const isLocal = (url: string | undefined): boolean =>
  url !== undefined && URL.canParse(url) && isLoopback(new URL(url).hostname)

/** White on black, with the margin that scanners need; half a character a module. */
async function printQr(address: string, io: CommandIo): Promise<void> {
  const [{ renderUnicodeCompact }, { paymentUri }] = await Promise.all([
    import('uqr'),
    import('#agent/wallet-page/qr.ts'),
  ])
  const uri = paymentUri(address)
  io.output.print(`USDC on ${railName(address)}: ${uri}`)
  io.output.print(renderUnicodeCompact(uri, { border: 2 }))
}
