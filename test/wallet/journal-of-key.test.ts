import { chmodSync, cpSync, existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Clock } from '#contract/time.ts'
import { leaseMs } from '#wallet/limits.ts'
import { moveJournal } from '#wallet/records/journal-of-key.ts'
import { fileRecords } from '#wallet/records/open-records.ts'
import type { Records } from '#wallet/records/records.ts'
import { openState } from '#wallet/records/state.ts'
import { stopOf } from '#wallet/rules/stop-switch.ts'
import type { Wallet } from '#wallet/wallet.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { fakeClock, fakeService, order, sampleWallet, temporaryFolder } from './sample-wallet.ts'
import { fileStore, postgresStore } from './test-store.ts'

async function walletOn(
  notesFolder: string,
  options: Parameters<typeof sampleWallet>[1] = {},
  settings: Parameters<typeof sampleWallet>[0] = {},
) {
  const sample = await sampleWallet(settings, { notesFolder, ...options })
  onTestFinished(sample.dispose)
  const service = fakeService(sample.wallet.address, 'credit')
  const pay = () =>
    sample.wallet.pay(order(), service.send).then(
      ({ isEarlier }) => (isEarlier ? 'paid before' : 'paid'),
      error => error.rule,
    )
  return { ...sample, service, pay }
}

test('a second data folder for the same key is refused before anything is signed, and after a restart too', async () => {
  const notes = temporaryFolder()
  const first = await walletOn(notes)
  expect(await first.pay()).toBe('paid')
  const second = await walletOn(notes)
  expect(await second.pay()).toBe('other-journal')
  const refusal = await second.wallet.recover(second.service.send).catch(error => error)
  expect(refusal.sentence).toContain(first.folder)
  expect(refusal.sentence).toContain(second.folder)
  expect(refusal.nextStep).toContain('farebox wallet move')
  expect(second.service.received).toEqual([])
  expect(await second.wallet.receipts(9)).toEqual([])
  const again = await walletOn(notes, { dataFolder: first.folder })
  expect(await again.pay()).toBe('paid before')
})

test('the note is there before the first signature leaves, for its owner alone', async () => {
  const notes = temporaryFolder()
  const { wallet } = await walletOn(notes)
  await wallet
    .pay(order(), async () => {
      expect(readdirSync(notes)).toEqual([`${wallet.address.toLowerCase()}.json`])
      return { kind: 'unknown', reason: 'a test' }
    })
    .catch(() => undefined)
  expect(statSync(join(notes, `${wallet.address.toLowerCase()}.json`)).mode & 0o777).toBe(0o600)
})

test('two folders that begin at once are one journal', async () => {
  const notes = temporaryFolder()
  const wallets = await Promise.all(Array.from({ length: 6 }, () => walletOn(notes)))
  const ends = await Promise.all(wallets.map(each => each.pay()))
  expect(ends.toSorted()).toEqual([...Array(5).fill('other-journal'), 'paid'])
})

test('a folder that was moved takes its note along, and a copy of it does not', async () => {
  const notes = temporaryFolder()
  const first = await walletOn(notes)
  await first.pay()
  await first.wallet.close()
  const moved = join(temporaryFolder(), 'moved')
  renameSync(first.folder, moved)
  expect(await (await walletOn(notes, { dataFolder: moved })).pay()).toBe('paid before')
  const copy = join(temporaryFolder(), 'copy')
  cpSync(moved, copy, { recursive: true })
  expect(await (await walletOn(notes, { dataFolder: copy })).pay()).toBe('other-journal')
})

/** What is done to the journal of a wallet that has paid once; its folder is given. */
const forgotten: [how: string, lose: (folder: string) => void, where: 'here' | 'elsewhere'][] = [
  ['its folder was removed', folder => rmSync(folder, { recursive: true }), 'elsewhere'],
  ['its folder was removed and made anew', folder => rmSync(folder, { recursive: true }), 'here'],
  ['the journal was removed in its folder', removeJournal, 'here'],
]

test.each(forgotten)(
  'a journal that forgets payments signs nothing until its owner says so: %s',
  async (_, lose, where) => {
    const notes = temporaryFolder()
    const first = await walletOn(notes)
    await first.pay()
    await first.wallet.close()
    lose(first.folder)
    const next = await walletOn(notes, where === 'here' ? { dataFolder: first.folder } : {})
    expect(await next.pay()).toBe('journal-behind')
    expect(next.service.received).toEqual([])
    await moveHere(notes, next)
    expect(await next.pay()).toBe('paid')
  },
)

test('a journal that has signed nothing may be removed', async () => {
  const notes = temporaryFolder()
  const first = await walletOn(notes)
  expect(await first.wallet.recover(first.service.send)).toEqual([])
  await first.wallet.close()
  removeJournal(first.folder)
  expect(await (await walletOn(notes, { dataFolder: first.folder })).pay()).toBe('paid')
})

function removeJournal(folder: string): void {
  for (const name of readdirSync(folder)) if (name.startsWith('agent.db')) rmSync(join(folder, name))
}

async function moveHere(notes: string, { folder, wallet, clock }: { folder: string; wallet: Wallet; clock: Clock }) {
  const state = openState(folder)
  await moveJournal(notes, wallet.address, fileRecords(state, clock))
  state.close()
}

/** The whole folder as it was, in its place; a copy under another name is another folder. */
function restore(copy: string, folder: string): void {
  rmSync(folder, { recursive: true })
  cpSync(copy, folder, { recursive: true })
}

test('an old copy of the folder resets no cap: restored again and again, it signs nothing more', async () => {
  const notes = temporaryFolder()
  const first = await walletOn(notes, {}, { maxTotalUsd: '5', cooldownMs: 0 })
  const copy = join(temporaryFolder(), 'copy')
  await first.wallet.status()
  cpSync(first.folder, copy, { recursive: true })
  expect(await first.pay()).toBe('paid')
  await first.wallet.close()
  for (let time = 0; time < 3; time++) {
    restore(copy, first.folder)
    const restored = await walletOn(notes, { dataFolder: first.folder }, { maxTotalUsd: '5', cooldownMs: 0 })
    const refusal = await restored.wallet.pay(order(), restored.service.send).catch(error => error)
    expect(refusal).toMatchObject({ rule: 'journal-behind', nextStep: expect.stringContaining('farebox wallet move') })
    expect(refusal.sentence).toContain('1 signed payment (5.00 USD counted against the caps)')
    expect(await restored.wallet.receipts(9)).toEqual([])
    expect(restored.service.received).toEqual([])
    await restored.wallet.close()
  }
})

test('a copy of any moment of a payment, restored after it, signs no second one', async () => {
  const notes = temporaryFolder()
  const copies: string[] = []
  const records = (folder: string, clock: Clock): Records => {
    const kept = fileRecords(openState(folder), clock)
    return {
      ...kept,
      async decide(work) {
        const result = await kept.decide(work)
        const copy = join(temporaryFolder(), 'copy')
        cpSync(folder, copy, { recursive: true })
        copies.push(copy)
        return result
      },
    }
  }
  const folder = temporaryFolder()
  const settings = { cooldownMs: 0, maxTotalUsd: '5' }
  const paid = await walletOn(notes, { dataFolder: folder, records: records(folder, fakeClock()) }, settings)
  expect(await paid.pay()).toBe('paid')
  await paid.wallet.close()
  const nonces = new Set(paid.service.settled.keys())
  const ends: unknown[] = []
  // Once the turn that the copy holds is over.
  const clock = fakeClock(paid.clock.now() + leaseMs)
  for (const copy of copies) {
    restore(copy, folder)
    const restored = await walletOn(notes, { dataFolder: folder, clock }, settings)
    ends.push(await restored.pay())
    for (const nonce of restored.service.settled.keys()) nonces.add(nonce)
    await restored.wallet.close()
  }
  expect(nonces.size).toBe(1)
  expect(ends).toEqual([
    // From the turn, from before the plan and after it.
    ...Array(3).fill('journal-behind'),
    // They hold the signed payment, so the same bytes go again.
    ...Array(2).fill('paid before'),
    ...Array(2).fill('max-total'),
  ])
})

test('the user may choose which journal counts', async () => {
  const notes = temporaryFolder()
  const first = await walletOn(notes)
  const second = await walletOn(notes)
  await first.pay()
  await moveHere(notes, second)
  expect(await second.pay()).toBe('paid')
  const late = await walletOn(notes, { dataFolder: first.folder })
  expect(await late.pay()).toBe('other-journal')
})

test('a dry run may be tried beside a wallet that pays', async () => {
  const notes = temporaryFolder()
  await (await walletOn(notes)).pay()
  expect(await (await walletOn(notes, {}, { dryRun: true })).pay()).toBe('dry-run')
})

test('a note that cannot be read or written stops every payment', async () => {
  const notes = temporaryFolder()
  const wallet = await walletOn(notes)
  const path = join(notes, `${wallet.wallet.address.toLowerCase()}.json`)
  writeFileSync(path, '{}')
  expect(await wallet.pay()).toBe('other-journal')
  rmSync(path)
  const blocked = join(notes, 'a-file')
  writeFileSync(blocked, '')
  chmodSync(blocked, 0o600)
  expect(await (await walletOn(join(blocked, 'below'))).pay()).toBe('other-journal')
  expect(wallet.service.received).toEqual([])
  expect(existsSync(path)).toBe(false)
})

test('records of a folder have a name of their own', async () => {
  const stores = [await fileStore(), await fileStore()]
  const ids = await Promise.all(stores.map(store => store.tamper('SELECT 1').then(() => store.open().read(stopOf))))
  expect(ids).toEqual([null, null])
  const names = await Promise.all(stores.map(store => store.tamper('SELECT id FROM journal')))
  expect(new Set(names.map(rows => JSON.stringify(rows))).size).toBe(2)
  for (const store of stores) await store.dispose()
})

withPostgres('a journal in PostgreSQL', cluster => {
  test('is one budget for folders that share it, and another for those that do not', async () => {
    const notes = temporaryFolder()
    const store = await postgresStore(cluster)()
    const other = await postgresStore(cluster)()
    onTestFinished(async () => {
      await store.dispose()
      await other.dispose()
    })
    expect(await (await walletOn(notes, { records: store.open() })).pay()).toBe('paid')
    expect(await (await walletOn(notes, { records: store.open() })).pay()).toBe('paid before')
    expect(await (await walletOn(notes, { records: other.open() })).pay()).toBe('other-journal')
    expect(await (await walletOn(notes)).pay()).toBe('other-journal')
  })

  test('that was restored from before a payment signs nothing until its owner says so', async () => {
    const notes = temporaryFolder()
    const store = await postgresStore(cluster)()
    onTestFinished(store.dispose)
    expect(await (await walletOn(notes, { records: store.open() })).pay()).toBe('paid')
    await store.tamper('DELETE FROM payment_steps; DELETE FROM payments')
    const restored = await walletOn(notes, { records: store.open() })
    expect(await restored.pay()).toBe('journal-behind')
    expect(restored.service.received).toEqual([])
    await moveJournal(notes, restored.wallet.address, store.open())
    expect(await restored.pay()).toBe('paid')
  })
})
