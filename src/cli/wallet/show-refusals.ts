import type { OwnerDesk } from '#agent/wallet/owner-desk.ts'
import { displayUsd, formatUsd } from '#contract/money.ts'
import type { CommandIo } from '../command.ts'
import { asJson } from './as-json.ts'
import { addressesOf, atDesk } from './at-desk.ts'
import { type Columns, csvTable } from './csv-table.ts'
import { givenPassphrase } from './given-passphrase.ts'
import { listedReceipts, shownReceipts } from './limits.ts'
import { askHidden, plainText } from './terminal.ts'

interface Values {
  data?: string | undefined
  json: boolean
  csv: boolean
  'passphrase-file'?: string | undefined
  'passphrase-fd'?: string | undefined
}

/** What the wallet refused to pay, newest first; as JSON with a statement of each, signed by the key that would have paid. */
export async function showRefusals(command: string, values: Values, io: CommandIo): Promise<number> {
  const passphrase = values.json ? await givenPassphrase(command, values, io.env) : null
  return atDesk(io, values.data, async desk => {
    const refusals = await desk.refusals(values.json || values.csv ? listedReceipts : shownReceipts)
    if (values.json) io.output.print(asJson(await signed(io, desk, refusals, passphrase)))
    else if (values.csv) await io.output.stream(csvTable(columns, refusals))
    else if (refusals.length === 0) {
      await addressesOf(desk)
      io.output.print('The wallet has not refused anything yet.')
    } else for (const refusal of refusals) io.output.print(plainText(lineOf(refusal)))
    return 0
  })
}

type Refusal = Awaited<ReturnType<OwnerDesk['refusals']>>[number]

async function signed(io: CommandIo, desk: OwnerDesk, refusals: readonly Refusal[], given: string | null) {
  if (refusals.length === 0) return []
  const opened = await desk.openKeys(given)
  const mayAsk = opened.length === 0 && desk.hasKeyFile() && io.stdin.isTTY
  const keys = mayAsk ? await desk.openKeys(await askHidden(io, 'Passphrase of the wallet (it is not shown):')) : opened
  const { signedRefusals } = await import('#agent/wallet/signed-refusals.ts')
  const statements = await signedRefusals(refusals, keys)
  const without = statements.filter(({ signature }) => signature === null).length
  if (without > 0)
    io.output.note(
      `${without} of ${statements.length} are not signed, because the key of their wallet is not open here; a wallet's file opens with --passphrase-file.`,
    )
  return statements.map(statement => ({ ...statement, kind: 'refused' }))
}

function lineOf({ lastAtMs, rule, amountMicroUsd, origin, operation, times, sentence }: Refusal): string {
  const amount = amountMicroUsd === null ? 'unknown amount' : displayUsd(amountMicroUsd)
  const counted = times === 1 ? null : `${times} times`
  const parts = [new Date(lastAtMs).toISOString(), 'refused', amount, rule, origin, operation, counted, sentence]
  return parts.filter(Boolean).join('  ')
}

const usdOf = (amount: bigint | null): string | null => (amount === null ? null : formatUsd(amount))

const columns: Columns<Refusal> = [
  ['first', ({ firstAtMs }) => new Date(firstAtMs).toISOString()],
  ['last', ({ lastAtMs }) => new Date(lastAtMs).toISOString()],
  ['times', ({ times }) => String(times)],
  ['rule', ({ rule }) => rule],
  ['amount_usd', ({ amountMicroUsd }) => usdOf(amountMicroUsd)],
  ['limit_usd', ({ limitMicroUsd }) => usdOf(limitMicroUsd)],
  ['left_usd', ({ leftMicroUsd }) => usdOf(leftMicroUsd)],
  ['service', ({ origin }) => origin],
  ['operation', ({ operation }) => operation],
  ['network', ({ network }) => network],
  ['asset', ({ asset }) => asset],
  ['payee', ({ payTo }) => payTo],
  ['wallet', ({ address }) => address],
  ['request', ({ requestHash }) => requestHash],
  ['id', ({ id }) => id],
  ['said', ({ sentence }) => sentence],
]
