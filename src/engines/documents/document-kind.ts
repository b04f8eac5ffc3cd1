export type DocumentKind = 'pdf' | 'docx' | 'sheet' | 'html' | 'plain'

const zip = Buffer.from('PK\x03\x04', 'latin1')
const oldOffice = Buffer.from('d0cf11e0a1b11ae1', 'hex')

/** What the bytes are, whatever their sender calls them; null for what has no text that can be read here. */
export function documentKind(bytes: Buffer): DocumentKind | null {
  if (bytes.subarray(0, 1_024).includes('%PDF-')) return 'pdf'
  if (bytes.subarray(0, 4).equals(zip)) {
    if (bytes.includes('word/document')) return 'docx'
    return bytes.includes('xl/workbook') || bytes.includes('opendocument.spreadsheet') ? 'sheet' : null
  }
  if (bytes.subarray(0, 8).equals(oldOffice)) return bytes.includes('W\0o\0r\0k\0b\0o\0o\0k\0') ? 'sheet' : null
  const start = bytes.subarray(0, 4_096)
  if (start.includes(0)) return null
  return /^\s*(<!doctype html|<html)[\s>]/i.test(start.toString('latin1').replace(/^\xef\xbb\xbf/, ''))
    ? 'html'
    : 'plain'
}
