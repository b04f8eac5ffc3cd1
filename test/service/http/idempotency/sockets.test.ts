import { request as sendRequest } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StoreError } from '#ledger/store/store.ts'
import { Listener } from '#service/http/listener.ts'
import { mustCommit } from '../../../ledger/store/sample-ops.ts'
import { used, words } from '../../chat-script.ts'
import {
  answerMicroUsd,
  charges,
  claims,
  closeAll,
  gate,
  hello,
  holds,
  type KeyFixture,
  openKeyFixture,
} from './key-fixture.ts'

let fixture: KeyFixture
let bearer: string
let listener: Listener
beforeEach(async () => {
  fixture = await openKeyFixture()
  bearer = await fixture.opened.key(1)
  listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  listener.serve((request, bindings) => fixture.opened.service.app.fetch(request, bindings))
})
afterEach(async () => {
  await listener.close(0)
  await closeAll([fixture])
})

/** A request as bytes, so that a header may come twice. */
async function raw(keys: readonly string[]): Promise<string> {
  const body = JSON.stringify(hello)
  const socket = connect(listener.port, '127.0.0.1')
  socket.write(
    [
      'POST /api/v1/chat/completions HTTP/1.1',
      'host: 127.0.0.1',
      'connection: close',
      'content-type: application/json',
      `content-length: ${body.length}`,
      `authorization: Bearer ${bearer}`,
      ...keys.map(key => `Idempotency-Key: ${key}`),
      '',
      body,
    ].join('\r\n'),
  )
  return text(socket)
}

test('the same key twice is one key, two keys are a mistake', async () => {
  expect(await raw(['one', 'one'])).toMatch(/^HTTP\/1\.1 200 /)
  expect(await raw(['one'])).toMatch(/idempotent-replayed: true/i)
  expect(await raw(['one', 'two'])).toMatch(/^HTTP\/1\.1 400 .*Idempotency-Key/s)
  expect(await charges(fixture)).toEqual([answerMicroUsd])
})

test.each([0, 1, 2])('a socket that breaks after %i events leaves the stream whole', async events => {
  const { until, open } = gate()
  fixture.chat.play([...words('one ', 'two '), { until }, { text: 'three' }, { usage: used(5, 3) }])
  const sent = sendRequest({
    port: listener.port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/api/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}`, 'idempotency-key': 'one' },
  })
  sent.on('error', () => undefined)
  sent.end(JSON.stringify({ ...hello, stream: true }))
  if (events === 0) await expect.poll(() => fixture.chat.calls.length).toBe(1)
  else {
    await new Promise<void>(resolve =>
      sent.on('response', response => {
        let seen = ''
        response.on('error', () => undefined)
        response.on('data', piece => {
          seen += piece
          if (seen.split('\n\n').length > events) resolve()
        })
      }),
    )
  }
  sent.destroy()
  open()
  await expect.poll(async () => (await claims(fixture)).map(claim => claim.state)).toEqual(['done'])
  const again = await fixture.ask(bearer, { key: 'one', body: { stream: true } })
  expect(await again.text()).toMatch(/one.*two.*three.*\[DONE\]/s)
  expect(await charges(fixture)).toEqual([answerMicroUsd])
  expect(await holds(fixture)).toEqual([])
})

test('a stream whose key is another’s by now is broken off, and nothing is printed past the log', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const { until, open } = gate()
  fixture.chat.play([...words('one '), { until }, { text: 'two' }, { usage: used(5, 2) }])
  const answer = await fetch(`http://127.0.0.1:${listener.port}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}`, 'idempotency-key': 'one' },
    body: JSON.stringify({ ...hello, stream: true }),
  })
  const [claim] = await fixture.opened.store.read.selectFrom('claim').select(['id', 'fence']).execute()
  const set = { lease: { owner: 'another process', untilMs: fixture.opened.clock.now() + 60_000 } }
  const from = { op: 'claim', claim: claim?.id ?? '', from: 'running', fence: claim?.fence ?? 0 } as const
  await mustCommit(fixture.opened.store, { ...from, to: 'running', set, atMs: fixture.opened.clock.now() })
  open()
  await expect(answer.text()).rejects.toThrow()
  expect(printed).not.toHaveBeenCalled()
  printed.mockRestore()
})

test('a stream that cannot be ended, because the disk is full, is an answer that says so', async () => {
  const { until, open } = gate()
  fixture.chat.play([{ role: true }, { until }])
  const real = fixture.store.commit.bind(fixture.store)
  const answer = fetch(`http://127.0.0.1:${listener.port}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}`, 'idempotency-key': 'one' },
    body: JSON.stringify({ ...hello, stream: true }),
  })
  await expect.poll(() => fixture.chat.calls.length).toBe(1)
  fixture.store.commit = () => Promise.reject(new StoreError('unreachable', 'The disk is full.'))
  open()
  const text = await (await answer).text()
  expect(text).toMatch(/"finish_reason":"error".*"error":\{/s)
  expect(text).not.toContain('[DONE]')
  fixture.store.commit = real
})
