import { chmodSync, cpSync, existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fileRecords } from '#wallet/records/file-records.ts'
import { moveJournal } from '#wallet/records/journal-of-key.ts'
import { openState } from '#wallet/records/state.ts'
import { stopOf } from '#wallet/rules/stop-switch.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { fakeService, order, sampleWallet, temporaryFolder } from './sample-wallet.ts'
import { fileStore, postgresStore } from './test-store.ts'

function newNotes(): string {
  const folder = temporaryFolder()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function walletOn(notesFolder: string, options: Parameters<typeof sampleWallet>[1] = {}, dryRun = false) {
  const sample = await sampleWallet({ dryRun }, { notesFolder, ...options })
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
  const notes = newNotes()
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
  const again = await walletOn(notes, { stateFolder: first.folder })
  expect(await again.pay()).toBe('paid before')
})

test('the note is there before the first signature leaves, for its owner alone', async () => {
  const notes = newNotes()
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
  const notes = newNotes()
  const wallets = await Promise.all(Array.from({ length: 6 }, () => walletOn(notes)))
  const ends = await Promise.all(wallets.map(each => each.pay()))
  expect(ends.toSorted()).toEqual([...Array(5).fill('other-journal'), 'paid'])
})

test('a folder that was moved takes its note along, and a copy of it does not', async () => {
  const notes = newNotes()
  const first = await walletOn(notes)
  await first.pay()
  await first.wallet.close()
  const moved = join(newNotes(), 'moved')
  renameSync(first.folder, moved)
  expect(await (await walletOn(notes, { stateFolder: moved })).pay()).toBe('paid before')
  const copy = join(newNotes(), 'copy')
  cpSync(moved, copy, { recursive: true })
  expect(await (await walletOn(notes, { stateFolder: copy })).pay()).toBe('other-journal')
})

test('where the folder was removed the next one counts', async () => {
  const notes = newNotes()
  const first = await walletOn(notes)
  await first.pay()
  first.dispose()
  expect(await (await walletOn(notes)).pay()).toBe('paid')
})

test('where only the journal was removed a new one in its folder counts', async () => {
  const notes = newNotes()
  const first = await walletOn(notes)
  await first.pay()
  await first.wallet.close()
  for (const name of readdirSync(first.folder)) if (name.startsWith('agent.db')) rmSync(join(first.folder, name))
  expect(await (await walletOn(notes, { stateFolder: first.folder })).pay()).toBe('paid')
})

test('a person may say which journal counts', async () => {
  const notes = newNotes()
  const first = await walletOn(notes)
  const second = await walletOn(notes)
  await first.pay()
  const state = openState(second.folder)
  await moveJournal(notes, second.wallet.address, fileRecords(state, second.clock))
  state.close()
  expect(await second.pay()).toBe('paid')
  const late = await walletOn(notes, { stateFolder: first.folder })
  expect(await late.pay()).toBe('other-journal')
})

test('a dry run may be tried beside a wallet that pays', async () => {
  const notes = newNotes()
  await (await walletOn(notes)).pay()
  expect(await (await walletOn(notes, {}, true)).pay()).toBe('dry-run')
})

test('a note that cannot be read or written stops every payment', async () => {
  const notes = newNotes()
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
    const notes = newNotes()
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
})
