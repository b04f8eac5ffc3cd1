import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { createKeyFile } from '#wallet/keys/key-file.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { fakeService, order, sampleWallet, secret } from '../wallet/sample-wallet.ts'
import { atTerminal as run } from './at-terminal.ts'

const passphrase = canaryPassphrase
const env = { FAREBOX_WALLET_KEY: secret }

async function walletWithKeyFile(notesFolder?: string) {
  const sample = await sampleWallet({}, { notesFolder })
  onTestFinished(sample.dispose)
  await createKeyFile(sample.folder, passphrase)
  const service = fakeService(sample.wallet.address, 'credit')
  const pay = () =>
    sample.wallet.pay(order(), service.send).then(
      () => 'paid',
      error => error.rule,
    )
  return { ...sample, pay }
}

test('stopping the wallet needs no passphrase, and starting it does', async () => {
  const { folder, pay } = await walletWithKeyFile()
  expect(await run(['stop', '--data', folder])).toMatchObject({ code: 0 })
  expect(await pay()).toBe('stopped')
  expect((await run(['status', '--data', folder], null, env)).stdout).toMatch(
    /stopped for all processes .* by terminal, /,
  )
  expect(await run(['start', '--data', folder])).toMatchObject({ code: 1, stderr: expect.stringContaining('terminal') })
  expect(await run(['start', '--data', folder], ['not the passphrase'])).toMatchObject({ code: 1 })
  expect(await pay()).toBe('stopped')
  expect(await run(['start', '--data', folder], [passphrase])).toMatchObject({ code: 0 })
  expect((await run(['status', '--data', folder], null, env)).stdout).not.toContain('switched off')
  expect(await pay()).toBe('paid')
})

test('the owner says which journal counts, at a terminal', async () => {
  rmSync(`${process.env.XDG_STATE_HOME}/farebox`, { recursive: true, force: true })
  const notes = `${process.env.XDG_STATE_HOME}/farebox/journals`
  const first = await walletWithKeyFile(notes)
  const second = await walletWithKeyFile(notes)
  expect([await first.pay(), await second.pay()]).toEqual(['paid', 'other-journal'])
  const args = ['move', '--data', second.folder]
  expect(await run(args, null, env)).toMatchObject({ code: 1, stderr: expect.stringContaining('terminal') })
  const asked = await run(args, ['no'], env)
  expect(asked).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('1 signed payment (5.00 USD counted against the caps)'),
  })
  expect(asked.stderr).toContain(`the folder ${second.folder}: 0 signed payments`)
  expect(await second.pay()).toBe('other-journal')
  expect(await run(args, ['yes', passphrase], env)).toMatchObject({ code: 0 })
  expect(await second.pay()).toBe('paid')
  // It is the one that counts already.
  expect(await run(args, [], env)).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing was changed') })
})

test('a journal in a database is named by the environment alone, and its address is never said', async () => {
  const said = await run(['stop'], null, { FAREBOX_JOURNAL_URL: 'mysql://ada:swordfish@host/books' })
  expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('FAREBOX_JOURNAL_URL') })
  expect(said.stderr).not.toContain('swordfish')
})
