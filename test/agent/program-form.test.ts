import fc from 'fast-check'
import { expect, test } from 'vitest'
import { requestHash } from '#agent/calls/about-request.ts'
import { formFields, readForm, writeForm } from '#agent/fetch/caller-request.ts'
import { payingFetch } from '#agent/fetch/paying-fetch.ts'
import { formBoundary, parseForm } from '#contract/wire/form.ts'
import { openAgent } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

const piece = fc.constantFrom(
  ...['--b', '--b\r\n', '\r\n--b\r\n', '\r\n--b--\r\n', '\r\n\r\n', '\n', '\r\n', '"', '\\', ';', '%22', 'é', '='],
  ...['content-disposition: form-data; name="model"', '; filename="a.wav"', '; name="x"', '; filename*=x', 'name=y'],
  ...['content-type: text/plain', 'content-disposition: form-data; name=', 'model', 'x[]', '__proto__', '\0'],
)
const wholePart = fc
  .tuple(
    fc.constantFrom('model', 'file', 'images[]', 'a.b-c'),
    fc.option(fc.string({ unit: 'binary' })),
    fc.string({ unit: 'binary' }),
  )
  .map(([name, filename, content]) => {
    const disposition = `name="${name}"${filename === null ? '' : `; filename="${filename}"`}`
    return `--b\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`
  })
const form = fc
  .oneof({ weight: 2, arbitrary: fc.array(wholePart, { maxLength: 6 }) }, { weight: 1, arbitrary: fc.array(piece) })
  .map(parts => Buffer.from(`${parts.join('')}--b--\r\n`))

const texts = (value: unknown): Promise<string> | string => (value instanceof File ? value.text() : String(value))

/** By names without the mark of a list, each with its contents in order. */
async function inShort(entries: Iterable<[string, unknown]>) {
  const short: Record<string, string[]> = {}
  for (const [name, value] of entries) {
    const plain = name.replace(/\[\]$/, '')
    short[plain] = [...(short[plain] ?? []), ...(await Promise.all([value].flat().map(texts)))]
  }
  return short
}

test('whatever form is read, what goes out says the same to the service and to another reader', async () => {
  let count = 0
  await fc.assert(
    fc.asyncProperty(form, async body => {
      const parts = readForm('multipart/form-data; boundary=b', body)
      if (!parts?.length) return
      count++
      const fields = formFields(parts)
      const written = writeForm(parts)
      const again = parseForm(Buffer.from(written.body), formBoundary(written.type) ?? '')
      const read = await inShort(Object.entries(fields))
      expect(again.ok && (await inShort(Object.entries(again.fields)))).toEqual(read)
      const other = await new Response(written.body.slice(), { headers: { 'content-type': written.type } }).formData()
      expect(await inShort([...other.entries()])).toEqual(read)
    }),
  )
  expect(count).toBeGreaterThan(10)
})

/** A client of its own makes a new boundary for each attempt. */
async function sent(files: readonly string[]) {
  const given = new FormData()
  given.append('model', 'm')
  for (const content of files) given.append('images[]', new File([content], 'a.png', { type: 'image/png' }))
  const { headers, body } = new Request('http://a.example', { method: 'POST', body: given })
  const bytes = new Uint8Array(await new Response(body).arrayBuffer())
  const parts = readForm(headers.get('content-type') ?? '', bytes) ?? []
  const hash = requestHash('s', 'p', { id: 'multiEditImage' }, { body: formFields(parts) })
  return { boundary: headers.get('content-type'), hash, written: writeForm(parts) }
}

test('the same form is the same request in the same bytes, whatever its boundary; another file is another', async () => {
  const [one, same, other] = await Promise.all(
    [
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'c'],
    ].map(sent),
  )
  expect(one?.boundary).not.toBe(same?.boundary)
  expect([same?.hash, same?.written]).toEqual([one?.hash, one?.written])
  expect(other?.hash).not.toBe(one?.hash)
  expect(other?.written.type).not.toBe(one?.written.type)
})

test('a consent in the form of a program that a model may speak through is not sent', async () => {
  const service = await pretendService({ credit: 5 })
  const agent = await openAgent({ baseUrl: service.baseUrl })
  try {
    const fetch = payingFetch(agent, { takesConsents: false, unpriced: 'allow' })
    const body = new FormData()
    for (const name of ['prompt', 'consents', 'consents[demo]', 'Consents.demo']) body.append(name, `of ${name}`)
    await (await fetch(`${service.baseUrl}/other`, { method: 'POST', body })).text()
    const { headers, body: sent } = service.seen.find(({ path }) => path.endsWith('/other')) ?? {}
    const read = parseForm(Buffer.from(sent ?? ''), formBoundary(headers?.['content-type']) ?? '')
    expect(read).toEqual({ ok: true, fields: { prompt: 'of prompt' } })
  } finally {
    await agent.close()
    await service.close()
  }
})
