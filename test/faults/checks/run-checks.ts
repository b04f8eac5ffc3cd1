import { formatUsd } from '#contract/money.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { recoveryMs } from '../bounds.ts'
import type { LoadRecords } from '../load-records.ts'
import type { TestLedger } from '../test-ledgers.ts'
import { readTransfers, type Transfer } from './chain-transfers.ts'
import {
  checkBudgets,
  checkCharges,
  checkJobs,
  checkJobsEnded,
  checkKeyed,
  checkStaking,
  checkUnknownCharges,
} from './check-ledger.ts'
import { checkBroken, checkDeadHolds, type TokenPrice } from './check-recovered.ts'
import { checkAnswered, checkChainAtRest, checkChainInFlight, checkTopUps } from './check-top-ups.ts'
import type { Findings } from './findings.ts'
import type { LedgerRows } from './ledger-rows.ts'
import type { SolanaTransfers } from './solana-transfers.ts'

/** The service's own audit, which shares nothing with the ledger. */
export async function checkLedger(ledger: TestLedger, expiredHoldMs: number, findings: Findings): Promise<void> {
  const report = await ledger.audit(expiredHoldMs)
  if (report.driftMicroUsd !== 0n) {
    findings.drift(report.driftMicroUsd, `The audit finds a drift of ${formatUsd(report.driftMicroUsd)} USD.`)
  }
  for (const { sentence } of report.findings) findings.fail(`The audit finds: ${sentence}`)
}

/** What is checked against what. */
export interface Checked {
  book: LoadRecords
  ledger: TestLedger
  rpcUrl: string
  option: PaymentOption
  solana: { transfers: SolanaTransfers; rpcUrl: string; option: PaymentOption }
  /** Of the model that streams. */
  price: TokenPrice
  /** Requests that were charged before this run. */
  earlier: ReadonlySet<string>
}

/** What must hold at any moment, a second after a kill as well. */
export async function checkStanding(
  checked: Checked,
  findings: Findings,
  lapsedMs = checked.ledger.lapsedMs,
): Promise<LedgerRows> {
  const { book, ledger, earlier, price } = checked
  // The ledger first: what they have credited by then must have come by the time that the chain is asked.
  const rows = await ledger.read()
  const transfers = await transfersOf(checked)
  await checkLedger(ledger, lapsedMs, findings)
  checkCharges(book, rows, findings)
  checkUnknownCharges(book, rows, earlier, findings)
  checkKeyed(book, rows, findings)
  checkBudgets(book, rows, findings)
  checkStaking(book, rows, earlier, findings)
  checkJobs(book, rows, findings)
  checkDeadHolds(book, rows, ledger.areShared, findings)
  checkBroken(book, rows, price, findings)
  checkTopUps(book, rows, transfers, findings)
  // And the other way round: what has come by now must be known by the next look at the ledger.
  checkChainInFlight(await ledger.read(), transfers, findings)
  const overdue = rows.holds.filter(({ leaseUntilMs }) => leaseUntilMs < Date.now() - lapsedMs)
  findings.holdsLeft = overdue.length
  if (overdue.length) findings.fail(`${overdue.length} holds are beyond their lease.`)
  return rows
}

/** What must hold once every lease has ended and nothing is under way. */
export async function checkAtRest(checked: Checked, findings: Findings): Promise<void> {
  const { book } = checked
  const rows = await checkStanding(checked, findings, recoveryMs)
  const transfers = await transfersOf(checked)
  checkChainAtRest(rows, transfers, findings)
  checkAnswered(book, transfers, findings)
  checkJobsEnded(rows, findings)
  findings.holdsLeft = rows.holds.length
  if (rows.holds.length) findings.fail(`${rows.holds.length} holds are left.`)
}

/** On both chains; a payment is known by its nonce on the one, by what was signed on the other. */
async function transfersOf({ rpcUrl, option, solana }: Checked): Promise<Transfer[]> {
  const [evm, svm] = await Promise.all([
    readTransfers(rpcUrl, option.asset, option.payTo),
    solana.transfers.read(solana.rpcUrl, solana.option.payTo),
  ])
  return [...evm, ...svm]
}
