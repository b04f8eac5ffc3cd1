import { topUpWithoutAsking } from '#agent/settings/caps-in-effect.ts'
import type { OwnerWallet } from '#agent/wallet/owner-wallet.ts'
import type { Holdings } from '#agent/wallet-page/wallet-view.ts'
import { lowered } from '#contract/errors/as-clause.ts'
import { displayUsd } from '#contract/money.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { tokenName } from '#contract/wire/networks.ts'
import type { SeenAmount } from '#toolkit/tool-context.ts'
import { type CommandIo, parseArguments, wrongUsage, wrongValue } from '../command.ts'
import { asJson, railName } from '../output.ts'
import type { Fact } from '../show/table.ts'
import { approvalLine } from './approve.ts'
import { addressesOf, dataFlag, withDataFlag, withOwnerWallet } from './owner-wallet.ts'
import { openSendFact } from './send-money.ts'
import { givenPassphrase, passphraseFlags, plainText } from './terminal.ts'

const approve = 'farebox wallet approve'

const command = 'farebox wallet status'
const options = { ...dataFlag, ...passphraseFlags, json: { type: 'boolean', default: false } } as const

export async function showStatus(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command, options })
  const passphrase = await givenPassphrase(command, values, io.env)
  return withOwnerWallet(io, values.data, async ownerWallet => {
    const addresses = await addressesOf(ownerWallet)
    const status = await ownerWallet.status(addresses)
    const [approvals, refused] = [await ownerWallet.pendingApprovals(), await ownerWallet.refused()]
    const env = withDataFlag(io.env, values.data)
    const [holdings, transfers] = await Promise.all([
      holdingsOf(env, addresses, passphrase),
      openTransfers(env, ownerWallet),
    ])
    if (values.json) io.output.print(asJson({ ...status, ...holdings, transfers, approvals, refused }))
    else {
      const [{ asTyped }, { isServiceNamed }] = await Promise.all([
        import('#agent/words/typed-commands.ts'),
        import('#agent/settings/wallet-settings.ts'),
      ])
      const place = { folder: ownerWallet.folder, isJournalShared: Boolean(io.env.FAREBOX_JOURNAL_URL?.trim()) }
      const typed = (line: string) => asTyped(line, place)
      const { factLines } = await import('../show/table.ts')
      const facts: Fact[] = [
        ...statusFacts(status, holdings, namedBy(env, isServiceNamed(env))).map(
          ([key, value]): Fact => [key, typed(value)],
        ),
        ...transfers.map(openSendFact),
        ...approvals.map((each): Fact => ['pending approval', approvalLine(each, approve, typed)]),
        ...refused.map((each): Fact => ['denied, can be reversed', approvalLine(each, approve, typed)]),
      ]
      const shown = facts.map(([key, value]): Fact => [key, plainText(value)])
      for (const line of factLines(shown, io.output)) io.output.print(line)
    }
    return 0
  })
}

type Status = Awaited<ReturnType<OwnerWallet['status']>>

/** With the nodes of the local chains, if the wallet is one of `farebox up`. */
async function holdingsOf(
  env: CommandIo['env'],
  addresses: readonly string[],
  passphrase: string | null,
): Promise<Holdings> {
  const [{ lookAtHoldings }, { baseUrlOf, dataFolderOf }, { withLocalNodes }] = await Promise.all([
    import('./holdings.ts'),
    import('#agent/settings/wallet-settings.ts'),
    import('./local-nodes.ts'),
  ])
  return lookAtHoldings(await withLocalNodes(env, baseUrlOf(env), dataFolderOf(env)), addresses, passphrase)
}

/** Returns transfers that are not known to have arrived, after checking the chain. */
async function openTransfers(env: CommandIo['env'], ownerWallet: OwnerWallet) {
  const [{ openOwnerSends }, { baseUrlOf }, { withLocalNodes }] = await Promise.all([
    import('#agent/wallet/send-from-wallet.ts'),
    import('#agent/settings/wallet-settings.ts'),
    import('./local-nodes.ts'),
  ])
  const sends = openOwnerSends(ownerWallet, await withLocalNodes(env, baseUrlOf(env), ownerWallet.folder))
  try {
    return (await sends.followOpen()).filter(({ state }) => state !== 'confirmed' && state !== 'dead')
  } finally {
    await sends.close()
  }
}

function statusFacts(status: Status, holdings: Holdings, serviceNamedBy: string): Fact[] {
  const { caps } = status
  const credit = seenAmount({ amountMicroUsd: holdings.creditMicroUsd, ...holdings.creditSeen })
  return [
    ...status.addresses.map(
      (address): Fact => ['wallet', `${address} on ${railName(address)}${holds(address, holdings)}`],
    ),
    ...payerFacts(status),
    ['service', `${status.origin} (${serviceNamedBy})`],
    ...status.otherServices.map(
      (other): Fact => ['may also be paid', `${other}; to use it, set FAREBOX_BASE_URL to its address`],
    ),
    ['credit at the service', credit],
    ...stoppedFacts(status),
    ...(status.isDryRun ? [['dry run', 'no payment is signed'] as const] : []),
    ['paid or reserved in 24 hours', ofCap(status.spentDayMicroUsd, caps.maxDayMicroUsd, status.reservedDayMicroUsd)],
    [
      'paid or reserved in total',
      ofCap(status.spentTotalMicroUsd, caps.maxTotalMicroUsd, status.reservedTotalMicroUsd),
    ],
    [
      'caps',
      `${displayUsd(caps.maxPaymentMicroUsd)} per payment, ${displayUsd(caps.maxCallMicroUsd)} per call; approval above ${displayUsd(caps.askAboveMicroUsd)}`,
    ],
    [
      '',
      status.asksNextPayment
        ? `the first payment needs your approval; after that, ${topUpWithoutAsking}`
        : topUpWithoutAsking,
    ],
    ...refillFacts(status),
    ...status.payees.map((payee): Fact => ['may pay', `${payee.payTo}, in ${tokenName(payee)}`]),
    ...status.openPayments.map(openFact),
    ...status.heldPayments.map(
      ({ receiptId, amountMicroUsd }): Fact => [
        'refused by the service, still counts against the caps',
        `${receiptId}, ${displayUsd(amountMicroUsd)}; check the chain, then run \`farebox wallet resolve ${receiptId}\``,
      ],
    ),
  ]
}

type Amount = Status['reservedDayMicroUsd']

const ofCap = (spent: Amount, cap: Amount, reserved: Amount): string =>
  `${displayUsd(spent)} of ${displayUsd(cap)}${reserved > 0n ? `, of which ${displayUsd(reserved)} is reserved` : ''}`

function holds(address: string, { onChain }: Holdings): string {
  const seen = onChain.find(each => each.address === address)
  return seen === undefined ? '' : `, balance ${seenAmount(seen)}`
}

const seenAmount = ({ amountMicroUsd, unknown }: Omit<SeenAmount, 'atMs'>): string =>
  amountMicroUsd === null ? `unknown${unknown === null ? '' : ` (${unknown})`}` : displayUsd(amountMicroUsd)

/** Explains what determines the service in use. */
function namedBy(env: CommandIo['env'], isNamed: boolean): string {
  if (env.FAREBOX_BASE_URL) return 'set by FAREBOX_BASE_URL'
  return isNamed ? 'the service that the wallet was created for' : 'the default, because FAREBOX_BASE_URL is not set'
}

function refillFacts({ refill }: Status): Fact[] {
  if (!refill) return []
  const { belowMicroUsd, byMicroUsd, isHalted, note, againAtMs } = refill
  const rule = `tops up by ${displayUsd(byMicroUsd)} when the credit is below ${displayUsd(belowMicroUsd)}`
  if (isHalted) {
    const next = 'Check what the service charges, then run `farebox wallet start` to resume them'
    return [
      ['', `${rule}; refills have stopped: ${lowered(note ?? 'the last one did not show up as credit.')} ${next}`],
    ]
  }
  const again = againAtMs === null ? '' : ` The next one is possible after ${new Date(againAtMs).toISOString()}`
  return [['', note === null ? rule : `${rule}; the last one failed: ${lowered(note)}${again}`]]
}

function stoppedFacts({ isStopped, stop }: Status): Fact[] {
  if (stop)
    return [
      ['', `stopped for all processes that use this journal, by ${stop.by}, ${new Date(stop.atMs).toISOString()}`],
    ]
  return isStopped ? [['', 'stopped by the file `stop` in the data folder']] : []
}

/** Explains which address pays and why; a wallet with one key has no choice. */
function payerFacts({ addresses, address, isPayerDecided }: Status): Fact[] {
  if (addresses.length < 2) return []
  return isPayerDecided
    ? [['pays from', `${address}, because it paid last or has credit`]]
    : [['pays from', 'the address with enough USDC at the first payment, otherwise Base']]
}

function openFact({ receiptId, amountMicroUsd, validBeforeMs, isRejected }: Status['openPayments'][number]): Fact {
  const until = validBeforeMs === null ? '' : ` after ${new Date(validBeforeMs).toISOString()}`
  const what = isRejected ? 'refused by the service, could still be collected' : 'outcome unknown'
  const next = `it is sent again before any other payment; you can also check the chain and run \`farebox wallet resolve ${receiptId}\`${until}`
  return [what, `${receiptId}, ${displayUsd(amountMicroUsd)}; ${next}`]
}

const addressCommand = 'farebox wallet address'

const rails = ['base', 'solana'] as const

export async function showAddress(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: addressCommand,
    options: {
      ...dataFlag,
      rail: { type: 'string' },
      qr: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const { rail } = values
  if (rail !== undefined && !rails.some(name => name === rail))
    throw wrongValue(addressCommand, 'rail', rail, '`base` or `solana`')
  if (values.qr && values.json) throw wrongUsage(addressCommand, 'Use either `--qr` or `--json`, not both')
  return withOwnerWallet(io, values.data, async ownerWallet => {
    const addresses = (await addressesOf(ownerWallet)).filter(
      address => rail === undefined || railName(address).toLowerCase() === rail,
    )
    if (values.qr && isLocal(io.env.FAREBOX_BASE_URL))
      io.output.note('The service of this wallet is on this machine and uses test money: do not send it real USDC.')
    if (values.json) io.output.print(asJson(addresses.map(address => ({ address, network: railName(address) }))))
    else
      for (const address of addresses) {
        if (values.qr) await printQr(address, io)
        io.output.print(address)
      }
    return addresses.length > 0 ? 0 : 1
  })
}

const isLocal = (url: string | undefined): boolean =>
  url !== undefined && URL.canParse(url) && isLoopback(new URL(url).hostname)

/** White on black, with the margin that scanners need; half a character per module. */
async function printQr(address: string, io: CommandIo): Promise<void> {
  const [{ renderUnicodeCompact }, { paymentUri }] = await Promise.all([
    import('uqr'),
    import('#agent/wallet-page/qr.ts'),
  ])
  const uri = paymentUri(address)
  io.output.print(`USDC on ${railName(address)}: ${uri}`)
  io.output.print(renderUnicodeCompact(uri, { border: 2 }))
}
