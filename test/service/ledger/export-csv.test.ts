import fc from 'fast-check'
import { expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { type AuditReader, sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import { csvText, type ExportFilter, exportCsv } from '#ledger/audit/csv.ts'
import type { Op } from '#ledger/store/units.ts'
import { mustCommit } from '../../ledger/store/sample-ops.ts'
import { openTemporaryStore } from '../../ledger/store/sqlite-folder.ts'

const row = {
  ...{ seq: 7n, id: 'unit.0', kind: 'CHARGE', account: 'ada', debit: 'ada', credit: 'system:revenue' },
  ...{ amount: 1_234_567n, posted_after: 9_000_000_000_000_000n, ref: 'charge:r', line: 1n, request: 'r' },
  ...{ model: 'demo-chat', sku: 'output', units: 77n, price: 600_007n, api_key: 'k', reason: null },
  ...{ budget_period: 'month', budget_start_ms: 1_798_761_600_000n, staking_day_ms: null },
  created_at_ms: 1_800_000_000_000n,
}

/** Ledger with these rows, whatever is asked. */
const ledgerOf = (...rows: object[]): AuditReader => ({ rows: () => rows as never, close: () => undefined })

async function linesOf(...changes: object[]): Promise<string[][]> {
  let csv = ''
  for await (const chunk of exportCsv(ledgerOf(...changes.map(change => ({ ...row, ...change }))))) csv += chunk
  return parseCsv(csv)
}

/** RFC 4180, read strictly and by itself: what is written must mean the same to any reader. */
function parseCsv(csv: string): string[][] {
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy
  const lines: string[][] = [[]]
  while (field.lastIndex < csv.length) {
    const at = field.lastIndex
    const match = field.exec(csv)
    if (!match) throw new Error(`No CSV at ${at}: ${csv.slice(at, at + 40)}`)
    lines.at(-1)?.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    if (match[3] === '\r\n') lines.push([])
  }
  return lines.slice(0, -1)
}

test('every amount is exact, and a charge is below zero', async () => {
  expect(await linesOf({})).toEqual([
    'number time account kind amount_usd balance_after_usd debit credit ref line request model sku units unit_price_usd api_key reason id budget_period budget_start staking_day'.split(
      ' ',
    ),
    [
      ...['7', '2027-01-15T08:00:00.000Z', 'ada', 'CHARGE', '-1.234567', '9000000000.000000', 'ada', 'system:revenue'],
      ...['charge:r', '1', 'r', 'demo-chat', 'output', '77', '0.000000600007', 'k', '', 'unit.0'],
      ...['month', '2027-01-01T00:00:00.000Z', ''],
    ],
  ])
})

test('a credit is above zero, and what a row does not have is empty', async () => {
  const grant = {
    kind: 'GRANT',
    debit: 'system:grant',
    credit: 'ada',
    request: null,
    units: null,
    price: null,
    sku: null,
  }
  const [, line] = await linesOf(grant)
  expect(line?.slice(3, 5)).toEqual(['GRANT', '1.234567'])
  expect(line?.slice(10, 15)).toEqual(['', 'demo-chat', '', '', ''])
})

test('a missing text is written as an empty one', () => {
  expect([csvText(null), csvText(''), csvText('a')]).toEqual(['', '', 'a'])
})

test.each([
  ...['=1+1', '+1', '-1', '@SUM(A1)', '＝1', '＋1', '－1', '＠1'].map(text => [text, `'${text}`]),
  ['\t=1', "'\t'=1"],
  ['\r=1', "'\r'=1"],
  ['\n=1', "'\n'=1"],
  // Where the separator is a semicolon, as in much of Europe, these begin a cell.
  ['Ada;=1+1', "Ada;'=1+1"],
  ['Ada;"=1+1"', `Ada;"'=1+1"`],
  ['Ada\t@SUM(A1);-1', "Ada\t'@SUM(A1);'-1"],
  ['Ada\n=1+1;', "Ada\n'=1+1;"],
  ['Ada; x = 1; y', 'Ada; x = 1; y'],
])('a text that a spreadsheet would calculate does nothing: %j', async (text, harmless) => {
  const [, line] = await linesOf({ reason: text, model: text })
  expect([line?.[16], line?.[11]]).toEqual([harmless, harmless])
  // Pages of a browser write files with their own function. Its types need a browser, so they are not imported.
  const ofPages: string = '#pages/kit/format.ts'
  const { csvText: pageText } = (await import(ofPages)) as { csvText(head: string[], rows: string[][]): string }
  expect(parseCsv(pageText(['a', 'b'], [[text, 'x']]))).toEqual([
    ['a', 'b'],
    [harmless, 'x'],
  ])
})

test('any text comes back as it was, in a field of its own', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', ',', '"', '\r\n', '""', 'a,b"c'),
      async (one, other) => {
        const reason = one + other
        const lines = await linesOf({ reason }, {})
        expect(lines.map(line => line.length)).toEqual([21, 21, 21])
        expect(lines[1]?.[16]?.replaceAll("'", '')).toBe(reason.replaceAll("'", ''))
        expect(/^[=+\-@\t\r\n]/.test(lines[1]?.[16] ?? '')).toBe(false)
      },
    ),
  )
})

test('a million rows are written piece by piece, while they are read', async () => {
  let read = 0
  function* rows() {
    for (; read < 1_000_000; read++) yield row
  }
  const pieces = exportCsv({ rows: () => rows() as never, close: () => undefined })
  const first = await pieces.next()
  expect(first.value?.length).toBeLessThan(70_000)
  expect(read).toBeLessThan(1_000)
  await pieces.return(undefined)
})

test('few rows come in one piece, and no piece is empty', async () => {
  const piecesOf = async (...rows: object[]) => {
    const pieces: string[] = []
    for await (const piece of exportCsv(ledgerOf(...rows))) pieces.push(piece)
    return pieces.map(piece => piece.split('\r\n').length - 1)
  }
  const large = { ...row, reason: 'x'.repeat(64 * 1024) }
  expect(await piecesOf(row, row)).toEqual([3])
  expect(await piecesOf(large, row)).toEqual([2, 1])
  expect(await piecesOf(row, large)).toEqual([3])
})

test('what is asked for is all that is written: an account, a time, both, or everything', async () => {
  const { store, path, dispose } = await openTemporaryStore()
  const granted = (account: string, atMs: number): Op => {
    const ref = `grant:${account}:${atMs}`
    return { op: 'credit', account, amount: microUsd(1_000_000), source: 'system:grant', ref, atMs }
  }
  for (const account of ['ada', 'bob']) {
    await mustCommit(store, { op: 'account', account, kind: 'customer', atMs: 1 })
    for (const atMs of [1_000, 2_000, 3_000]) await mustCommit(store, granted(account, atMs))
  }
  const reader = sqliteAuditReader(path)
  const refs = async (filter?: ExportFilter) => {
    let csv = ''
    for await (const piece of exportCsv(reader, filter)) csv += piece
    return parseCsv(csv)
      .slice(1)
      .map(line => line[8]?.slice('grant:'.length))
  }
  const all = ['ada:1000', 'ada:2000', 'ada:3000', 'bob:1000', 'bob:2000', 'bob:3000']
  expect(await refs()).toEqual(all)
  expect(await refs({ account: 'bob' })).toEqual(all.slice(3))
  expect(await refs({ fromMs: 2_000 })).toEqual(['ada:2000', 'ada:3000', 'bob:2000', 'bob:3000'])
  expect(await refs({ toMs: 2_000 })).toEqual(['ada:1000', 'bob:1000'])
  expect(await refs({ account: 'ada', fromMs: 2_000, toMs: 3_000 })).toEqual(['ada:2000'])
  await reader.close()
  await dispose()
})
