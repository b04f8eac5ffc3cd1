import type { Raster } from '../images/png.ts'

/** Characters of a prompt that are drawn into the image. */
const captionCharacters = 96

/**
 * Draws the words of a prompt as an image. An encoder would need an installed font and double escaping to draw text;
 * this way, nothing that a caller wrote reaches the encoder's arguments.
 */
export function drawCaption(prompt: string, frame: { width: number; height: number }): Raster {
  const dot = Math.max(1, Math.floor(Math.min(frame.width, frame.height) / 140))
  const cell = { width: (glyphColumns + 1) * dot, height: (glyphRows + 3) * dot }
  const margin = 3 * dot
  const lines = wrapped(`DEMO: ${drawable(prompt)}`, Math.max(8, Math.floor((frame.width - 2 * margin) / cell.width)))
  const height = lines.length * cell.height + 2 * margin
  const image = {
    width: frame.width,
    height,
    rgba: Buffer.alloc(frame.width * height * 4, Buffer.from([8, 10, 20, 150])),
  }
  for (const [row, line] of lines.entries()) {
    for (const [column, character] of [...line].entries()) {
      drawGlyph(image, character, margin + column * cell.width, margin + row * cell.height, dot)
    }
  }
  return image
}

const drawable = (prompt: string): string => {
  const plain = prompt
    .slice(0, captionCharacters * 4)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/\p{C}/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .toUpperCase()
  const characters = [...plain]
  return characters.length > captionCharacters ? `${characters.slice(0, captionCharacters - 3).join('')}...` : plain
}

function wrapped(text: string, columns: number): string[] {
  const lines = ['']
  for (const word of text.split(' ').flatMap(each => cut(each, columns))) {
    const line = lines.at(-1) ?? ''
    if (line === '') lines[lines.length - 1] = word
    else if ([...line].length + 1 + [...word].length <= columns) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

const cut = (word: string, columns: number): string[] => {
  const characters = [...word]
  const parts = Math.max(1, Math.ceil(characters.length / columns))
  return Array.from({ length: parts }, (_, part) => characters.slice(part * columns, (part + 1) * columns).join(''))
}

function drawGlyph(image: Raster, character: string, left: number, top: number, dot: number): void {
  for (let y = 0; y < glyphRows * dot; y++) {
    for (let x = 0; x < glyphColumns * dot; x++) {
      if (left + x >= image.width || !isDot(character, Math.floor(y / dot), Math.floor(x / dot))) continue
      image.rgba.set([255, 255, 255, 255], ((top + y) * image.width + left + x) * 4)
    }
  }
}

/** Letters of five by seven dots, one row per pair of hex digits; the lowest five bits, left to right. */
const glyphColumns = 5
const glyphRows = 7

const glyphs: Readonly<Record<string, string>> = {
  A: '0e11111f111111',
  B: '1e11111e11111e',
  C: '0e11101010110e',
  D: '1e11111111111e',
  E: '1f10101e10101f',
  F: '1f10101e101010',
  G: '0e11101711110f',
  H: '1111111f111111',
  I: '0e04040404040e',
  J: '0702020202120c',
  K: '11121418141211',
  L: '1010101010101f',
  M: '111b1515111111',
  N: '11191513111111',
  O: '0e11111111110e',
  P: '1e11111e101010',
  Q: '0e11111115120d',
  R: '1e11111e141211',
  S: '0f10100e01011e',
  T: '1f040404040404',
  U: '1111111111110e',
  V: '11111111110a04',
  W: '1111111515150a',
  X: '11110a040a1111',
  Y: '11110a04040404',
  Z: '1f01020408101f',
  '0': '0e11131519110e',
  '1': '040c040404040e',
  '2': '0e11010204081f',
  '3': '1f02040201110e',
  '4': '02060a121f0202',
  '5': '1f101e0101110e',
  '6': '0608101e11110e',
  '7': '1f010204080808',
  '8': '0e11110e11110e',
  '9': '0e11110f01020c',
  '.': '00000000000c0c',
  ',': '000000000c0408',
  ':': '000c0c000c0c00',
  ';': '000c0c000c0408',
  '!': '04040404000004',
  '?': '0e110102040004',
  '-': '0000001f000000',
  '+': '0004041f040400',
  '=': '00001f001f0000',
  '/': '00010204081000',
  '%': '18190204081303',
  '&': '0c12140815120d',
  '#': '0a0a1f0a1f0a0a',
  "'": '0c040800000000',
  '"': '0a0a0a00000000',
  '(': '02040808080402',
  ')': '08040202020408',
  ' ': '00000000000000',
}

/** A dot in the middle stands for every unsupported character. */
const unknown = '0000000c0c0000'

/** Whether the dot at `row` and `column` of a character is set. */
function isDot(character: string, row: number, column: number): boolean {
  const rows = Object.hasOwn(glyphs, character) ? (glyphs[character] ?? unknown) : unknown
  const bits = Number.parseInt(rows.slice(row * 2, row * 2 + 2), 16)
  return ((bits >> (glyphColumns - 1 - column)) & 1) === 1
}
