/** An operator's usual tasks, by commands alone. The browser test does the same by clicks. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { displayUsd } from '#contract/money.ts'
import { type OperatedService, openOperatedService } from './operated-service.ts'

let service: OperatedService
beforeAll(async () => {
  service = await openOperatedService()
}, 60_000)
afterAll(() => service?.close())

test('an operator’s hour by commands', { tags: ['posix'], timeout: 400_000 }, async () => {
  const { farebox, run, chat, endless, serve } = service
  const { key, account } = JSON.parse(await farebox('keys', 'create', '--usd', '1', '--json'))
  const charged = async (request: string) =>
    new RegExp(`request: ${request} .* (\\d+\\.\\d+ USD)`).exec(await farebox('customers', 'show', account))?.[1]
  const usdOf = (tokens: number, usdPerThousand: number) => displayUsd(BigInt(tokens * usdPerThousand * 1_000))

  await farebox('customers', 'rename', account, 'Fennel Press')
  expect(await farebox('customers', 'credit', 'Fennel Press', '--usd', '5', '--reason', 'invoice 17')).toContain(
    'the balance is 6.00 USD',
  )

  const former = await chat(key)
  expect(await charged(former.request)).toBe(usdOf(former.tokens, 1))
  const file = await readFile(join(serve.folder, 'farebox.yaml'), 'utf8')
  await serve.write(file.replace('outputPerMillionUsd: 1000 ', 'outputPerMillionUsd: cheap '))
  expect(await run('serve', '--reload')).toMatchObject({ code: 1, stderr: expect.stringContaining('farebox.yaml:13') })
  await serve.write(file.replace('outputPerMillionUsd: 1000 ', 'outputPerMillionUsd: 2000 '))
  await farebox('serve', '--reload')
  await serve.logged('The configuration was reloaded.')
  const next = await chat(key)
  expect(await charged(next.request)).toBe(usdOf(next.tokens, 2))

  const today = new Date().toISOString().slice(0, 10)
  const usage = await farebox('usage', '--by', 'day,model', '--json')
  const rows = usage
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(rows).toContainEqual(expect.objectContaining({ day: today, model: 'demo-chat' }))
  // Credit has no model.
  expect(new Set(rows.map(({ model }) => model))).toEqual(new Set(['', 'demo-chat', 'demo-image', 'demo-video']))

  const stuck = await run('payments', 'list', '--stage', 'stuck')
  expect(stuck.stdout.trim().split('\n')).toHaveLength(1)
  expect(stuck.stderr).toContain('Don’t credit the customer by hand')
  const [, payment = ''] = /`farebox payments check '([^']+)'`/.exec(stuck.stderr) ?? []
  const check = () => farebox('payments', 'check', payment, '--reason', 'the customer asked')
  await expect.poll(check, { timeout: 60_000, interval: 2_000 }).toMatch(/unknown\. The chain does not answer/)

  const running = await endless(key)
  await farebox('customers', 'suspend', 'Fennel Press', '--reason', 'a stolen card')
  expect(await chat(key)).toMatchObject({ status: 403, code: 'API_ACCESS_DISABLED' })
  expect(await running.ended).toMatchObject({ code: 'API_ACCESS_DISABLED' })
  await farebox('customers', 'resume', 'Fennel Press')
  expect((await chat(key)).status).toBe(200)

  expect(await farebox('customers', 'refund', next.request, '--reason', 'it was wrong')).toContain(
    `Refunded ${usdOf(next.tokens, 2)} to`,
  )
  await expect
    .poll(() => farebox('customers', 'show', account), { timeout: 120_000, interval: 1_000 })
    .toContain('of which 0.00 USD is')
  const log = JSON.parse(await farebox('customers', 'log', '--json')) as { rows: { act: string }[] }
  expect(log.rows.map(({ act }) => act).reverse()).toEqual(
    expect.arrayContaining([
      ...['key.create', 'customer.change', 'customer.credit', 'payment.check'],
      ...['customer.suspend', 'customer.resume', 'customer.refund'],
    ]),
  )

  const ledger = await farebox('ledger', 'export')
  expect(ledger).toContain(next.request)
  await farebox('ledger', 'audit')
  const [backup, restored] = [join(serve.folder, 'ledger.db'), join(serve.folder, 'restored')]
  await farebox('backup', backup, '--with-secret')
  await farebox('restore', backup, '--data', restored)
  expect(await farebox('ledger', 'export', '--data', restored)).toBe(ledger)
  expect(await farebox('ledger', 'balance', '--json', '--data', restored)).toBe(
    await farebox('ledger', 'balance', '--json'),
  )
})
