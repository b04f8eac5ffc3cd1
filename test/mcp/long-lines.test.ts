/** A message that is too long is answered with an error, and the server continues. */
import { PassThrough } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { messageBytes } from '#mcp/bounds.ts'
import { LineBound, serveMcp } from '#mcp/stdio.ts'
import { catalogue } from './catalogue.ts'
import { fakeHost } from './fake-host.ts'

interface Answer {
  id?: number | string | null
  error?: { code: number; message: string }
  result?: object
}

let stop: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const each of stop) await each()
  stop = []
})

function served() {
  const [input, output] = [new PassThrough(), new PassThrough()]
  let written = ''
  output.on('data', (chunk: Buffer) => {
    written += chunk.toString()
  })
  const host = async () => fakeHost().host
  const session = serveMcp({ name: 'farebox', version: '0', catalogue, host, input, output, log: () => {} })
  stop.push(() => session.close())
  const answers = () =>
    written
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line) as Answer)
  const line = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
  const clientInfo = { name: 'test', version: '0' }
  input.write(
    line({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } }),
  )
  return {
    input,
    answers,
    line,
    answered: (id: number) =>
      expect.poll(() => answers().find(each => each.id === id), { timeout: 20_000 }).toBeDefined(),
  }
}

const long = 'x'.repeat(messageBytes)

test.each<[string, (text: string) => string, number | string | null]>([
  ['before its parameters', text => `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"${text}"}}`, 7],
  ['behind its method', text => `{"method":"tools/call","id":"a-1","params":{"a":"${text}"}}`, 'a-1'],
  ['at its end', text => `{"jsonrpc":"2.0","method":"tools/call","params":{"a":"${text}"},"id":7}`, 7],
  ['nowhere: it is not JSON', text => text, null],
  ['only inside', text => `{"jsonrpc":"2.0","method":"m","params":{"a":"${text}","id":7}}`, null],
])('a line of more than 10 MiB is answered by the id that stands %s', async (_where, lineOf, id) => {
  const { input, answers, line, answered } = served()
  await answered(1)
  const tooLong = `${lineOf(long)}\n`
  // In pieces, as pipes have them, with the next message in the last one.
  for (let at = 0; at < tooLong.length; at += 700_000) input.write(tooLong.slice(at, at + 700_000))
  input.write(line({ id: 2, method: 'ping' }))
  await answered(2)
  const error = answers().find(each => each.error)
  expect(error).toMatchObject({ id, error: { code: -32600, message: expect.stringContaining('10485760 bytes') } })
  expect(answers().filter(each => each.error)).toHaveLength(1)
})

test('a line of just so many bytes is read', async () => {
  const { input, answers, answered } = served()
  await answered(1)
  const message = (text: string) => `{"jsonrpc":"2.0","id":3,"method":"ping","params":{"_meta":{"a":"${text}"}}}`
  input.write(`${message('x'.repeat(messageBytes - message('').length - 1))}\n`)
  await answered(3)
  expect(answers().filter(each => each.error)).toEqual([])
})

test('of a line without end no more is held than the bound', async () => {
  const told: unknown[] = []
  const lines = new LineBound({ onTooLong: id => told.push(id), mostBytes: 1_000 })
  const passed: string[] = []
  lines.on('data', (chunk: Buffer) => passed.push(chunk.toString()))
  for (let piece = 0; piece < 100; piece++) lines.write('y'.repeat(10_000))
  lines.write('\nshort\n')
  lines.end('rest')
  await new Promise(resolve => lines.on('end', resolve))
  expect([told, passed]).toEqual([[null], ['short\n', 'rest']])
})
