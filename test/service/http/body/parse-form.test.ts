import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ServiceError } from '#contract/errors/service-error.ts'
import { bodyBytes, formLimits } from '#contract/limits.ts'
import { describeOperation, SchemaPrinter } from '#contract/openapi/openapi-operation.ts'
import { defineOperation, type Operation } from '#contract/operations/operation.ts'
import { FormBoolean, formBoundary, formNumber, parseForm, UploadedFile } from '#contract/wire/form.ts'
import { type BodySource, parseRequest, readBody as readArriving } from '#service/http/body/read-body.ts'
import { fingerprintOf } from '#service/http/idempotency/replayed-answer.ts'

const operation = (bodyTypes: readonly ('json' | 'multipart')[]) =>
  defineOperation({
    ...{ id: 'upload', method: 'POST', path: '/upload', tag: 'Test', summary: 'Upload', auth: ['apiKey'] },
    ...{ charge: 'free', limit: 'read', answer: {}, failures: {} },
    request: {
      bodyTypes,
      body: z.looseObject({
        file: z.union([UploadedFile, z.string()]),
        safe: FormBoolean.default(true),
        scale: formNumber(z.number().min(1).max(4)).optional(),
      }),
    },
  })

const readBody = (of: Operation, from: BodySource) => readArriving(of, from, () => undefined)

const source = (type: string, body: Uint8Array, announced = body.byteLength) => ({
  header: (name: string) => ({ 'content-type': [type], 'content-length': [String(announced)] })[name] ?? [],
  read: async (limit: number) => (body.byteLength > limit ? null : body),
})

/** A form as the runtime writes it. */
async function written(fill: (form: FormData) => void) {
  const form = new FormData()
  fill(form)
  const request = new Response(form)
  return { type: request.headers.get('content-type') ?? '', body: new Uint8Array(await request.arrayBuffer()) }
}

const both = operation(['json', 'multipart'])

async function read(fill: (form: FormData) => void, of = both) {
  const { type, body } = await written(fill)
  return parseRequest(of, { params: {}, query: {}, body: await readBody(of, source(type, body)) }).body
}

const refusal = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => null,
    thrown => thrown,
  )
  if (!(error instanceof ServiceError)) throw error ?? new Error('It was taken.')
  return [error.status, JSON.stringify(error.body)] as const
}

const bytes = new Uint8Array([0, 13, 10, 45, 45, 255, 13, 10])

test('a file keeps its bytes, its name and its type; texts become what the schema says', async () => {
  const body = await read(form => {
    form.set('file', new File([bytes], 'a "quoted"\nname ü.wav', { type: 'audio/wav' }))
    form.set('safe', 'false')
    form.set('scale', '2.5')
    form.append('tags[]', 'one')
    form.append('images', 'a')
    form.append('images', 'b')
    form.set('__proto__', 'x')
  })
  const { file, ...others } = body as { file: File }
  expect([file.name, file.type, new Uint8Array(await file.arrayBuffer())]).toEqual([
    'a "quoted"\nname ü.wav',
    'audio/wav',
    bytes,
  ])
  expect(others).toEqual({ safe: false, scale: 2.5, tags: ['one'], images: ['a', 'b'] })
})

test.each([
  ['a field of another kind', 'safe', 'maybe', 'true, false'],
  ['a number out of its range', 'scale', '5', 'Must be 4 or less'],
  ['text that is not a number', 'scale', '0x2', 'a number'],
])('%s is named', async (_name, field, text, says) => {
  const [status, body] = await refusal(
    read(form => {
      form.set('file', 'data')
      form.set(field, text)
    }),
  )
  expect([status, JSON.parse(body).issues[0].path]).toEqual([400, [field]])
  expect(body).toContain(says)
})

describe('what is no form', () => {
  const part = (headers: string, content = 'x') => `--b\r\n${headers}\r\n\r\n${content}\r\n`
  const name = 'content-disposition: form-data; name="file"'
  test.each([
    ['nothing', '', 'does not begin'],
    ['words', 'junk', 'does not begin'],
    ['no end', part(name), 'before its last boundary'],
    ['a part that breaks off', `--b\r\n${name}\r\n\r\nx`, 'ends before its last boundary'],
    ['another line after a boundary', `--bc\r\n${name}\r\n\r\nx\r\n--b--`, 'not a boundary'],
    ['a part without headers', '--b\r\nx\r\n--b--', 'without headers'],
    ['a part without a name', `${part('content-disposition: form-data')}--b--`, 'without a name'],
    ['an attachment', `${part('content-disposition: attachment; name="file"')}--b--`, 'without a name'],
    ['endless headers', `${part(`${name}\r\nx: ${'y'.repeat(formLimits.headerBytes)}`)}--b--`, 'bytes of them'],
    ['text that is not UTF-8', `${part(name, '\xff')}--b--`, 'UTF-8'],
    ['too many parts', `${part(name).repeat(formLimits.parts + 1)}--b--`, `more than ${formLimits.parts} parts`],
  ])('%s', async (_name, text, says) => {
    const body = Buffer.from(text, 'latin1')
    const [status, answer] = await refusal(readBody(both, source('multipart/form-data; boundary=b', body)))
    expect([status, answer]).toEqual([400, expect.stringContaining(says)])
  })

  test('is refused by its type, or by its size before it is parsed', async () => {
    const form = operation(['multipart'])
    const json = Buffer.from('{"file":"x"}')
    expect((await refusal(readBody(form, source('application/json', json))))[0]).toBe(415)
    expect((await refusal(readBody(both, source('multipart/form-data', json))))[0]).toBe(415)
    expect((await refusal(readBody(operation(['json']), source('multipart/form-data; boundary=b', json))))[0]).toBe(415)
    expect(await readBody(both, source('application/json', json))).toEqual({ file: 'x' })
    const large = source('multipart/form-data; boundary=b', json, bodyBytes.form + 1)
    expect((await refusal(readBody(form, large)))[0]).toBe(413)
  })
})

test('an empty file input is no field, and a preamble is passed over', () => {
  const text =
    'ignored\r\n--b\r\ncontent-disposition: form-data; name="file"; filename=""\r\n\r\n\r\n--b\r\nContent-Disposition:form-data;name=plain\r\n\r\n\r\n--b--\r\nignored'
  expect(parseForm(Buffer.from(text), 'b')).toEqual({ ok: true, fields: { plain: '' } })
})

test.each([
  ['multipart/form-data; boundary=abc', 'abc'],
  ['Multipart/Form-Data; charset=utf-8; Boundary="a b;c"', 'a b;c'],
  ['multipart/form-data', null],
  ['multipart/mixed; boundary=abc', null],
  [`multipart/form-data; boundary=${'x'.repeat(71)}`, null],
  [undefined, null],
])('the boundary of %s', (type, boundary) => {
  expect(formBoundary(type)).toBe(boundary)
})

test('what is written is read, whatever is in it', async () => {
  const entry = fc.record({ name: fc.string({ minLength: 1, unit: 'grapheme' }), content: fc.uint8Array() })
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(entry, { selector: ({ name }) => name, maxLength: 8 }), async entries => {
      // Browsers write a backslash at the end as it is, where other clients escape a quote with it.
      const isClear = (name: string) => name !== '__proto__' && !name.endsWith('[]') && !/[\r\n]|%|\\$/.test(name)
      const asked = entries.filter(({ name }) => isClear(name))
      const { type, body } = await written(form => {
        for (const { name, content } of asked) form.append(name, new File([content], 'f'))
      })
      const parsed = parseForm(Buffer.from(body), formBoundary(type) ?? '')
      if (!parsed.ok) throw new Error(parsed.reason)
      expect(Object.keys(parsed.fields).sort()).toEqual(asked.map(({ name }) => name).sort())
      for (const { name, content } of asked) {
        expect(new Uint8Array(await (parsed.fields[name] as File).arrayBuffer())).toEqual(new Uint8Array(content))
      }
    }),
  )
})

test('D1: no bytes make it throw', () => {
  const piece = fc.constantFrom(
    '--b',
    '\r\n',
    '--',
    'content-disposition: form-data; name="',
    'filename="',
    '"',
    ';',
    'x',
  )
  const text = fc.array(fc.oneof(piece, fc.string({ unit: 'binary' })), { maxLength: 40 })
  fc.assert(fc.property(text, pieces => void parseForm(Buffer.from(pieces.join('')), 'b')))
  fc.assert(fc.property(fc.uint8Array(), given => void parseForm(Buffer.from(given), 'b')))
})

test('a key means the same bytes: another file, name or order tells', async () => {
  const of = (...files: File[]) => fingerprintOf({ params: {}, query: {}, body: { images: files, model: 'm' } })
  const [one, other] = [new File([bytes], 'a'), new File([new Uint8Array([1])], 'a')]
  expect(await of(one)).toBe(await of(new File([bytes], 'a')))
  const prints = await Promise.all([of(one), of(other), of(new File([bytes], 'b')), of(one, other), of(other, one)])
  expect(new Set(prints).size).toBe(prints.length)
})

test('the description says both types, and a file as bytes', () => {
  const described = describeOperation(both, new SchemaPrinter()) as { requestBody: { content: Record<string, object> } }
  expect(Object.keys(described.requestBody.content)).toEqual(['application/json', 'multipart/form-data'])
  expect(JSON.stringify(described.requestBody)).toContain('{"type":"string","format":"binary"}')
})
