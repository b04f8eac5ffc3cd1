import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { lineLog, writtenPerTurn } from '#host/log.ts'

function logged(options: Parameters<typeof lineLog>[1], facts: object): Record<string, unknown>[] {
  const lines: string[] = []
  lineLog(line => lines.push(line), options).info(facts, 'It happened.')
  return lines.map(line => JSON.parse(line))
}

test('an entry has a time, a level and a message, then its facts', () => {
  const [entry] = logged({ level: 'info' }, { status: 200, account: null })
  expect(Object.keys(entry ?? {})).toEqual(['time', 'level', 'message', 'status', 'account'])
  expect(entry).toMatchObject({ level: 'info', message: 'It happened.', status: 200, account: null })
  expect(new Date(String(entry?.time)).toISOString()).toBe(entry?.time)
})

test('less severe entries are left out', () => {
  expect(logged({ level: 'warn' }, {})).toEqual([])
  expect(logged({}, {})).toEqual([])
})

test.each([
  ['an amount', { amount: 12n }, { amount: '12' }],
  ['an amount in a list', { amounts: [{ usd: 5n }] }, { amounts: [{ usd: '5' }] }],
  ['an error', { error: new TypeError('no') }, { error: { name: 'TypeError', message: 'no' } }],
])('%s is printed readably', (_, facts, shown) => {
  expect(logged({ level: 'info' }, facts)).toMatchObject([shown])
})

test.each([
  ['beside other text', { said: 'the key is s3cret' }, { said: 'the key is [hidden]' }],
  ['with a character that JSON escapes', { said: 'a "b' }, { said: '[hidden]' }],
  ['within an error', { error: new Error('s3cret') }, { error: { message: '[hidden]' } }],
])('a hidden text is removed %s', (_, facts, shown) => {
  expect(logged({ level: 'info', hidden: () => ['s3cret', 'a "b'] }, facts)).toMatchObject([shown])
})

test('the lines of a turn are written together, in order, and `flush` writes what waits', async () => {
  const written: string[] = []
  const lines = writtenPerTurn(text => written.push(text))
  lines.line('one')
  lines.line('two')
  expect(written).toEqual([])
  await nextTurn()
  expect(written).toEqual(['one\ntwo'])
  lines.line('three')
  lines.flush()
  await nextTurn()
  expect(written).toEqual(['one\ntwo', 'three'])
})
