/** The program of docs/account.md checks receipts of a service on this machine. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#contract/time.ts'
import { Listener } from '#service/http/listener.ts'
import { type OpenedService, openService, type TestClock } from '../service/open-service.ts'
import { blocksOf } from './pages.ts'
import { runProgram } from './run-program.ts'

let folder: string
let origin: string
let service: OpenedService
let listener: Listener
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-receipt-'))
  listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  origin = `http://127.0.0.1:${listener.port}`
  service = await openService({ clock: systemClock as TestClock, settings: { publicUrl: origin } })
  listener.serve(service.service.app.fetch)
}, 60_000)
afterAll(async () => {
  await listener?.close(0)
  await service?.close()
  await rm(folder, { recursive: true, force: true })
})

test('it prints the claims of a receipt, and fails for one that was changed', async () => {
  const [program] = blocksOf('docs/account.md').filter(({ language }) => language === 'js')
  const authorization = `Bearer ${await service.key(1)}`
  const answer = await fetch(`${origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await answer.text()
  const request = answer.headers.get('cf-ray') ?? ''
  const { charge } = (await (
    await fetch(`${origin}/api/v1/farebox/receipts/${request}`, { headers: { authorization } })
  ).json()) as { charge: string }
  const file = join(folder, 'receipt.jws')
  await writeFile(file, charge)
  expect(await runProgram(program?.text ?? '', origin, file)).toContain(`request: '${request}'`)
  const [head, claims = '', signature] = charge.split('.')
  const changed = Buffer.from(claims, 'base64url').toString().replace('demo-chat', 'demo-chit')
  await writeFile(file, [head, Buffer.from(changed).toString('base64url'), signature].join('.'))
  await expect(runProgram(program?.text ?? '', origin, file)).rejects.toThrow(/signature verification failed/)
}, 60_000)
