import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { optionalPackage } from '#host/packages.ts'
import { minimalPdf, packed } from './capabilities/documents/sample-documents.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'

let service: OpenedService
beforeAll(async () => {
  service = await openService()
})
afterAll(async () => {
  await closeSound(service)
})
beforeEach(() => service.clock.pass(60_000))

async function parse(bytes: Buffer | string, { name = 'a', format = 'json', key = '' } = {}) {
  const form = new FormData()
  form.append('file', new File([new Uint8Array(Buffer.from(bytes))], name))
  if (format !== 'json') form.append('response_format', format)
  const before = await lines()
  const response = await service.request('/api/v1/augment/text-parser', {
    method: 'POST',
    headers: { authorization: `Bearer ${key || (await service.key(1))}` },
    body: form,
  })
  const charged = (await lines()).slice(before.length).map(({ sku, amount }) => [sku, amount])
  return { response, text: await response.text(), charged }
}

const lines = () => service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute()

const plain: [kind: string, content: string, text: string][] = [
  ['text', 'Two words', 'Two words'],
  ['Markdown', '# A title\n\n- an item\n', '# A title\n\n- an item'],
  ['CSV', 'a,b\n1,2\n', 'a,b\n1,2'],
  ['text in UTF-8 with a mark', '﻿Grüße', 'Grüße'],
  [
    'HTML',
    '<!doctype html><title>T</title><script>no()</script><p>One &amp; two<p>Three<!-- no -->',
    'T\nOne & two\nThree',
  ],
  ['HTML without an end', '<html><body>One<script>no(', 'One'],
]
test.each(plain)('§15 %s needs no package, and costs 0.01 USD', async (_kind, content, text) => {
  const { response, text: answer, charged } = await parse(content)
  expect([response.status, JSON.parse(answer)]).toMatchObject([200, { text }])
  expect(JSON.parse(answer).tokens).toBeGreaterThan(0)
  expect(charged).toEqual([['document.parse', 10_000n]])
})

test('§15 the text alone comes as text', async () => {
  const { response, text } = await parse('Grüße', { format: 'text' })
  expect([response.status, response.headers.get('content-type'), text]).toEqual([
    200,
    'text/plain; charset=utf-8',
    'Grüße',
  ])
})

const has = (name: string) =>
  optionalPackage(name, 'A test').then(
    () => true,
    () => false,
  )
const isThere = { unpdf: await has('unpdf'), mammoth: await has('mammoth'), xlsx: await has('xlsx') }

const word =
  '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>A lighthouse</w:t></w:r></w:p></w:body></w:document>'
const docx = (text = word, directory: { count?: number } = {}) =>
  packed(
    {
      '[Content_Types].xml':
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
      '_rels/.rels':
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
      'word/document.xml': text,
    },
    directory,
  )
const sheet = (cells = '<row r="1"><c r="A1" t="inlineStr"><is><t>boat</t></is></c><c><v>7</v></c></row>') =>
  packed({
    '[Content_Types].xml':
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    'xl/_rels/workbook.xml.rels':
      '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    'xl/workbook.xml':
      '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Prices" sheetId="1" r:id="r1"/></sheets></workbook>',
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${cells}</sheetData></worksheet>`,
  })

describe('documents that a package reads', () => {
  const rows: [peer: keyof typeof isThere, make: () => Buffer, text: string][] = [
    ['unpdf', () => minimalPdf('A lighthouse'), 'A lighthouse'],
    ['mammoth', docx, 'A lighthouse'],
    ['xlsx', sheet, '# Prices\nboat,7'],
  ]
  test.each(rows)('§15 by %s', { timeout: 60_000 }, async (peer, make, text) => {
    const { response, text: answer, charged } = await parse(make())
    if (!isThere[peer] && process.env.FAREBOX_TEST_ALL !== '1') {
      expect([response.status, charged]).toEqual([503, []])
      return
    }
    expect([response.status, answer]).toEqual([200, expect.any(String)])
    expect(JSON.parse(answer).text).toBe(text)
    expect(charged).toEqual([['document.parse', 10_000n]])
  })
})

type RefusedRow = [what: string, bytes: () => Buffer | string, status: number, says: string]
const refused: RefusedRow[] = [
  ['no bytes', () => '', 400, 'file'],
  ['only spaces', () => ' \n ', 400, 'has no readable text'],
  ['an image', () => Buffer.from('89504e470d0a1a0a00000000', 'hex'), 400, 'is not a PDF'],
  ['text that is not UTF-8', () => Buffer.from('caf\xe9 au lait', 'latin1'), 400, 'damaged'],
  ['another ZIP', () => packed({ 'a.txt': 'x' }), 400, 'is not a PDF'],
  ['more than 25 MB', () => Buffer.alloc(25 * 1024 * 1024 + 1, 0x61), 400, 'more than 26214400 bytes'],
]
const refusedByPackages: RefusedRow[] = [
  ['half a Word document', () => docx().subarray(0, -30), 400, 'damaged'],
  [
    'D2: a Word document that unfolds to 300 MB',
    () => packed({ 'word/document.xml': Buffer.alloc(300 * 1024 * 1024) }),
    400,
    'damaged',
  ],
  ['a Word document whose directory ends before its last files', () => docx(word, { count: 1 }), 400, 'damaged'],
  [
    'a spreadsheet that spans 17 billion cells',
    () => sheet('<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'),
    400,
    'damaged',
  ],
]
async function isRefused(...[, bytes, status, says]: RefusedRow) {
  const { response, text, charged } = await parse(bytes())
  expect([response.status, text, charged]).toEqual([status, expect.stringContaining(says), []])
}

test.each(refused)('§15 %s is refused, and costs nothing', { timeout: 60_000 }, isRefused)
test.each(refusedByPackages)('§15 %s is refused, and costs nothing', { timeout: 60_000, tags: ['engines'] }, isRefused)

test('D2 §15 a ZIP whose directory lies about its sizes is measured all the same', async () => {
  const { checkUnpacked } = await import('#engines/documents/document-files.ts')
  const lying = packed({ 'word/document.xml': Buffer.alloc(300 * 1024 * 1024) }, { size: 10 })
  expect(() => checkUnpacked(lying)).toThrow()
  expect(() => checkUnpacked(docx())).not.toThrow()
  expect(() => checkUnpacked(docx(word, { count: 1 }))).toThrow('does not end where it should')
  const stored = docx()
  stored.writeUInt16LE(0, 8)
  expect(() => checkUnpacked(stored)).toThrow('contradicts')
})

test('§15 the same key brings the same text, once charged', async () => {
  const key = await service.key(1)
  const send = () => {
    const form = new FormData()
    form.append('file', new File(['Two words'], 'a.txt'))
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'once' }
    return service.request('/api/v1/augment/text-parser', { method: 'POST', headers, body: form })
  }
  const before = (await lines()).length
  const [first, again] = [await (await send()).text(), await send()]
  expect([await again.text(), again.headers.get('idempotent-replayed')]).toEqual([first, 'true'])
  expect((await lines()).length - before).toBe(1)
})
