/** Files as Notepad and PowerShell write them: with a byte order mark, in UTF-16, or in a code page. */
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readWhole } from '#cli/serve/config.ts'
import { givenPassphrase, readPassphraseFile } from '#cli/wallet/terminal.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const folder = temporaryFolder('windows-text')

function fileOf(bytes: Buffer): string {
  const path = join(folder, `${bytes.toString('hex').slice(0, 40)}.txt`)
  writeFileSync(path, bytes, { mode: 0o600 })
  return path
}

const text = 'grün wie Glas\r\nsecond line\r\n'
const utf16 = Buffer.from(`\uFEFF${text}`, 'utf16le')

const encodings: [string, Buffer][] = [
  ['UTF-8', Buffer.from(text)],
  ['UTF-8 with a mark', Buffer.from(`\uFEFF${text}`)],
  ['UTF-16 LE', utf16],
  ['UTF-16 BE', Buffer.from(utf16).swap16()],
]

test.each(encodings)('a passphrase file in %s has the passphrase that the user typed', async (_, bytes) => {
  expect(await readPassphraseFile(fileOf(bytes), {})).toBe('grün wie Glas')
})

test.each(encodings)('so has a descriptor of a file in %s', async (_, bytes) => {
  const descriptor = openSync(fileOf(bytes), 'r')
  expect(await givenPassphrase('farebox mcp', { 'passphrase-fd': `${descriptor}` }, {})).toBe('grün wie Glas')
})

test('a configuration may begin with a mark', async () => {
  expect(await readWhole(fileOf(Buffer.from('\uFEFFmodels: []\r\n')))).toBe('\uFEFFmodels: []\r\n')
})

test.each([
  ['UTF-16', utf16],
  ['a code page', Buffer.from('data: C:\\Users\\M\xfcller\r\n', 'latin1')],
])('a configuration in %s is refused, because its names would be wrong', async (_, bytes) => {
  await expect(readWhole(fileOf(bytes))).rejects.toMatchObject({
    message: expect.stringContaining('not written in UTF-8'),
  })
})
