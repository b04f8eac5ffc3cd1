/** How payments of the ledger and transfers of a chain find each other; the chains themselves are in `audit-chain.test.ts`. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { auditChain } from '#ledger/audit/audit-chain.ts'
import { sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import type { Payee } from '#ledger/audit/audit-transfers.ts'
import { account, mustCommit, nowMs, topUp } from '../../ledger/store/sample-ops.ts'
import { openTemporaryStore } from '../../ledger/store/sqlite-folder.ts'

let opened: Awaited<ReturnType<typeof openTemporaryStore>>
beforeEach(async () => {
  opened = await openTemporaryStore()
  await mustCommit(opened.store, account())
})
afterEach(() => opened.dispose())

const option = { network: 'eip155:8453', asset: '0xUsdc', payTo: '0xPayee' }

interface Payment {
  transaction?: string
  payload?: object | null
  state?: string
  atMs?: number
  /** Null where it has no credit. */
  credited?: bigint | null
}

async function write(id: string, { transaction = '0xaa', payload = { option }, atMs = nowMs, ...rest }: Payment) {
  const { credited = 5n, state = 'credited' } = rest
  const text = payload === null ? 'NULL' : `'${JSON.stringify(payload)}'`
  opened.tamper(`INSERT INTO payment (id, state, fence, payload, transaction_id, created_at_ms, updated_at_ms)
    VALUES ('${id}', '${state}', 1, ${text}, '${transaction}', ${atMs}, ${atMs})`)
  if (credited !== null) await mustCommit(opened.store, topUp(credited, id))
}

interface Came {
  transaction: string
  amount?: bigint
  /** The payment that it is. */
  key?: string | null
}

/** What the audit says where this came, and of whom and since when it asked. */
async function audited(came: Came[] = []) {
  const asked: [Payee, number][] = []
  const networks: string[] = []
  const reader = sqliteAuditReader(opened.path)
  const source = {
    async *transfers(payee: Payee, sinceMs: number) {
      asked.push([payee, sinceMs])
      for (const { transaction, amount = 5n, key = null } of came)
        yield { transaction, amount, paymentKey: async () => key }
    },
  }
  const sourceOf = async (network: string) => {
    networks.push(network)
    return source
  }
  const report = await auditChain(reader, sourceOf, { now: () => nowMs })
  await reader.close()
  const told = (list: typeof report.findings) => list.map(({ kind, subject, sentence }) => [kind, subject, sentence])
  return { report, asked, networks, findings: told(report.findings), notes: told(report.notes) }
}

describe('a credit and its transfer', () => {
  test('find each other by transaction and amount, in whatever case an EVM node writes the hash', async () => {
    await write('one', { transaction: '0xAbC' })
    await write('two', { transaction: '0xabd', credited: 7n })
    const { report, findings, notes } = await audited([{ transaction: '0xaBc' }, { transaction: '0xabD', amount: 7n }])
    expect([findings, notes]).toEqual([[], []])
    expect(report).toMatchObject({ ok: true, payees: [{ credits: 2, matched: 2, transfers: 2 }] })
  })

  test('do not where the case differs of a signature of Solana', async () => {
    const payload = { option: { ...option, network: 'solana:main' }, destination: 'Token' }
    await write('one', { transaction: 'AbC', payload })
    const { report, findings, notes } = await audited([{ transaction: 'aBc' }])
    const told = 'Payment one was credited for AbC, which moved no such amount to Token.'
    expect(findings).toEqual([['credit_without_transfer', 'one', told]])
    expect(notes).toEqual([
      ['transfer_without_payment', 'aBc', 'aBc brought 5 micro-USD, and no payment in the ledger matches it.'],
    ])
    expect(report).toMatchObject({ ok: false, payees: [{ credits: 1, matched: 0, transfers: 1 }] })
  })

  test('are one to one, also of two in a transaction of the same amount', async () => {
    await write('one', {})
    await write('two', {})
    expect((await audited([{ transaction: '0xaa' }, { transaction: '0xaa' }])).findings).toEqual([])
    const { findings } = await audited([{ transaction: '0xaa' }])
    expect(findings.map(([kind]) => kind)).toEqual(['credit_without_transfer'])
  })

  test('whose transaction the ledger does not know is a credit without a transfer', async () => {
    await write('one', {})
    opened.tamper('UPDATE payment SET transaction_id = NULL')
    expect((await audited()).findings).toEqual([
      ['credit_without_transfer', 'one', 'Payment one was credited for none, which moved no such amount to 0xpayee.'],
    ])
  })
})

describe('a payee', () => {
  const counts = { credits: 1, matched: 0, transfers: 0 }

  test('is asked for once, since its first payment, however its address is written', async () => {
    await write('later', { payload: { option: { ...option, payTo: '0xPAYEE' } } })
    await write('first', { atMs: nowMs - 9 })
    const { asked, networks, report } = await audited()
    const payee = { network: option.network, asset: option.asset, account: '0xpayee' }
    expect(report.payees).toEqual([{ ...payee, credits: 2, matched: 0, transfers: 0 }])
    expect(asked).toEqual([[expect.objectContaining(payee), nowMs - 9]])
    expect(networks).toEqual([option.network])
  })

  test.each([
    ['network', { option: { ...option, network: 'eip155:1' } }],
    ['token', { option: { ...option, asset: '0xother' } }],
    ['address', { option: { ...option, payTo: '0xother' } }],
    ['token account', { option, destination: 'other' }],
  ])('of another %s is another', async (_what, payload) => {
    await write('one', {})
    await write('other', { payload, atMs: nowMs + 1 })
    const { network, asset, payTo } = payload.option
    const account = 'destination' in payload ? payload.destination : payTo.toLowerCase()
    expect((await audited()).report.payees).toEqual([
      { network: option.network, asset: option.asset, account: '0xpayee', ...counts },
      { network, asset, account, ...counts },
    ])
  })

  const unsaid: [what: string, payload: object | null][] = [
    ['anything', null],
    ['an option', {}],
    ['a network', { option: { ...option, network: undefined } }],
    ['a token', { option: { ...option, asset: undefined } }],
    ['an address', { option: { ...option, payTo: undefined } }],
  ]
  test.each(unsaid)('that is not said, in a row without %s, is told of a credit alone', async (_what, payload) => {
    await write('one', { payload })
    await write('without a credit', { payload, credited: null, state: 'rejected' })
    const { report, findings } = await audited()
    const told = 'Payment one was credited, but its row does not name the payee.'
    expect([report.payees, findings]).toEqual([[], [['credit_without_transfer', 'one', told]]])
  })
})

describe('money that came without a credit', () => {
  const hourMs = 3_600_000
  const brought = '0xbb brought 5 micro-USD for payment one, which is'
  const late = 'unknown an hour after the service received it; start the service or see its log.'
  const cases: [rule: string, payment: Payment, finding: string | null, note: string | null][] = [
    [
      'for a payment that was refused is a finding',
      { state: 'rejected' },
      '0xbb brought 5 micro-USD for payment one, but was not credited; the payment is rejected.',
      null,
    ],
    ['for a payment that is settling is on its way', { state: 'settling' }, null, `${brought} still settling.`],
    ['an hour ago is on its way', { state: 'claimed', atMs: nowMs - hourMs }, null, `${brought} still claimed.`],
    ['longer ago is a finding', { state: 'unknown', atMs: nowMs - hourMs - 1 }, `${brought} still ${late}`, null],
  ]
  test.each(cases)('%s', async (_rule, payment, finding, note) => {
    await write('one', { ...payment, credited: null })
    const { findings, notes } = await audited([{ transaction: '0xBB', key: 'one' }])
    expect(findings).toEqual(finding ? [['transfer_not_credited', '0xbb', finding]] : [])
    expect(notes).toEqual(note ? [['transfer_not_credited', '0xbb', note]] : [])
  })
})
