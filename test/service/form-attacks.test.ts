/** Forms and documents by which a caller would take memory and time, or a file of the service. */

import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { formLimits } from '#contract/limits.ts'
import { packed } from './capabilities/documents/sample-documents.ts'
import { closeSound } from './close-sound.ts'
import { adminToken, type OpenedService, openService } from './open-service.ts'

let service: OpenedService
let key: string
beforeAll(async () => {
  service = await openService({ metricsToken: 'of figures' })
})
afterAll(async () => {
  await closeSound(service)
})
beforeEach(async () => {
  service.clock.pass(60_000)
  key = await service.key(1)
})

async function parsed(body: FormData | string | Buffer, type?: string) {
  const response = await service.request('/api/v1/augment/text-parser', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...(type ? { 'content-type': type } : {}) },
    body: typeof body === 'string' || body instanceof FormData ? body : new Uint8Array(body),
  })
  return { status: response.status, text: await response.text() }
}

function formOf(bytes: Buffer | string, name = 'a'): FormData {
  const form = new FormData()
  form.append('file', new File([new Uint8Array(Buffer.from(bytes))], name))
  return form
}

const part = (disposition: string, content = 'Two words') =>
  `--b\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`
const file = 'name="file"; filename="a.txt"'
const type = 'multipart/form-data; boundary=b'

test.each([
  ['more parts than a form may have', part('name="x"').repeat(formLimits.parts + 1), 'parts'],
  ['a name without end', part(`name="${'x'.repeat(100_000)}"`), 'bytes of them'],
  ['two files in the place of one', part(file) + part(file), 'file'],
  ['a field in the place of a file', part('name="file"'), 'file'],
  ['no end', part(file).slice(0, -2), 'ends before its last boundary'],
])('D1: %s is refused, and the field named', async (_what, parts, says) => {
  const { status, text } = await parsed(
    `${parts}--b--\r\n`.slice(0, says === 'ends before its last boundary' ? -7 : undefined),
    type,
  )
  expect([status, text]).toEqual([400, expect.stringContaining(says)])
})

test('D1: a part with the name of an object’s built-in member is not one', async () => {
  const { status } = await parsed(
    `${part('name="__proto__"')}${part('name="constructor"')}${part(file)}--b--\r\n`,
    type,
  )
  expect([status, Object.keys(Object.prototype)]).toEqual([200, []])
})

test.each([
  '../../../escaped.txt',
  '/tmp/escaped.txt',
  '..\\escaped.txt',
  'escaped\0.txt',
  'CON',
  '.',
  'x'.repeat(3_000),
])('D1: a file called %j is read like any other, and written nowhere', async name => {
  const before = await readdir(service.folder, { recursive: true })
  const { status, text } = await parsed(formOf('Two words', name))
  expect([status, JSON.parse(text).text]).toEqual([200, 'Two words'])
  expect((await readdir(service.folder, { recursive: true })).sort()).toEqual(before.sort())
})

const html = '<!doctype html>'
const pumps: [what: string, piece: string][] = [
  ['tags without end', '<p '],
  ['scripts without end', '<script '],
  ['angle brackets', '<'],
  ['tags with spaces between them', '<i> '],
  ['comments without end', '<!--'],
  ['characters by number', '&#9'],
  ['ends of what was not begun', '</script '],
]
test.each(pumps)('D2: %s are read in one pass', { timeout: 60_000 }, async (_what, piece) => {
  const { status, text } = await parsed(formOf(`${html}words ${piece.repeat(1_000_000)} more`))
  // Given up for its time, it would be a 400 that says so.
  expect([status, text]).toEqual([200, expect.stringContaining('words')])
})

const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const ofPackage = 'http://schemas.openxmlformats.org/package/2006'
function docx(words: string, head = ''): Buffer {
  const main = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'
  const text = `<w:body><w:p><w:r><w:t>${words}</w:t></w:r></w:p></w:body>`
  return packed({
    '[Content_Types].xml': `<Types xmlns="${ofPackage}/content-types"><Default Extension="xml" ContentType="${main}"/></Types>`,
    '_rels/.rels': `<Relationships xmlns="${ofPackage}/relationships"><Relationship Id="r1" Type="${relations}/officeDocument" Target="word/document.xml"/></Relationships>`,
    'word/document.xml': `${head}<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">${text}</w:document>`,
  })
}

const laughs = Array.from({ length: 12 }, (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`).join('')
test.each([
  ['an entity that is a file', docx('a &x; b', '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>')],
  ['an entity that is an address', docx('a &x; b', '<!DOCTYPE d [<!ENTITY x SYSTEM "http://127.0.0.1:1/">]>')],
  ['entities of entities', docx('a &l12; b', `<!DOCTYPE d [<!ENTITY l0 "lol">${laughs}]>`)],
])('D2: %s is not unfolded', { timeout: 60_000, tags: ['engines'] }, async (_what, bytes) => {
  const { status, text } = await parsed(formOf(bytes))
  expect([200, 400]).toContain(status)
  expect(text).not.toMatch(/root:|lollol/)
  expect(text.length).toBeLessThan(1_000)
})

test('D2: a formula and a macro are not run', { timeout: 60_000, tags: ['engines'] }, async () => {
  const main = 'application/vnd.ms-excel.sheet.macroEnabled.main+xml'
  const sheetType = 'application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml'
  const sheets = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
  const cells = '<c r="A1" t="str"><f>WEBSERVICE("http://127.0.0.1:1/")</f><v>shown</v></c>'
  const { status, text } = await parsed(
    formOf(
      packed({
        '[Content_Types].xml': `<Types xmlns="${ofPackage}/content-types"><Override PartName="/xl/workbook.xml" ContentType="${main}"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${sheetType}"/></Types>`,
        'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${ofPackage}/relationships"><Relationship Id="r1" Type="${relations}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
        'xl/workbook.xml': `<workbook xmlns="${sheets}" xmlns:r="${relations}"><sheets><sheet name="One" sheetId="1" r:id="r1"/></sheets></workbook>`,
        'xl/worksheets/sheet1.xml': `<worksheet xmlns="${sheets}"><sheetData><row r="1">${cells}</row></sheetData></worksheet>`,
        'xl/vbaProject.bin': 'Sub Auto_Open()',
      }),
    ),
  )
  expect([status, JSON.parse(text).text]).toEqual([200, '# One\nshown'])
})

test('D5: guessing the token of figures is blocked, and no other key is one', async () => {
  const ask = (token: string) => service.request('/metrics', { headers: { authorization: `Bearer ${token}` } })
  for (const token of [key, adminToken]) expect((await ask(token)).status).toBe(401)
  for (let guess = 0; guess < 21; guess++) await ask(`guess ${guess}`)
  expect((await ask('another guess')).status).toBe(429)
  // A caller with the token is not blocked by guesses from the same address.
  expect((await ask('of figures')).status).toBe(200)
})
