import type { LoadRecords } from '../load-records.ts'
import type { Transfer } from './chain-transfers.ts'
import type { Findings } from './findings.ts'
import type { LedgerRows } from './ledger-rows.ts'

/** Every acknowledged top-up is one credit of that amount, with the balance that was told, by a transfer of that amount. */
export function checkTopUps(
  book: LoadRecords,
  rows: LedgerRows,
  transfers: readonly Transfer[],
  findings: Findings,
): void {
  const credits = new Map(rows.topUps.map(row => [row.nonce, row]))
  if (credits.size !== rows.topUps.length) findings.fail('A payment was credited more than once.')
  const landed = new Map(transfers.map(each => [each.nonce, each]))
  if (landed.size !== transfers.length) findings.fail('A payment landed more than once.')
  for (const { nonce, amountMicroUsd, acknowledged, wallet } of book.topUps) {
    if (!acknowledged) continue
    const credit = credits.get(nonce)
    if (credit?.amount !== amountMicroUsd) {
      const sentence = `Payment ${nonce} of ${amountMicroUsd} was acknowledged, and its credit is ${credit?.amount}.`
      findings.lose(amountMicroUsd - (credit?.amount ?? 0n), sentence)
    }
    if (credit && credit.postedAfter !== acknowledged.newBalanceMicroUsd) {
      findings.fail(
        `Payment ${nonce} told ${acknowledged.newBalanceMicroUsd} as new balance; it was ${credit.postedAfter}.`,
      )
    }
    const transfer = landed.get(nonce)
    const isThere =
      transfer?.transaction === acknowledged.transaction &&
      transfer.amount === amountMicroUsd &&
      transfer.from.toLowerCase() === wallet.toLowerCase()
    if (!isThere)
      findings.fail(`Payment ${nonce} named transaction ${acknowledged.transaction}, which is not its transfer.`)
  }
  for (const { nonce, amount } of rows.topUps) {
    const transfer = landed.get(nonce)
    if (transfer?.amount !== amount) {
      findings.drift(
        amount - (transfer?.amount ?? 0n),
        `Payment ${nonce} was credited ${amount}; ${transfer?.amount ?? 0n} came.`,
      )
    }
  }
}

const ended = ['credited', 'rejected', 'expired']

/** At rest: each transfer to the payee is a credit, and no payment is on its way any more. */
export function checkChainAtRest(rows: LedgerRows, transfers: readonly Transfer[], findings: Findings): void {
  const sum = (amounts: readonly { amount: bigint }[]) => amounts.reduce((total, { amount }) => total + amount, 0n)
  const credited = sum(rows.topUps)
  const came = sum(transfers)
  if (credited !== came)
    findings.drift(came - credited, `The payee received ${came} micro-USD, and ${credited} were credited.`)
  for (const [nonce, { state }] of rows.payments) {
    if (!ended.includes(state)) findings.fail(`Payment ${nonce} never ended; it is ${state}.`)
  }
}

/** At last every payment is acknowledged, or was refused in time and never landed. */
export function checkAnswered(book: LoadRecords, transfers: readonly Transfer[], findings: Findings): void {
  const landed = new Set(transfers.map(({ nonce }) => nonce))
  for (const { nonce, amountMicroUsd, acknowledged, expired } of book.topUps) {
    if (acknowledged) continue
    if (!expired) findings.fail(`Payment ${nonce} was sent again and again, and never acknowledged.`)
    else if (landed.has(nonce)) findings.lose(amountMicroUsd, `Payment ${nonce} was called expired, and it has landed.`)
  }
}

/** While payments may be on their way: whatever has come and is not credited belongs to one of them. */
export function checkChainInFlight(rows: LedgerRows, transfers: readonly Transfer[], findings: Findings): void {
  const credited = new Set(rows.topUps.map(({ nonce }) => nonce))
  for (const { nonce, amount } of transfers) {
    const state = rows.payments.get(nonce)?.state ?? 'not known'
    if (credited.has(nonce) || (state !== 'not known' && !ended.includes(state))) continue
    findings.drift(amount, `Payment ${nonce} has come with ${amount} micro-USD and is ${state}.`)
  }
}
