import { captionCharacters } from '../bounds.ts'
import { glyphColumns, glyphRows, isDot } from './glyphs.ts'

/** A picture of four bytes a pixel: red, green, blue, opacity. */
export interface RawPicture {
  width: number
  height: number
  rgba: Buffer
}

/**
 * The words of a prompt as a picture. It is drawn here because a text that an encoder draws needs a font on the machine
 * and must be escaped twice; this way nothing that a caller wrote reaches the encoder's arguments.
 */
export function drawCaption(prompt: string, frame: { width: number; height: number }): RawPicture {
  const dot = Math.max(1, Math.floor(Math.min(frame.width, frame.height) / 140))
  const cell = { width: (glyphColumns + 1) * dot, height: (glyphRows + 3) * dot }
  const margin = 3 * dot
  const lines = wrapped(`DEMO: ${drawable(prompt)}`, Math.max(8, Math.floor((frame.width - 2 * margin) / cell.width)))
  const height = lines.length * cell.height + 2 * margin
  const picture = {
    width: frame.width,
    height,
    rgba: Buffer.alloc(frame.width * height * 4, Buffer.from([8, 10, 20, 150])),
  }
  for (const [row, line] of lines.entries()) {
    for (const [column, character] of [...line].entries()) {
      drawGlyph(picture, character, margin + column * cell.width, margin + row * cell.height, dot)
    }
  }
  return picture
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

function drawGlyph(picture: RawPicture, character: string, left: number, top: number, dot: number): void {
  for (let y = 0; y < glyphRows * dot; y++) {
    for (let x = 0; x < glyphColumns * dot; x++) {
      if (left + x >= picture.width || !isDot(character, Math.floor(y / dot), Math.floor(x / dot))) continue
      picture.rgba.set([255, 255, 255, 255], ((top + y) * picture.width + left + x) * 4)
    }
  }
}
